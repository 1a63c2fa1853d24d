// Reading from an index: the pool of read transactions.
#include "store/lmdb/environment_use.h"
#include "store/lmdb/errors.h"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;

constexpr auto reader_patience = 5s; // for a reader slot

std::size_t own_slot() noexcept
{
    static std::atomic<std::size_t> next{0};
    static thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
    return mine;
}

} // namespace

void Environment::read(FunctionRef<void(ReadTransaction&)> body)
{
    std::optional<MapUse> use(std::in_place, *this);
    Reader* reader = nullptr;
    while ((reader = begin_read()) == nullptr) {
        use.reset();
        adopt_map();
        use.emplace(*this);
    }
    struct Ending {
        Environment& env;
        Reader* reader;
        ~Ending() { env.end_read(reader); }
    } ending{*this, reader};
    const std::uint64_t version = mdb_txn_id(reader->transaction);
    if (version != verified_version_.load(std::memory_order_relaxed)) {
        MDB_envinfo info;
        mdb_env_info(env_, &info); // of the newest transaction, which is this one or a later one
        if (info.me_last_pgno > verified_page_.load(std::memory_order_relaxed)) [[unlikely]]
            verify_length();
        verified_version_.store(version, std::memory_order_relaxed);
    }
    LmdbRead transaction(reader->transaction, database_, reader->cursor, where_);
    body(transaction);
}

// nullptr: another process made the map larger.
Environment::Reader* Environment::begin_read()
{
    Reader* reader = nullptr;
    const std::size_t first = own_slot();
    for (std::size_t step = 0; step < pooled_readers && reader == nullptr; ++step) {
        auto& slot = readers_[(first + step) % pooled_readers];
        if (slot.load(std::memory_order_relaxed) != nullptr) reader = slot.exchange(nullptr, std::memory_order_acquire);
    }
    if (reader == nullptr) {
        reader = new_reader();
        if (reader != nullptr) reader->place = first % pooled_readers;
        return reader;
    }
    const int result = mdb_txn_renew(reader->transaction);
    if (result == 0) return reader;
    free_reader(reader);
    if (result == MDB_MAP_RESIZED) return nullptr;
    fail(result, where_, "cannot begin to read");
}

Environment::Reader* Environment::new_reader()
{
    auto reader = std::make_unique<Reader>();
    const auto deadline = std::chrono::steady_clock::now() + reader_patience;
    for (;;) {
        const int result = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader->transaction);
        if (result == 0) return reader.release();
        if (result == MDB_MAP_RESIZED) return nullptr;
        if (result != MDB_READERS_FULL || std::chrono::steady_clock::now() > deadline)
            fail(result, where_, "cannot begin to read");
        int dead = 0;
        mdb_reader_check(env_, &dead); // a process that died in a read left its slot taken
        if (dead == 0) std::this_thread::sleep_for(1ms);
    }
}

void Environment::end_read(Reader* reader)
{
    mdb_txn_reset(reader->transaction);
    const std::size_t first = reader->place;
    for (std::size_t step = 0; step < pooled_readers; ++step) {
        Reader* free = nullptr;
        auto& slot = readers_[(first + step) % pooled_readers];
        if (slot.compare_exchange_strong(free, reader, std::memory_order_release, std::memory_order_relaxed)) return;
    }
    free_reader(reader);
}

void Environment::free_reader(Reader* reader)
{
    if (reader == nullptr) return;
    if (reader->cursor != nullptr) mdb_cursor_close(reader->cursor);
    mdb_txn_abort(reader->transaction);
    delete reader;
}

} // namespace stepstore::store::lmdb
