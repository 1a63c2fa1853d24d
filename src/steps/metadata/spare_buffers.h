// Memory of steps that are done with, for those that come. To a reader the page faults of new memory cost
// more than copying a step's metadata into it.
// Threads: one at a time. Errors: none.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace stepstore::steps {

// Not for several threads at once.
class SpareBuffers {
public:
    // Of any size, with any content; empty where there is none.
    std::vector<std::byte> take()
    {
        if (buffers_.empty()) return {};
        std::vector<std::byte> taken = std::move(buffers_.back());
        buffers_.pop_back();
        bytes_ -= taken.capacity();
        return taken;
    }
    void give(std::vector<std::byte>&& buffer)
    {
        if (buffer.capacity() == 0 || buffer.capacity() > most - bytes_) return;
        bytes_ += buffer.capacity();
        buffers_.push_back(std::move(buffer));
    }

    static constexpr std::size_t most = 32 << 20; // bytes that are kept

private:
    std::vector<std::vector<std::byte>> buffers_;
    std::size_t bytes_ = 0;
};

} // namespace stepstore::steps
