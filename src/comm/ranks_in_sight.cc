#include "comm/ranks_in_sight.h"

#include "base/record.h"

#include <algorithm>

namespace stepstore {

// The list has an entry of every rank on every rank, so it is not kept. A rank of this very process lives.
RanksInSight::RanksInSight(Communicator& communicator)
{
    const ProcessIdentity mine = this_process();
    std::vector<std::byte> own;
    WireWriter to(own);
    write_process(to, mine);
    std::vector<std::byte> all;
    std::vector<std::uint64_t> offsets;
    communicator.gather(own, all, offsets, 0);
    communicator.broadcast(all, 0);
    WireReader from(all, "the list of the group's processes");
    for (std::uint32_t rank = 0; !from.at_end(); ++rank) {
        ProcessIdentity process = read_process(from);
        if (process.machine != mine.machine || process == mine) continue;
        others_.push_back({rank, std::move(process)});
        if (rank < static_cast<std::uint32_t>(communicator.rank())) first_to_look_at_ = others_.size();
    }
}

const RanksInSight::Rank* RanksInSight::dead() const
{
    const auto found =
        std::ranges::find_if(others_, [](const Rank& one) { return life_of(one.process) == Life::dead; });
    return found == others_.end() ? nullptr : &*found;
}

} // namespace stepstore
