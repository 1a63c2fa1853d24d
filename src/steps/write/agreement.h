// Compares what the ranks of a writer say about the variables that they share, where it is new. This is type
// and kind of shape once, and the shape in every step in which it changes.
//
// No rank waits for another. They write one log, the keys "Agreed-0", "Agreed-1", ... of the segment's side
// object (docs/format-stream.md):
// 1. A rank that has something new to say reads the entries that it has not seen, until they say all of it as
//    well.
// 2. If they do not, it puts what is missing as the next entry, on the condition that there is none. Where
//    another rank was faster, it goes on reading.
// 3. Where an entry differs, the rank gives up its step before its metadata is stored. So the step never
//    becomes whole.
// Most ranks say the same in the same order. So an entry is first compared byte by byte: where one is the
// beginning of the other, its claims are not looked up by their names.
// So one of two ranks that contradict each other is in the log, and the other one finds it there, however far
// apart they are. Ranks that say the same cost one put, and a get each; a step that brings nothing new costs
// nothing.
//
// What ranks define before they open the stream they compare then, with two reductions (agree()). If all say
// the same, a rank that puts it in the first step, as it was said, has nothing new to say.
//
// Not seen here: a shape that one rank changes and another one, whose shape stays, does not: that one has
// nothing new to say. Readers find it.
//
// Threads: one at a time for each rank. Errors: -DER_INVAL for ranks that contradict each other, and those of
// the store.
#pragma once

#include "client/numbered_log.h"
#include "comm/communicator.h"
#include "steps/metadata/encoder.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace stepstore::steps {

class Agreement {
public:
    Agreement(KeyValue side, std::uint32_t rank) : log_(std::move(side), "Agreed-"), rank_(rank) {}

    // All ranks call it together, before the first step, with all that they know by then.
    void agree(Communicator& group, std::uint64_t first_step, std::vector<Claim> claims);
    // -DER_INVAL: another rank has said otherwise; the message names variable, step, and what both ranks say.
    void settle(std::uint64_t step, std::vector<Claim> claims);
    std::uint64_t requests() const { return requests_; }

private:
    struct Shape {
        std::uint64_t step = 0;
        std::uint32_t rank = 0;
        Dims dims;
    };
    struct Known { // what others have said of a variable
        Variable variable;
        std::uint64_t step = 0;
        std::uint32_t rank = 0;
        std::vector<Shape> shapes; // in this step and later ones: other ranks may be ahead
    };

    bool is_agreed(std::uint64_t step, const Claim& claim) const;
    bool is_said(std::uint64_t step, const Claim& claim) const;
    void learn(Bytes entry, std::uint64_t step);

    NumberedLog log_;
    std::uint32_t rank_;
    std::uint64_t requests_ = 0;
    std::unordered_map<std::string, Known> known_;
    std::vector<std::vector<std::byte>> unlearned_; // entries that say more than what this rank asked for
    std::uint64_t first_step_ = 0;
    std::unordered_map<std::string, Claim> agreed_; // by all ranks, before the first step
};

} // namespace stepstore::steps
