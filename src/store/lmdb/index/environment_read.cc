// Reading from an index: the pool of read transactions.
#include "store/lmdb/index/environment_use.h"
#include "store/lmdb/sharing/errors.h"

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;

constexpr auto unseen_patience = 30s; // for a version that stays until it was read
constexpr unsigned tries_unannounced = 3;
constexpr auto keeper_patience = 50ms;     // for a writer that keeps a version
constexpr std::uint64_t many_pages = 1000; // a reader that lost so many copied pages copies all at once

std::size_t own_slot() noexcept
{
    static std::atomic<std::size_t> next{0};
    static thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
    return mine;
}

} // namespace

void Environment::read(FunctionRef<void(ReadTransaction&)> body)
{
    const bool read = read_in_slot([&](const Meta& meta) {
        Tree transaction = tree_of(meta);
        body(transaction);
    });
    if (read) [[likely]]
        return;
    read_unseen([&](const Meta& meta, PageCopies& copies) {
        Tree transaction(meta, nullptr, &copies, where_);
        body(transaction);
    });
}

bool Environment::read_in_slot(FunctionRef<void(const Meta&)> body)
{
    if (unseen_) [[unlikely]]
        return false;
    std::optional<MapUse> use(std::in_place, *this);
    Reader* reader = nullptr;
    for (;;) {
        const int result = begin_read(reader);
        if (result == 0 && find_version(reader)) break;
        if (result == MDB_READERS_FULL || result == ENOSPC) return false;
        if (result != 0 && result != MDB_MAP_RESIZED) fail(result, where_, "cannot begin to read");
        use.reset();
        adopt_map();
        use.emplace(*this);
    }
    const auto end = [this](Reader* used) { end_read(used); };
    const std::unique_ptr<Reader, decltype(end)> ending(reader, end);
    body(reader->meta);
    return true;
}

// Finds the meta page of the version that this reader's slot keeps, or of a later one. False, and the reader
// is gone: another process made the map larger.
bool Environment::find_version(Reader* reader)
{
    try {
        while (reader->meta.transaction != mdb_txn_id(reader->transaction) && !find_meta(*reader)) {
            mdb_txn_reset(reader->transaction);
            const int result = mdb_txn_renew(reader->transaction);
            if (result == 0) continue;
            if (result != MDB_MAP_RESIZED) fail(result, where_, "cannot begin to read");
            free_reader(reader);
            return false;
        }
        return true;
    } catch (const Error&) {
        free_reader(reader);
        throw;
    }
}

Tree Environment::tree_of(const Meta& meta)
{
    const std::byte* map = map_.covering((meta.last_page + 1) * page_size_);
    if (map == nullptr) fail_errno(where_, "cannot map the index");
    return {meta, map, nullptr, where_};
}

void Environment::damaged_metas(const std::string& problem) const
{
    throw Error(-DER_CSUM, where_ + ": the first pages of the index are damaged (" + problem +
                               "): \"stepstore pool check\" says what can be saved");
}

// Without the lock on the map: asked for with locks held that a writer takes within its use of the map.
std::uint64_t Environment::newest_version()
{
    return newest_meta(file_.get(), where_).transaction;
}

// The meta page of this version, and the file reaches as far as it says. nullptr, or why it does not stand
// there.
const char* Environment::meta_of(std::uint64_t version, Meta& meta)
{
    const std::byte* map = map_.covering(2 * page_size_);
    if (map == nullptr) fail_errno(where_, "cannot map the index");
    std::array<std::byte, meta_length> page;
    std::memcpy(page.data(), map + (version & 1) * page_size_, page.size());
    if (const char* problem = read_meta(page.data(), meta)) return problem;
    if (meta.transaction != version || meta.page_size != page_size_) return "a version is missing";
    if (meta.last_page > verified_page_.load(std::memory_order_relaxed)) [[unlikely]]
        verify_length(meta);
    return nullptr;
}

// The meta page of the version that this reader's slot keeps. False: a later commit may be overwriting it; it
// begins to only when the other page has the version after this one.
bool Environment::find_meta(Reader& reader)
{
    const std::uint64_t version = mdb_txn_id(reader.transaction);
    Meta meta;
    const char* problem = meta_of(version, meta);
    std::atomic_thread_fence(std::memory_order_acquire);
    const auto other = load_little<std::uint64_t>(
        map_.covering(2 * page_size_) + ((version & 1) ^ 1) * page_size_ + meta_length - sizeof version);
    if (problem == nullptr && other != version + 1) {
        reader.meta = meta;
        return true;
    }
    if (info().me_last_txnid <= version) damaged_metas(problem != nullptr ? problem : "a version is missing");
    return false;
}

// Bodies run again where writers were faster. After a few times the reader announces itself, and waits for a
// writer that keeps a version; it does not rely on one.
void Environment::read_unseen(FunctionRef<void(const Meta&, PageCopies&)> body)
{
    const auto deadline = std::chrono::steady_clock::now() + unseen_patience;
    KeptView kept(directory_, file_.get());
    std::optional<Announcement> announcement;
    IndexMemory memory;
    bool all_at_once = false;
    for (unsigned tries = 0; std::chrono::steady_clock::now() < deadline; ++tries) {
        const Meta meta = newest_meta(file_.get(), where_);
        PageCopies copies(file_.get(), meta, &kept);
        try {
            if (all_at_once) copies.take_all(memory);
            return body(meta, copies);
        } catch (const SnapshotGone&) {
        }
        all_at_once = all_at_once || (announcement && copies.taken() >= many_pages);
        if (tries + 1 < tries_unannounced) continue;
        auto pause_end = std::chrono::steady_clock::now();
        if (!announcement) {
            announcement.emplace(directory_ / "data.mdb");
            pause_end += keeper_patience;
        }
        do {
            if (kept.keeps(UINT64_MAX)) break;
            std::this_thread::sleep_for(500us);
        } while (std::chrono::steady_clock::now() < pause_end);
    }
    throw Error(-DER_TIMEDOUT,
                where_ + ": other processes write faster than this process can read, because " +
                    (unseen_ ? "it may not write the pool's lock files: read less at once, or ask the owner "
                               "for write permission" +
                                   owner_of(directory_)
                             : "no reader slot was free in " + table_.path() +
                                   ", or the disk is full: read in fewer threads at once, or make room"));
}

// What LMDB returns, or ENOSPC: there is no room for a slot.
int Environment::begin_read(Reader*& reader)
{
    reader = nullptr;
    const std::size_t first = own_slot();
    for (std::size_t step = 0; step < pooled_readers && reader == nullptr; ++step) {
        auto& slot = readers_[(first + step) % pooled_readers];
        if (slot.load(std::memory_order_relaxed) != nullptr)
            reader = slot.exchange(nullptr, std::memory_order_acquire);
    }
    if (reader == nullptr) return new_reader(reader);
    const int result = mdb_txn_renew(reader->transaction);
    if (result != 0) free_reader(std::exchange(reader, nullptr));
    return result;
}

int Environment::new_reader(Reader*& reader)
{
    return new_reader(reader, [&](MDB_txn** transaction) { return table_.begin(env_, transaction); });
}

int Environment::new_reader(Reader*& reader, FunctionRef<int(MDB_txn**)> begin)
{
    auto made = std::make_unique<Reader>();
    int result = begin(&made->transaction);
    if (result == MDB_READERS_FULL && free_dead_slots() > 0) result = begin(&made->transaction);
    if (result != 0) return result;
    made->place = own_slot() % pooled_readers;
    reader = made.release();
    return 0;
}

void Environment::end_read(Reader* reader)
{
    mdb_txn_reset(reader->transaction);
    const std::size_t first = reader->place;
    for (std::size_t step = 0; step < pooled_readers; ++step) {
        Reader* free = nullptr;
        auto& slot = readers_[(first + step) % pooled_readers];
        if (slot.compare_exchange_strong(free, reader, std::memory_order_release, std::memory_order_relaxed))
            return;
    }
    free_reader(reader);
}

void Environment::free_reader(Reader* reader)
{
    if (reader == nullptr) return;
    mdb_txn_abort(reader->transaction);
    delete reader;
}

} // namespace stepstore::store::lmdb
