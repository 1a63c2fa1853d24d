// Where `array-adaptive` keeps the metadata: rows of steps with slots of the same sizes. array_adaptive.cc
// has the protocol.
// Threads: any; a Row does not change. Errors: -DER_OVERFLOW; -DER_CSUM and -DER_DF_INVAL for damage.
#pragma once

#include "steps/layouts/chunk_choice.h"
#include "steps/stream_record.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepstore::steps {

// The first step of the row that has the step; both from the first step of the segment on.
std::uint64_t row_of(std::uint64_t index);
std::uint64_t end_of_row(std::uint64_t first_index); // the first step of the next one

// Bytes between two slots: a reader reads over less, which costs less than another range.
inline constexpr std::uint64_t least_gap = 4096;

// One rank's slots in a row of steps.
struct Slots {
    std::uint64_t first = 0;    // step of the row
    std::uint64_t begin = 0;    // of the row in the rank's object, bytes
    std::uint64_t size = 0;     // of a slot
    std::uint64_t chunk = 0;    // of those that the step needs
    std::uint64_t place = 0;    // of the slot from the begin of that chunk
    std::uint64_t stride = 0;   // of `together` steps
    std::uint64_t together = 1; // steps that lie in one stride, slot after slot
    bool at_0 = false;          // each step begins at byte 0 of its object
    std::uint64_t chunk_size = 1;
    ChunkChoice choice;

    // In the object. -DER_OVERFLOW: after the end of the largest.
    std::uint64_t step_at(std::uint64_t step) const;
    std::uint64_t at(std::uint64_t step) const;
    // Where the next row begins.
    std::uint64_t end(std::uint64_t row_end) const;
};

// The slots of all ranks in a row of steps.
class Row {
public:
    // begins: where the row begins in each rank's object (per-writer), else in the object.
    Row(const StreamRecord& record, std::uint64_t first, std::vector<std::uint64_t> sizes,
        std::vector<std::uint64_t> begins);
    std::uint64_t first() const { return first_; } // step
    std::uint64_t end() const { return end_; }
    const std::vector<std::uint64_t>& sizes() const { return sizes_; }
    const std::vector<std::uint64_t>& begins() const { return begins_; }
    Slots of(std::uint32_t rank) const;
    // Where the slots of a step begin, by rank.
    std::vector<std::uint64_t> places(std::uint64_t step) const;
    // Where the next row begins, as `begins`.
    std::vector<std::uint64_t> ends() const;

private:
    std::uint64_t first_, end_, chunk_;
    bool of_ranks_; // an object for each
    bool at_0_;
    std::vector<std::uint64_t> sizes_; // by rank
    std::vector<std::uint64_t> begins_;
    // By rank, in the chunks that a step needs, as if they followed one another. Not in ranks' objects.
    std::vector<std::uint64_t> places_;
    std::uint64_t chunks_ = 0; // that a step needs
    ChunkChoice choice_;
};

std::vector<std::byte> encode_row(const Row& row);
// Of the row from step `first` on. -DER_CSUM, -DER_DF_INVAL: damaged.
Row decode_row(Bytes bytes, std::uint64_t first, const StreamRecord& record);

} // namespace stepstore::steps
