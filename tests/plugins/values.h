// Values of every type, for the cases that go through all of them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#define FOR_TYPES(X)                                                                                         \
    X(char)                                                                                                  \
    X(std::int8_t)                                                                                           \
    X(std::int16_t)                                                                                          \
    X(std::int32_t)                                                                                          \
    X(std::int64_t)                                                                                          \
    X(std::uint8_t)                                                                                          \
    X(std::uint16_t)                                                                                         \
    X(std::uint32_t)                                                                                         \
    X(std::uint64_t) X(float) X(double) X(long double) X(std::complex<float>) X(std::complex<double>)

namespace plugin_test {

// Differs with type, rank, element and step; the extremes of the type are among them.
template <class T>
T value_of(std::size_t rank, std::size_t i, std::size_t step)
{
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        using Part = typename T::value_type;
        return {static_cast<Part>(rank * 100 + i) + Part(0.5), -static_cast<Part>(step + 1)};
    } else {
        if (i == 0) return std::numeric_limits<T>::lowest();
        if (i == 1) return std::numeric_limits<T>::max();
        return static_cast<T>(static_cast<T>(rank * 7 + i * 3) + static_cast<T>(step));
    }
}

template <class T>
std::vector<T> values_of(std::size_t rank, std::size_t step, std::size_t count)
{
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = value_of<T>(rank, i, step);
    return values;
}

} // namespace plugin_test
