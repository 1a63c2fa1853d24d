// Writing to an index: alone, or together with others who wait for the disk.
#include "base/files.h"
#include "store/lmdb/index/environment_use.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/shared_state.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/resource.h>
#include <sys/statvfs.h>

namespace stepstore::store::lmdb {

void Environment::write(FunctionRef<void(WriteTransaction&)> body)
{
    open_for_writing();
    if (too_much_pinned_.load(std::memory_order_relaxed)) [[unlikely]]
        wait_for_readers();
    if (durability_ == Durability::power) {
        write_grouped(body);
    } else {
        const WriteTurn turn(pool_.writers, target_, where_);
        write_in_turn(turn.inherited(), [&](Transaction& transaction, Tree& base, std::size_t& wanted) {
            return write_one(body, transaction, base, false, wanted);
        });
    }
    if (much_free_.load(std::memory_order_relaxed)) [[unlikely]]
        give_back_some();
}

// With the turn. A commit that failed meanwhile has closed the index for writing.
void Environment::ready_to_write(bool inherited)
{
    open_for_writing();
    if (durability_ == Durability::power && sync_failed(line())) [[unlikely]]
        mend_failed_syncs(inherited);
}

// inherited: the turn was a dead process's. bodies: false where the map was full.
void Environment::write_in_turn(bool inherited, Bodies bodies)
{
    std::size_t seen = 0;
    std::size_t wanted = 0;
    ready_to_write(inherited);
    while (!try_write(inherited, bodies, seen, wanted))
        grow(seen, wanted);
}

void Environment::begin_to_write(std::optional<MapUse>& use, std::optional<Transaction>& transaction)
{
    use.emplace(*this);
    transaction.emplace(env_, nullptr);
    while (transaction->result() == MDB_MAP_RESIZED) {
        transaction.reset();
        use.reset();
        adopt_map();
        use.emplace(*this);
        transaction.emplace(env_, nullptr);
    }
    if (transaction->result() != 0) fail(transaction->result(), where_, "cannot begin to write");
}

// To change nothing, and to keep others from it.
void Environment::begin_alone(std::optional<MapUse>& use, std::optional<Transaction>& transaction,
                              bool inherited)
{
    begin_to_write(use, transaction);
    if (inherited) { // the dead process's notes are settled by who has its turn
        const Meta meta = committed_last(transaction->get());
        const Reservations::Commit none(pool_.reservations, target_, meta.transaction + 1, true);
    }
}

// False: the map was full; nothing is left of the attempt.
bool Environment::try_write(bool inherited, Bodies bodies, std::size_t& map_seen, std::size_t& wanted)
{
    std::optional<MapUse> use;
    std::optional<Transaction> transaction;
    begin_to_write(use, transaction);
    map_seen = map_size_.load();
    const Meta meta = committed_last(transaction->get());
    Reservations::Commit notes(pool_.reservations, target_, meta.transaction + 1, inherited);
    if (keeper_.due()) [[unlikely]]
        tend_keeper(meta);
    Tree base = tree_of(meta);
    base.require_sound_free_pages();
    if (!bodies(*transaction, base, wanted)) return false;
    try {
        commit(*transaction);
        notes.done();
        look_at_free_space(meta);
    } catch (const MapFull&) {
        return false;
    }
    return true;
}

// Runs a body. False: the map was full.
bool Environment::write_one(FunctionRef<void(WriteTransaction&)> body, Transaction& transaction, Tree& base,
                            bool changed, std::size_t& wanted)
{
    LmdbWrite writer(transaction.get(), database_, where_, base, changed);
    std::exception_ptr error;
    try {
        body(writer);
    } catch (...) {
        error = std::current_exception();
    }
    writer.close_cursor();
    wanted = writer.wanted();
    if (writer.map_full()) return false;
    if (error) std::rethrow_exception(error);
    return true;
}

// With LMDB's lock on writers held, so that nobody writes to the meta pages.
Meta Environment::committed_last(MDB_txn* transaction)
{
    Meta meta;
    if (const char* problem = meta_of(mdb_txn_id(transaction) - 1, meta)) damaged_metas(problem);
    return meta;
}

void Environment::commit(Transaction& transaction)
{
    const bool syncs = durability_ == Durability::power;
    WriterLine& line = this->line();
    if (syncs) line.syncing.store(1);
    const int result = transaction.commit();
    if (syncs && result != 0 && result != MDB_MAP_FULL) line.index.all.fetch_add(1);
    if (syncs) line.syncing.store(0);
    if (result == 0) {
        own_unsynced_.store(true, std::memory_order_release);
        return settle_length();
    }
    if (result == MDB_MAP_FULL) throw MapFull{0};
    for_writing_ = false; // LMDB may be in no state to go on
    if (result == EIO) fail(reason_of_short_write(), where_, "cannot commit");
    fail(result, where_, "cannot commit");
}

// LMDB reports a write that the system cut short as EIO. The system cuts writes short where space ends.
int Environment::reason_of_short_write() const
{
    struct statvfs space {};
    if (fstatvfs(fd_, &space) == 0 && space.f_bavail * space.f_frsize < first_map) return ENOSPC;
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size_of(fd_, where_) + first_map > limit.rlim_cur)
        return EFBIG;
    return EIO;
}

// Makes the file as long as its last page says (see verify_length). Never cuts:
// another process may have gone on.
void Environment::settle_length()
{
    const std::uint64_t last_page = info().me_last_pgno;
    if (last_page >= look_at_page_.load(std::memory_order_relaxed)) [[unlikely]]
        look_at_readers(last_page);
    if (last_page <= verified_page_.load(std::memory_order_relaxed)) [[likely]]
        return;
    const std::uint64_t needed = (last_page + 1) * page_size_;
    if (size_of(fd_, where_) < needed && fallocate(fd_, 0, static_cast<off_t>(needed - 1), 1) != 0) return;
    raise_to(verified_page_, last_page);
}

// ---- writing together

struct Environment::Waiting {
    FunctionRef<void(WriteTransaction&)> body;
    std::exception_ptr error = nullptr;
    bool done = false;
};

void Environment::write_grouped(FunctionRef<void(WriteTransaction&)> body)
{
    Waiting mine{body};
    std::unique_lock lock(queue_guard_);
    queue_.push_back(&mine);
    wait_for_group(lock, mine);
    if (!mine.done) {
        leading_ = true;
        const std::vector<Waiting*> group = lead(lock, mine);
        leading_ = false;
        for (Waiting* each : group)
            each->done = true;
        queue_changed_.notify_all();
    }
    if (mine.error) std::rethrow_exception(mine.error);
}

// Until `mine` is done, or is to lead. One that no leader has taken yet may be given up: -DER_CANCELED.
void Environment::wait_for_group(std::unique_lock<std::mutex>& lock, Waiting& mine)
{
    while (!queue_changed_.wait_for(lock, between_asking, [&] { return mine.done || !leading_; })) {
        lock.unlock();
        const bool stops = asked_to_stop();
        lock.lock();
        if (!stops || std::erase(queue_, &mine) == 0) continue;
        throw Error(-DER_CANCELED, where_ + ": interrupted while it waited to write");
    }
}

// Takes the turn and writes for all that wait by then, who have their results afterwards: the group. A leader
// that is asked to stop ends alone, and another one leads.
std::vector<Environment::Waiting*> Environment::lead(std::unique_lock<std::mutex>& lock, Waiting& mine)
{
    std::vector<Waiting*> group;
    std::optional<WriteTurn> turn;
    std::exception_ptr failed;
    lock.unlock();
    try {
        turn.emplace(pool_.writers, target_, where_);
    } catch (const Error& error) {
        failed = std::current_exception();
        if (error.code() == -DER_CANCELED) {
            lock.lock();
            std::erase(queue_, &mine);
            mine.error = failed;
            mine.done = true;
            return group;
        }
    } catch (...) {
        failed = std::current_exception();
    }
    lock.lock();
    group.swap(queue_);
    lock.unlock();
    if (failed)
        for (Waiting* each : group)
            each->error = failed;
    else
        run(group, turn->inherited());
    turn.reset();
    lock.lock();
    return group;
}

// Every body of the group has its result afterwards. Throws nothing.
void Environment::run(const std::vector<Waiting*>& group, bool inherited)
{
    const auto alone = [&](Waiting* each) {
        write_in_turn(inherited, [&](Transaction& transaction, Tree& base, std::size_t& wanted) {
            return write_one(each->body, transaction, base, false, wanted);
        });
    };
    // Each in a nested transaction of the common one.
    const auto together = [&](Transaction& common, Tree& base, std::size_t& wanted) {
        for (Waiting* each : group) {
            each->error = nullptr;
            Transaction nested(env_, common.get());
            if (nested.result() != 0) fail(nested.result(), where_, "cannot begin to write");
            try {
                if (!write_one(each->body, nested, base, each != group.front(), wanted)) return false;
            } catch (...) {
                each->error = std::current_exception();
                continue;
            }
            if (const int result = nested.commit(); result != 0) fail(result, where_, "cannot commit");
        }
        return true;
    };
    if (group.size() > 1) {
        try {
            return write_in_turn(inherited, together);
        } catch (...) { // nothing of it is stored: each gets its own result below
        }
    }
    for (Waiting* each : group) {
        each->error = nullptr;
        try {
            alone(each);
        } catch (...) {
            each->error = std::current_exception();
        }
    }
}

} // namespace stepstore::store::lmdb
