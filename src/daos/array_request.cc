#include "daos/array_request.h"

#include <algorithm>
#include <span>

namespace stepstore::daos {
namespace {

std::uint64_t sum(std::uint64_t a, std::uint64_t b, const char* what)
{
    std::uint64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) invalid(std::string("the request has 2^64 or more ") + what);
    return result;
}

} // namespace

std::uint32_t pieces_of(const d_sg_list_t* sgl)
{
    require(sgl, "sgl");
    if (sgl->sg_nr > 0) require(sgl->sg_iovs, "sgl->sg_iovs");
    return sgl->sg_nr;
}

MutableBytes used_memory(const d_sg_list_t& sgl, std::uint32_t piece)
{
    const d_iov_t& iov = sgl.sg_iovs[piece];
    if (iov.iov_len > iov.iov_buf_len)
        invalid("piece " + std::to_string(piece) + " of the memory says that it holds " +
                std::to_string(iov.iov_len) + " bytes (iov_len), but it has only " +
                std::to_string(iov.iov_buf_len) + " (iov_buf_len): give both, for example with d_iov_set()");
    if (iov.iov_len > 0) require(iov.iov_buf, "a piece of memory in sgl");
    return {static_cast<std::byte*>(iov.iov_buf), iov.iov_len};
}

// Ranges in ascending order, as most are, cost one comparison each. An end beyond 2^64 is the store's to
// refuse.
void require_disjoint(std::span<const store::Range> ranges, const char* unit)
{
    const auto overlap = [](const store::Range& a, const store::Range& b) {
        return b.index - a.index < a.length;
    };
    const auto descend = [&](const store::Range& a, const store::Range& b) {
        return b.index < a.index || overlap(a, b);
    };
    if (std::ranges::adjacent_find(ranges, descend) == ranges.end()) return;
    std::vector<store::Range> sorted(ranges.begin(), ranges.end());
    std::erase_if(sorted, [](const store::Range& range) { return range.length == 0; });
    std::ranges::sort(sorted, {}, &store::Range::index);
    const auto found = std::ranges::adjacent_find(sorted, overlap);
    if (found == sorted.end()) return;
    invalid("two ranges of one call overlap: " + std::string(unit) + " from " + std::to_string(found->index) +
            ", " + std::to_string(found->length) + " of them, and " + unit + " from " +
            std::to_string((found + 1)->index) + "; merge them, or use two calls");
}

Listed<store::Range> request_ranges(const daos_array_iod_t* iod)
{
    require(iod, "iod");
    if (iod->arr_nr > 0) require(iod->arr_rgs, "iod->arr_rgs");
    Listed<store::Range> ranges(iod->arr_nr);
    for (std::size_t i = 0; i < iod->arr_nr; ++i)
        ranges[i] = {iod->arr_rgs[i].rg_idx, iod->arr_rgs[i].rg_len};
    require_disjoint(ranges.all(), "cells");
    return ranges;
}

template <class Memory>
ArrayRequest<Memory>::ArrayRequest(const ArrayResource& array, const daos_array_iod_t* iod,
                                   const d_sg_list_t* sgl)
    : ranges(request_ranges(iod)), memory(pieces_of(sgl))
{
    for (const auto& range : ranges.all())
        cells = sum(cells, range.length, "cells");
    for (std::uint32_t i = 0; i < sgl->sg_nr; ++i) {
        memory[i] = used_memory(*sgl, i);
        bytes = sum(bytes, memory[i].size(), "bytes");
    }
    std::uint64_t wanted = 0;
    if (__builtin_mul_overflow(cells, array.attributes().cell_size, &wanted) || wanted != bytes)
        invalid("the ranges hold " + std::to_string(cells) + " cells of " +
                std::to_string(array.attributes().cell_size) + " bytes, and the memory has " +
                std::to_string(bytes) + " bytes (iov_len): give memory of the same size");
}

WriteRequest::WriteRequest(const ArrayResource& array, const daos_array_iod_t* iod, const d_sg_list_t* sgl,
                           bool runs_later)
    : ArrayRequest(array, iod, sgl)
{
    if (!runs_later || bytes >= travels_with_request) return;
    taken_.reserve(sgl->sg_nr);
    for (std::uint32_t i = 0; i < sgl->sg_nr; ++i)
        memory[i] = taken_.emplace_back(memory[i], true).view();
}

template struct ArrayRequest<Bytes>;
template struct ArrayRequest<MutableBytes>;

} // namespace stepstore::daos
