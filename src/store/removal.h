// Removing an object, or the end of an array, so that no reader takes a part of it for all.
//
// Such a removal may take several transactions: an array lies on several targets, and one transaction takes
// at most 1,000 records. Others read in between.
// 1. The removal is noted on the targets of the object's first group, in the record of its latest removal:
//    the epoch, and where what goes begins.
// 2. The records go, target by target.
// 3. The note goes. Like any other record, this one has versions, so a snapshot keeps the note that was
//    there.
// If one transaction on one target does it all, there is no note. So it is with a small file in a local pool,
// of which the other targets have nothing. If all is on one target, but takes several transactions, the first
// one makes the note itself, and the last one takes it away.
//
// Reading. A read that got all the bytes it asked for is right: each was there. Another one has met a hole.
// Only then it looks for the end of the array and for the note (end_of_array), later than at the bytes.
// - There is a note. Then the bytes are read again as if the removal were done: what it takes is not there,
//   and the array ends where it says, or where a later write does.
// - There is none. Either no removal had begun when the bytes were looked for: the note comes before the
//   first record goes. So the hole is one. Or the removal was done by then. So the end says that they are
//   beyond it.
// A size needs one moment too. It is looked for between two looks at the record of the latest removal that
// find the same. A removal changes that record when it begins and when it ends, so none did in between.
//
// A process that dies in 2 leaves the note. Readers see the removal as done. It is finished, by what was born
// until its epoch (finish_removal):
// - before the array is made again or its size is set,
// - by a write to the array (LeftRemoval),
// - by a check with repair, which meets the note,
// or a later removal of the object takes all that it meant. What was written since stays. Two that finish one
// removal, or its own process that was only stopped, find nothing left and change nothing.
//
// Threads: of one call, so of one thread. Errors: those of the store; LeftRemoval::finish() keeps them, as
// the next write tries again.
#pragma once

#include "store/array/array.h"

#include <optional>

namespace stepstore::store {

// One that is going on, or that was never finished.
struct Removal {
    Epoch epoch = 0;    // what was born later stays
    bool whole = false; // the object, and not just the end of its array
    ArrayPosition from; // what lies at it or after goes

    // How much of the chunk's bytes is left of an extent that was born then.
    std::uint64_t left_of(std::uint64_t chunk, Epoch birth) const
    {
        if (birth > epoch || chunk < from.chunk) return UINT64_MAX;
        return chunk == from.chunk ? from.offset : 0;
    }
};

// What the object's first group tells of its removals.
struct LatestRemoval {
    Epoch birth = 0; // of the record; 0: nothing was removed yet
    std::optional<Removal> going_on;
};
LatestRemoval latest_removal(const ObjectAccess& object, unsigned target, ReadTransaction& transaction,
                             Epoch epoch = latest);

enum class Note : std::uint8_t { kept, set, dropped };
// Notes that something of the object was taken out of the view `latest` at this epoch, and what goes on.
// removal: to be set.
void note_removal(const ObjectAccess& object, WriteTransaction& transaction, const ContainerState& state,
                  Epoch epoch, std::vector<ExtentRef>& released, Note note = Note::kept,
                  const Removal* removal = nullptr);

// Where the array ends at the epoch; with a removal that goes on, where it will end.
struct ArrayEnd {
    std::uint64_t bytes = 0;
    Epoch last_update = 0; // of what was looked at
    std::optional<Removal> removal;
};
ArrayEnd end_of_array(const ObjectAccess& object, const ArrayShape& shape, Epoch epoch);

// nullptr: the record of a latest removal has a note, or rightly none. Else what is wrong with it.
const char* parse_note(const Record& record, std::optional<Removal>& note);

// Does what its process has left undone.
void finish_removal(const ObjectAccess& object, const Removal& removal);

// Takes a chunk out of the live view, in as many transactions as it needs. Nothing refers to it any more.
void clear_chunk(const ObjectAccess& object, const ReplicaSet& set, std::uint64_t chunk);

// For one write to an array: finishes the removal that was left, if there is one. The write has been carried
// out by then, so what goes wrong here is left to the next one.
class LeftRemoval {
public:
    explicit LeftRemoval(const ObjectAccess& object) : object_(object) {}
    // In the write's own transaction on the object's first group, where the note is.
    void look(ReadTransaction& transaction, unsigned target);
    // A write that takes no part there looks for itself, unless this process found none there within the last
    // second. Where the look would be a request to a cluster, it leaves that to others.
    void finish() noexcept;

private:
    const ObjectAccess& object_;
    bool looked_ = false;
    std::optional<Removal> left_;
};

} // namespace stepstore::store
