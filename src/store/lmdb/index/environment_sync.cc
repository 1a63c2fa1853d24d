// Syncing an index, and mending what a sync that failed has left (environment.h).
#include "base/files.h"
#include "store/lmdb/index/environment_use.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/shared_state.h"
#include "store/lmdb/sharing/write_again.h"

#include <cerrno>
#include <unistd.h>

namespace stepstore::store::lmdb {

void Environment::sync(bool own, FunctionRef<void()> bulk_first)
{
    if (durability_ == Durability::power) return; // every commit did it
    const bool had_own = own_unsynced_.exchange(false);
    if (own && !had_own) return;
    std::uint64_t version = 0; // what is committed meanwhile may be synced too, and is not noted
    {
        const MapUse use(*this);
        version = info().me_last_txnid;
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

void Environment::sync_file()
{
    if (sync_failed(line())) {
        open_for_writing();
        const WriteTurn turn(pool_.writers, target_, where_);
        return mend_failed_syncs(turn.inherited());
    }
    if (fdatasync(file_.get()) != 0) note_failed_sync(); // LMDB needs no more than that
}

WriterLine& Environment::line() const
{
    return pool_.writers.require_line(target_, where_);
}

void Environment::note_failed_sync()
{
    const int error = errno;
    line().index.all.fetch_add(1);
    throw system_error(error, where_, "cannot sync the index");
}

// And what it left may still be there, or this process's descriptors may still tell of it.
bool Environment::sync_failed(const WriterLine& line) const
{
    return line.index.open() || line.index.all.load() != known_failures_.load() || line.syncing.load() != 0;
}

// With the turn; afterwards the index is synced.
void Environment::mend_failed_syncs(bool inherited)
{
    WriterLine& line = this->line();
    if (line.syncing.load() != 0) { // the owner died
        line.index.all.fetch_add(1);
        line.syncing.store(0);
    }
    const std::uint64_t failures = line.index.all.load();
    if (failures != known_failures_.load()) for_writing_ = false;
    open_for_writing();
    {
        std::optional<MapUse> use;
        std::optional<Transaction> nobody_writes;
        begin_alone(use, nobody_writes, inherited);
        (void)fdatasync(file_.get()); // which tells of the past
        if (!write_again(directory_ / "data.mdb", true, unwritten_))
            fail_errno(where_, "cannot write again what a failed sync of the index has left");
    }
    if (fdatasync(file_.get()) != 0) note_failed_sync();
    if (const auto damage = check(); !damage.empty()) // the system did not have all of it any more
        throw Error(-DER_CSUM, damage.front());
    line.index.mend(failures);
}

} // namespace stepstore::store::lmdb
