// How the ranks of a collective layout tell each other the sizes of their metadata, or that it is stored.
// Threads: one at a time for each rank. Errors: -DER_CANCELED, and those of the Communicator.
#pragma once

#include "comm/communicator.h"

#include <cstdint>
#include <vector>

namespace stepstore::steps {

class SizeExchange {
public:
    explicit SizeExchange(Communicator& communicator) : communicator_(communicator) {}
    // All ranks' sizes, by rank. -DER_CANCELED: a rank failed, or writes no more.
    std::vector<std::uint64_t> exchange(std::uint64_t step, std::uint64_t mine);
    // When all ranks are here and none has failed, rank 0 does `work` before any of them goes on. What it
    // throws is thrown on rank 0, and -DER_CANCELED on the others.
    void meet(std::uint64_t step, FunctionRef<void()> work);
    // In the place of exchange() or meet(), of a rank that has no metadata of the step.
    void fail();
    // Takes part in the exchanges of those that still write, until no rank does.
    void finish();

private:
    Communicator& communicator_;
};

} // namespace stepstore::steps
