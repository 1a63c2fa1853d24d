#include "steps/statistics.h"

#include <cmath>
#include <limits>

namespace stepstore::steps {

namespace {

template <class T>
constexpr T lowest()
{
    if constexpr (std::is_floating_point_v<T>)
        return -std::numeric_limits<T>::infinity();
    else
        return std::numeric_limits<T>::lowest();
}

template <class T>
constexpr T highest()
{
    if constexpr (std::is_floating_point_v<T>)
        return std::numeric_limits<T>::infinity();
    else
        return std::numeric_limits<T>::max();
}

template <class T>
void widen(const T& value, T& min, T& max)
{
    min = value < min ? value : min; // false for a NaN
    max = value > max ? value : max;
}

template <class T>
void scan(const T* data, std::uint64_t count, T& min, T& max)
{
    std::uint64_t i = 0;
    if constexpr (sizeof(T) <= 8) {
        // Four vectors of the width that every machine has, independent of each other.
        constexpr std::size_t lanes = 16 / sizeof(T), vectors = 4, stride = lanes * vectors;
        typedef T Vector __attribute__((vector_size(16)));
        if (count >= stride) {
            Vector low[vectors], high[vectors];
            for (std::size_t v = 0; v < vectors; ++v) {
                low[v] = Vector{} + min;
                high[v] = Vector{} + max;
            }
            for (; i + stride <= count; i += stride) {
                for (std::size_t v = 0; v < vectors; ++v) {
                    Vector value;
                    std::memcpy(&value, data + i + v * lanes, sizeof value);
                    low[v] = value < low[v] ? value : low[v];
                    high[v] = value > high[v] ? value : high[v];
                }
            }
            for (std::size_t v = 0; v < vectors; ++v)
                for (std::size_t lane = 0; lane < lanes; ++lane) {
                    min = low[v][lane] < min ? low[v][lane] : min;
                    max = high[v][lane] > max ? high[v][lane] : max;
                }
        }
    }
    for (; i < count; ++i) {
        T value;
        std::memcpy(&value, data + i, sizeof value); // the program's memory may be unaligned
        widen(value, min, max);
    }
}

template <class T>
void store(const void* data, std::uint64_t count, std::byte* to)
{
    T min = highest<T>(), max = lowest<T>();
    scan(static_cast<const T*>(data), count, min, max);
    if constexpr (std::is_floating_point_v<T>)
        if (min > max) min = max = std::numeric_limits<T>::quiet_NaN();
    std::memcpy(to, &min, sizeof min);
    std::memcpy(to + sizeof min, &max, sizeof max);
}

template <class T>
void merge(MinMax& sum, const MinMax& block)
{
    T min = sum.min.as<T>(), max = sum.max.as<T>();
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(min)) sum = block;
        if (std::isnan(min)) return;
    }
    widen(block.min.as<T>(), min, max);
    widen(block.max.as<T>(), min, max);
    sum = {Scalar::of(min), Scalar::of(max)};
}

// Calls `with` with a value of the C++ type of `type`.
template <class With>
void dispatch(Type type, With&& with)
{
    switch (type) {
    case Type::int8: return with(std::int8_t{});
    case Type::int16: return with(std::int16_t{});
    case Type::int32: return with(std::int32_t{});
    case Type::int64: return with(std::int64_t{});
    case Type::uint8: return with(std::uint8_t{});
    case Type::uint16: return with(std::uint16_t{});
    case Type::uint32: return with(std::uint32_t{});
    case Type::uint64: return with(std::uint64_t{});
    case Type::float32: return with(float{});
    case Type::float64: return with(double{});
    case Type::float128: return with((long double){});
    case Type::character: return with(static_cast<signed char>(0)); // as char is on the machines we know
    case Type::complex64:
    case Type::complex128:
    case Type::string:
    case Type::structure: return;
    }
}

} // namespace

void store_minmax(Type type, const void* data, std::uint64_t count, std::byte* to)
{
    dispatch(type, [&]<class T>(T) { store<T>(data, count, to); });
}

void store_no_minmax(Type type, std::byte* to)
{
    dispatch(type, [&]<class T>(T) {
        const T min = highest<T>(), max = lowest<T>();
        std::memcpy(to, &min, sizeof min);
        std::memcpy(to + sizeof min, &max, sizeof max);
    });
}

bool says_none(Type type, const MinMax& minmax)
{
    bool none = false;
    dispatch(type, [&]<class T>(T) { none = minmax.max.as<T>() < minmax.min.as<T>(); });
    return none;
}

void merge_minmax(Type type, MinMax& sum, const MinMax& block)
{
    dispatch(type, [&]<class T>(T) { merge<T>(sum, block); });
}

} // namespace stepstore::steps
