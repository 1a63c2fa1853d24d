// The processes that write and read array objects. They are started once for a number of processes and a size
// of block, and measure one variant after the other.
#pragma once

#include "options.h"

#include <sys/types.h>

namespace stepstore::bench {

struct Times { // seconds, of the slowest process
    double write = 0;
    double read = 0;
};

class ArrayWorkers {
public:
    // The processes open the pool. steps: how many blocks each writes in a measurement.
    ArrayWorkers(const std::string& pool, unsigned processes, std::uint64_t block, std::uint64_t steps);
    ~ArrayWorkers();
    ArrayWorkers(const ArrayWorkers&) = delete;
    ArrayWorkers& operator=(const ArrayWorkers&) = delete;

    Times measure(const Variant& variant);

private:
    struct Worker {
        pid_t process = -1;
        int commands = -1;
        int results = -1;
    };
    void start(unsigned process);
    void serve(unsigned process, int commands, int results) const;
    // Of all processes, but for the one that cleans up; throws when one has failed.
    double slowest(std::size_t workers) const;
    void tell(std::size_t first, std::size_t last, const void* command, std::size_t bytes) const;

    const std::string pool_;
    const unsigned processes_;
    const std::uint64_t block_;
    const std::uint64_t steps_;
    std::uint64_t objects_ = 0; // made so far: every measurement writes to objects of its own
    std::vector<Worker> workers_;
};

} // namespace stepstore::bench
