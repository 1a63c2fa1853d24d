#include "store/lmdb/sharing/version_keeper.h"

#include "base/clock.h"
#include "base/fork.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace stepstore::store::lmdb {

namespace {

constexpr std::size_t table_length = 256 << 10; // bytes that are mapped of lock.mdb; the table takes 64 KiB
constexpr std::uint64_t not_reading = UINT64_MAX;
constexpr std::int64_t linger = 100;        // ms without a reader, after which a keep is over
constexpr std::int64_t retry = 1000;        // ms after a keep that could not begin
constexpr std::uint64_t first_measure = 16; // versions
constexpr unsigned looks_per_name = 16;     // looks at the locks between two at the names

std::int64_t now()
{
    return static_cast<std::int64_t>(nanoseconds(CLOCK_MONOTONIC_COARSE) / 1'000'000);
}

std::atomic_ref<std::uint64_t> version_in(std::byte* slot)
{
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(slot));
}

std::uint32_t process_in(std::byte* slot)
{
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot + 8)).load();
}

} // namespace

VersionKeeper::~VersionKeeper()
{
    if (table_ != nullptr) munmap(table_, table_length);
}

void VersionKeeper::prepare(int lock_file)
{
    const std::lock_guard lock(guard_);
    low_.reset();
    number_ = {};
    reserve();
    if (table_ != nullptr) munmap(std::exchange(table_, nullptr), table_length);
    struct stat status {};
    if (lock_file < 0 || fstat(lock_file, &status) != 0) return;
    void* map = mmap(nullptr, table_length, PROT_READ | PROT_WRITE, MAP_SHARED, lock_file, 0);
    if (map == MAP_FAILED) return;
    table_ = static_cast<std::byte*>(map);
    table_device_ = status.st_dev;
    table_inode_ = status.st_ino;
}

// Puts a descriptor that stands for nothing at the number, in place of `kept` where that is open.
bool VersionKeeper::reserve()
{
    if (number_) return dup3(data_, number_.get(), O_CLOEXEC) >= 0;
    number_ = Descriptor(fcntl(data_, F_DUPFD_CLOEXEC, 0));
    return static_cast<bool>(number_);
}

// ---- looking

void VersionKeeper::look()
{
    if (announced(data_)) return due_.store(true, std::memory_order_relaxed);
    // One that keeps and writes no more is ended by others.
    if (looks_.fetch_add(1, std::memory_order_relaxed) % looks_per_name != 0) return;
    if (exists(directory_ / kept_name) || exists(directory_ / kept_void_name))
        due_.store(true, std::memory_order_relaxed);
}

bool VersionKeeper::is_kept(std::uint64_t version)
{
    const std::lock_guard lock(guard_);
    if (version == stuck_version_) return false;
    const bool own = own_ && own_->said.version == version && own_in_force();
    if (!own) {
        if (own_ && own_in_force()) return false; // the file is its own: see KeptFile::open
        const KeptFile file = KeptFile::open(directory_ / kept_name, data_);
        if (!file.living() || file.said().version != version) return false;
    }
    measure_at_ = 0;
    due_.store(true, std::memory_order_relaxed);
    return true;
}

// ---- tending

void VersionKeeper::tend(MDB_env* env, std::uint64_t newest,
                         FunctionRef<std::uint64_t(std::uint64_t)> freed_since, std::uint64_t bound) noexcept
try {
    const std::lock_guard lock(guard_);
    env_ = env;
    due_.store(false, std::memory_order_relaxed);
    const bool wanted = announced(data_);
    if (wanted) wanted_ = now();
    if (own_ && !own_in_force()) end_own(); // revoked
    finish_revocation(newest);
    const RootedPath name = directory_ / kept_name;
    if (own_) {
        if (!over(own_->said.version, newest, freed_since, bound)) return;
        end_own();
        remove(name);
    } else if (exists(name)) {
        const KeptFile file = KeptFile::open(name, data_);
        if (file.living()) {
            if (!over(file.said().version, newest, freed_since, bound)) return;
            if (!revoke(file, newest)) {
                stuck_version_ = file.said().version;
                return;
            }
        } else if (remove(name) != 0) {
            return;
        }
    }
    if (wanted && now() - failed_ >= retry) start(newest);
} catch (...) { // no memory, or the directory has gone: the write itself will tell
}

bool VersionKeeper::over(std::uint64_t version, std::uint64_t newest,
                         FunctionRef<std::uint64_t(std::uint64_t)> freed_since, std::uint64_t bound)
{
    const Clock time = now();
    if (version != seen_version_) {
        seen_version_ = version;
        seen_ = time;
        measure_at_ = version + first_measure;
    }
    if (time - seen_ > linger && time - wanted_ > linger) return true;
    if (newest < measure_at_ || newest <= version) return false;
    const std::uint64_t freed = freed_since(version);
    if (freed >= bound) return true;
    // To measure takes time for each version. So it is done again when a quarter of what is left may be used
    // up.
    const std::uint64_t versions = newest - version;
    const double left =
        static_cast<double>(bound - freed) / static_cast<double>(std::max<std::uint64_t>(freed, 1));
    const double pause = std::min(left / 4, 1.0) * static_cast<double>(versions);
    measure_at_ = newest + std::max<std::uint64_t>(1, static_cast<std::uint64_t>(pause));
    return false;
}

// ---- keeping

void VersionKeeper::start(std::uint64_t newest)
{
    failed_ = now();
    if (!number_ || used_slots() == 0 || !number_is_low()) return;
    try {
        if (publish(newest)) {
            failed_ = 0;
            return;
        }
    } catch (const std::bad_alloc&) {
    }
    end_own();
    remove(directory_ / kept_new_name);
}

// False: the half of it that was done is to be taken back.
bool VersionKeeper::publish(std::uint64_t newest)
{
    const RootedPath making = directory_ / kept_new_name;
    remove(making);
    {
        const Descriptor made = open_file(making, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (!made || dup3(made.get(), number_.get(), O_CLOEXEC) < 0) return false;
    } // closed before it is locked: closing it would drop the lock
    own_.emplace();
    struct stat index {};
    if (!take_for_writing(number_.get()) || fstat(data_, &index) != 0) return false;
    if (readers_.begin(env_, &own_->transaction) != 0) {
        own_->transaction = nullptr;
        return false;
    }
    const auto slot = find_slot(own_->transaction, newest);
    if (!slot) return false;
    own_->said = {newest, index.st_ino, static_cast<std::uint64_t>(getpid()), *slot};
    const auto bytes = own_->said.encoded();
    if (write_all(number_.get(), {bytes}, 0) != 0) return false;
    // Where that fails its group reads nothing.
    (void)!fchown(number_.get(), static_cast<uid_t>(-1), index.st_gid);
    if (fchmod(number_.get(), 0600 | (index.st_mode & 0444)) != 0) return false;
    return rename_file(making, directory_ / kept_name) == 0;
}

void VersionKeeper::end()
{
    const std::lock_guard lock(guard_);
    end_own(); // what is left of the file is removed by the next writer
}

void VersionKeeper::end_own()
{
    if (!own_) return;
    if (!reserve()) number_ = {}; // either way the lock goes first
    if (own_->transaction != nullptr) mdb_txn_abort(own_->transaction);
    own_.reset();
}

// ---- what another one keeps

// False: it goes on.
bool VersionKeeper::revoke(const KeptFile& file, std::uint64_t newest)
{
    if (newest <= file.said().version || used_slots() == 0) return false;
    if (exists(directory_ / kept_void_name)) return false; // one at a time
    if (rename_file(directory_ / kept_name, directory_ / kept_void_name) != 0) return false;
    return clear_slot(file, newest);
}

void VersionKeeper::finish_revocation(std::uint64_t newest)
{
    const RootedPath name = directory_ / kept_void_name;
    if (!exists(name)) return;
    const KeptFile file = KeptFile::open(name, data_);
    if (file.living())
        clear_slot(file, newest);
    else
        remove(name);
}

// Of a keep that readers cannot find any more.
bool VersionKeeper::clear_slot(const KeptFile& file, std::uint64_t newest)
{
    const KeptVersion& said = file.said();
    const bool sensible =
        said.slot % ReaderTable::slot_size == 0 && said.slot / ReaderTable::slot_size < used_slots();
    if (newest <= said.version || !sensible) return false;
    std::byte* slot = table_ + said.slot;
    std::uint64_t version = said.version;
    if (process_in(slot) == said.process) version_in(slot).compare_exchange_strong(version, not_reading);
    remove(directory_ / kept_void_name);
    return true;
}

// ---- LMDB's table of readers

// As far as LMDB has used it, with two slots of header before. After that there may be no room on a full disk
// of memory (tmpfs), and after the file's end there is none. Reading there would end the process. 0: what is
// mapped is not the file that LMDB has.
std::uint64_t VersionKeeper::used_slots() const
{
    constexpr std::uint64_t header = 2;
    struct stat status {};
    const RootedPath path = directory_ / "lock.mdb";
    if (table_ == nullptr || fstatat(path.root(), path.below().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (status.st_dev != table_device_ || status.st_ino != table_inode_) return 0;
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    const auto in_file = std::min<std::uint64_t>(static_cast<std::uint64_t>(status.st_size), table_length) /
                         ReaderTable::slot_size;
    return std::min<std::uint64_t>(info.me_numreaders + header, in_file);
}

bool VersionKeeper::number_is_low()
{
    if (low_) return *low_;
    low_ = true;
    for (int fd = 0; fd < number_.get(); ++fd) {
        // Other threads may open and close theirs meanwhile; LMDB's stays. (A race detector takes fstat for a
        // use of the descriptor, and statx not.)
        struct statx status {};
        if (statx(fd, "", AT_EMPTY_PATH, STATX_INO, &status) == 0 && status.stx_ino == table_inode_)
            low_ = false;
    }
    return *low_;
}

// The slot of this transaction, which reads `version`. Other threads' come and go meanwhile.
std::optional<std::uint64_t> VersionKeeper::find_slot(MDB_txn* transaction, std::uint64_t version)
{
    constexpr int rounds = 5;
    const std::uint64_t slots = used_slots();
    const auto mine = static_cast<std::uint32_t>(getpid());
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::uint64_t> found;
        for (std::uint64_t slot = 0; slot < slots; ++slot) {
            std::byte* at = table_ + slot * ReaderTable::slot_size;
            if (version_in(at).load() == version && process_in(at) == mine)
                found.push_back(slot * ReaderTable::slot_size);
        }
        const auto drop_unless = [&](std::uint64_t expected) {
            std::erase_if(found,
                          [&](std::uint64_t at) { return version_in(table_ + at).load() != expected; });
        };
        mdb_txn_reset(transaction);
        drop_unless(not_reading);
        if (mdb_txn_renew(transaction) != 0 || mdb_txn_id(transaction) != version) return std::nullopt;
        drop_unless(version);
        if (found.size() == 1) return found.front();
    }
    return std::nullopt;
}

} // namespace stepstore::store::lmdb
