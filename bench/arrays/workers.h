// The processes that write and read array objects. They are started once for a number of processes and a size
// of block, and measure one variant after the other.
// Threads: one. Errors: std::runtime_error, if a process failed or a block does not hold what was written.
#pragma once

#include "common/workers.h"

namespace stepstore::bench {

// One way to keep the blocks of a step.
struct Variant {
    std::string object_class;
    std::uint64_t chunk = 0; // bytes
    bool shared = false;     // one object for all processes; else each has its own
};

struct Times { // seconds, of the slowest process
    double write = 0;
    double read = 0;
};

class ArrayWorkers {
public:
    // The processes open the pool. steps: how many blocks each writes in a measurement.
    ArrayWorkers(const std::string& pool, unsigned processes, std::uint64_t block, std::uint64_t steps);

    Times measure(const Variant& variant);

private:
    void serve(unsigned process, int commands, int results) const;

    const std::string pool_;
    const unsigned processes_;
    const std::uint64_t block_;
    const std::uint64_t steps_;
    std::uint64_t objects_ = 0;    // made so far: every measurement writes to objects of its own
    Workers workers_{"a process"}; // and one more, which cleans up
};

} // namespace stepstore::bench
