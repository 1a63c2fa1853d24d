// Reservations: space in extent files that belongs to this process and to no record. Its extents were
// appended and are not yet in an index, or were dropped from it and are not yet punched out, or it is kept
// for the next extents. Reservations are noted in a slot of the file `writers`. So the next writer gives them
// back if this process is killed.
//
// 1. A process takes a slot by a lock on its bytes. The system drops the lock when the process has ended, and
//    with it all its writes. So a process that gets the lock on a slot with entries finds what a dead process
//    left.
// 2. A reservation is noted before its first byte is written. Before a commit the entry gets a condition: the
//    version V that the commit makes, and whether V begins to refer to the space (entering) or ceases to
//    (leaving). After the commit an entering one is removed, and a leaving one loses its condition.
// 3. A dead process's unconditional entry names space that no version needs. The newest does not refer to it,
//    by (2). An older one does not: space is given to a new extent only after the transaction that dropped
//    its last reference has committed (release(), which notes it again).
// 4. A dead process's conditional entry needs to be known as committed or not. Every writer leaves a stamp on
//    the target's line when it has LMDB's lock on writers, before its bodies run: its slot and its V. So
//    - if the newest version is below V, the process did not commit it: entering space is free;
//    - if it is V, and the stamp is this slot's with V, the process did commit it: leaving space is free;
//    - otherwise another process may have made V. Nothing is concluded, and a check finds what nobody needs.
//    A slot has one process at a time, and is taken only once no entry is left in it. So a stamp with this
//    slot and V is the dead process's.
// 5. The process that takes a turn from a dead one settles the entries with a condition on that target,
//    before it leaves its own stamp. So the third case of (4) needs two processes that are killed at once, or
//    process numbers that mean different things to two writers.
// 6. A process that finds a dead process's entry punches the space out and then clears the entry. If it is
//    killed in between, the next one punches the space out again. No other process can have got it: new
//    extents of others lie after the end that the file had, which a noted reservation never reaches
//    (ExtentStore). And others keep for their next extents only space after that end too.
// 7. An entry is whole when its first word is not 0: that word is written last and cleared first. Kills keep
//    the order of writes, but a power failure need not. So a slot carries the mark of its file and of the
//    machine's run. Entries under another mark (also in a copy of the pool), and entries that fail their
//    checksum, are dropped.
//
// Threads: any, under a lock of its own.
#pragma once

#include "base/not_copied.h"
#include "store/backend.h"
#include "store/lmdb/sharing/writers_file.h"

#include <atomic>
#include <functional>
#include <map>
#include <vector>

namespace stepstore::store::lmdb {

class Reservations {
public:
    using GiveBack = std::function<void(unsigned target, const ExtentRef& reservation)>;
    using NewestVersion = std::function<std::uint64_t(unsigned target)>; // that was committed
    // lines: of `file`. give_back: punches out a dead process's reservation.
    Reservations(WritersFile& file, unsigned lines, GiveBack give_back, NewestVersion newest)
        : file_(file), give_back_(std::move(give_back)), newest_(std::move(newest)), versions_(lines)
    {
    }

    // Takes a slot at the first call, and gives back what dead processes left. Called with no lock held.
    void begin();
    // Gives back what processes left that died since. Called with no lock held.
    void reclaim();
    void reclaim_if_due() // that is, after a turn was taken from a dead process
    {
        if (due_.load(std::memory_order_relaxed)) [[unlikely]]
            reclaim();
    }
    // Without a slot, or with a full one, these do nothing: the check finds what a killed process leaves.
    void note(unsigned target, const ExtentRef& reservation);
    void forget(const ExtentRef& reservation);
    // In a body that is about to end.
    void entering(unsigned target, const ExtentRef& reservation);
    void leaving(unsigned target, const ExtentRef& reservation);

    // A write transaction of this process, with LMDB's lock on writers held.
    class Commit : NotCopied {
    public:
        // Before its bodies run. version: that it makes. inherited: the turn was a dead process's.
        Commit(Reservations& reservations, unsigned target, std::uint64_t version, bool inherited);
        ~Commit();
        void done(); // it has committed

    private:
        Reservations& reservations_;
        const unsigned target_;
        const std::uint64_t version_;
    };

private:
    struct Entry;
    struct Slot;
    using Key = std::pair<std::uint64_t, std::uint64_t>; // file and offset
    struct Pending {                                     // an entry of this process with a condition
        unsigned target;
        std::uint64_t when; // version and kind, as in Entry
        ExtentRef reservation;
    };
    enum class Fate { committed, not_committed, unknown };

    Slot* slot_at(unsigned number);
    bool take_over(unsigned number); // true: the slot is locked and empty
    void settle(Entry& entry, unsigned slot, std::uint64_t newest);
    void settle_dead(unsigned target, std::uint64_t newest);
    Fate fate_of(unsigned target, std::uint64_t version, unsigned slot, std::uint64_t newest);
    static bool free_after(Fate fate, std::uint64_t when);
    template <class FateOf>
    void settle_pending(unsigned target, FateOf fate_of);
    void write_down(unsigned target, const ExtentRef& reservation, std::uint64_t when);
    void erase(const ExtentRef& reservation);
    void drop_condition(const ExtentRef& reservation);
    void note_until(unsigned target, const ExtentRef& reservation, std::uint64_t when);
    template <class Insist, class Visit>
    void for_each_dead(Insist insist, Visit visit);

    WritersFile& file_;
    const GiveBack give_back_;
    const NewestVersion newest_;
    std::vector<std::atomic<std::uint64_t>> versions_; // by target: that this process is making; 0: none
    std::atomic<unsigned> number_{WritersFile::slots}; // of this process's slot
    std::atomic<bool> due_{false};
    std::once_flag begun_;
    std::mutex reclaiming_;

    std::mutex guard_; // guards the rest
    Slot* mine_ = nullptr;
    std::vector<unsigned> free_; // entries of mine_
    std::map<Key, unsigned> entries_;
    std::vector<Pending> pending_;
    std::atomic<std::size_t> pending_size_{0};
};

} // namespace stepstore::store::lmdb
