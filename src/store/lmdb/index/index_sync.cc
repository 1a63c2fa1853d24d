#include "store/lmdb/index/index_sync.h"

#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/shared_state.h"
#include "store/lmdb/sharing/write_again.h"
#include "store/lmdb/sharing/write_turn.h"

#include <daos_errno.h>

#include <cerrno>
#include <unistd.h>

namespace stepstore::store::lmdb {

void IndexSync::sync(bool own, FunctionRef<void()> bulk_first)
{
    if (target_.durability == Durability::power) return; // every commit did it
    const bool had_own = own_unsynced_.exchange(false);
    if (own && !had_own) return;
    std::uint64_t version = 0; // what is committed meanwhile may be synced too, and is not noted
    {
        const LmdbMap::Use use(map_);
        version = map_.info().me_last_txnid;
    }
    if (version <= synced_version_.load()) return;
    try {
        bulk_first();
        sync_file();
    } catch (...) {
        if (had_own) own_unsynced_ = true;
        throw;
    }
    if (own) return; // others' extents are not
    raise_to(synced_version_, version);
}

void IndexSync::sync_file()
{
    if (failed()) {
        map_.open_for_writing();
        const WriteTurn turn(target_.writers, target_.number, target_.where);
        return mend(turn.inherited());
    }
    flush();
}

void IndexSync::flush()
{
    if (fdatasync(file_.fd()) == 0) return; // LMDB needs no more than that
    const int error = errno;
    target_.line().index.all.fetch_add(1);
    throw system_error(error, target_.where, "cannot sync the index");
}

bool IndexSync::failed() const
{
    const WriterLine& line = target_.line();
    return line.index.open() || line.index.all.load() != map_.known_failures() || line.syncing.load() != 0;
}

void IndexSync::mend(bool inherited)
{
    WriterLine& line = target_.line();
    if (line.syncing.load() != 0) { // the owner died
        line.index.all.fetch_add(1);
        line.syncing.store(0);
    }
    const std::uint64_t failures = line.index.all.load();
    if (failures != map_.known_failures()) map_.to_be_opened_again();
    map_.open_for_writing();
    {
        const LmdbMap::OthersWait alone(map_, inherited);
        (void)fdatasync(file_.fd()); // which tells of the past
        if (!write_again(target_.directory / "data.mdb", true, unwritten_))
            fail_errno(target_.where, "cannot write again what a failed sync of the index has left");
    }
    flush();
    if (const auto damage = reading_.check(); !damage.empty()) // the system did not have all of it any more
        throw Error(-DER_CSUM, damage.front());
    line.index.mend(failures);
}

int IndexSync::commit(LmdbMap::Transaction& transaction)
{
    const bool syncs = target_.durability == Durability::power;
    WriterLine& line = target_.line();
    if (syncs) line.syncing.store(1);
    const int result = transaction.commit();
    if (syncs && result != 0 && result != MDB_MAP_FULL) line.index.all.fetch_add(1);
    if (syncs) line.syncing.store(0);
    if (result == 0) own_unsynced_.store(true, std::memory_order_release);
    return result;
}

} // namespace stepstore::store::lmdb
