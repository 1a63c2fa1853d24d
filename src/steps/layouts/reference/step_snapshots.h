// Steps that lie in one place, each kept by a snapshot of the container: StepMode::snapshot, with any layout
// whose data a snapshot keeps.
//
// 1. A rank stores its metadata over that of the step before.
// 2. All ranks say to rank 0 that theirs are stored. Then it makes a snapshot of the container.
// 3. Rank 0 puts the snapshot's epoch under "Step<N>-Snapshot" into the side object. Now the step is there. A
//    reader opens the metadata objects at that epoch, where nothing changes any more.
// 4. Rank 0 says that it has done so. Before that no rank writes again. So a snapshot has the metadata of one
//    step only. Steps 2 and 4 are the ways up and down of one exchange (Communicator::allgather_after).
// What the objects hold now is no part of the stream. So a writer that dies at any point leaves the steps
// that were put, and at most one snapshot that no step refers to. The snapshot's name says to which segment
// and step it belongs. A process that removes the segment, or its end, also removes those. On a DAOS system
// snapshots have no names: there such a snapshot stays.
//
// Removing old steps (aggregate_steps): the values are put again with the word that the steps are gone. Then
// their blocks are punched, and then their snapshots are destroyed, all together. A death in between leaves
// the rest to the next such call.
//
// Data blocks are not overwritten: each step's blocks lie after those of the step before, as with
// StepMode::extend, and are read as they are now. The blocks of gone steps take space as long as a snapshot
// from the time before their removal stays: those of the kept steps, until these are removed too.
//
// Threads: one at a time, as the layout that uses it. Errors: -DER_CSUM and -DER_DF_INVAL for a damaged
// entry, -DER_EP_OLD for a step that is gone, and those of the store.
#pragma once

#include "steps/layouts/layout.h"

namespace stepstore::steps {

// "Step<N>-Snapshot"
std::string snapshot_key(std::uint64_t step);
struct StepSnapshot {
    std::uint64_t epoch = 0;
    bool gone = false;
};
std::vector<std::byte> encode_snapshot(std::uint64_t step, const StepSnapshot& snapshot);
StepSnapshot decode_snapshot(Bytes bytes, std::uint64_t step);

// Of a container on this machine: "steps <number of the side object> <step>". On a DAOS system empty.
std::string snapshot_name(const Pool& pool, const StreamRecord& record, std::uint64_t step);

std::unique_ptr<LayoutReader> snapshot_reader(const LayoutContext& context);

// The snapshots of the segment's steps from `from` on, be they published or not. What refers to them is kept.
// Of a segment whose steps may be kept in another way than the record says.
void destroy_step_snapshots(Container& container, const StreamRecord& segment, std::uint64_t from);
// Removes the segment's steps before `end`. How many it removed.
std::uint64_t remove_steps(const Pool& pool, Container& container, const StreamRecord& segment,
                           std::uint64_t end);

} // namespace stepstore::steps
