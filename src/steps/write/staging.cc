#include "steps/write/staging.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace stepstore::steps {

namespace {

constexpr std::size_t line = 64; // of the processor's cache, bytes
constexpr std::size_t large = 256 << 10;
constexpr std::size_t chunk_bytes = (4 << 20) + line; // so that copies of the default's largest block fit
constexpr std::size_t most_kept = 64 << 20;           // for the next step

} // namespace

const std::byte* Staging::copy(Bytes bytes)
{
    std::byte* to = take(bytes.size() + (bytes.size() < large ? 0 : line));
    if (bytes.size() >= large)
        to += (reinterpret_cast<std::uintptr_t>(bytes.data()) - reinterpret_cast<std::uintptr_t>(to)) % line;
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return to;
}

MutableBytes Staging::room(std::size_t bytes)
{
    std::byte* to = take(bytes + (bytes < large ? 0 : line));
    if (bytes >= large) to += (16 - reinterpret_cast<std::uintptr_t>(to)) % line;
    return {to, bytes};
}

// A type's alignment divides the size of its elements, and so the size of all of them.
MutableBytes Staging::zeros(std::size_t bytes)
{
    const std::size_t alignment = std::min(bytes & (0 - bytes), alignof(std::max_align_t));
    if (bytes + alignment > free_) next_chunk(bytes);
    if (bytes > 0) take((0 - reinterpret_cast<std::uintptr_t>(next_)) % alignment);
    std::byte* const to = take(bytes);
    std::fill_n(to, bytes, std::byte{0});
    return {to, bytes};
}

// The rest of the chunk before stays free.
void Staging::next_chunk(std::size_t bytes)
{
    if (in_use_ == chunks_.size() || chunks_[in_use_].bytes < bytes) {
        const std::size_t size = std::max(bytes, chunk_bytes);
        chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(in_use_),
                       {std::make_unique_for_overwrite<std::byte[]>(size), size});
    }
    next_ = chunks_[in_use_].memory.get();
    free_ = chunks_[in_use_].bytes;
    ++in_use_;
}

void Staging::clear(bool all_used)
{
    std::size_t kept = 0, number = 0;
    std::erase_if(chunks_, [&](const Chunk& one) {
        const bool used = number++ < in_use_;
        const bool too_much = !(all_used && used) && kept + one.bytes > most_kept;
        if (!too_much) kept += one.bytes;
        return too_much;
    });
    in_use_ = used_ = free_ = 0;
    next_ = nullptr;
}

} // namespace stepstore::steps
