// Syncing an index, and mending what a sync that failed has left.
//
// After a failed sync, pages are in the system's memory that are not on the medium and that no later sync
// writes (write_again.h). Durability `process`: the next sync, of any process, writes them once more and
// looks whether the index is whole. Durability `power`: the pages of a commit that failed are free. The next
// one gives them new content, which would not reach the medium either. So before a commit the pages that
// differ are written once more. A commit that a dead process was in counts as failed. LMDB's own descriptors
// tell an old failure at their next sync, and LMDB takes that for the end if it meets a first page. So each
// process opens the index again after a failure.
//
// Any thread may call what has no other remark, without a use of the map. Errors: those of the system;
// -DER_CSUM: what a failed sync left is lost; those of a write turn.
#pragma once

#include "base/function_ref.h"
#include "base/not_copied.h"
#include "store/lmdb/index/reading.h"

#include <atomic>
#include <sys/types.h>

namespace stepstore::store::lmdb {

class IndexSync : NotCopied {
public:
    IndexSync(const TargetFiles& target, IndexFile& file, LmdbMap& map, Reading& reading)
        : target_(target), file_(file), map_(map), reading_(reading)
    {
    }

    // Everything committed so far survives a power failure. bulk_first: syncs what the index refers to;
    // called before the index is synced, and only when something was committed since this process's last
    // sync. With `own` only this process's commits count.
    void sync(bool own, FunctionRef<void()> bulk_first);
    bool own_unsynced() const { return own_unsynced_.load(std::memory_order_acquire); }
    void sync_file(); // mends first what a failed sync left
    void flush();     // does not mend; its own failure is counted

    // A sync failed, and what it left may still be there, or this process's descriptors may still tell of it.
    bool failed() const;
    // With the turn; afterwards the index is synced. inherited: it was a dead process's.
    void mend(bool inherited);
    // With the turn. What LMDB returns.
    int commit(LmdbMap::Transaction& transaction);

private:
    const TargetFiles& target_;
    IndexFile& file_;
    LmdbMap& map_;
    Reading& reading_;
    std::atomic<std::uint64_t> synced_version_{0}; // this transaction and those before it are on the medium
    std::atomic<bool> own_unsynced_{false};        // this process has committed what it has not synced
    std::atomic<off_t> unwritten_{0};              // see write_again()
};

} // namespace stepstore::store::lmdb
