// What the collective calls of a group of ranks cost: closed forms of what MPI libraries do.
// Threads: any; pure.
#pragma once

#include "machine.h"

#include <cstddef>

namespace stepstore::sim {

// Seconds. On one machine our own communicator's way counts: an exchange goes up a tree and down again. Where
// more ranks than processors wait for each other, each waits for its turn as well.
struct CollectiveCosts {
    const Machine& machine;
    std::size_t ranks;
    double barrier() const;                        // dissemination
    double broadcast(std::size_t bytes) const;     // a tree; large ones are scattered and gathered again
    double gather(std::size_t all_bytes) const;    // all to the root
    double allgather(std::size_t all_bytes) const; // recursive doubling

private:
    double exchange() const;
};

} // namespace stepstore::sim
