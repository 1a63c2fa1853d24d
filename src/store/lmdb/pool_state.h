// What all who have one pool open in this process share: its targets, the clock, the lock.
// Threads: any. A forked child opens its own. Errors: those of open() below, and -DER_NO_PERM to write.
#pragma once

#include "store/lmdb/sharing/format.h"
#include "store/lmdb/sharing/machine.h"
#include "store/lmdb/sharing/reservations.h"
#include "store/lmdb/sharing/shared_state.h"
#include "store/lmdb/target.h"

#include <deque>
#include <memory>
#include <vector>

namespace stepstore::store::lmdb {

class PoolState {
public:
    // The one of this process and path, opened when there is none yet.
    // DER_NONEXIST, DER_DF_INVAL, DER_DF_INCOMPT, DER_NO_PERM, DER_BUSY (being
    // made or destroyed for longer than five seconds, or written by another machine).
    static std::shared_ptr<PoolState> open(const std::string& path);
    // That of a pool which this process has just made and published.
    static void adopt(const std::shared_ptr<PoolState>& made);
    // Gives up a share; the last one closes. One of a parent process is left
    // alone.
    static void close(std::shared_ptr<PoolState> state);
    // Makes the one of this process, if any, stop being found; `alone` says
    // whether no other process has it open.
    static bool forget(const RootedPath& pool, bool& alone);

    // Its lock is exclusive while it is made: then others may open it.
    void share_lock() { try_lock(lock_.get(), Lock::shared, place_); }

    PoolState(RootedPath pool, const Format& format, Permissions permissions, Descriptor lock);
    ~PoolState();

    const RootedPath& place() const { return place_; }
    const std::string& path() const { return place_; }
    const Format& format() const { return format_; }
    const Permissions& permissions() const { return permissions_; }
    SharedState& shared() { return shared_; }
    LmdbTarget& target(unsigned index) { return targets_[index]; } // format().targets: the pool's metadata
    LmdbTarget& meta() { return targets_.back(); }
    void claim();                                            // DER_NO_PERM, DER_BUSY
    TargetFiles files_of(unsigned index, std::string where); // index: as in target()
    std::uint64_t generation() const { return generation_; }

private:
    const RootedPath place_;
    const Format format_;
    const std::vector<RootedPath> directories_; // of the targets, in turn
    const Permissions permissions_;
    const std::uint64_t generation_;
    // A shared lock on the pool's lock file; none: this process may not write it, and only reads.
    Descriptor lock_;
    MachineClaim machine_;
    SharedState shared_;
    WritersFile writers_;
    Reservations reservations_;
    std::deque<LmdbTarget> targets_; // the pool's metadata last
};

// The lock file of a pool: a shared lock by those who have it open, an
// exclusive one by who makes or destroys it.
inline constexpr std::string_view lock_text = "stepstore pool lock\n";

} // namespace stepstore::store::lmdb
