// The one checksum of the project: XXH3, 64 bits (https://xxhash.com), seed 0 where none is named.
// Threads: checksum() is pure; a ChecksumStream is for one. Errors: std::bad_alloc, of ChecksumStream.
#pragma once

#include "base/bytes.h"
#include "base/not_copied.h"

#include <cstdint>

namespace stepstore {

// With a seed other than 0: the checksum of bytes that mean something only together with what the seed was
// made from.
std::uint64_t checksum(Bytes bytes, std::uint64_t seed = 0);

// The checksum of several pieces one after the other, without copying them together.
class ChecksumStream : NotCopied {
public:
    ChecksumStream();
    ~ChecksumStream();
    void update(Bytes piece);
    std::uint64_t digest() const;

private:
    void* state_;
};

} // namespace stepstore
