// How LMDB 0.9 lays out its pages, on machines of 64 bits, in the machine's own byte order.
//
// A page: number (8), pad (2), flags (2), lower (2), upper (2); then the places of its nodes (2 each), up to
// `lower`. The nodes lie from `upper` to the end of the page, in any order, without a gap. A run of pages
// that holds one large value has the number of its pages (4) instead of lower and upper.
// A node: low half (2) and high half (2) of the size of its value, flags (2), size of its key (2); key;
// value. In a branch the first three are the number of the page below.
//
// Threads: pure. Errors: none; who calls has checked the offsets.
#pragma once

#include "base/bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace stepstore::store::lmdb {

// Bytes of a key that a back end may be asked for, and a little more. A longer one was not put by us.
inline constexpr std::size_t longest_key = 512;

inline constexpr std::size_t page_header_size = 16;
inline constexpr std::size_t node_header_size = 8;
inline constexpr unsigned branch_flag = 0x01, leaf_flag = 0x02, overflow_flag = 0x04, meta_flag = 0x08;
inline constexpr unsigned big_flag = 0x01; // of a node: the value lies in pages of its own

// See Target::fills_pages(). A large value takes a run of pages with one header. The rest becomes a node
// among others, if it is at most a quarter of a page. From 8 pages on it is not worth a record of its own.
constexpr std::size_t fills_pages(std::size_t size)
{
    constexpr std::size_t page = 4096, most_pages = 8;
    const std::size_t whole = (size + page_header_size) / page;
    const std::size_t rest = (size + page_header_size) % page;
    return whole == 0 || whole >= most_pages || rest > page / 4 ? size : size - rest;
}
static_assert(fills_pages(4080) == 4080 && fills_pages(4124) == 4080 && fills_pages(8220) == 8176);
static_assert(fills_pages(1000) == 1000 && fills_pages(6000) == 6000);

template <class T>
T number_at(const std::byte* bytes, std::size_t offset)
{
    T result;
    std::memcpy(&result, bytes + offset, sizeof result);
    return result;
}

inline std::uint32_t value_size(const std::byte* node)
{
    return number_at<std::uint16_t>(node, 0) | std::uint32_t{number_at<std::uint16_t>(node, 2)} << 16;
}

inline std::uint64_t page_below(const std::byte* node)
{
    return value_size(node) | std::uint64_t{number_at<std::uint16_t>(node, 4)} << 32;
}

} // namespace stepstore::store::lmdb
