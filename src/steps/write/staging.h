// Memory of ours for blocks that wait: in chunks that stay where they are until clear(), and are used again
// after it.
// Threads: one at a time. Errors: std::bad_alloc.
#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace stepstore::steps {

class Staging {
public:
    // Until clear(). Its bytes are whatever they are.
    std::byte* take(std::size_t bytes)
    {
        if (bytes > free_) next_chunk(bytes);
        std::byte* const taken = next_;
        next_ += bytes;
        free_ -= bytes;
        used_ += bytes;
        return taken;
    }
    // A large copy begins in its cache line as the original does: so the store keeps it.
    const std::byte* copy(Bytes bytes);
    // For a copy. Large ones lie as large memory of malloc does: 16 bytes after a cache line.
    MutableBytes room(std::size_t bytes);
    // Zeros, for elements of any type.
    MutableBytes zeros(std::size_t bytes);
    std::size_t used() const { return used_; } // bytes
    // Keeps 64 MiB for what comes next or, with `all_used`, all that was used.
    void clear(bool all_used = false);

private:
    struct Chunk {
        std::unique_ptr<std::byte[]> memory;
        std::size_t bytes;
    };
    void next_chunk(std::size_t bytes);

    std::vector<Chunk> chunks_; // those in use first
    std::size_t in_use_ = 0;
    std::byte* next_ = nullptr; // what is free of the last one in use
    std::size_t free_ = 0;
    std::size_t used_ = 0;
};

} // namespace stepstore::steps
