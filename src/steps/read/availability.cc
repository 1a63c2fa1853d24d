#include "steps/read/availability.h"

#include "steps/read/step_metadata.h"

#include <algorithm>
#include <iterator>

namespace stepstore::steps {

bool Availability::put_like_before(const InstalledStep& step) const
{
    return std::ranges::equal(step.ranks, before_, [](const RankStep& now, const auto& before) {
        return now.plan == before.first && now.mapping == before.second;
    });
}

void Availability::add(const InstalledStep& step)
{
    const std::uint64_t number = steps_++;
    if (number > 0 && put_like_before(step)) return;
    before_.clear();
    for (const RankStep& rank : step.ranks)
        before_.emplace_back(rank.plan, rank.mapping);
    std::vector<VariableId> now = variables_of(step), gone, come;
    std::ranges::set_difference(present_, now, std::back_inserter(gone));
    std::ranges::set_difference(now, present_, std::back_inserter(come));
    for (const VariableId id : gone)
        runs_[id].back().end = number;
    if (!come.empty() && come.back() >= runs_.size()) runs_.resize(std::size_t{come.back()} + 1);
    for (const VariableId id : come)
        runs_[id].push_back({number, no_step, count(id)});
    present_ = std::move(now);
}

void Availability::add_gone()
{
    const std::uint64_t number = steps_++;
    for (const VariableId id : present_)
        runs_[id].back().end = number;
    present_.clear();
    before_.clear();
}

std::uint64_t Availability::count(VariableId variable) const
{
    if (variable >= runs_.size() || runs_[variable].empty()) return 0;
    const Run& last = runs_[variable].back();
    return last.before + std::min(last.end, steps_) - last.first;
}

std::optional<std::uint64_t> Availability::step(VariableId variable, std::uint64_t index) const
{
    if (index >= count(variable)) return std::nullopt;
    const Run& run = *std::prev(std::ranges::upper_bound(runs_[variable], index, {}, &Run::before));
    return run.first + (index - run.before);
}

} // namespace stepstore::steps
