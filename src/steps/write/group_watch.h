// What becomes of the ranks of one writer: so that nobody waits for a rank that will not come.
//
// A rank that gives a step up, or whose writer is destroyed without close(), says so in a log. The log is
// the keys "Lost-0", "Lost-1", ... of the segment's side object. A rank that was killed says nothing: the
// others look whether its process still exists. They look while they wait for the group
// (Communicator::watch). Where steps need not wait for anybody they look when they end one, at most ten
// times a second. Then each looks at one other process of its machine, in turn, so that every process is
// looked at each tenth of a second. It tells the others of a dead one.
//
// Threads: one at a time for each rank. Errors: -DER_CANCELED, which names the rank and the reason.
#pragma once

#include "base/time_source.h"
#include "client/numbered_log.h"
#include "comm/ranks_in_sight.h"

#include <optional>
#include <string>
#include <vector>

namespace stepstore::steps {

class GroupWatch {
public:
    // Collective: the ranks tell each other which processes they are. From here on a call of the communicator
    // ends with -DER_CANCELED, on every rank, when one that takes part in it is dead or has left.
    explicit GroupWatch(Communicator& communicator);
    ~GroupWatch();
    GroupWatch(const GroupWatch&) = delete;
    GroupWatch& operator=(const GroupWatch&) = delete;
    void attach(KeyValue side) { log_.emplace(std::move(side), "Lost-"); }

    // Another rank has no part in `step`: -DER_CANCELED, which says which one and why. Looks ten times a
    // second at most.
    void look(std::uint64_t step);
    // No step is open any more: close() needs every rank. -DER_CANCELED when one has left or died.
    void look_at_close();
    // Tells the others that this rank gives a step up, and why; it still takes part in what they do together.
    void give_up(std::uint64_t step, const std::string& why) noexcept;
    // Tells the others that this rank takes part in nothing any more, having ended the steps before `step`.
    void leave(std::uint64_t step) noexcept;
    // Why the first rank that has no part in `step` has none; empty: not known.
    std::string reason(std::uint64_t step);

private:
    struct Loss {
        std::uint32_t rank = 0;
        std::uint64_t step = 0; // the first that it has no part in
        bool left = false;      // it takes part in nothing any more
        std::string text;
    };
    void read_on();
    void put(const Loss& loss) noexcept;
    const Loss* loss_in(std::uint64_t step, bool left_only) const;
    void look_for_the_dead(const RanksInSight::Rank& one);
    void look_while_waiting();

    Communicator& communicator_;
    RanksInSight in_sight_;
    std::optional<NumberedLog> log_;
    std::vector<Loss> losses_; // that were read, or seen
    std::uint64_t step_ = 0;   // that this rank is about to end
    SteadyClock::time_point looked_;
    const std::chrono::microseconds between_looks_;
    std::optional<SteadyClock::time_point> lost_; // when a wait first met a rank that has no part in it
    std::size_t next_to_look_at_;
};

} // namespace stepstore::steps
