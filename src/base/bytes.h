// Views of bytes, and the fixed-width encodings that every stored record uses.
// Threads: any; pure. Loading trusts the caller that the bytes are there.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace stepstore {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text)
{
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(Bytes bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The order of keys: as unsigned bytes, a prefix first. Less than 0, 0 or more, as memcmp.
inline int compare(Bytes a, Bytes b)
{
    const std::size_t common = std::min(a.size(), b.size());
    const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
    if (order != 0) return order;
    return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

template <std::unsigned_integral T>
constexpr T byte_swapped(T value)
{
    if constexpr (sizeof(T) == 1)
        return value;
    else if constexpr (sizeof(T) == 2)
        return __builtin_bswap16(value);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bswap32(value);
    else
        return __builtin_bswap64(value);
}

// Values are little-endian; keys are big-endian, so that their byte order is their number order.
template <std::unsigned_integral T>
inline void store_little(std::byte* to, T value)
{
    if constexpr (std::endian::native == std::endian::big) value = byte_swapped(value);
    std::memcpy(to, &value, sizeof value);
}

template <std::unsigned_integral T>
inline T load_little(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::endian::native == std::endian::big) value = byte_swapped(value);
    return value;
}

template <std::unsigned_integral T>
inline void store_big(std::byte* to, T value)
{
    if constexpr (std::endian::native == std::endian::little) value = byte_swapped(value);
    std::memcpy(to, &value, sizeof value);
}

template <std::unsigned_integral T>
inline T load_big(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::endian::native == std::endian::little) value = byte_swapped(value);
    return value;
}

} // namespace stepstore
