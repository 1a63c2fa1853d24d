// The words of arrays: element types, extents, boxes, and how they are shown.
//
// Inside of this room dimensions always stand in row-major order, the slowest first. The order of a session
// or of an array's writer is that of the interface only.
//
// Threads: any; pure.
#pragma once

#include "base/bytes.h"
#include "base/dims.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stepstore::arrays {

using stepstore::Dims;
using stepstore::Order;

// The numbers are part of the format (docs/format-arrays.md) and of stepstore/arrays.h, and never change.
enum class Kind : std::uint8_t {
    int8 = 1,
    int16 = 2,
    int32 = 3,
    int64 = 4,
    uint8 = 5,
    uint16 = 6,
    uint32 = 7,
    uint64 = 8,
    real32 = 9,
    real64 = 10,
    complex64 = 12,  // two real32
    complex128 = 13, // two real64
    character = 15,  // texts of a fixed length
    logical8 = 17,   // 0: false
    logical32 = 18,
};

struct ElementType {
    Kind kind = Kind::real64;
    std::uint32_t length = 1; // of a text, bytes
    friend bool operator==(const ElementType&, const ElementType&) = default;
};

bool is_known(const ElementType& type);
std::uint64_t size_of(const ElementType& type); // bytes of one element
std::string to_text(const ElementType& type);   // "real64", "character(12)"

inline constexpr unsigned max_dimensions = 7;
using Extents = std::array<std::uint64_t, max_dimensions>; // 0 beyond the number of dimensions

struct Box {
    Extents start{};
    Extents count{};
    friend bool operator==(const Box&, const Box&) = default;
};
bool is_empty(const Box& box, unsigned dimensions);
std::uint64_t volume(const Extents& count, unsigned dimensions); // of boxes within an array that fits
bool contains(const Extents& shape, const Box& box, unsigned dimensions);
// nullopt: they do not meet.
std::optional<Box> intersection(const Box& a, const Box& b, unsigned dimensions);

// Of a dimension of n elements in memory of the other order; its own inverse.
Extents reversed(const Extents& extents, unsigned dimensions);

// How a session's program knows dimensions: in messages.
struct Naming {
    Order order = Order::row_major;
    unsigned dimensions = 0;

    // "dimension 2"; counted from 0 in row-major, from 1 in column-major order.
    std::string dimension(unsigned row_major_dimension) const;
    std::string extents(const Extents& extents) const; // "{4, 5}"
    std::string box(const Box& box) const;             // "[0:4, 8:16]", or as Fortran has it "(9:16, 1:4)"
};

} // namespace stepstore::arrays
