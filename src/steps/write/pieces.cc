#include "steps/write/pieces.h"

#include "base/call_threads.h"

#include <algorithm>
#include <exception>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t cache_line = 64; // bytes

} // namespace

Pieces::Memory Pieces::take() const
{
    const std::size_t bytes = most_ + cache_line;
    if (from_ != nullptr)
        if (std::byte* const taken = from_->take(bytes)) return {taken, {from_, bytes}};
    return Memory(new std::byte[bytes], {});
}

// Of the piece that begins at `begin`.
std::uint64_t Pieces::end_of(std::uint64_t begin, const Range& range, std::uint64_t chunk,
                             std::uint64_t element) const
{
    const std::uint64_t end = range.index + range.length;
    if (end - begin <= most_) return end;
    const std::uint64_t grain = std::min(chunk, most_);
    std::uint64_t cut = (begin + most_) / grain * grain;
    cut -= (cut - range.index) % element;
    return cut > begin ? cut : begin + most_ / element * element;
}

void Pieces::write(const Range& range, std::uint64_t chunk, std::uint64_t element, Fetch fetch,
                   FunctionRef<void(const Range&, Bytes)> write)
{
    const std::uint64_t end = range.index + range.length;
    std::exception_ptr failure;
    CallThreads thread; // last: its end waits for the piece
    const auto wait = [&] {
        thread.wait();
        if (failure) std::rethrow_exception(failure);
    };
    std::size_t turn = 0;
    for (std::uint64_t begin = range.index; begin < end; turn ^= 1) {
        const Range where{begin, end_of(begin, range, chunk, element) - begin};
        const std::uint64_t at = begin - range.index;
        if (!memory_[turn]) memory_[turn] = take();
        const MutableBytes piece(memory_[turn].get() + at % cache_line, where.length);
        fetch(piece, at);
        wait(); // for the piece before
        const auto write_it = [&write, &failure, where, piece] {
            try {
                write(where, piece);
            } catch (...) {
                failure = std::current_exception();
            }
        };
        begin += where.length;
        if (begin == end || !thread.start(write_it)) write_it();
    }
    wait();
}

} // namespace stepstore::steps
