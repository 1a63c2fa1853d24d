#include "store/lmdb/index/reader_pool.h"

#include <memory>

namespace stepstore::store::lmdb {

int ReaderPool::make(MDB_env* env, Reader*& reader, int (ReaderTable::*begin)(MDB_env*, MDB_txn**))
{
    auto made = std::make_unique<Reader>();
    int result = (table_.*begin)(env, &made->transaction);
    if (result == MDB_READERS_FULL && free_dead_slots(env) > 0)
        result = (table_.*begin)(env, &made->transaction);
    if (result != 0) return result;
    made->place = own_place() % size;
    reader = made.release();
    return 0;
}

void ReaderPool::end(Reader* reader)
{
    if (reader == nullptr) return;
    mdb_txn_abort(reader->transaction);
    delete reader;
}

void ReaderPool::end_all()
{
    for (auto& place : places_)
        end(place.exchange(nullptr));
}

} // namespace stepstore::store::lmdb
