// What the benchmark of decomposed arrays writes, and the ways to write it.
// Threads: one for each rank. Errors: std::runtime_error, on the rank that met them.
#pragma once

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace stepstore::bench {

// This rank's block of a global array of doubles, row-major. Starts and counts in elements.
struct Block {
    std::vector<std::uint64_t> shape, start, count;
    std::uint64_t elements() const;
};

// One way to write and read the array. Every call is collective over MPI_COMM_WORLD; a failure throws
// std::runtime_error.
class Subject {
public:
    virtual ~Subject() = default;
    virtual const char* name() const = 0;
    // Creates what holds the array, writes all blocks, and closes it.
    virtual void write(const Block& block, const std::vector<double>& memory) = 0;
    // Opens it, reads this rank's block, and closes it.
    virtual void read(const Block& block, std::vector<double>& memory) = 0;
    // Removes what was written. Called on every rank.
    virtual void remove() = 0;
};

// Each writes below `directory`, which is there.
std::unique_ptr<Subject> make_mpi_io(const std::string& directory);
std::unique_ptr<Subject> make_parallel_hdf5(const std::string& directory); // null: built without it
// keeps_pool: remove() leaves the pool, and only the first write makes it.
std::unique_ptr<Subject> make_arrays(const std::string& directory, bool keeps_pool);

int my_rank();

} // namespace stepstore::bench
