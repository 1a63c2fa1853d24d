#include "store/lmdb/extents/extents.h"

#include "base/fork.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/write_again.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr std::string_view suffix = ".ext";

std::uint64_t aligned(std::uint64_t offset)
{
    return (offset + ExtentStore::alignment - 1) & ~(ExtentStore::alignment - 1);
}

// A payload may begin half a unit after a multiple of the alignment, and as much more as its memory lies
// after a cache line. Memory nearly always begins at the front of its page, so the two places are far apart.
// Copies take two to six times as long when one place is a few bytes after the other in its page. They take
// up to twice as long when the places lie differently in cache lines (docs/design/lmdb-backend.md). It costs
// at most a unit of the file.
constexpr std::uint64_t cache_line = 64;
constexpr std::uint64_t most_skew = ExtentStore::alignment / 2 + cache_line - 1;
constexpr std::uint64_t skewed_from = 256 << 10; // bytes: 1.6 % of them

std::uint64_t length_of(std::span<const Bytes> pieces)
{
    std::uint64_t length = 0;
    for (const Bytes& piece : pieces)
        length += piece.size();
    return length;
}

std::uint64_t wanted_skew(std::span<const Bytes> pieces, std::uint64_t length)
{
    if (length < skewed_from) return 0;
    return ExtentStore::alignment / 2 + reinterpret_cast<std::uintptr_t>(pieces.front().data()) % cache_line;
}

bool possible(const ExtentRef& extent)
{
    constexpr auto most = static_cast<std::uint64_t>(INT64_MAX) - ExtentStore::alignment;
    return extent.offset % ExtentStore::alignment <= most_skew && extent.offset <= most &&
           extent.length <= most - extent.offset;
}

// What is written in one go: the payloads, each in a reservation of its own, at offsets from where the first
// reservation begins.
struct Together {
    explicit Together(std::span<Payload> payloads)
    {
        static constexpr std::array<std::byte, ExtentStore::alignment + most_skew> padding{};
        for (Payload& payload : payloads) {
            payload.extent = {0, 0, length_of(payload.pieces)};
            if (payload.extent.length == 0) continue;
            payload.extent.offset = aligned(length) + wanted_skew(payload.pieces, payload.extent.length);
            if (payload.extent.offset > length)
                pieces.push_back(Bytes(padding).first(payload.extent.offset - length));
            pieces.insert(pieces.end(), payload.pieces.begin(), payload.pieces.end());
            length = payload.extent.offset + payload.extent.length;
        }
    }
    std::vector<Bytes> pieces;
    std::uint64_t length = 0;
};

// File systems whose count of blocks is zero only when nothing was ever written
// or all was punched. Others store a run of zero bytes without a block, and
// there no file may be removed for having none.
bool counts_every_block(int fd)
{
    struct statfs status {};
    if (fstatfs(fd, &status) != 0) return false;
    switch (static_cast<unsigned long>(status.f_type)) {
    case EXT4_SUPER_MAGIC: // ext2 and ext3 too
    case XFS_SUPER_MAGIC:
    case TMPFS_MAGIC: return true;
    default: return false;
    }
}

} // namespace

ExtentStore::Appended::Appended(std::uint64_t its_number, Descriptor locked, const RootedPath& path)
    : number(its_number), fd(std::move(locked)), begin(aligned(size_of(fd.get(), path))), end(begin)
{
    close_in_children(fd.get());
}

ExtentStore::Appended::~Appended()
{
    // Cutting a file makes the system drop the memory around the cut, as one that is on the medium.
    if (reach > end && !sync_failed) (void)!ftruncate(fd.get(), static_cast<off_t>(end));
    forget_in_children(fd.get());
}

// In large steps: one for many extents.
bool ExtentStore::Appended::reach_end()
{
    constexpr std::uint64_t step = std::uint64_t{16} << 20; // bytes
    if (end <= reach) return true;
    std::uint64_t wanted = end + step;
    rlimit most{}; // beyond which the system would end the process
    if (getrlimit(RLIMIT_FSIZE, &most) != 0) return false;
    if (most.rlim_cur != RLIM_INFINITY) wanted = std::min<std::uint64_t>(wanted, most.rlim_cur);
    if (wanted < end || ftruncate(fd.get(), static_cast<off_t>(wanted)) != 0) return false;
    reach = wanted;
    return true;
}

RootedPath ExtentStore::path_of(std::uint64_t number) const
{
    char name[24];
    std::snprintf(name, sizeof name, "%016llx.ext", static_cast<unsigned long long>(number));
    return target_.directory / name;
}

std::vector<std::uint64_t> ExtentStore::numbers() const
{
    std::vector<std::uint64_t> found;
    for (const std::string& name : names_in(target_.directory)) {
        if (name.size() != 16 + suffix.size() || !name.ends_with(suffix)) continue;
        if (name.find_first_not_of("0123456789abcdef") != 16) continue;
        found.push_back(std::stoull(name.substr(0, 16), nullptr, 16));
    }
    return found;
}

// ---- appending

ExtentRef ExtentStore::append(std::span<Payload> payloads)
{
    const Together all(payloads);
    const std::uint64_t length = all.length;
    if (length == 0) return {};
    std::uint64_t offset = 0;
    target_.reservations.begin();
    const std::shared_ptr<Appended> file = reserve(length, offset);
    Descriptor own; // a failure is told to each descriptor once: not just to another thread's sync
    if (target_.durability == Durability::power) own = open_file(path_of(file->number), O_RDWR);
    if (target_.durability == Durability::power && !own)
        fail_errno(target_.where, "cannot open " + path_of(file->number));
    const int fd = own ? own.get() : file->fd.get();
    const auto write = [&] {
        const std::shared_lock lock(writing_);
        return write_all(fd, all.pieces, offset);
    };
    int error = write();
    if (error == ENOSPC && drop_spares()) error = write();
    if (error == 0 && own && fdatasync(fd) != 0) error = errno;
    if (error != 0) {
        const RootedPath path = path_of(file->number);
        // The bytes that did arrive would only make the lack of space worse.
        if (!failed_syncs().open()) punch_hole(fd, offset, aligned(length));
        target_.reservations.forget({file->number, offset, aligned(length)});
        fail(error, target_.where, "cannot append " + std::to_string(length) + " bytes to " + path);
    }
    if (target_.durability == Durability::process) {
        const std::lock_guard lock(append_guard_);
        unsynced_.insert(file); // once it is written: a sync that is under way may have missed it
    }
    for (Payload& payload : payloads) {
        if (payload.extent.length == 0) continue;
        payload.extent.file = file->number;
        payload.extent.offset += offset;
    }
    return {file->number, offset, length};
}

std::shared_ptr<ExtentStore::Appended> ExtentStore::reserve(std::uint64_t length, std::uint64_t& offset)
{
    std::lock_guard lock(append_guard_);
    const auto spare = std::ranges::find(spares_, aligned(length), &Spare::length);
    if (spare != spares_.end()) {
        const std::shared_ptr<Appended> file = spare->file;
        offset = spare->offset;
        spare_bytes_ -= spare->length;
        spares_.erase(spare);
        return file;
    }
    // The full file stays ours until the next one is full too. Extents at its end may not be in the index
    // yet. A repair of another process frees what nothing refers to, in files that no process holds.
    if (appended_ && appended_->end >= rotate_at) full_ = std::move(appended_);
    if (!appended_) appended_ = take_over();
    if (!appended_) appended_ = make_file();
    offset = appended_->end;
    appended_->end = aligned(offset + length);
    if (appended_->reach_end())
        target_.reservations.note(target_.number, {appended_->number, offset, aligned(length)});
    return appended_;
}

// A file that nobody appends to and that has space left, or none.
std::shared_ptr<ExtentStore::Appended> ExtentStore::take_over()
{
    for (const std::uint64_t number : numbers()) {
        const RootedPath path = path_of(number);
        Descriptor fd = open_file(path, O_RDWR);
        if (!fd) continue; // removed meanwhile, or another user's: a new file is as good
        if (size_of(fd.get(), path) >= rotate_at || !try_lock(fd.get(), Lock::exclusive, path)) continue;
        if (unlinked(fd.get(), path)) continue;
        auto file = std::make_shared<Appended>(number, std::move(fd), path);
        if (file->end >= rotate_at) continue; // its last holder may have gone on until it lost the lock
        // Its maker may have died before it synced the name.
        if (target_.durability == Durability::power) sync_directory(target_.directory);
        new_name_ = true;
        return file;
    }
    return nullptr;
}

std::shared_ptr<ExtentStore::Appended> ExtentStore::make_file()
{
    for (;;) {
        const std::uint64_t number = new_file_number_();
        const RootedPath path = path_of(number);
        Descriptor fd = open_file(path, O_RDWR | O_CREAT | O_EXCL);
        if (!fd && errno == EEXIST) continue;
        if (!fd)
            fail_errno(target_.where, "cannot make the extent file " + path + owner_of(target_.directory));
        // Between its making and its locking the file can be taken over, or found
        // empty and removed: then it is theirs.
        if (!try_lock(fd.get(), Lock::exclusive, path) || unlinked(fd.get(), path)) continue;
        auto file = std::make_shared<Appended>(number, std::move(fd), path);
        if (target_.durability == Durability::power) sync_directory(target_.directory);
        new_name_ = true;
        return file;
    }
}

bool ExtentStore::appending_to(std::uint64_t number)
{
    std::lock_guard lock(append_guard_);
    return (appended_ && appended_->number == number) || (full_ && full_->number == number);
}

// ---- reading

std::shared_ptr<Descriptor> ExtentStore::cached(std::uint64_t number)
{
    {
        std::lock_guard lock(cache_guard_);
        if (const auto found = std::ranges::find(recent_, number, &Recent::first); found != recent_.end()) {
            recent_.splice(recent_.begin(), recent_, found);
            return found->second;
        }
    }
    const RootedPath path = path_of(number);
    auto fd = std::make_shared<Descriptor>(open_file(path, read_only_ ? O_RDONLY : O_RDWR));
    if (!*fd && !read_only_ && errno == EACCES) *fd = open_file(path, O_RDONLY);
    if (!*fd && errno == ENOENT)
        throw Error(-DER_CSUM, target_.where + ": the extent file " + path +
                                   " is missing, and its data are lost: put the file back from a copy");
    if (!*fd) fail_errno(target_.where, "cannot open the extent file " + path + owner_of(path));
    std::lock_guard lock(cache_guard_);
    recent_.emplace_front(number, fd);
    if (recent_.size() > cached_files) recent_.pop_back();
    return fd;
}

void ExtentStore::read(const ExtentRef& extent, std::uint64_t skip, MutableBytes into)
{
    if (skip > extent.length || into.size() > extent.length - skip) {
        throw Error(-DER_CSUM, target_.where + ": " + std::to_string(into.size()) + " bytes from " +
                                   std::to_string(skip) + " on do not lie in an extent of " +
                                   std::to_string(extent.length) + " bytes");
    }
    if (into.empty()) return;
    if (extent.offset > static_cast<std::uint64_t>(INT64_MAX) - extent.length || extent.length > INT64_MAX)
        throw Error(-DER_CSUM,
                    target_.where + ": a reference to an extent is damaged: no file has such offsets");
    const auto fd = cached(extent.file);
    const std::int64_t got = read_all(fd->get(), into, extent.offset + skip);
    if (got < 0) fail_errno(target_.where, "cannot read " + path_of(extent.file));
    if (static_cast<std::size_t>(got) < into.size()) {
        throw Error(-DER_CSUM, target_.where + ": the extent file " + path_of(extent.file) +
                                   " was cut off: it ends " +
                                   std::to_string(into.size() - static_cast<std::size_t>(got)) +
                                   " bytes before the end of what is stored there");
    }
}

// ---- giving back

void ExtentStore::punch(int fd, std::uint64_t offset, std::uint64_t length, const std::string& path)
{
    // A hole makes the system drop the memory around it, which may be all there is. A check finds the
    // reservation.
    if (failed_syncs().open()) return;
    // A file system without holes keeps the space; all else is the same.
    if (const int error = punch_hole(fd, offset, length); error != 0 && error != EOPNOTSUPP)
        fail(error, target_.where, "cannot free space in " + path);
}

void ExtentStore::leaving(const ExtentRef& extent)
{
    if (extent.length != 0 && possible(extent))
        target_.reservations.leaving(target_.number, reservation_of(extent));
}

void ExtentStore::release(const ExtentRef& extent)
{
    if (extent.length == 0) return;
    const RootedPath path = path_of(extent.file);
    if (!possible(extent)) {
        throw Error(-DER_CSUM, target_.where +
                                   ": a reference to an extent is damaged: nothing begins at byte " +
                                   std::to_string(extent.offset) + " of " + path);
    }
    const ExtentRef reservation = reservation_of(extent);
    target_.reservations.begin();
    target_.reservations.note(target_.number, reservation);
    if (keep(reservation)) return;
    punch_reservation(reservation);
}

void ExtentStore::punch_reservation(const ExtentRef& reservation)
{
    const RootedPath path = path_of(reservation.file);
    if (exists(path)) { // else all of it was released before
        const auto fd = cached(reservation.file);
        punch(fd->get(), reservation.offset, reservation.length, path);
        if (allocated_of(fd->get(), path) == 0) remove_if_empty(reservation.file);
    }
    target_.reservations.forget(reservation);
}

void ExtentStore::punch_left(const ExtentRef& reservation)
{
    const RootedPath path = path_of(reservation.file);
    if (reservation_of(reservation) != reservation ||
        reservation.offset > static_cast<std::uint64_t>(INT64_MAX) - reservation.length || !exists(path))
        return;
    const auto fd = cached(reservation.file);
    const std::uint64_t end = std::min(reservation.offset + reservation.length, size_of(fd->get(), path));
    if (reservation.offset < end) punch(fd->get(), reservation.offset, reservation.length, path);
    if (allocated_of(fd->get(), path) == 0) remove_if_empty(reservation.file);
}

void ExtentStore::drop(const Spare& spare)
{
    punch(spare.file->fd.get(), spare.offset, spare.length, path_of(spare.file->number));
    target_.reservations.forget({spare.file->number, spare.offset, spare.length});
}

// False: there was none to drop.
bool ExtentStore::drop_spares() noexcept
{
    std::vector<Spare> all;
    {
        const std::lock_guard lock(append_guard_);
        all.swap(spares_);
        spare_bytes_ = 0;
    }
    for (const Spare& spare : all) {
        try {
            drop(spare);
        } catch (const Error&) { // it stays noted, or a check finds it
        }
    }
    return !all.empty();
}

// True when the reservation was kept for the next extents (or is kept already).
bool ExtentStore::keep(const ExtentRef& reservation)
{
    std::lock_guard lock(append_guard_);
    for (const Spare& spare : spares_)
        if (spare.file->number == reservation.file && spare.offset == reservation.offset) return true;
    if (!appended_ || appended_->number != reservation.file ||
        reservation.offset + reservation.length > appended_->end)
        return false;
    if (reservation.offset < appended_->begin) return false; // a dead process may have noted it
    if (reservation.length > max_spare) return false;
    // The oldest make room: a program that turns to another size would find the place full of sizes it asks
    // for no more.
    while (spare_bytes_ + reservation.length > max_spare) {
        const Spare oldest = spares_.front();
        spares_.erase(spares_.begin());
        spare_bytes_ -= oldest.length;
        drop(oldest);
    }
    spares_.push_back({appended_, reservation.offset, reservation.length});
    spare_bytes_ += reservation.length;
    return true;
}

std::uint64_t ExtentStore::spare_in(std::uint64_t number)
{
    std::lock_guard lock(append_guard_);
    std::uint64_t bytes = 0;
    for (const Spare& spare : spares_)
        if (spare.file->number == number) bytes += spare.length;
    return bytes;
}

void ExtentStore::remove_if_empty(std::uint64_t number)
{
    if (appending_to(number)) return;
    const RootedPath path = path_of(number);
    const Descriptor fd = open_file(path, O_RDWR);
    if (!fd || !counts_every_block(fd.get())) return;
    if (!try_lock(fd.get(), Lock::exclusive, path)) return; // somebody appends to it
    if (allocated_of(fd.get(), path) != 0 || unlinked(fd.get(), path)) return;
    remove(path);
    std::lock_guard lock(cache_guard_);
    std::erase_if(recent_, [&](const Recent& one) { return one.first == number; });
}

// ---- looking

std::vector<Target::ExtentFile> ExtentStore::files()
{
    std::vector<Target::ExtentFile> all;
    for (const std::uint64_t number : numbers()) {
        const RootedPath path = path_of(number);
        const Descriptor fd = open_file(path, read_only_ ? O_RDONLY : O_RDWR);
        if (!fd && errno == ENOENT) continue; // removed meanwhile
        if (!fd) fail_errno(target_.where, "cannot open the extent file " + path + owner_of(path));
        Target::ExtentFile file{number, size_of(fd.get(), path), allocated_of(fd.get(), path), false};
        file.allocated -= std::min(file.allocated, spare_in(number));
        file.in_use =
            appending_to(number) || !try_lock(fd.get(), read_only_ ? Lock::shared : Lock::exclusive, path);
        all.push_back(file);
    }
    return all;
}

std::uint64_t ExtentStore::allocated()
{
    std::uint64_t bytes = 0;
    for (const std::uint64_t number : numbers()) {
        const Descriptor fd = open_file(path_of(number), O_PATH);
        if (!fd) continue; // removed meanwhile
        const std::uint64_t taken = allocated_of(fd.get(), target_.where);
        bytes += taken - std::min(taken, spare_in(number));
    }
    return bytes;
}

// Not by the count of blocks, which has those of the file system's own records of where the file's pieces
// lie, too.
std::uint64_t ExtentStore::allocated(const ExtentRef& range)
{
    const Descriptor fd = open_file(path_of(range.file), O_RDONLY);
    if (!fd && errno == ENOENT) return 0;
    if (!fd) fail_errno(target_.where, "cannot open the extent file " + path_of(range.file));
    const auto end = static_cast<off_t>(range.offset + range.length);
    std::uint64_t bytes = 0;
    for (auto at = static_cast<off_t>(range.offset); at < end;) {
        const off_t data = lseek(fd.get(), at, SEEK_DATA);
        if (data < 0 && errno == EINVAL) return range.length; // a file system that does not tell
        if (data < 0 || data >= end) break;                   // ENXIO: none up to the file's end
        const off_t hole = lseek(fd.get(), data, SEEK_HOLE);
        at = hole < 0 ? end : std::min(hole, end);
        bytes += static_cast<std::uint64_t>(at - data);
    }
    return bytes;
}

void ExtentStore::begin_sync()
{
    const std::lock_guard lock(append_guard_);
    for (const auto& file : unsynced_)
        sync_file_range(file->fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE); // sync() says what goes wrong
}

void ExtentStore::sync(bool own)
{
    std::set<std::shared_ptr<Appended>> files; // what is appended from now on is for the next sync
    {
        const std::lock_guard lock(append_guard_);
        files.swap(unsynced_);
    }
    const bool new_name = new_name_.exchange(false);
    try {
        FailedSyncs& failed = failed_syncs();
        const std::uint64_t failures = failed.all.load();
        const bool doubt = failed.open();
        if (own) {
            for (const auto& file : files)
                sync_file(file->fd, file->number, true, false);
        } else {
            for (const std::uint64_t number : numbers()) {
                const Descriptor fd = open_file(path_of(number), O_RDONLY);
                const bool ours = appending_to(number) || std::ranges::any_of(files, [&](const auto& file) {
                                      return file->number == number;
                                  });
                if (fd || errno != ENOENT) sync_file(fd, number, ours, doubt);
            }
        }
        if (!own || new_name) sync_names();
        if (!own) failed.mend(failures);
    } catch (...) {
        if (new_name) new_name_ = true;
        const std::lock_guard lock(append_guard_);
        for (const auto& file : files)
            file->sync_failed = true;
        unsynced_.insert(files.begin(), files.end());
        throw;
    }
}

FailedSyncs& ExtentStore::failed_syncs()
{
    return target_.line().extents;
}

// doubt: a sync of another process may have failed. What a process wrote that has ended is written again.
void ExtentStore::sync_file(const Descriptor& fd, std::uint64_t number, bool ours, bool doubt)
{
    const RootedPath path = path_of(number);
    if (!fd) fail_errno(target_.where, "cannot sync " + path);
    bool again = doubt;
    {
        const std::lock_guard lock(append_guard_);
        again = again || lost_.contains(number);
    }
    if (again) {
        const std::lock_guard nobody_of_us_writes(writing_);
        const Descriptor taken = ours ? Descriptor() : open_file(path, O_RDWR);
        const bool alone = ours || (taken && try_lock(taken.get(), Lock::exclusive, path));
        std::atomic<off_t> first{0};
        (void)fdatasync(fd.get()); // which tells of the past
        if (!write_again(path, alone, first))
            fail_errno(target_.where, "cannot write again what a failed sync of " + path + " has left");
    }
    const int error = fdatasync(fd.get()) == 0 ? 0 : errno;
    const std::lock_guard lock(append_guard_);
    if (error == 0) {
        if (again) lost_.erase(number);
        return;
    }
    lost_.insert(number);
    failed_syncs().all.fetch_add(1);
    throw system_error(error, target_.where, "cannot sync " + path);
}

// Not again while no file was made or removed. A change of names stamps a directory with the coarse clock. So
// a stamp that was older than this clock before the look stays only if no name has changed since.
void ExtentStore::sync_names()
{
    const auto nanoseconds = [](const timespec& time) {
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    timespec now{};
    struct stat status {};
    const Descriptor names = open_file(target_.directory, O_PATH);
    if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0 || !names || fstat(names.get(), &status) != 0)
        fail_errno(target_.directory, "cannot read the status of the directory");
    const std::int64_t changed = nanoseconds(status.st_mtim);
    if (changed == names_synced_.load()) return;
    sync_directory(target_.directory);
    if (changed < nanoseconds(now)) names_synced_ = changed;
}

} // namespace stepstore::store::lmdb
