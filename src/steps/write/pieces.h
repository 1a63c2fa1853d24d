// A large block that is not in the program's memory, written in pieces while it is fetched: the calling
// thread fetches a piece, and another thread writes the one before. So the block takes the memory of two
// pieces, which stay for the next block.
//
// Pieces end where chunks of the data do, so chunks are written as they are of a block in one piece. A piece
// has whole elements. Its memory has the alignment of its place in the block, as that of a reader has.
//
// Threads: one at a time. No thread is at work between two calls, so a fork finds none. A fork in `fetch`
// does not take the thread along: the child must not return from it. If the system gives no thread, a piece
// is written before the next one is fetched. Errors: what `fetch` and `write` throw; the block is then
// written in part, and nothing is at work.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "stepstore/client.h"

#include <array>
#include <memory>

namespace stepstore::steps {

// Writes elements of a block into memory: those from byte `at` of the block on.
using Fetch = FunctionRef<void(MutableBytes to, std::uint64_t at)>;

class Pieces {
public:
    static constexpr std::uint64_t usual = 4 << 20;      // bytes of one
    static constexpr std::uint64_t of_synced = 16 << 20; // if each write is synced: four of 64 MiB

    explicit Pieces(std::uint64_t bytes = usual) : most_(bytes) {}
    std::uint64_t most() const { return most_; } // bytes of one

    // Calls write(where, piece) for all of the range, in order, and on the calling thread for the last piece.
    // chunk: of the data, bytes; element: bytes, at most most().
    void write(const Range& range, std::uint64_t chunk, std::uint64_t element, Fetch fetch,
               FunctionRef<void(const Range&, Bytes)> write);

private:
    std::uint64_t end_of(std::uint64_t begin, const Range& range, std::uint64_t chunk,
                         std::uint64_t element) const;

    std::uint64_t most_;
    std::array<std::unique_ptr<std::byte[]>, 2> memory_;
};

} // namespace stepstore::steps
