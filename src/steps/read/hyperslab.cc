#include "steps/read/hyperslab.h"

#include <algorithm>
#include <array>

namespace stepstore::steps {

namespace {

using Fixed = std::array<std::uint64_t, max_dimensions>;

// The intersection, with the slowest dimension first.
struct Shared {
    std::size_t dimensions = 0;
    Fixed count{};    // of the intersection
    Fixed first_at{}; // where it begins in each box
    Fixed second_at{};
    Fixed first_extent{}; // the boxes' own counts
    Fixed second_extent{};
    bool empty = false;
};

Shared intersect(BoxView first, BoxView second, Order order)
{
    Shared shared;
    shared.dimensions = first.count.size();
    for (std::size_t i = 0; i < shared.dimensions; ++i) {
        const std::size_t d = order == Order::row_major ? i : shared.dimensions - 1 - i;
        const std::uint64_t a = first.start.empty() ? 0 : first.start[d];
        const std::uint64_t b = second.start.empty() ? 0 : second.start[d];
        const std::uint64_t begin = std::max(a, b);
        const std::uint64_t end = std::min(a + first.count[d], b + second.count[d]);
        if (end <= begin) shared.empty = true;
        shared.count[i] = shared.empty ? 0 : end - begin;
        shared.first_at[i] = begin - a;
        shared.second_at[i] = begin - b;
        shared.first_extent[i] = first.count[d];
        shared.second_extent[i] = second.count[d];
    }
    return shared;
}

// How many of the slowest dimensions have to be walked: the faster ones are contiguous in both boxes.
std::size_t walked_dimensions(const Shared& s)
{
    std::size_t walked = s.dimensions;
    while (walked > 0) {
        --walked;
        if (s.count[walked] != s.first_extent[walked] || s.count[walked] != s.second_extent[walked]) break;
    }
    return walked;
}

} // namespace

void each_shared_run(BoxView first, BoxView second, Order order, EachRun each)
{
    const Shared s = intersect(first, second, order);
    if (s.empty) return;
    if (s.dimensions == 0) return each(0, 0, 1);
    const std::size_t walked = walked_dimensions(s);
    std::uint64_t length = 1;
    for (std::size_t d = walked; d < s.dimensions; ++d)
        length *= s.count[d];
    // Strides of the walked dimensions, and where the first run begins.
    Fixed first_stride{}, second_stride{}, at{};
    std::uint64_t a = 0, b = 0, a_stride = 1, b_stride = 1;
    for (std::size_t d = s.dimensions; d-- > 0;) {
        first_stride[d] = a_stride;
        second_stride[d] = b_stride;
        a += s.first_at[d] * a_stride;
        b += s.second_at[d] * b_stride;
        a_stride *= s.first_extent[d];
        b_stride *= s.second_extent[d];
    }
    while (true) {
        each(a, b, length);
        std::size_t d = walked;
        while (d > 0) {
            --d;
            a += first_stride[d];
            b += second_stride[d];
            if (++at[d] < s.count[d]) break;
            a -= first_stride[d] * s.count[d];
            b -= second_stride[d] * s.count[d];
            at[d] = 0;
            if (d == 0) return;
        }
        if (walked == 0) return;
    }
}

void copy_shared(BoxView from, const std::byte* from_memory, BoxView to, std::byte* to_memory,
                 std::size_t element_size, Order order)
{
    each_shared_run(from, to, order, [&](std::uint64_t source, std::uint64_t target, std::uint64_t length) {
        std::memcpy(to_memory + target * element_size, from_memory + source * element_size,
                    length * element_size);
    });
}

} // namespace stepstore::steps
