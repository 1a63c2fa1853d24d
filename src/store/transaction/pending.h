// How a transaction that writes on several targets takes effect at one moment, though targets commit one
// after the other.
//
// 1. The write transactions of all its targets are open at once. The lowest target that it changes is its
//    leader. The others commit first: each its changes, a copy of each record as it was before (undo
//    records), and in the container's mark a note that names the leader and the transaction.
// 2. The leader's commit decides. It has the leader's changes and a record of the decision, which names the
//    other targets.
// 3. On each other target the note and the copies go, and what no record refers to any more is given back.
// 4. The record of the decision goes.
//
// Every operation looks at the container's mark on a target, and so it meets the note (MetPending).
// - A reader looks whether the leader has decided. If not, it reads under the copies: the state before. If
//   so, it reads what there is. It takes no lock, needs no right to write, and waits for nobody.
// - A writer first makes an end of it (settle). It takes the leader's turn once, with an empty update. Then
//   the owner has decided or never will: from (1) to the decision it holds that turn, also where its bodies
//   begin again. If there is a decision, it does (3) and (4). If not, it puts the copies back.
//
// A process that is killed before (2) has changed nothing that anybody sees; one that is killed later has
// changed all. Each commit is durable to the pool's level before the next begins. So a power failure is a
// kill, where the level is `power`.
//
// What a note refers to stays: extents of replaced records are released in (3), those of records that are
// taken back in settle(). A check counts what copies refer to. A snapshot is made, or removed, on a target
// only where there is no note. The decision goes last, so a note without one was not decided.
//
// Threads: any. Errors: MetPending, where an operation does not expect it -DER_TX_BUSY; DER_CSUM for damage.
#pragma once

#include "store/pool_core.h"
#include "store/transaction/changes.h"

#include <optional>

namespace stepstore::store {

struct PendingNote {
    std::uint64_t leader = 0;            // target
    std::uint64_t epoch = 0, random = 0; // together the transaction
    std::uint64_t copies = 0;            // undo records on the target that has the note
    bool is_of(const PendingNote& other) const { return epoch == other.epoch && random == other.random; }
};

// Thrown through a body. The operation has done nothing.
class MetPending : public Error {
public:
    MetPending(const std::string& where, unsigned target, std::uint32_t container, const PendingNote& note);
    unsigned target;
    std::uint32_t container;
    PendingNote note;
};

// A container's mark on a target. False: it is damaged.
bool decode_mark(Bytes body, Epoch& newest_snapshot, std::optional<PendingNote>& note);
// MetPending where there is a note. For updates of the target that do not look at the mark otherwise.
void require_no_note(ReadTransaction& transaction, const std::string& path, unsigned target,
                     std::uint32_t container);
// An undo record: a key, and what was under it. False: it is damaged.
struct UndoRecord {
    Bytes key;
    std::optional<Bytes> value;
};
bool decode_undo(Bytes body, UndoRecord& record);

// Reads as if the transaction had been carried out whole, or not begun.
void read_under(PoolCore& core, const MetPending& met, FunctionRef<void(ReadTransaction&)> body);
inline void read_past(PoolCore& core, Target& target, FunctionRef<void(ReadTransaction&)> body)
{
    try {
        target.read(body);
    } catch (const MetPending& met) {
        read_under(core, met, body);
    }
}

// Carries the transaction out, or takes it back, for a process that may write. Whether it was decided.
bool settle(PoolCore& core, const MetPending& met);
// Does something that may meet such transactions, and makes an end of each.
template <class Attempt>
void past_pending(PoolCore& core, Attempt attempt)
{
    for (;;) {
        try {
            return attempt();
        } catch (const MetPending& met) {
            settle(core, met);
        }
    }
}
// All that there are of a container, or of all, where nothing is damaged.
void settle_all(PoolCore& core, std::uint32_t container);
void settle_all(PoolCore& core);

// ---- of the owner
// Puts the changes, and what (1) says, in the write transaction of a target.
void put_pending(WriteTransaction& target, std::uint32_t container, const Changes& changes, PendingNote note);
void put_decision(WriteTransaction& leader, std::uint32_t container, const PendingNote& note,
                  std::span<const unsigned> others);
// (3) and (4).
void finish(PoolCore& core, std::uint32_t container, const PendingNote& note,
            std::span<const unsigned> others);

} // namespace stepstore::store
