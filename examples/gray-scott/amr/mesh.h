// The mesh: the leaves of a forest of octrees over a periodic cube. Each leaf is a block of as many cells as
// every other; a block of a level has half the edge of one of the level before. The same on every rank.
//
// The leaves stand along a space-filling curve (Z-order). A rank owns a piece of the curve, and the pieces
// are of the same length to within one block. Blocks that touch with a face differ by one level at most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gray_scott::amr {

struct Block {
    int level = 0;
    std::array<int, 3> at{}; // counted in blocks of its level
};

enum class Flag : signed char { coarsen = -1, keep = 0, refine = 1 };

// The origin of the cells of a block in a new mesh.
enum class Origin { same, parent, children };

struct Ancestry {
    Origin origin = Origin::same;
    std::size_t from = 0; // leaf of the old mesh; of children the first of eight
};

class Mesh {
public:
    // One level of blocks, `roots` along each edge.
    Mesh(int roots, int levels);

    const std::vector<Block>& leaves() const { return leaves_; }
    std::size_t size() const { return leaves_.size(); }
    int levels() const { return levels_; }
    int blocks_along(int level) const { return roots_ << level; }

    // The leaf that is this block; none: size().
    std::size_t find(int level, std::array<int, 3> at) const;

    // The leaves that a rank of so many owns: [first, last).
    std::size_t first_of(int rank, int ranks) const
    {
        return size() * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks);
    }
    int owner_of(std::size_t leaf, int ranks) const;

    // The mesh that the flags ask for, as far as neighbours allow. A flagged block is refined unless it has
    // the finest level. Eight blocks become one if all eight agree. ancestry: of each new leaf.
    Mesh adapted(const std::vector<Flag>& flags, std::vector<Ancestry>& ancestry) const;

    // The position of a neighbour across a face (2 * dimension + side), around the cube's ends.
    std::array<int, 3> beside(const Block& block, int face) const;

private:
    Mesh(int roots, int levels, std::vector<Block> leaves);
    std::vector<int> wanted_levels(const std::vector<Flag>& flags) const;
    bool raise_neighbours(std::size_t leaf, std::vector<int>& wanted) const;
    bool keep_unless_all_agree(std::vector<int>& wanted) const;
    bool begins_family(std::size_t leaf) const;

    int roots_, levels_;
    std::vector<Block> leaves_;
    std::unordered_map<std::uint64_t, std::size_t> index_;
};

// The leaves that touch a block's face from outside: one of its level, one coarser, or four finer ones.
struct Neighbours {
    std::array<std::size_t, 4> leaves{};
    int count = 1;
    int level = 0;
};
Neighbours neighbours_of(const Mesh& mesh, const Block& block, int face);

} // namespace gray_scott::amr
