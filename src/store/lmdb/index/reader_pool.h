// The pool of LMDB's read transactions of one index.
//
// A read takes a reset transaction out of the pool, renews it and puts it back. This costs no allocation, no
// lock of LMDB's, and one load of the newest meta page. Only the thread that gets it uses it (MDB_NOTLS).
//
// Any thread may call take() and give_back(), with a use of the map (lmdb_map.h): a transaction that is
// taken keeps the map where it is. Results are what LMDB returns, or an errno.
#pragma once

#include "base/not_copied.h"
#include "store/lmdb/index/pages.h"
#include "store/lmdb/sharing/reader_table.h"

#include <array>
#include <atomic>
#include <lmdb.h>
#include <utility>

namespace stepstore::store::lmdb {

// Clears the slots that dead processes left in LMDB's table of readers. How many there were.
inline int free_dead_slots(MDB_env* env)
{
    int dead = 0;
    mdb_reader_check(env, &dead);
    return dead;
}

class ReaderPool : NotCopied {
public:
    struct Reader {
        MDB_txn* transaction = nullptr;
        Meta meta;             // of the version that it read last
        std::size_t place = 0; // in the pool, where it goes back to
    };

    explicit ReaderPool(ReaderTable& table) : table_(table) {}

    // MDB_READERS_FULL, ENOSPC: there is no slot, or no room for one. MDB_MAP_RESIZED: see LmdbMap::adopt().
    int take(MDB_env* env, Reader*& reader)
    {
        reader = nullptr;
        const std::size_t first = own_place();
        for (std::size_t step = 0; step < size && reader == nullptr; ++step) {
            auto& place = places_[(first + step) % size];
            if (place.load(std::memory_order_relaxed) != nullptr)
                reader = place.exchange(nullptr, std::memory_order_acquire);
        }
        if (reader == nullptr) [[unlikely]]
            return make(env, reader);
        const int result = mdb_txn_renew(reader->transaction);
        if (result != 0) [[unlikely]]
            end(std::exchange(reader, nullptr));
        return result;
    }
    void give_back(Reader* reader)
    {
        mdb_txn_reset(reader->transaction);
        const std::size_t first = reader->place;
        for (std::size_t step = 0; step < size; ++step) {
            Reader* free = nullptr;
            auto& place = places_[(first + step) % size];
            if (place.compare_exchange_strong(free, reader, std::memory_order_release,
                                              std::memory_order_relaxed))
                return;
        }
        end(reader);
    }
    // A new one, which is not yet in the pool.
    int make(MDB_env* env, Reader*& reader,
             int (ReaderTable::*begin)(MDB_env*, MDB_txn**) = &ReaderTable::begin);
    static void end(Reader* reader);
    void end_all(); // that are in the pool

private:
    static constexpr std::size_t size = 128;
    static std::size_t own_place() noexcept // of this thread
    {
        static std::atomic<std::size_t> next{0};
        static thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
        return mine;
    }

    ReaderTable& table_;
    std::array<std::atomic<Reader*>, size> places_{};
};

} // namespace stepstore::store::lmdb
