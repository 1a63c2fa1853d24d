// Where the ranks of a group write together, which may run on several machines. Threads: one at a time for
// each rank, as with all of a Communicator. Errors: -DER_BUSY, -DER_INVAL, and those of find_pool(), on
// every rank.
#pragma once

#include "comm/communicator.h"

#include <cstdint>
#include <memory>
#include <string>

namespace stepstore {

struct PlaceOfGroup {
    std::string location;
    // Of the machine that has the most of them. It is that of all ranks if they run on one machine.
    std::uint32_t ranks_of_a_machine;
    // As long as this lives, rank 0 nudges the server of the file system (base/nudge.h). Keep it until all
    // ranks have opened what rank 0 makes there: they may wait for the server, and cannot nudge it.
    std::shared_ptr<const void> nudges;
};
// Collective, before anything is made or opened. The location that the group is to use: the same, except for
// a path without a pool and ranks on several machines. Then it is shared:PATH, of a pool in files.
// -DER_BUSY: the ranks run on several machines, and the pool belongs to one. -DER_INVAL: the path is not the
// same directory on all of them. Rank 0 tells by a file that it makes there for a moment. Nothing is left.
PlaceOfGroup place_of_group(Communicator& communicator, const std::string& location);

} // namespace stepstore
