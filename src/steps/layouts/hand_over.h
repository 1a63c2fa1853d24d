// How neighbouring ranks hand their metadata over to the first of them, which stores it for all.
//
// 1. All ranks of the row hand their metadata over (gather). A rank that failed hands over nothing, and then
//    the first one gives the step up.
// 2. The first one stores it, and tells the others what became of the step (broadcast). So no rank ends a
//    step before its metadata is stored, and all of them get the error if it is not.
// A rank that writes no more goes on handing over a byte that says so, until all do.
//
// Threads: one at a time for each rank. Errors: -DER_CANCELED, and those of the Communicator.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "comm/communicator.h"

#include <exception>
#include <string>
#include <vector>

namespace stepstore::steps {

// What the ranks have handed over: that of the row's rank i lies at offsets[i] to offsets[i + 1].
struct HandedOver {
    std::vector<std::byte> bytes;
    std::vector<std::uint64_t> offsets;
    std::size_t ranks() const { return offsets.size() - 1; }
    std::uint64_t size(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
    Bytes of(std::size_t i) const { return Bytes(bytes).subspan(offsets[i], size(i)); }
};

class HandOver {
public:
    // The row has this rank.
    HandOver(Communicator& communicator, RankRow row) : communicator_(communicator), row_(row) {}
    bool is_first() const { return communicator_.rank() == row_.first; }
    // mine: more than one byte. The first rank does `work` with all of it. What it throws is thrown there,
    // and -DER_CANCELED with its text on the others.
    using Work = FunctionRef<void(const HandedOver&)>;
    void store(std::uint64_t step, Bytes mine, Work work);
    // In the place of store(), of a rank that has no metadata of the step.
    void abandon(std::uint64_t step);
    // Takes part for those that still write, until no rank does.
    void finish();

private:
    // What the first rank says when all have handed over.
    struct Outcome {
        enum Kind : std::uint8_t { stored, given_up, all_finished } kind = given_up;
        std::string why;
    };
    Outcome exchange(std::uint64_t step, Bytes mine, Work work);
    Outcome settle(std::uint64_t step, Work work);
    std::string given_up_because(std::size_t without, std::uint64_t step) const;

    Communicator& communicator_;
    RankRow row_;
    HandedOver all_;            // on the first rank
    std::exception_ptr failed_; // of its work, in the exchange that was
};

} // namespace stepstore::steps
