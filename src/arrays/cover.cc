#include "arrays/cover.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <numeric>

namespace stepstore::arrays {

namespace {

[[noreturn]] void overlap(const Naming& naming, std::span<const Box> blocks, std::size_t a, std::size_t b)
{
    if (a > b) std::swap(a, b);
    const Box shared = *intersection(blocks[a], blocks[b], naming.dimensions);
    throw Error(-DER_INVAL, "the blocks of rank " + std::to_string(a) + ", " + naming.box(blocks[a]) +
                                ", and rank " + std::to_string(b) + ", " + naming.box(blocks[b]) +
                                ", overlap in " + naming.box(shared) +
                                ": each element belongs to one rank's block");
}

// In which most blocks begin at places of their own: so few are compared with each other.
unsigned widest_dimension(std::span<const Box> blocks, std::span<const std::size_t> used, unsigned dimensions)
{
    unsigned best = 0;
    std::size_t most = 0;
    std::vector<std::uint64_t> starts(used.size());
    for (unsigned d = 0; d < dimensions; ++d) {
        std::ranges::transform(used, starts.begin(), [&](std::size_t i) { return blocks[i].start[d]; });
        std::ranges::sort(starts);
        const auto distinct = starts.size() - std::ranges::unique(starts).size();
        if (distinct > most) {
            most = distinct;
            best = d;
        }
    }
    return best;
}

// Sweeps along one dimension: a block is compared with those that have not ended where it begins.
void require_no_overlap(const Naming& naming, std::span<const Box> blocks, std::vector<std::size_t> used)
{
    const unsigned along = widest_dimension(blocks, used, naming.dimensions);
    std::ranges::sort(used, {}, [&](std::size_t i) { return blocks[i].start[along]; });
    std::vector<std::size_t> open;
    for (const std::size_t one : used) {
        std::erase_if(open, [&](std::size_t other) {
            return blocks[other].start[along] + blocks[other].count[along] <= blocks[one].start[along];
        });
        for (const std::size_t other : open)
            if (intersection(blocks[one], blocks[other], naming.dimensions))
                overlap(naming, blocks, one, other);
        open.push_back(one);
    }
}

// What is left of `whole` without `block`: slices before and after it, dimension by dimension.
void subtract(const Box& whole, const Box& block, unsigned dimensions, std::vector<Box>& left)
{
    const auto shared = intersection(whole, block, dimensions);
    if (!shared) {
        left.push_back(whole);
        return;
    }
    Box rest = whole;
    for (unsigned d = 0; d < dimensions; ++d) {
        const std::uint64_t end = rest.start[d] + rest.count[d];
        const std::uint64_t shared_end = shared->start[d] + shared->count[d];
        if (rest.start[d] < shared->start[d]) {
            Box before = rest;
            before.count[d] = shared->start[d] - rest.start[d];
            left.push_back(before);
        }
        if (shared_end < end) {
            Box behind = rest;
            behind.start[d] = shared_end;
            behind.count[d] = end - shared_end;
            left.push_back(behind);
        }
        rest.start[d] = shared->start[d];
        rest.count[d] = shared->count[d];
    }
}

[[noreturn]] void gap(const Naming& naming, const Extents& shape, std::span<const Box> blocks,
                      std::span<const std::size_t> used, std::uint64_t missing)
{
    std::vector<Box> left{{.start = {}, .count = shape}};
    std::vector<Box> next;
    for (const std::size_t one : used) {
        next.clear();
        for (const Box& box : left)
            subtract(box, blocks[one], naming.dimensions, next);
        left.swap(next);
    }
    std::string without;
    for (std::size_t rank = 0; rank < blocks.size(); ++rank)
        if (is_empty(blocks[rank], naming.dimensions)) without += ' ' + std::to_string(rank);
    std::string boxes;
    constexpr std::size_t most = 4;
    for (std::size_t i = 0; i < std::min(most, left.size()); ++i)
        boxes += (i > 0 ? ", " : "") + naming.box(left[i]);
    if (left.size() > most) boxes += " and more";
    throw Error(-DER_INVAL, "no rank's block covers " + boxes + ", " + std::to_string(missing) +
                                " elements of the array of shape " + naming.extents(shape) +
                                (without.empty() ? "" : " (without a block: rank" + without + ")") +
                                ": the blocks of all ranks must cover the array");
}

} // namespace

void require_within(const Naming& naming, const Extents& shape, const Box& box, std::size_t rank)
{
    for (unsigned d = 0; d < naming.dimensions; ++d) {
        if (box.count[d] <= shape[d] && box.start[d] <= shape[d] - box.count[d]) continue;
        const unsigned first = naming.order == Order::row_major ? 0 : 1;
        throw Error(-DER_INVAL, "rank " + std::to_string(rank) + ": " + naming.dimension(d) +
                                    ": the block begins at " + std::to_string(box.start[d] + first) +
                                    " and has " + std::to_string(box.count[d]) +
                                    " elements, and the array has " + std::to_string(shape[d]));
    }
}

void require_cover(const Naming& naming, const Extents& shape, std::span<const Box> blocks)
{
    std::vector<std::size_t> used;
    std::uint64_t covered = 0;
    for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        if (is_empty(blocks[rank], naming.dimensions)) continue;
        require_within(naming, shape, blocks[rank], rank);
        used.push_back(rank);
    }
    require_no_overlap(naming, blocks, used);
    for (const std::size_t one : used)
        covered += volume(blocks[one].count, naming.dimensions);
    const std::uint64_t whole = volume(shape, naming.dimensions);
    if (covered < whole) gap(naming, shape, blocks, used, whole - covered);
}

} // namespace stepstore::arrays
