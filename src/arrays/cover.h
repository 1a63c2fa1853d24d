// Whether the blocks of all ranks make up an array: within it, without overlap, without a gap.
// Threads: any; pure. Errors: -DER_INVAL.
#pragma once

#include "arrays/types.h"

#include <vector>

namespace stepstore::arrays {

// blocks: of each rank; empty ones are of ranks that have none. -DER_INVAL: names rank, dimension and box.
void require_cover(const Naming& naming, const Extents& shape, std::span<const Box> blocks);
// Of one rank's box alone.
void require_within(const Naming& naming, const Extents& shape, const Box& box, std::size_t rank);

} // namespace stepstore::arrays
