// What the collective calls of a group of ranks cost: closed forms of what MPI libraries do.
#pragma once

#include "machine.h"

#include <cstddef>

namespace stepstore::sim {

// Seconds.
struct CollectiveCosts {
    const Machine& machine;
    std::size_t ranks;
    double barrier() const;                        // dissemination
    double broadcast(std::size_t bytes) const;     // a tree; large ones are scattered and gathered again
    double gather(std::size_t all_bytes) const;    // all to the root
    double allgather(std::size_t all_bytes) const; // recursive doubling
};

} // namespace stepstore::sim
