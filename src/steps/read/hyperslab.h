// Boxes in N dimensions: which contiguous runs two of them share, and copying between their memory.
// Threads: any; pure.
#pragma once

#include "base/function_ref.h"
#include "steps/types.h"

namespace stepstore::steps {

struct BoxView {
    DimsView start; // empty: the origin
    DimsView count;
};

// One contiguous run of elements: where it lies in each box's packed memory, in elements.
using EachRun = FunctionRef<void(std::uint64_t in_first, std::uint64_t in_second, std::uint64_t length)>;

// Calls `each` for the runs of the boxes' intersection, ascending in both; never when they do not meet. Boxes
// of no dimension are one element. Both have the same number of dimensions, at most max_dimensions.
void each_shared_run(BoxView first, BoxView second, Order order, EachRun each);

void copy_shared(BoxView from, const std::byte* from_memory, BoxView to, std::byte* to_memory,
                 std::size_t element_size, Order order);

} // namespace stepstore::steps
