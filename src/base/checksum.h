// The one checksum of the project: XXH3, 64 bits (https://xxhash.com), seed 0.
#pragma once

#include "base/bytes.h"

#include <cstdint>

namespace stepstore {

std::uint64_t checksum(Bytes bytes);

// The checksum of several pieces one after the other, without copying them together.
class ChecksumStream {
public:
    ChecksumStream();
    ~ChecksumStream();
    ChecksumStream(const ChecksumStream&) = delete;
    ChecksumStream& operator=(const ChecksumStream&) = delete;
    void update(Bytes piece);
    std::uint64_t digest() const;

private:
    void* state_;
};

} // namespace stepstore
