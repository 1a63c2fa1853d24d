// Which of an object's groups of targets holds a dkey.
// Threads: any; pure.
#pragma once

#include "base/checksum.h"

namespace stepstore {

// In a pool of Stepstore.
inline unsigned dkey_group(Bytes dkey, unsigned groups)
{
    return groups == 1 ? 0 : static_cast<unsigned>(checksum(dkey) % groups);
}

// Of a chunk of an array there. Its dkey is its number.
inline unsigned chunk_group(std::uint64_t chunk, unsigned groups)
{
    std::byte dkey[sizeof chunk];
    store_big(dkey, chunk);
    return dkey_group(dkey, groups);
}

// Of a chunk of an array in a pool of a DAOS system. Its dkey is its number and one; the group follows by the
// jump consistent hash (Lamping and Veach, 2014).
inline unsigned chunk_group_on_daos(std::uint64_t chunk, unsigned groups)
{
    constexpr double range = 1U << 31;
    std::uint64_t state = chunk + 1;
    std::uint64_t group = 0;
    for (std::uint64_t next = 0; next < groups;) {
        group = next;
        state = state * 2862933555777941757U + 1;
        next = static_cast<std::uint64_t>(static_cast<double>(group + 1) * range /
                                          static_cast<double>((state >> 33) + 1));
    }
    return static_cast<unsigned>(group);
}

} // namespace stepstore
