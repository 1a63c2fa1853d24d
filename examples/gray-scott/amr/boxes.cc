#include "boxes.h"

#include <algorithm>
#include <set>

namespace gray_scott::amr {
namespace {

using Positions = std::set<std::array<int, 3>>;

bool has_all(const Positions& there, const Box& box)
{
    for (int x = 0; x < box.count[0]; ++x)
        for (int y = 0; y < box.count[1]; ++y)
            for (int z = 0; z < box.count[2]; ++z)
                if (!there.contains({box.start[0] + x, box.start[1] + y, box.start[2] + z})) return false;
    return true;
}

void remove(Positions& from, const Box& box)
{
    for (int x = 0; x < box.count[0]; ++x)
        for (int y = 0; y < box.count[1]; ++y)
            for (int z = 0; z < box.count[2]; ++z)
                from.erase({box.start[0] + x, box.start[1] + y, box.start[2] + z});
}

// The box grows from its first block along the last dimension, then along the others, as far as all blocks
// are there.
Box largest_at_begin(const Positions& there, int level, int max_box)
{
    Box box{level, *there.begin(), {1, 1, 1}};
    for (const std::size_t d : std::array<std::size_t, 3>{2, 1, 0})
        while (box.count[d] < max_box) {
            Box next = box;
            next.start[d] += box.count[d];
            next.count[d] = 1;
            if (!has_all(there, next)) break;
            ++box.count[d];
        }
    return box;
}

} // namespace

std::vector<Box> boxes_of(const Mesh& mesh, std::size_t first, std::size_t last, int max_box)
{
    std::vector<Positions> by_level(static_cast<std::size_t>(mesh.levels()));
    for (std::size_t leaf = first; leaf < last; ++leaf) {
        const Block& block = mesh.leaves()[leaf];
        by_level[static_cast<std::size_t>(block.level)].insert(block.at);
    }
    std::vector<Box> boxes;
    for (std::size_t level = 0; level < by_level.size(); ++level)
        for (auto& there = by_level[level]; !there.empty();) {
            boxes.push_back(largest_at_begin(there, static_cast<int>(level), max_box));
            remove(there, boxes.back());
        }
    return boxes;
}

} // namespace gray_scott::amr
