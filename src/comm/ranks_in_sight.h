// The processes of a group's ranks that this machine can see, and which of them has died.
// Threads: after its construction any may look. Errors: those of the Communicator, of the constructor alone.
#pragma once

#include "base/process.h"
#include "comm/communicator.h"

#include <optional>
#include <vector>

namespace stepstore {

class RanksInSight {
public:
    struct Rank {
        std::uint32_t rank = 0;
        ProcessIdentity process;
    };

    // Collective: the ranks tell each other which processes they are.
    explicit RanksInSight(Communicator& communicator);

    // All but this process, in rank order. Those of other machines cannot be seen: there the launcher of the
    // job has to end it.
    const std::vector<Rank>& others() const { return others_; }
    // The first of `others` after this rank, so that each rank looks at another one first.
    std::size_t first_to_look_at() const { return first_to_look_at_; }
    // The first that has died.
    const Rank* dead() const;

private:
    std::vector<Rank> others_;
    std::size_t first_to_look_at_ = 0;
};

} // namespace stepstore
