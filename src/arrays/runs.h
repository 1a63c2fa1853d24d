// Boxes in two memories: the runs of bytes that lie together in both.
// Threads: any; pure.
#pragma once

#include "arrays/types.h"

namespace stepstore::arrays {

using Strides = std::array<std::uint64_t, max_dimensions>; // bytes between neighbours

// Of a box that lies contiguous.
inline Strides packed_strides(const Extents& count, unsigned dimensions, std::uint64_t element_size)
{
    Strides strides{};
    std::uint64_t stride = element_size;
    for (unsigned d = dimensions; d-- > 0;) {
        strides[d] = stride;
        stride *= count[d];
    }
    return strides;
}

inline std::uint64_t position(const Extents& at, const Strides& strides, unsigned dimensions)
{
    std::uint64_t bytes = 0;
    for (unsigned d = 0; d < dimensions; ++d)
        bytes += at[d] * strides[d];
    return bytes;
}

// The box that two memories share: where it begins in each, in bytes, and how it lies there.
struct SharedBox {
    unsigned dimensions = 0;
    Extents count{}; // none of them 0
    std::uint64_t element_size = 1;
    std::uint64_t first_at = 0;
    std::uint64_t second_at = 0;
    Strides first{};
    Strides second{};
};

struct RunLength {
    std::uint64_t bytes = 0;
    unsigned walked = 0; // dimensions that are not in the run
};
inline RunLength run_of(const SharedBox& box)
{
    RunLength run{box.element_size, box.dimensions};
    while (run.walked > 0) {
        const unsigned d = run.walked - 1;
        if (box.count[d] != 1 && (box.first[d] != run.bytes || box.second[d] != run.bytes)) break;
        run.bytes *= box.count[d];
        --run.walked;
    }
    return run;
}

// each(first, second, bytes): positions in both; ascending in the first where it lies packed.
template <class Each>
void each_run(const SharedBox& box, Each each)
{
    const RunLength run = run_of(box);
    Extents at{};
    std::uint64_t a = box.first_at;
    std::uint64_t b = box.second_at;
    while (true) {
        each(a, b, run.bytes);
        unsigned d = run.walked;
        while (true) {
            if (d == 0) return;
            --d;
            a += box.first[d];
            b += box.second[d];
            if (++at[d] < box.count[d]) break;
            a -= box.first[d] * box.count[d];
            b -= box.second[d] * box.count[d];
            at[d] = 0;
        }
    }
}

} // namespace stepstore::arrays
