#include "mesh.h"

#include <algorithm>
#include <stdexcept>

namespace gray_scott::amr {
namespace {

std::uint64_t key_of(int level, const std::array<int, 3>& at)
{
    std::uint64_t key = static_cast<std::uint64_t>(level);
    for (const int one : at)
        key = key << 20 | static_cast<std::uint64_t>(one);
    return key;
}

// Children in the order of the curve: the last dimension changes first.
Block child_of(const Block& parent, int number)
{
    Block child{parent.level + 1, parent.at};
    for (std::size_t d = 0; d < 3; ++d)
        child.at[d] = 2 * parent.at[d] + (number >> (2 - d) & 1);
    return child;
}

Block parent_of(const Block& child)
{
    return {child.level - 1, {child.at[0] / 2, child.at[1] / 2, child.at[2] / 2}};
}

// The bits of the three numbers in turn: a place on the curve through blocks of one size.
std::uint64_t place_on_curve(const std::array<int, 3>& at)
{
    std::uint64_t place = 0;
    for (int bit = 20; bit >= 0; --bit)
        for (const int one : at)
            place = place << 1 | (static_cast<std::uint64_t>(one) >> bit & 1);
    return place;
}

} // namespace

Mesh::Mesh(int roots, int levels) : roots_(roots), levels_(levels)
{
    for (int x = 0; x < roots; ++x)
        for (int y = 0; y < roots; ++y)
            for (int z = 0; z < roots; ++z)
                leaves_.push_back({0, {x, y, z}});
    std::ranges::sort(leaves_, {}, [](const Block& one) { return place_on_curve(one.at); });
    *this = Mesh(roots, levels, std::move(leaves_));
}

Mesh::Mesh(int roots, int levels, std::vector<Block> leaves)
    : roots_(roots), levels_(levels), leaves_(std::move(leaves))
{
    index_.reserve(leaves_.size());
    for (std::size_t i = 0; i < leaves_.size(); ++i)
        index_.emplace(key_of(leaves_[i].level, leaves_[i].at), i);
}

std::size_t Mesh::find(int level, std::array<int, 3> at) const
{
    if (level < 0 || level >= levels_) return size();
    const auto found = index_.find(key_of(level, at));
    return found == index_.end() ? size() : found->second;
}

int Mesh::owner_of(std::size_t leaf, int ranks) const
{
    auto rank = static_cast<int>(leaf * static_cast<std::size_t>(ranks) / size());
    while (rank + 1 < ranks && first_of(rank + 1, ranks) <= leaf)
        ++rank;
    return rank;
}

std::array<int, 3> Mesh::beside(const Block& block, int face) const
{
    auto at = block.at;
    const int along = blocks_along(block.level);
    auto& one = at[static_cast<std::size_t>(face) / 2];
    one = (one + (face % 2 == 0 ? along - 1 : 1)) % along;
    return at;
}

Neighbours neighbours_of(const Mesh& mesh, const Block& block, int face)
{
    const auto at = mesh.beside(block, face);
    if (const auto same = mesh.find(block.level, at); same != mesh.size()) return {{same}, 1, block.level};
    const Block beside{block.level, at};
    if (block.level > 0) {
        const auto parent = parent_of(beside);
        const auto coarser = mesh.find(parent.level, parent.at);
        if (coarser != mesh.size()) return {{coarser}, 1, parent.level};
    }
    Neighbours found{{}, 0, block.level + 1};
    const int dimension = face / 2;
    for (int number = 0; number < 8; ++number) {
        // The finer ones that touch: of the upper neighbour the lower half, of the lower one the upper half.
        if ((number >> (2 - dimension) & 1) == face % 2) continue;
        const auto child = child_of(beside, number);
        const auto leaf = mesh.find(child.level, child.at);
        if (leaf == mesh.size()) throw std::logic_error("blocks that touch differ by more than one level");
        found.leaves[static_cast<std::size_t>(found.count++)] = leaf;
    }
    return found;
}

bool Mesh::begins_family(std::size_t leaf) const
{
    const Block& block = leaves_[leaf];
    if (block.level == 0 || leaf + 8 > size()) return false;
    const auto parent = parent_of(block);
    for (int number = 0; number < 8; ++number)
        if (const auto child = child_of(parent, number);
            find(child.level, child.at) != leaf + static_cast<std::size_t>(number))
            return false;
    return true;
}

bool Mesh::keep_unless_all_agree(std::vector<int>& wanted) const
{
    bool changed = false;
    for (std::size_t i = 0; i < size(); ++i) {
        const int level = leaves_[i].level;
        if (begins_family(i) && std::all_of(wanted.begin() + static_cast<std::ptrdiff_t>(i),
                                            wanted.begin() + static_cast<std::ptrdiff_t>(i) + 8,
                                            [level](int one) { return one < level; })) {
            i += 7;
            continue;
        }
        if (wanted[i] >= level) continue;
        wanted[i] = level;
        changed = true;
    }
    return changed;
}

bool Mesh::raise_neighbours(std::size_t leaf, std::vector<int>& wanted) const
{
    bool changed = false;
    for (int face = 0; face < 6; ++face) {
        const auto beside = neighbours_of(*this, leaves_[leaf], face);
        for (int i = 0; i < beside.count; ++i) {
            int& other = wanted[beside.leaves[static_cast<std::size_t>(i)]];
            if (other >= wanted[leaf] - 1) continue;
            other = wanted[leaf] - 1;
            changed = true;
        }
    }
    return changed;
}

std::vector<int> Mesh::wanted_levels(const std::vector<Flag>& flags) const
{
    std::vector<int> wanted(size());
    for (std::size_t i = 0; i < size(); ++i)
        wanted[i] = std::clamp(leaves_[i].level + static_cast<int>(flags[i]), 0, levels_ - 1);
    for (bool changed = true; changed;) { // levels only rise here, so it ends
        changed = keep_unless_all_agree(wanted);
        for (std::size_t i = 0; i < size(); ++i)
            changed |= raise_neighbours(i, wanted);
    }
    return wanted;
}

Mesh Mesh::adapted(const std::vector<Flag>& flags, std::vector<Ancestry>& ancestry) const
{
    const auto wanted = wanted_levels(flags);
    std::vector<Block> leaves;
    ancestry.clear();
    for (std::size_t i = 0; i < size(); ++i) {
        const Block& block = leaves_[i];
        if (wanted[i] < block.level) {
            leaves.push_back(parent_of(block));
            ancestry.push_back({Origin::children, i});
            i += 7;
        } else if (wanted[i] > block.level) {
            for (int number = 0; number < 8; ++number) {
                leaves.push_back(child_of(block, number));
                ancestry.push_back({Origin::parent, i});
            }
        } else {
            leaves.push_back(block);
            ancestry.push_back({Origin::same, i});
        }
    }
    return {roots_, levels_, std::move(leaves)};
}

} // namespace gray_scott::amr
