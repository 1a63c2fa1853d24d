// The metadata of a stream of one rank, and a reader's view of it.
#pragma once

#include "steps/metadata/decoder.h"
#include "steps/metadata/encoder.h"

#include <gtest/gtest.h>

#include <map>

namespace stepstore::steps {

inline constexpr std::uint64_t generation = 7;

class MetadataOfRanks : public ::testing::Test {
protected:
    Encoder encoder{generation, 0, true};
    std::map<std::uint64_t, std::vector<std::byte>> stored;
    int fetched = 0;

    void finish(std::uint64_t step)
    {
        const Bytes metadata = encoder.finish(step);
        stored[step].assign(metadata.begin(), metadata.end());
    }
    static StepMetadata step_of(std::uint64_t step, const std::vector<std::byte>& metadata)
    {
        StepMetadata found;
        found.step = step;
        found.bytes = metadata;
        found.by_rank = {found.bytes};
        return found;
    }
    std::unique_ptr<InstalledStep> install(Decoder& decoder, std::uint64_t step)
    {
        return decoder.install(step_of(step, stored.at(step)),
                               [&](std::uint64_t other, std::uint32_t, MetadataPart) {
                                   ++fetched;
                                   return stored.at(other);
                               });
    }
    void put(VariableId id, std::uint64_t start, std::uint64_t count, double min, double max)
    {
        const std::uint64_t shape[] = {100}, s[] = {start}, c[] = {count};
        std::byte* slot = encoder.minmax_slot(encoder.add_block(id, shape, s, c, count * 8));
        std::memcpy(slot, &min, 8);
        if (count != 1) std::memcpy(slot + 8, &max, 8); // of a single element there is one place
    }
};

} // namespace stepstore::steps
