// Moving blocks between array objects and the program's memory: in requests of a given size, several of which
// are under way, without a copy where that is possible.
// Threads: one at a time for each Requests. Errors: those of the store, from add() or finish(); -DER_CSUM for
// data that do not match.
#pragma once

#include "arrays/record.h"
#include "arrays/runs.h"
#include "base/checksum.h"
#include "stepstore/client.h"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace stepstore::arrays {

struct TransferOptions {
    std::uint64_t request_size = 16 << 20; // bytes
    bool verify = true;                    // compare what is read with checksums that are stored
};

inline constexpr std::uint64_t checksum_bytes = 8;
// In an object each block is followed by the checksums of its parts of `chunk_size` bytes.
std::uint64_t checksums_size(const DataLayout& layout, std::uint64_t block_bytes); // bytes
std::uint64_t checksums_at(std::uint64_t offset, std::uint64_t block_bytes);

// Requests that are under way, the oldest first.
class Requests {
public:
    explicit Requests(EventQueue& queue) : queue_(queue) {}
    EventQueue& queue() { return queue_; }
    // done: after the request; what it refers to stays until then. Waits where too many are under way.
    void add(Pending pending, std::function<void(Pending&)> done);
    void finish(); // waits for all; throws the first error

private:
    static constexpr std::size_t most = 8;
    struct One {
        std::function<void(Pending&)> done; // holds memory that the request uses: so it goes last
        Pending pending;
    };
    void finish_oldest();

    EventQueue& queue_;
    std::deque<One> under_way_; // destroyed: each waits
};

// Memory of the program as it gives it: the box's first element, and the distances of neighbours.
struct Memory {
    std::byte* first = nullptr;
    Strides strides{};
};

// Writes a block of `count` elements at `offset` of an object. The memory must stay until finish().
void write_block(Requests& requests, Array& object, std::uint64_t offset, const DataLayout& layout,
                 const TransferOptions& options, unsigned dimensions, const Extents& count,
                 std::uint64_t element_size, const Memory& memory);

// Reads the part of a stored block that lies in `box`, into the memory of that box. what: the block, for
// messages. -DER_CSUM: damaged, at a second look too (second_look.h), or shorter than the block.
void read_block(Requests& requests, const std::shared_ptr<const Array>& object, const StoredBlock& block,
                const DataLayout& layout, const TransferOptions& options, unsigned dimensions, const Box& box,
                std::uint64_t element_size, const Memory& memory, const std::string& what);

} // namespace stepstore::arrays
