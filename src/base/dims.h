// Extents of arrays, one for each dimension, and the order in which a program has its dimensions.
// Threads: any; pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stepstore {

using Dims = std::vector<std::uint64_t>;
using DimsView = std::span<const std::uint64_t>;
inline constexpr std::uint64_t joined_dimension = UINT64_MAX; // of a joined array (steps/types.h)

// The numbers are part of the formats of streams and arrays, and never change.
enum class Order : std::uint8_t { row_major = 1, column_major = 2 };

inline std::string to_text(DimsView dims) // "{4, 5}"
{
    std::string text = "{";
    for (const std::uint64_t extent : dims) {
        if (text.size() > 1) text += ", ";
        text += extent == joined_dimension ? std::string("joined") : std::to_string(extent);
    }
    return text + "}";
}

} // namespace stepstore
