// Which chunks of an array a step of `array-adaptive` takes, so that it meets each target about as often as
// the others. A pool places chunks by a hash. So as many chunks as a step needs fall on some targets several
// times, and on others never.
//
// 1. For each chunk that a step needs it has eight, one after the other: its candidates. Those that it does
//    not take stay holes, which take no space.
// 2. The chunks are chosen in order: of the candidates the first one whose target was taken the least often.
// 3. The count begins anew with every 256th chunk. So a rank looks at no more chunks than that.
//
// Every process gets the same from the stream's record alone.
//
// Threads: any; pure.
#pragma once

#include "steps/stream_record.h"

#include <cstdint>
#include <vector>

namespace stepstore::steps {

class ChunkChoice {
public:
    ChunkChoice() = default; // takes all, one after the other
    explicit ChunkChoice(const StreamRecord& record) : groups_(record.groups), hash_(record.group_hash) {}
    bool chooses() const { return groups_ > 1; }
    // Chunks that a step takes, with their holes, for so many that it needs.
    std::uint64_t span(std::uint64_t chunks) const { return chooses() ? chunks * candidates : chunks; }
    // From the step's first chunk on: where those lie that it needs. Of the chunks `first` to `end` of them;
    // `first` is a multiple of `together`.
    std::vector<std::uint64_t> chosen(std::uint64_t step, std::uint64_t first, std::uint64_t end) const;
    // Of one of them alone.
    std::uint64_t chosen(std::uint64_t step, std::uint64_t one) const;

private:
    static constexpr std::uint64_t candidates = 8, together = 256;
    unsigned group_of(std::uint64_t chunk) const;

    unsigned groups_ = 0; // of targets
    GroupHash hash_ = GroupHash::stepstore;
};

} // namespace stepstore::steps
