// The rooms in extent files that belong to this process and that nothing refers to: appended and not yet on
// the way into an index, released and not yet punched out, or kept for the next extents. They are noted in a
// slot of the file `writers`, so that the next writer gives them back where this process is killed.
//
// 1. A process takes a slot by a lock on its bytes. The system drops the lock when the process has ended, and
//    with it all its writes. So a process that gets the lock on a slot with entries finds what a dead process
//    left.
// 2. A room is noted before its first byte is written, and the note is removed before a transaction that may
//    refer to the room commits. So no version of the index refers to noted room. The newest does not, since
//    no transaction with it has committed. An older one does not, since room is given to a new extent only
//    after the transaction that dropped its last reference has committed (release(), which notes it again). A
//    process that is killed between removing the note and the commit leaves room that only a check finds.
// 3. A process that finds a dead process's entry punches the room out and then clears the entry. If it is
//    killed in between, the next one punches the room again. No other process can have got it: new extents of
//    others lie behind the end that the file had, which noted room never reaches (ExtentStore). And others
//    keep for their next extents only what lies behind that end too.
// 4. An entry is whole when its first word is not 0: that word is written last and cleared first. Kills keep
//    the order of writes, but a power failure need not. So a slot carries the mark of its file and of the
//    machine's run. Entries under another mark (also in a copy of the pool), and entries that fail their
//    checksum, are dropped.
#pragma once

#include "store/backend.h"
#include "store/lmdb/writers_file.h"

#include <functional>
#include <map>
#include <vector>

namespace stepstore::store::lmdb {

class OwnRooms {
public:
    using GiveBack = std::function<void(unsigned target, const ExtentRef& room)>;
    // give_back: punches out a dead process's room.
    OwnRooms(WritersFile& file, GiveBack give_back) : file_(file), give_back_(std::move(give_back)) {}

    // Takes a slot at the first call, and gives back what dead processes left. Called with no lock held.
    void begin();
    // Gives back what processes left that died since.
    void reclaim();
    // Without a slot, or with a full one, these do nothing: the check finds what a killed process leaves.
    void note(unsigned target, const ExtentRef& room);
    void forget(const ExtentRef& room);

private:
    struct Entry;
    struct Slot;
    Slot* slot_at(unsigned number);
    bool take_over(unsigned number); // true: the slot is locked and empty

    WritersFile& file_;
    const GiveBack give_back_;
    std::once_flag begun_;
    std::mutex reclaiming_;

    std::mutex guard_; // guards the rest
    unsigned number_ = 0;
    Slot* mine_ = nullptr;
    std::vector<unsigned> free_;                                          // entries of mine_
    std::map<std::pair<std::uint64_t, std::uint64_t>, unsigned> entries_; // by file and offset
};

} // namespace stepstore::store::lmdb
