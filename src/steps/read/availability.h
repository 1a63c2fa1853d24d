// Which steps have which variables. A step that was put like the one before costs a comparison of its ranks'
// plans.
// Threads: one at a time, as the Reader. Errors: none; nullopt for a step that is not there.
#pragma once

#include "steps/metadata/decoder.h"

#include <memory>
#include <optional>
#include <vector>

namespace stepstore::steps {

class Availability {
public:
    std::uint64_t steps() const { return steps_; } // that were added: [0, steps())
    void add(const InstalledStep& step);           // the next one
    void add_gone();                               // the next one is not there any more

    std::uint64_t count(VariableId variable) const;
    // The step that has the variable for the index-th time, from 0. nullopt: it has fewer.
    std::optional<std::uint64_t> step(VariableId variable, std::uint64_t index) const;

private:
    struct Run {
        std::uint64_t first = 0;
        std::uint64_t end = 0;    // no_step: it goes on
        std::uint64_t before = 0; // steps in the runs before
    };
    bool put_like_before(const InstalledStep& step) const;

    std::uint64_t steps_ = 0;
    std::vector<std::vector<Run>> runs_; // by variable
    std::vector<VariableId> present_;    // in the last step
    std::vector<std::pair<std::shared_ptr<const Plan>, std::shared_ptr<const Mapping>>>
        before_; // of its ranks
};

} // namespace stepstore::steps
