// Where `array-adaptive` keeps the blobs: rows of steps with slots of the same sizes. array_adaptive.cc has
// the protocol.
#pragma once

#include "steps/stream_record.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepstore::steps {

// The first step of the row that has the step; both from the first step of the segment on.
std::uint64_t row_of(std::uint64_t index);

// One rank's slots in a row of steps.
struct Slots {
    std::uint64_t first = 0;    // step of the row
    std::uint64_t begin = 0;    // of the row in the rank's object, bytes
    std::uint64_t size = 0;     // of a slot
    std::uint64_t place = 0;    // of the slot from the begin of its step
    std::uint64_t stride = 0;   // of `together` steps
    std::uint64_t together = 1; // steps that lie in one stride, slot behind slot
    bool at_0 = false;          // each step begins at byte 0 of its object

    // In the object. -DER_OVERFLOW: behind the end of the largest.
    std::uint64_t step_at(std::uint64_t step) const;
    std::uint64_t at(std::uint64_t step) const { return step_at(step) + place; }
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
    std::uint64_t end() const { return first_ + steps_; }
    const std::vector<std::uint64_t>& sizes() const { return sizes_; }
    const std::vector<std::uint64_t>& begins() const { return begins_; }
    Slots of(std::uint32_t rank) const;
    // Where the next row begins, as `begins`.
    std::vector<std::uint64_t> ends() const;

private:
    std::uint64_t first_, steps_, chunk_;
    bool of_ranks_; // an object for each
    bool at_0_;
    std::vector<std::uint64_t> sizes_; // by rank
    std::vector<std::uint64_t> begins_;
    std::vector<std::uint64_t> places_; // by rank, from the begin of a step; not in ranks' objects
    std::uint64_t stride_ = 0;          // of a step
};

std::vector<std::byte> encode_row(const Row& row);
// Of the row from step `first` on. -DER_CSUM, -DER_DF_INVAL: damaged.
Row decode_row(Bytes bytes, std::uint64_t first, const StreamRecord& record);

} // namespace stepstore::steps
