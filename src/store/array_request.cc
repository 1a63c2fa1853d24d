#include "store/array.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::uint64_t farthest = std::uint64_t{1} << 63;

std::string named(const ObjectAccess& object)
{
    return "pool " + object.path + ", array " + text(object.oid);
}

} // namespace

ArrayShape::ArrayShape(const ObjectAccess& object, const ArrayAttributes& attributes) : cell(attributes.cell_size)
{
    if (attributes.cell_size == 0 || attributes.chunk_size == 0) {
        fail(DER_INVAL, named(object) + ": a cell size of " + std::to_string(attributes.cell_size) +
                            " bytes and a chunk size of " + std::to_string(attributes.chunk_size) +
                            " cells: both must be at least 1");
    }
    if (__builtin_mul_overflow(attributes.cell_size, attributes.chunk_size, &chunk) || chunk > farthest) {
        fail(DER_OVERFLOW, named(object) + ": a chunk of " + std::to_string(attributes.chunk_size) + " cells of " +
                               std::to_string(attributes.cell_size) + " bytes is beyond 2^63 bytes");
    }
}

ByteRange::ByteRange(const ObjectAccess& object, const ArrayShape& shape, const Range& range)
{
    std::uint64_t last = 0;
    if (__builtin_add_overflow(range.index, range.length, &last) || __builtin_mul_overflow(last, shape.cell, &end) ||
        end > farthest) {
        fail(DER_OVERFLOW, named(object) + ": cells " + std::to_string(range.index) + " + " +
                               std::to_string(range.length) + " of " + std::to_string(shape.cell) +
                               " bytes reach beyond 2^63 bytes");
    }
    begin = range.index * shape.cell;
}

unsigned group_of_chunk(const ObjectAccess& object, std::uint64_t chunk)
{
    std::byte dkey[8];
    store_big(dkey, chunk);
    return object.placement.group_of(dkey);
}

KeyBuffer extent_key(const ObjectAccess& object, Space space, std::uint64_t chunk, std::uint64_t end)
{
    return object.prefix(space, Kind::array).add(chunk).add(end);
}

template <class Memory>
Request<Memory>::Request(const ObjectAccess& object, const ArrayShape& shape, std::span<const Range> ranges,
                         std::span<const Memory> memory)
    : groups(object.placement.groups())
{
    std::uint64_t given = 0;
    for (const Memory& one : memory)
        given += one.size();
    for (const Range& range : ranges) {
        const ByteRange bounds(object, shape, range);
        if (__builtin_add_overflow(bytes, bounds.end - bounds.begin, &bytes)) bytes = UINT64_MAX;
        if (range.length != 0) highest = std::max(highest, bounds.end);
    }
    if (bytes != given) {
        fail(DER_IO_INVAL, named(object) + ": the ranges have " + std::to_string(bytes) + " bytes and the memory has " +
                               std::to_string(given) + ": both must be the same");
    }
    // First the slices of memory, counted out by index, then the spans: the vector may move while it grows.
    struct Part {
        unsigned group;
        std::size_t first, count;
    };
    std::vector<Part> parts;
    std::size_t at = 0;     // in `memory`
    std::uint64_t used = 0; // of memory[at]
    std::vector<Piece<Memory>> pieces;
    for (const Range& range : ranges) {
        const ByteRange bounds(object, shape, range);
        for (std::uint64_t from = bounds.begin; from < bounds.end;) {
            Piece<Memory> piece;
            piece.chunk = from / shape.chunk;
            piece.begin = from % shape.chunk;
            piece.end = std::min(shape.chunk, piece.begin + (bounds.end - from));
            from += piece.length();
            const std::size_t first = slices.size();
            for (std::uint64_t rest = piece.length(); rest != 0;) {
                while (used == memory[at].size()) {
                    ++at;
                    used = 0;
                }
                const auto take = std::min<std::uint64_t>(rest, memory[at].size() - used);
                slices.push_back(memory[at].subspan(used, take));
                used += take;
                rest -= take;
            }
            parts.push_back({group_of_chunk(object, piece.chunk), first, slices.size() - first});
            pieces.push_back(piece);
        }
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        pieces[i].memory = std::span<const Memory>(slices).subspan(parts[i].first, parts[i].count);
        groups[parts[i].group].push_back(pieces[i]);
    }
}

template struct Request<Bytes>;
template struct Request<MutableBytes>;

} // namespace stepstore::store
