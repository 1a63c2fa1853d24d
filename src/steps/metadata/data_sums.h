// Checksums of a step's data, in the metadata that refers to them. For pools that do not verify the cells of
// arrays themselves (Capabilities::verifies_cells). docs/format-stream.md has the bytes.
//
// A rank writes its data in ranges. Each is cut into pieces of the same size, the last one shorter. A reader
// that wants a part of a piece reads all of it. So pieces are small, and of large ranges not too many.
//
// Threads: one at a time; DataSums that were decoded do not change. Errors: -DER_DF_INVAL for damage.
#pragma once

#include "base/bytes.h"
#include "base/memory_pieces.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::steps {

inline constexpr std::uint64_t least_piece = 64 << 10; // bytes
inline constexpr std::uint64_t most_piece = 4 << 20;
// Of a range of so many bytes: the least power of 2 from `least_piece` on that makes at most 512 of it, but
// `most_piece` at most.
std::uint64_t piece_size_of(std::uint64_t length);

struct DataSpan {
    std::uint64_t begin = 0; // in the rank's data, bytes
    std::uint64_t length = 0;
    std::uint64_t end() const { return begin + length; }
};

class DataSums {
public:
    // ---- of a writer, for the step that is open
    void clear();
    // The next bytes of `memory` are written there. Ranges do not overlap in a step.
    void add(const DataSpan& range, MemoryPieces& memory);
    void add(const DataSums& others); // of the same step
    bool empty() const { return ranges_.empty(); }
    // data_base: where the step's data begin.
    void encode(std::uint64_t data_base, std::vector<std::byte>& to);

    // ---- of a reader
    // data: the step's. what: names the metadata, for errors.
    static DataSums decode(Bytes bytes, const DataSpan& data, const std::string& what);
    // The range with the whole of the pieces that it begins and ends in.
    DataSpan cover(const DataSpan& wanted) const;
    // Bytes that lie from `begin` on: where the first piece begins that is in them whole and does not match.
    std::optional<std::uint64_t> mismatch(std::uint64_t begin, Bytes bytes) const;

private:
    struct Summed {
        DataSpan at;
        std::size_t first = 0; // in sums_
    };
    const Summed* range_at(std::uint64_t at) const;
    std::vector<Summed> ranges_; // of a reader: by their places
    std::vector<std::uint64_t> sums_;
};

} // namespace stepstore::steps
