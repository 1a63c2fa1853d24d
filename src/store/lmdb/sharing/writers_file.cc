#include "store/lmdb/sharing/writers_file.h"

#include "base/checksum.h"
#include "base/fork.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/format.h"
#include "store/lmdb/sharing/write_turn.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;
constexpr std::chrono::microseconds first_opening_nap = 10us; // an index is opened in about 100 us
constexpr std::chrono::microseconds longest_opening_nap = 1ms;
constexpr std::size_t page = 4096;

} // namespace

WritersFile::WritersFile(RootedPath path, unsigned lines)
    : path_(std::move(path)), lines_(lines), slots_at_((lines * sizeof(WriterLine) + page - 1) / page * page)
{
}

WritersFile::~WritersFile()
{
    if (fd_) forget_in_children(fd_.get());
    if (map_ != nullptr) munmap(map_, length());
}

std::byte* WritersFile::first_use()
{
    std::call_once(opened_, [this] {
        errno = 0;
        if (open()) return ready_.store(map_, std::memory_order_release);
        error_ = errno == 0 ? EINVAL : errno;
        fd_ = Descriptor();
    });
    return ready_.load();
}

WriterLine& WritersFile::require_line(unsigned index, const std::string& where)
{
    WriterLine* there = line(index);
    if (there == nullptr)
        fail(error_, where, "cannot make or open the file writers, which each writer needs");
    return *there;
}

bool WritersFile::open()
{
    fd_ = open_lock_file(path_);
    struct stat status {};
    if (!fd_ || fstat(fd_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    // The map reaches beyond the end of the file; a slot there is not touched before it has room.
    const auto of_lines = static_cast<off_t>(lines_ * sizeof(WriterLine));
    if (status.st_size < of_lines && ftruncate(fd_.get(), of_lines) != 0) return false;
    // Memory that has no room on a full disk would end the process when it is written.
    // File systems of other machines, which know no such call, do not give room at that moment.
    if (fallocate(fd_.get(), 0, 0, of_lines) != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return false;
    void* map = mmap(nullptr, length(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (map == MAP_FAILED) return false;
    process_ = this_process();
    map_ = static_cast<std::byte*>(map);
    close_in_children(fd_.get()); // and the locks on slots stay this process's
    return true;
}

bool WritersFile::room_for_slot(unsigned number)
{
    return fallocate(fd_.get(), 0, static_cast<off_t>(place_of(number)), slot_size) == 0;
}

std::uint64_t WritersFile::first_word(unsigned number) const
{
    std::uint64_t word = 0;
    const MutableBytes bytes = std::as_writable_bytes(std::span(&word, 1));
    return read_all(fd_.get(), bytes, place_of(number)) == std::ssize(bytes) ? word : 0;
}

std::uint64_t WritersFile::mark()
{
    struct stat status {};
    if (fstat(fd_.get(), &status) != 0) return 0;
    const std::string text =
        process_.machine + "/3/" + std::to_string(status.st_dev) + "/" + std::to_string(status.st_ino);
    return checksum(as_bytes(text));
}

// ---- opening an index

WritersFile::Opening::Opening(const WritersFile& writers, unsigned target, const std::string& where)
    : target_(target), fd_(open_lock_file(writers.path_))
{
    if (!fd_) return;
    std::optional<LongWait> waited;
    auto nap = first_opening_nap;
    while (!lock(F_WRLCK)) {
        if (errno != EAGAIN && errno != EACCES) return; // a file system without locks, where LMDB has none
        if (!waited) waited.emplace(where + ": cannot open the index");
        waited->look([] {
            return std::string("another process of this machine is just opening it, and may be stopped "
                               "(\"ps -eo pid,stat,args\" says T). Let it go on (kill -CONT) or end it");
        });
        std::this_thread::sleep_for(nap); // many processes of a job open a pool at once
        nap = std::min(nap * 2, longest_opening_nap);
    }
    held_ = true;
}

WritersFile::Opening::Opening(const WritersFile& writers, unsigned target)
    : target_(target), fd_(open_lock_file(writers.path_, false))
{
    constexpr int most_tries = 50;
    for (int tries = 0; fd_ && !held_ && tries < most_tries; ++tries) {
        held_ = lock(F_WRLCK);
        if (!held_) std::this_thread::sleep_for(first_opening_nap);
    }
}

// Unlocked, not just closed: a child that another thread forked meanwhile has the descriptor too.
WritersFile::Opening::~Opening()
{
    if (fd_) lock(F_UNLCK);
}

} // namespace stepstore::store::lmdb
