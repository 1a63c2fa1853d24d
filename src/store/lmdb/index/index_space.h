// The space of an index: what old readers keep from being used again, and giving back what no process needs.
//
// Old readers. A page that a transaction freed is used again when no reader's version can have it. So with a
// reader that is stopped within a transaction every update takes new pages. A commit that made the file
// longer by a step looks at the readers' table. It counts the freed pages that are kept for the oldest
// reader. From a quarter of the bound on a writer warns, once for each such reader. At the bound writers wait
// until the reader goes on or ends. They warn after five seconds, and give up after the limit, as they do for
// a writer. The reader is never taken out of the table. LMDB and this library hand out memory of the map, so
// a reader that wakes would read other pages before anything could tell it. The version that a writer keeps
// for readers without a slot (kept_version.h) belongs to no reader: it ends at half of the bound, and nobody
// waits.
//
// Giving back. compact() punches free pages out of the file. It holds LMDB's lock on writers and writes
// nothing. A page is free here when the list of the newest version T has it under a key below T and below the
// oldest reader's version.
// 1. These are the pages that LMDB itself would overwrite in a transaction that began now. So no reader needs
//    more from us than from any other writer. Readers in the table do not have the page. Readers without the
//    table must look at the version afterwards in any case.
// 2. LMDB does not read a free page before it is used again: mdb_page_alloc() takes fresh memory for it, and
//    mdb_page_flush() writes it whole (LMDB 0.9.24). The file's length stays, so the map's end does.
// 3. A page that T - 1 freed or an older one is in neither meta page's tree. The file is synced before the
//    first punch, so both trees are on the medium. After a power failure either may be the current one, and
//    no page of it was punched.
// 4. The index is walked first, without the lock: what is damaged is left alone, and LMDB does not read it.
//
// Giving back by itself. A commit looks at the index now and then. If the file takes more than what is in use
// and a bound, this writer and the next ones each give a piece back, after their update is done. This is
// compact() but for the sync. With durability `power` both trees are on the medium after each commit. With
// `process` a power failure may cost what is not synced, also because LMDB overwrites these very pages. So it
// needs no (3). But no failed sync may be open: a hole makes the system drop what it could not write. The
// bound is at least twice what is in use. So the walk before the first piece reads less than what was written
// since the last one.
//
// Any thread may call what has no other remark, without a use of the map. Errors: -DER_TIMEDOUT: an old
// reader was in the way for too long; -DER_CSUM: a damaged index keeps its space; those of the system and of
// a write turn.
#pragma once

#include "base/not_copied.h"
#include "store/lmdb/index/index_sync.h"

#include <atomic>
#include <mutex>

namespace stepstore::store::lmdb {

class IndexSpace : NotCopied {
public:
    IndexSpace(const TargetFiles& target, IndexFile& file, LmdbMap& map, Reading& reading, IndexSync& sync)
        : target_(target), file_(file), map_(map), reading_(reading), sync_(sync)
    {
    }

    void compact(); // gives back the space of pages that no version in use has

    // An update calls these. Before it has the turn:
    void before_update()
    {
        if (too_much_pinned_.load(std::memory_order_relaxed)) [[unlikely]]
            wait_for_readers();
    }
    // With LMDB's lock on writers held and nothing written; newest: the version committed last.
    void before_change(const Meta& newest)
    {
        if (map_.keeper().due()) [[unlikely]]
            tend_keeper(newest);
    }
    // After its commit, with the turn. Of the index's last page, and of the version before it.
    void committed(std::uint64_t last_page)
    {
        if (last_page >= look_at_page_.load(std::memory_order_relaxed)) [[unlikely]]
            look_at_readers(last_page);
    }
    void look_at_free_space(const Meta& before)
    {
        if (before.transaction >= look_at_version_.load(std::memory_order_relaxed)) [[unlikely]]
            measure_free_space(before);
    }
    // Without the turn. What goes wrong is no failure of the update, and it waits for no other writer.
    void after_update() noexcept
    {
        if (much_free_.load(std::memory_order_relaxed)) [[unlikely]]
            give_back_some();
    }

private:
    struct Pinned;
    enum class Synced : std::uint8_t { first, no };
    Pinned pinned();
    void look_at_readers(std::uint64_t last_page);
    void wait_for_readers();
    void tend_keeper(const Meta& newest);
    std::uint64_t freed_since(std::uint64_t version);
    void measure_free_space(const Meta& before);
    void give_back_some() noexcept;
    bool punch_free_pages(std::uint64_t& from, Synced synced);

    const TargetFiles& target_;
    IndexFile& file_;
    LmdbMap& map_;
    Reading& reading_;
    IndexSync& sync_;
    std::atomic<std::uint64_t> look_at_page_{0};    // a commit that ends after it looks at old readers
    std::atomic<bool> too_much_pinned_{false};      // by one of them
    std::atomic<std::uint64_t> look_at_version_{0}; // a commit after it looks at the free space
    std::atomic<bool> much_free_{false};            // so a writer gives a piece of it back
    std::mutex giving_back_;                        // guards punch_from_
    std::uint64_t punch_from_ = 0;                  // the page at which the next piece begins
};

} // namespace stepstore::store::lmdb
