#include "store/lmdb/index/index_space.h"

#include "base/files.h"
#include "base/not_copied.h"
#include "base/warning.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/write_turn.h"

#include <daos_errno.h>

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

struct IndexSpace::Pinned {
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

IndexSpace::Pinned IndexSpace::pinned()
{
    Pinned found;
    found.reader = oldest_reader(map_.env());
    if (found.reader.version == UINT64_MAX) return found; // nobody reads
    const FreeList list(map_.table(), map_.env());
    if (!list || found.reader.version >= list.version()) return found;
    std::uint64_t free = 0;
    list.walk([&](std::uint64_t version, std::span<const std::uint64_t> pages) {
        free += pages.size();
        if (version >= found.reader.version) found.bytes += pages.size() * file_.page_size();
    });
    const std::uint64_t last_page = map_.info().me_last_pgno;
    found.bound = bound_for((last_page + 1 - std::min(free, last_page)) * file_.page_size());
    found.behind = list.version() - found.reader.version;
    return found;
}

void IndexSpace::look_at_readers(std::uint64_t last_page)
{
    if (look_at_page_.load() != 0) free_dead_slots(map_.env()); // else the opening just did
    const Pinned now = pinned();
    // A small bound is looked for in small steps.
    std::uint64_t step = std::max(least_step, last_page * file_.page_size() / 8);
    if (now.bound != 0) step = std::min(step, std::max(now.bound / 16, file_.page_size()));
    look_at_page_.store(last_page + step / file_.page_size());
    if (now.bytes == 0 || now.bytes < now.bound / 4) return;
    if (map_.keeper().is_kept(now.reader.version)) return; // which has a bound of its own
    too_much_pinned_.store(now.bytes >= now.bound);
    static std::atomic<std::uint64_t> told{0}; // the reader that was warned of last
    if (told.exchange(now.reader.process) == now.reader.process) return;
    warn(target_.where + ": the index grows because of a reader: " + now.text() + ". At " +
         mebibytes(now.bound) + " writers wait for it (STEPSTORE_PINNED_LIMIT=MEBIBYTES)");
}

void IndexSpace::wait_for_readers()
{
    LongWait waited(target_.where + ": cannot write");
    for (;;) {
        {
            const LmdbMap::Use use(map_);
            free_dead_slots(map_.env());
            const Pinned now = pinned();
            if (now.bytes < now.bound || now.bound == 0 || map_.keeper().is_kept(now.reader.version)) break;
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
void IndexSpace::tend_keeper(const Meta& newest)
{
    map_.keeper().tend(
        map_.env(), newest.transaction, [&](std::uint64_t version) { return freed_since(version); },
        bound_for(used_pages(newest) * file_.page_size()) / 2);
}

std::uint64_t IndexSpace::freed_since(std::uint64_t version)
{
    const FreeList list(map_.table(), map_.env());
    std::uint64_t bytes = 0;
    if (list)
        list.walk([&](std::uint64_t,
                      std::span<const std::uint64_t> pages) { bytes += pages.size() * file_.page_size(); },
                  version);
    return bytes;
}

// ---- giving back

void IndexSpace::compact()
{
    map_.open_for_writing();
    const std::vector<std::string> damage = reading_.walk(1);
    if (!damage.empty())
        throw Error(-DER_CSUM,
                    target_.where + ": " + target_.directory + "/data.mdb is damaged (" + damage.front() +
                        "), so no space of it is freed; \"stepstore pool check\" says what can be saved");
    sync_.sync_file(); // most of it, with no lock held
    for (std::uint64_t from = 0; punch_free_pages(from, Synced::first);) {
    }
}

// meta: of the version before. The counts of its pages cost nothing. The file is asked only if they leave a
// lot.
void IndexSpace::measure_free_space(const Meta& meta)
{
    look_at_version_.store(meta.transaction + versions_between_looks, std::memory_order_relaxed);
    const std::uint64_t used = used_pages(meta) * file_.page_size();
    const std::uint64_t most = used + std::max(least_free, free_over_used * used);
    if ((meta.last_page + 1) * file_.page_size() > most && file_.bytes() > most) much_free_.store(true);
}

// The caller's update is done. So what goes wrong here is not its failure, and it waits for no other writer.
void IndexSpace::give_back_some() noexcept
try {
    const std::unique_lock alone(giving_back_, std::try_to_lock);
    if (!alone) return; // another thread does it
    bool more = false;
    try {
        if (target_.line().owner.load() != 0) return; // another time
        if (sync_.failed()) return much_free_.store(false);
        std::vector<std::string> damage;
        if (punch_from_ == 0) reading_.read([&](ReadTransaction&) { damage = reading_.walk(1); });
        more = damage.empty() && punch_free_pages(punch_from_, Synced::no);
    } catch (const Error&) { // a later look begins again
    }
    if (more) return;
    punch_from_ = 0;
    much_free_.store(false);
} catch (...) { // no memory, or no lock
}

// From this page on, and for a short time. False: all of them are done.
bool IndexSpace::punch_free_pages(std::uint64_t& from, Synced synced)
{
    const WriteTurn turn(target_.writers, target_.number, target_.where);
    const LmdbMap::OthersWait alone(map_, turn.inherited());
    if (synced == Synced::first) sync_.flush();
    const std::uint64_t oldest = oldest_reader(map_.env()).version;
    const FreeList list(map_.table(), map_.env());
    if (!list) fail(MDB_READERS_FULL, target_.where, "cannot read the list of free pages");
    const std::uint64_t last_page = map_.info().me_last_pgno;
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
        const int error =
            punch_hole(file_.lmdb_fd(), pages[at] * file_.page_size(), (end - at) * file_.page_size());
        if (error == EOPNOTSUPP) return false; // such a file system keeps the space
        if (error != 0) fail(error, target_.where, "cannot free space of the index");
        at = end;
    }
    return false;
}

} // namespace stepstore::store::lmdb
