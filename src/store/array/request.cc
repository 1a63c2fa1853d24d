// Takes the request of a read or write apart: by chunks, and these by the targets that hold them.
#include "store/array/array.h"

#include <algorithm>

namespace stepstore::store {

namespace {

std::string named(const ObjectAccess& object)
{
    return "pool " + object.path + ", array " + text(object.oid);
}

} // namespace

ArrayShape::ArrayShape(const ObjectAccess& object, const ArrayAttributes& attributes)
    : cell(attributes.cell_size)
{
    if (attributes.cell_size == 0 || attributes.chunk_size == 0) {
        fail(DER_INVAL, named(object) + ": a cell size of " + std::to_string(attributes.cell_size) +
                            " bytes and a chunk size of " + std::to_string(attributes.chunk_size) +
                            " cells: both must be at least 1");
    }
    if (__builtin_mul_overflow(attributes.cell_size, attributes.chunk_size, &chunk) || chunk > farthest) {
        fail(DER_OVERFLOW, named(object) + ": a chunk of " + std::to_string(attributes.chunk_size) +
                               " cells of " + std::to_string(attributes.cell_size) +
                               " bytes is beyond 2^63 bytes");
    }
}

ByteRange::ByteRange(const ObjectAccess& object, const ArrayShape& shape, const Range& range)
{
    std::uint64_t last = 0;
    if (__builtin_add_overflow(range.index, range.length, &last) ||
        __builtin_mul_overflow(last, shape.cell, &end) || end > farthest) {
        fail(DER_OVERFLOW, named(object) + ": cells " + std::to_string(range.index) + " + " +
                               std::to_string(range.length) + " of " + std::to_string(shape.cell) +
                               " bytes reach beyond 2^63 bytes");
    }
    begin = range.index * shape.cell;
}

unsigned group_of_chunk(const ObjectAccess& object, std::uint64_t chunk)
{
    return chunk_group(chunk, object.placement.groups());
}

KeyBuffer extent_key(const ObjectAccess& object, Space space, std::uint64_t chunk, std::uint64_t end)
{
    return object.prefix(space, Kind::array).add(chunk).add(end);
}

template <class Memory>
Request<Memory>::Request(const ObjectAccess& object, const ArrayShape& shape, std::span<const Range> ranges,
                         std::span<const Memory> memory)
{
    const std::uint64_t given = room_in(memory);
    std::uint64_t pieces = 0;
    std::uint64_t first = 0; // byte of the last range that is not empty
    for (const Range& range : ranges) {
        const ByteRange bounds(object, shape, range);
        if (__builtin_add_overflow(bytes, bounds.end - bounds.begin, &bytes)) bytes = UINT64_MAX;
        if (range.length == 0) continue;
        highest = std::max(highest, bounds.end);
        first = bounds.begin;
        pieces += (bounds.end - 1) / shape.chunk - bounds.begin / shape.chunk + 1;
    }
    if (bytes != given) {
        fail(DER_IO_INVAL, named(object) + ": the ranges have " + std::to_string(bytes) +
                               " bytes and the memory has " + std::to_string(given) +
                               ": both must be the same");
    }
    if (pieces == 1 && memory.size() == 1) {
        const std::uint64_t chunk = first / shape.chunk;
        const std::uint64_t begin = first % shape.chunk;
        only_ = {chunk, begin, begin + bytes, group_of_chunk(object, chunk), memory};
        pieces_ = {&only_, 1};
        return;
    }
    several_.reserve(pieces);
    // At most: each end of a piece cuts one, and spans into it must stay.
    slices_.reserve(pieces + memory.size());
    take_apart(object, shape, ranges, memory);
    std::ranges::stable_sort(several_, {}, &Piece<Memory>::group);
    pieces_ = several_;
}

template <class Memory>
void Request<Memory>::take_apart(const ObjectAccess& object, const ArrayShape& shape,
                                 std::span<const Range> ranges, std::span<const Memory> memory)
{
    std::size_t at = 0;     // in `memory`
    std::uint64_t used = 0; // of memory[at]
    for (const Range& range : ranges) {
        const ByteRange bounds(object, shape, range);
        for (std::uint64_t from = bounds.begin; from < bounds.end;) {
            Piece<Memory> piece;
            piece.chunk = from / shape.chunk;
            piece.begin = from % shape.chunk;
            piece.end = std::min(shape.chunk, piece.begin + (bounds.end - from));
            piece.group = group_of_chunk(object, piece.chunk);
            from += piece.length();
            const std::size_t first = slices_.size();
            for (std::uint64_t rest = piece.length(); rest != 0;) {
                while (used == memory[at].size()) {
                    ++at;
                    used = 0;
                }
                const auto take = std::min<std::uint64_t>(rest, memory[at].size() - used);
                slices_.push_back(memory[at].subspan(used, take));
                used += take;
                rest -= take;
            }
            piece.memory = std::span<const Memory>(slices_).subspan(first);
            several_.push_back(piece);
        }
    }
}

template <class Memory>
void Request<Memory>::for_each_group(
    const ObjectAccess& object, FunctionRef<void(unsigned group, std::span<const Piece<Memory>>)> each) const
{
    if (pieces_.empty()) return;
    if (pieces_.front().group == pieces_.back().group) return each(pieces_.front().group, pieces_);
    std::vector<std::span<const Piece<Memory>>> groups;
    for (auto first = pieces_.begin(); first != pieces_.end();) {
        const auto end =
            std::find_if(first, pieces_.end(), [&](const auto& one) { return one.group != first->group; });
        groups.emplace_back(first, end);
        first = end;
    }
    object.target(0).at_once(groups.size(),
                             [&](std::size_t at) { each(groups[at].front().group, groups[at]); });
}

template class Request<Bytes>;
template class Request<MutableBytes>;

} // namespace stepstore::store
