// A large block that is not in the program's memory, written in pieces while it is fetched: the calling
// thread fetches a piece, and another thread writes the one before. So the block takes the memory of two
// pieces, which stay for the next block.
//
// Pieces end where chunks of the data do, so chunks are written as they are of a block in one piece. A piece
// has whole elements. Its memory has the alignment of its place in the block, as that of a reader has.
//
// What fetches may have better memory for it than ours (PieceMemory). It is taken when it is first needed,
// and given back by the end of Pieces. That may be on another thread, but not in a forked child.
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

// Memory that is copied into faster, such as the page-locked memory of a device's driver.
struct PieceMemory {
    std::byte* (*take)(std::size_t bytes) noexcept; // nullptr: there is none, and ordinary memory does
    void (*give_back)(std::byte* memory, std::size_t bytes) noexcept;
};

class Pieces {
public:
    static constexpr std::uint64_t usual = 4 << 20;      // bytes of one
    static constexpr std::uint64_t of_synced = 16 << 20; // if each write is synced: four of 64 MiB

    // from: for as long as this; nullptr: ordinary memory.
    explicit Pieces(std::uint64_t bytes = usual, const PieceMemory* from = nullptr)
        : most_(bytes), from_(from)
    {
    }
    std::uint64_t most() const { return most_; } // bytes of one

    // Calls write(where, piece) for all of the range, in order, and on the calling thread for the last piece.
    // chunk: of the data, bytes; element: bytes, at most most().
    void write(const Range& range, std::uint64_t chunk, std::uint64_t element, Fetch fetch,
               FunctionRef<void(const Range&, Bytes)> write);

private:
    struct GivesBack {
        const PieceMemory* to; // nullptr: it is ordinary memory
        std::size_t bytes;
        void operator()(std::byte* memory) const noexcept
        {
            if (to != nullptr)
                to->give_back(memory, bytes);
            else
                delete[] memory;
        }
    };
    using Memory = std::unique_ptr<std::byte[], GivesBack>;
    Memory take() const;
    std::uint64_t end_of(std::uint64_t begin, const Range& range, std::uint64_t chunk,
                         std::uint64_t element) const;

    std::uint64_t most_;
    const PieceMemory* from_;
    std::array<Memory, 2> memory_;
};

} // namespace stepstore::steps
