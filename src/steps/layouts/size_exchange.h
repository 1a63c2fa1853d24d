// How the ranks of a collective layout tell each other the sizes of their blobs.
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
    // In the place of exchange(), of a rank that has no blob of the step.
    void fail();
    // Takes part in the exchanges of those that still write, until no rank does.
    void finish();

private:
    Communicator& communicator_;
};

} // namespace stepstore::steps
