#include "store/lmdb/pool_state.h"

#include "base/fork.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;
constexpr auto lock_patience = 5s;

// A path may be spelled in many ways; a directory is one.
using Identity = std::pair<dev_t, ino_t>;

// The open pools of this process; guarded by ForkLock::backend. A forked child
// begins with none.
struct OpenPools {
    std::uint64_t generation = process_generation();
    std::map<Identity, std::weak_ptr<PoolState>> pools;
};

OpenPools& open_pools()
{
    static auto* all = new OpenPools; // never destroyed: pools may be closed at the very end
    if (all->generation != process_generation()) {
        all->pools.clear();
        all->generation = process_generation();
    }
    return *all;
}

Identity identity_of(const RootedPath& pool)
{
    struct stat status {};
    if (fstat(pool.root(), &status) != 0)
        fail_errno("pool " + pool, "cannot read the status of the directory");
    return Identity{status.st_dev, status.st_ino};
}

Permissions permissions_of(const RootedPath& pool)
{
    Permissions found{pool};
    const RootedPath meta = pool / meta_name;
    found.lock = can_write(meta / "lock.mdb") || (errno == ENOENT && can_write(meta));
    found.data = can_write(meta) && can_write(meta / "data.mdb");
    if (!found.data) found.error = errno;
    if (found.error == ENOENT) { // damage, which opening says better
        found.data = can_write(pool);
        found.error = found.data ? 0 : errno;
    }
    found.data = found.data && found.lock;
    return found;
}

// None where this process may not write the lock file: then it is only a reader, whom who destroys the pool
// does not wait for.
Descriptor take_lock(const RootedPath& pool)
{
    const RootedPath name = pool / lock_name;
    const auto deadline = std::chrono::steady_clock::now() + lock_patience;
    for (;;) {
        Descriptor fd = open_lock_file(name, false);
        // A copy without it.
        if (!fd && errno == ENOENT && exists(pool / format_name)) fd = open_lock_file(name);
        if (!fd && (errno == EACCES || errno == EPERM || errno == EROFS)) return fd;
        if (!fd && errno != ENOENT) fail_errno("pool " + pool, "cannot open its lock file" + owner_of(name));
        if (fd && try_lock(fd.get(), Lock::shared, name)) {
            if (!unlinked(fd.get(), name)) return fd;
        } else {
            if (std::chrono::steady_clock::now() > deadline)
                throw Error(-DER_BUSY,
                            "pool " + pool + " is being made or destroyed by another process: try again");
            std::this_thread::sleep_for(2ms);
        }
        if (!exists(pool / format_name)) read_format(pool); // says that it is gone
    }
}

RootedPath open_root(const std::string& path)
{
    RootedPath pool = RootedPath::directory(path);
    if (!pool && (errno == ENOENT || errno == ENOTDIR))
        throw Error(-DER_NONEXIST, "there is no pool in " + path + ": create it first, or correct the path");
    if (!pool) fail_errno("pool " + path, "cannot open the directory" + owner_of(path));
    return pool;
}

std::vector<RootedPath> open_directories(const RootedPath& pool, const Format& format)
{
    std::vector<RootedPath> all;
    for (const std::string& path : format.directories) {
        all.push_back(RootedPath::directory(path));
        if (all.back()) continue;
        const Error why =
            error_of(errno, "pool " + pool, "cannot open " + path + ", in which it has targets");
        throw Error(-DER_DF_INVAL, std::string(why.what()) + ": mount that disk, or put the directory back");
    }
    if (all.empty()) all.push_back(pool);
    return all;
}

} // namespace

// ---- finding

std::shared_ptr<PoolState> PoolState::open(const std::string& path)
{
    std::lock_guard lock(held_over_fork(ForkLock::backend));
    auto& all = open_pools();
    const RootedPath pool = open_root(path);
    const Identity identity = identity_of(pool);
    if (const auto found = all.pools.find(identity); found != all.pools.end()) {
        if (auto state = found->second.lock()) return state;
        all.pools.erase(found);
    }
    if (!exists(pool / format_name)) read_format(pool); // says that there is no pool
    const Permissions permissions = permissions_of(pool);
    Descriptor pool_lock = take_lock(pool);
    const Format format = read_format(pool); // now that nobody can destroy it and make another one
    auto state = std::make_shared<PoolState>(pool, format, permissions, std::move(pool_lock));
    state->meta().index(); // without the pool's metadata nothing can be found
    all.pools[identity] = state;
    return state;
}

void PoolState::adopt(const std::shared_ptr<PoolState>& made)
{
    std::lock_guard lock(held_over_fork(ForkLock::backend));
    open_pools().pools[identity_of(made->place_)] = made;
}

void PoolState::close(std::shared_ptr<PoolState> state)
{
    if (!state) return;
    std::lock_guard lock(held_over_fork(ForkLock::backend));
    if (state->generation_ != process_generation()) {
        new std::shared_ptr<PoolState>(std::move(state)); // on purpose for ever: see fork.h
        return;
    }
    state.reset();
}

bool PoolState::forget(const RootedPath& pool, bool& alone)
{
    std::lock_guard lock(held_over_fork(ForkLock::backend));
    auto& all = open_pools();
    const auto found = all.pools.find(identity_of(pool));
    if (found == all.pools.end()) return false;
    const auto state = found->second.lock();
    if (!state) {
        all.pools.erase(found);
        return false;
    }
    alone = !state->lock_ || try_lock(state->lock_.get(), Lock::exclusive, pool);
    if (alone) all.pools.erase(found);
    return true;
}

// ---- the state

PoolState::PoolState(RootedPath pool, const Format& format, Permissions permissions, Descriptor lock)
    : place_(std::move(pool)), format_(format), directories_(open_directories(place_, format)),
      permissions_(std::move(permissions)), generation_(process_generation()), lock_(std::move(lock)),
      machine_(place_), shared_(place_ / shared_name, format.targets, format.durability == Durability::power),
      writers_(place_ / writers_name, format.targets + 1),
      reservations_(
          writers_, format.targets + 1,
          [this](unsigned target, const ExtentRef& reservation) {
              targets_[target].extents().punch_left(reservation);
          },
          [this](unsigned target) { return targets_[target].index(true).newest_version(); })
{
    for (unsigned index = 0; index <= format.targets; ++index) {
        const std::string name =
            index == format.targets ? "pool metadata" : "target " + std::to_string(index);
        targets_.emplace_back(
            TargetParts{files_of(index, "pool " + place_ + ", " + name), permissions_, machine_, shared_});
    }
    if (lock_) close_in_children(lock_.get());
}

PoolState::~PoolState()
{
    if (!lock_) return;
    forget_in_children(lock_.get());
    targets_.clear(); // they give back space
    try {
        if (machine_.needed() && permissions_.data && try_lock(lock_.get(), Lock::exclusive, place_))
            machine_.give_back();
    } catch (const Error&) { // the file system has no locks: others wait until this machine counts as dead
    }
}

void PoolState::claim()
{
    permissions_.require_writable();
    if (!machine_.only_looks()) return;
    machine_.claim();
    for (LmdbTarget& target : targets_)
        target.machine_claimed();
}

TargetFiles PoolState::files_of(unsigned index, std::string where)
{
    const RootedPath directory = index == format_.targets
                                     ? place_ / meta_name
                                     : directories_[index % directories_.size()] / target_name(index);
    return {directory, std::move(where), format_.durability, writers_, reservations_, index};
}

} // namespace stepstore::store::lmdb
