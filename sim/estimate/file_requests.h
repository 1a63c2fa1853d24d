// The requests that a pool in files makes of the parallel file system, as calls for replay(). Its servers are
// targets there: the data servers first, then the servers of locks, one for each data server, and then the
// metadata servers. tests/cli/test_simulate_files.py compares the numbers with those of the pool's own code.
// Threads: any; no state is shared. Errors: none.
#pragma once

#include "estimate/replay.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace stepstore::sim {

// The cluster as replay() needs it: a target, and an engine, for each server of the file system.
Machine servers_of_files(const Machine& machine);

class FileRequests {
public:
    explicit FileRequests(const Machine& machine) : machine_(machine) {}

    void put(std::uint64_t directory, std::uint64_t bytes, Calls& calls) const; // a key that is new
    void get(std::uint64_t directory, std::uint64_t bytes, Calls& calls) const;
    // Of a file that is open. waits: until other nodes have given their locks back.
    void write(std::uint64_t file, std::uint64_t at, std::uint64_t bytes, double waits, Calls& calls) const;
    void read(std::uint64_t file, std::uint64_t at, std::uint64_t bytes, bool gives_back, Calls& calls) const;

    struct Parts { // of a file, that have locks
        std::uint64_t first, end;
    };
    Parts parts_of(std::uint64_t at, std::uint64_t bytes) const;
    // Seconds until rank 0 has made the pool and the stream.
    double making() const;
    // Seconds of the metadata servers for what each rank does before its second step: it opens the stream,
    // and stores copies of its definitions and its plan.
    double opening(bool copies_are_keys) const;

private:
    void of_names(std::uint64_t directory, std::uint64_t looks, std::uint64_t changes, std::uint64_t listings,
                  Calls& calls) const;
    void transfer(std::uint64_t file, std::uint64_t at, std::uint64_t bytes, bool writes, double own,
                  Calls& calls) const;

    const Machine& machine_;
};

// Of the nodes whose ranks write into one part of a file in a step: which is how many-eth.
class SharedParts {
public:
    // The number of nodes before this one.
    std::uint64_t enter(std::uint64_t file, std::uint64_t part, std::uint64_t node);

private:
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::map<std::uint64_t, std::uint64_t>> nodes_;
};

} // namespace stepstore::sim
