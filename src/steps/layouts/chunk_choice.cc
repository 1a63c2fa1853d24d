#include "steps/layouts/chunk_choice.h"

#include "base/dkey_group.h"

#include <algorithm>

namespace stepstore::steps {

unsigned ChunkChoice::group_of(std::uint64_t chunk) const
{
    return hash_ == GroupHash::daos ? chunk_group_on_daos(chunk, groups_) : chunk_group(chunk, groups_);
}

std::vector<std::uint64_t> ChunkChoice::chosen(std::uint64_t step, std::uint64_t first,
                                               std::uint64_t end) const
{
    std::vector<std::uint64_t> chunks;
    chunks.reserve(end - first);
    if (!chooses()) {
        for (std::uint64_t one = first; one < end; ++one)
            chunks.push_back(step + one);
        return chunks;
    }
    std::vector<std::uint16_t> taken(groups_);
    for (std::uint64_t one = first; one < end; ++one) {
        if (one % together == 0) std::ranges::fill(taken, 0);
        std::uint64_t best = 0;
        std::uint16_t* least = nullptr;
        for (std::uint64_t i = 0; i < candidates; ++i) {
            const std::uint64_t candidate = step + one * candidates + i;
            std::uint16_t& times = taken[group_of(candidate)];
            if (least == nullptr || times < *least) least = &times, best = candidate;
            if (*least == 0) break;
        }
        ++*least;
        chunks.push_back(best);
    }
    return chunks;
}

std::uint64_t ChunkChoice::chosen(std::uint64_t step, std::uint64_t one) const
{
    if (!chooses()) return step + one;
    return chosen(step, one / together * together, one + 1).back();
}

} // namespace stepstore::steps
