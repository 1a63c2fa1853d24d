// The boxes in which a rank writes its blocks. Each box has blocks of one level.
#pragma once

#include "mesh.h"

#include <vector>

namespace gray_scott::amr {

struct Box {
    int level = 0;
    std::array<int, 3> start{}, count{}; // in blocks of its level
};

// The leaves [first, last) as boxes of at most max_box blocks along each edge: each leaf is in one of them.
// Ordered by level and position.
std::vector<Box> boxes_of(const Mesh& mesh, std::size_t first, std::size_t last, int max_box);

} // namespace gray_scott::amr
