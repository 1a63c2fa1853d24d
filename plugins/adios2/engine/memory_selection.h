// Memory selections: a block that lies inside of a larger array in the program's memory (ghost cells around
// it).
// Threads: no state is shared. Errors: -DER_INVAL.
#pragma once

#include "releases.h"
#include "steps/types.h"

#include <string>

namespace stepstore::adios {

// Where a block of `count` lies in an array of `extent`; all in the program's order of dimensions.
class MemorySelection {
public:
    // -DER_INVAL: the selection does not hold the block.
    MemorySelection(const Selection& selection, const adios2::Dims& count, steps::Order order,
                    const std::string& variable);

    std::uint64_t elements() const { return steps::elements(extent_); } // of the array
    void pack(const void* array, std::byte* packed, std::size_t element_size) const;
    void unpack(const std::byte* packed, void* array, std::size_t element_size) const;

private:
    adios2::Dims start_, count_, extent_;
    steps::Order order_;
};

} // namespace stepstore::adios
