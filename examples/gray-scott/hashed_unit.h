// Numbers by chance that need no state.
#pragma once

#include <cstdint>

namespace gray_scott {

// A number in [0, 1) from a counter (the finaliser of SplitMix64), the same on every rank.
inline double hashed_unit(std::uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    return static_cast<double>(x >> 11) * 0x1p-53;
}

} // namespace gray_scott
