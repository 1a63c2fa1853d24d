#include "store/lmdb/index/environment.h"

#include "base/files.h"
#include "store/lmdb/index/transactions.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/write_turn.h"

#include <cerrno>
#include <optional>
#include <sys/resource.h>
#include <sys/statvfs.h>

namespace stepstore::store::lmdb {

void Environment::write(FunctionRef<void(WriteTransaction&)> body)
{
    map_.open_for_writing();
    space_.before_update();
    std::optional<WriteTurn> turn;
    const auto take_turn = [&] { turn.emplace(target_.writers, target_.number, target_.where); };
    if (target_.durability == Durability::power) {
        group_.write(body, take_turn, [&](const GroupCommit::Group& group) {
            write_together(group, turn->inherited());
            turn.reset();
        });
    } else {
        take_turn();
        write_alone(body, turn->inherited());
        turn.reset();
    }
    space_.after_update();
}

void Environment::write_alone(GroupCommit::Body body, bool inherited)
{
    write_in_turn(inherited, [&](LmdbMap::Transaction& transaction, Tree& base, std::size_t& wanted) {
        return write_one(body, transaction, base, false, wanted);
    });
}

// Every body of the group has its result afterwards. Throws nothing.
void Environment::write_together(const GroupCommit::Group& group, bool inherited)
{
    // Each in a nested transaction of the common one.
    const auto together = [&](LmdbMap::Transaction& common, Tree& base, std::size_t& wanted) {
        for (GroupCommit::Call* each : group) {
            each->error = nullptr;
            LmdbMap::Transaction nested(map_.env(), common.get());
            if (nested.result() != 0) fail(nested.result(), target_.where, "cannot begin to write");
            try {
                if (!write_one(each->body, nested, base, each != group.front(), wanted)) return false;
            } catch (...) {
                each->error = std::current_exception();
                continue;
            }
            if (const int result = nested.commit(); result != 0) fail(result, target_.where, "cannot commit");
        }
        return true;
    };
    if (group.size() > 1) {
        try {
            return write_in_turn(inherited, together);
        } catch (...) { // nothing of it is stored: each gets its own result below
        }
    }
    for (GroupCommit::Call* each : group) {
        each->error = nullptr;
        try {
            write_alone(each->body, inherited);
        } catch (...) {
            each->error = std::current_exception();
        }
    }
}

// With the turn. inherited: it was a dead process's. A commit that failed meanwhile has closed the index for
// writing.
void Environment::write_in_turn(bool inherited, Bodies bodies)
{
    std::size_t seen = 0;
    std::size_t wanted = 0;
    map_.open_for_writing();
    if (target_.durability == Durability::power && sync_.failed()) [[unlikely]]
        sync_.mend(inherited);
    while (!try_write(inherited, bodies, seen, wanted))
        map_.grow(seen, wanted);
}

// False: the map was full; nothing is left of the attempt.
bool Environment::try_write(bool inherited, Bodies bodies, std::size_t& map_seen, std::size_t& wanted)
{
    LmdbMap::Writing writing(map_);
    map_seen = map_.size();
    const Meta meta = file_.committed_last(writing.transaction().get());
    Reservations::Commit notes(target_.reservations, target_.number, meta.transaction + 1, inherited);
    space_.before_change(meta);
    Tree base = file_.tree_of(meta);
    base.require_sound_free_pages();
    if (!bodies(writing.transaction(), base, wanted)) return false;
    try {
        commit(writing.transaction());
        notes.done();
        space_.look_at_free_space(meta);
    } catch (const MapFull&) {
        return false;
    }
    return true;
}

// Runs a body. False: the map was full.
bool Environment::write_one(GroupCommit::Body body, LmdbMap::Transaction& transaction, Tree& base,
                            bool changed, std::size_t& wanted)
{
    LmdbWrite writer(transaction.get(), map_.database(), target_.where, base, changed);
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

void Environment::commit(LmdbMap::Transaction& transaction)
{
    const int result = sync_.commit(transaction);
    if (result == 0) {
        const std::uint64_t last_page = map_.info().me_last_pgno;
        space_.committed(last_page);
        return file_.settle_length(last_page);
    }
    if (result == MDB_MAP_FULL) throw MapFull{0};
    map_.to_be_opened_again(); // LMDB may be in no state to go on
    fail(result == EIO ? reason_of_short_write() : result, target_.where, "cannot commit");
}

// LMDB reports a write that the system cut short as EIO. The system cuts writes short where space ends.
int Environment::reason_of_short_write() const
{
    struct statvfs space {};
    if (fstatvfs(file_.fd(), &space) == 0 && space.f_bavail * space.f_frsize < LmdbMap::first_size)
        return ENOSPC;
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size_of(file_.fd(), target_.where) + LmdbMap::first_size > limit.rlim_cur)
        return EFBIG;
    return EIO;
}

} // namespace stepstore::store::lmdb
