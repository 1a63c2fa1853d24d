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
#include "base/not_copied.h"
#include "base/warning.h"
#include "store/lmdb/index/environment_use.h"
#include "store/lmdb/sharing/errors.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t least_bound = std::uint64_t{256} << 20; // bytes that an old reader may pin
constexpr std::uint64_t bound_over_used = 4;                    // or so many times what is in use
constexpr std::uint64_t least_step = std::uint64_t{16} << 20;   // bytes of growth between two looks
constexpr std::uint64_t least_free = std::uint64_t{64} << 20;   // bytes that an index keeps free
constexpr std::uint64_t free_over_used = 2;                     // or so many times what is in use
constexpr std::uint64_t versions_between_looks = 500;           // at the free space
constexpr auto reader_nap = 10ms;
constexpr auto lock_time = 20ms; // that compact() keeps writers waiting at once

struct OldestReader {
    std::uint64_t version = UINT64_MAX;
    std::uint64_t process = 0;
};

// A line of mdb_reader_list(): process, thread, version; the last is "-" for one that is not reading.
int note_reader(const char* line, void* context)
{
    auto& oldest = *static_cast<OldestReader*>(context);
    unsigned long long process = 0;
    unsigned long long thread = 0;
    unsigned long long version = 0;
    // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion): LMDB prints numbers of this size
    if (std::sscanf(line, "%llu %llx %llu", &process, &thread, &version) != 3 || version >= oldest.version)
        return 0;
    oldest = {version, process};
    return 0;
}

OldestReader oldest_reader(MDB_env* env)
{
    OldestReader oldest;
    mdb_reader_list(env, note_reader, &oldest);
    return oldest;
}

// A transaction that reads the newest version, for LMDB's own list of free pages.
class FreeList : NotCopied {
public:
    FreeList(ReaderTable& table, MDB_env* env)
    {
        if (table.begin(env, &transaction_) != 0) transaction_ = nullptr;
    }
    ~FreeList()
    {
        if (transaction_ != nullptr) mdb_txn_abort(transaction_);
    }

    explicit operator bool() const { return transaction_ != nullptr; }
    std::uint64_t version() const { return mdb_txn_id(transaction_); }
    // Calls each(version that freed them, page numbers), from a version on.
    template <class Each>
    void walk(Each each, std::uint64_t from = 0) const
    {
        constexpr MDB_dbi free_pages = 0;
        MDB_cursor* cursor = nullptr;
        if (mdb_cursor_open(transaction_, free_pages, &cursor) != 0) return;
        MDB_val key{sizeof from, &from};
        MDB_val value;
        for (MDB_cursor_op move = MDB_SET_RANGE; mdb_cursor_get(cursor, &key, &value, move) == 0;
             move = MDB_NEXT) {
            if (key.mv_size != sizeof(std::uint64_t) || value.mv_size < sizeof(std::uint64_t)) break;
            std::uint64_t version = 0;
            std::memcpy(&version, key.mv_data, sizeof version);
            const auto* words = static_cast<const std::uint64_t*>(value.mv_data);
            each(version,
                 std::span(words + 1, std::min(words[0], value.mv_size / sizeof(std::uint64_t) - 1)));
        }
        mdb_cursor_close(cursor);
    }

private:
    MDB_txn* transaction_ = nullptr;
};

std::uint64_t used_pages(const Meta& meta)
{
    std::uint64_t used = 2;
    for (const Meta::Database* tree : {&meta.free_pages, &meta.content})
        used += tree->branches + tree->leaves + tree->overflows;
    return used;
}

std::uint64_t bound_for(std::uint64_t used)
{
    if (const char* given = std::getenv("STEPSTORE_PINNED_LIMIT")) {
        char* end = nullptr;
        const unsigned long long mebibytes = std::strtoull(given, &end, 10);
        if (end != given && mebibytes != 0) return std::uint64_t{mebibytes} << 20;
    }
    return std::max(least_bound, bound_over_used * used);
}

std::string mebibytes(std::uint64_t bytes)
{
    return std::to_string(bytes >> 20) + " MiB";
}

} // namespace

// ---- old readers

struct Environment::Pinned {
    std::uint64_t bytes = 0; // free but for the oldest reader
    std::uint64_t bound = 0;
    OldestReader reader;
    std::uint64_t behind = 0; // versions, that it is

    std::string text() const
    {
        return text_of_process(reader.process, this_process().host) + ", has been reading since " +
               std::to_string(behind) + " updates ago and keeps " + mebibytes(bytes) + " of the index in use";
    }
};

Environment::Pinned Environment::pinned()
{
    Pinned found;
    found.reader = oldest_reader(env_);
    const FreeList list(table_, env_);
    if (!list || found.reader.version >= list.version()) return found;
    std::uint64_t free = 0;
    list.walk([&](std::uint64_t version, std::span<const std::uint64_t> pages) {
        free += pages.size();
        if (version >= found.reader.version) found.bytes += pages.size() * page_size_;
    });
    const std::uint64_t last_page = info().me_last_pgno;
    found.bound = bound_for((last_page + 1 - std::min(free, last_page)) * page_size_);
    found.behind = list.version() - found.reader.version;
    return found;
}

void Environment::look_at_readers(std::uint64_t last_page)
{
    free_dead_slots();
    const Pinned now = pinned();
    // A small bound is looked for in small steps.
    std::uint64_t step = std::max(least_step, last_page * page_size_ / 8);
    if (now.bound != 0) step = std::min(step, std::max(now.bound / 16, page_size_));
    look_at_page_.store(last_page + step / page_size_);
    if (now.bytes == 0 || now.bytes < now.bound / 4) return;
    if (keeper_.is_kept(now.reader.version)) return; // which has a bound of its own
    too_much_pinned_.store(now.bytes >= now.bound);
    static std::atomic<std::uint64_t> told{0}; // the reader that was warned of last
    if (told.exchange(now.reader.process) == now.reader.process) return;
    warn(where_ + ": the index grows because of a reader: " + now.text() + ". At " + mebibytes(now.bound) +
         " writers wait for it (STEPSTORE_PINNED_LIMIT=MEBIBYTES)");
}

void Environment::wait_for_readers()
{
    LongWait waited(where_ + ": cannot write");
    for (;;) {
        {
            const MapUse use(*this);
            free_dead_slots();
            const Pinned now = pinned();
            if (now.bytes < now.bound || now.bound == 0 || keeper_.is_kept(now.reader.version)) break;
            waited.look([&] {
                return now.text() + ", the most that is allowed. Let it go on (kill -CONT " +
                       std::to_string(now.reader.process) + ") or end it";
            });
        }
        std::this_thread::sleep_for(reader_nap);
    }
    too_much_pinned_.store(false);
}

// ---- the version that is kept for readers without a slot

// With LMDB's lock on writers held. The bound of what is kept is half of that of other readers.
void Environment::tend_keeper(const Meta& newest)
{
    keeper_.tend(
        env_, newest.transaction, [&](std::uint64_t version) { return freed_since(version); },
        bound_for(used_pages(newest) * page_size_) / 2);
}

std::uint64_t Environment::freed_since(std::uint64_t version)
{
    const FreeList list(table_, env_);
    std::uint64_t bytes = 0;
    if (list)
        list.walk(
            [&](std::uint64_t, std::span<const std::uint64_t> pages) { bytes += pages.size() * page_size_; },
            version);
    return bytes;
}

// ---- giving back

void Environment::compact()
{
    open_for_writing();
    const std::vector<std::string> damage = walk(1);
    if (!damage.empty())
        throw Error(-DER_CSUM,
                    where_ + ": " + directory_ + "/data.mdb is damaged (" + damage.front() +
                        "), so no space of it is freed; \"stepstore pool check\" says what can be saved");
    sync_file(); // most of it, with no lock held
    for (std::uint64_t from = 0; punch_free_pages(from, Synced::first);) {
    }
}

// meta: of the version before. The counts of its pages cost nothing. The file is asked only if they leave a
// lot.
void Environment::look_at_free_space(const Meta& meta)
{
    if (meta.transaction < look_at_version_.load(std::memory_order_relaxed)) [[likely]]
        return;
    look_at_version_.store(meta.transaction + versions_between_looks, std::memory_order_relaxed);
    const std::uint64_t used = used_pages(meta) * page_size_;
    const std::uint64_t most = used + std::max(least_free, free_over_used * used);
    if ((meta.last_page + 1) * page_size_ > most && bytes() > most) much_free_.store(true);
}

// The caller's update is done. So what goes wrong here is not its failure, and it waits for no other writer.
void Environment::give_back_some() noexcept
try {
    const std::unique_lock alone(giving_back_, std::try_to_lock);
    if (!alone) return; // another thread does it
    bool more = false;
    try {
        if (line().owner.load() != 0) return; // another time
        if (sync_failed(line())) return much_free_.store(false);
        std::vector<std::string> damage;
        if (punch_from_ == 0) read([&](ReadTransaction&) { damage = walk(1); });
        more = damage.empty() && punch_free_pages(punch_from_, Synced::no);
    } catch (const Error&) { // a later look begins again
    }
    if (more) return;
    punch_from_ = 0;
    much_free_.store(false);
} catch (...) { // no memory, or no lock
}

// From this page on, and for a short time. False: all of them are done.
bool Environment::punch_free_pages(std::uint64_t& from, Synced synced)
{
    const WriteTurn turn(pool_.writers, target_, where_);
    std::optional<MapUse> use;
    std::optional<Transaction> transaction; // never commits
    begin_alone(use, transaction, turn.inherited());
    if (synced == Synced::first && fdatasync(file_.get()) != 0) note_failed_sync();
    const std::uint64_t oldest = oldest_reader(env_).version;
    const FreeList list(table_, env_);
    if (!list) fail(MDB_READERS_FULL, where_, "cannot read the list of free pages");
    const std::uint64_t last_page = info().me_last_pgno;
    std::vector<std::uint64_t> pages;
    list.walk([&](std::uint64_t version, std::span<const std::uint64_t> freed) {
        if (version >= std::min(oldest, list.version())) return;
        std::ranges::copy_if(freed, std::back_inserter(pages), [&](std::uint64_t page) {
            return page >= from && page > 1 && page <= last_page;
        });
    });
    std::ranges::sort(pages);
    const auto deadline = std::chrono::steady_clock::now() + lock_time;
    for (std::size_t at = 0; at < pages.size();) {
        std::size_t end = at + 1;
        while (end < pages.size() && pages[end] == pages[end - 1] + 1)
            ++end;
        if (std::chrono::steady_clock::now() > deadline) {
            from = pages[at];
            return true;
        }
        const int error = punch_hole(fd_, pages[at] * page_size_, (end - at) * page_size_);
        if (error == EOPNOTSUPP) return false; // such a file system keeps the space
        if (error != 0) fail(error, where_, "cannot free space of the index");
        at = end;
    }
    return false;
}

} // namespace stepstore::store::lmdb
