// Views of bytes, and the fixed-width encodings that every stored record uses.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

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

template <class T>
    requires std::is_unsigned_v<T>
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
template <class T>
    requires std::is_unsigned_v<T>
inline void store_little(std::byte* to, T value)
{
    if constexpr (std::endian::native == std::endian::big) value = byte_swapped(value);
    std::memcpy(to, &value, sizeof value);
}

template <class T>
    requires std::is_unsigned_v<T>
inline T load_little(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::endian::native == std::endian::big) value = byte_swapped(value);
    return value;
}

template <class T>
    requires std::is_unsigned_v<T>
inline void store_big(std::byte* to, T value)
{
    if constexpr (std::endian::native == std::endian::little) value = byte_swapped(value);
    std::memcpy(to, &value, sizeof value);
}

template <class T>
    requires std::is_unsigned_v<T>
inline T load_big(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::endian::native == std::endian::little) value = byte_swapped(value);
    return value;
}

} // namespace stepstore
