// Min and max of a block, in one pass over memory with vector instructions.
//
// NaNs do not count, so one of them does not hide the rest of a block; a block of nothing but NaNs has NaN
// for both. (ADIOS2's BP5 takes std::minmax_element, whose answer on a block with a NaN depends on where the
// NaN stands. Without NaNs both say the same.)
//
// Threads: any; pure.
#pragma once

#include "steps/types.h"

namespace stepstore::steps {

// Writes min, then max, of `count` > 0 elements to `to`: two elements of a type that has_minmax.
void store_minmax(Type type, const void* data, std::uint64_t count, std::byte* to);
// Writes a min above the max, which says that there are none.
void store_no_minmax(Type type, std::byte* to);
bool says_none(Type type, const MinMax& minmax);
// Widens `sum` by `block`.
void merge_minmax(Type type, MinMax& sum, const MinMax& block);

} // namespace stepstore::steps
