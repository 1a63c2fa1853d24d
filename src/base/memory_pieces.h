// Several pieces of memory that are written one after the other, taken from in any lengths.
// Threads: one at a time. Errors: none; no more may be taken than there is.
#pragma once

#include "base/bytes.h"
#include "base/checksum.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace stepstore {

class MemoryPieces {
public:
    explicit MemoryPieces(std::span<const Bytes> pieces) : left_(pieces) {}
    // At most `most` bytes that lie together.
    Bytes take(std::uint64_t most)
    {
        const Bytes part =
            left_.front().subspan(used_, std::min<std::uint64_t>(most, left_.front().size() - used_));
        used_ += part.size();
        if (used_ == left_.front().size()) left_ = left_.subspan(1), used_ = 0;
        return part;
    }
    // Of the next `length` bytes, more than 0.
    std::uint64_t take_checksum(std::uint64_t length)
    {
        Bytes part = take(length);
        if (part.size() == length) return checksum(part);
        ChecksumStream sum;
        for (;; part = take(length)) {
            sum.update(part);
            length -= part.size();
            if (length == 0) return sum.digest();
        }
    }

private:
    std::span<const Bytes> left_;
    std::size_t used_ = 0;
};

} // namespace stepstore
