// Dictionary (decoder.h): variables and attributes by their names, as all ranks' definitions add up to them.
#include "steps/metadata/decoder.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::steps {

VariableId Dictionary::add(std::uint64_t step, std::uint32_t rank, const Variable& variable)
{
    const auto [it, fresh] = by_name_.try_emplace(variable.name, static_cast<VariableId>(variables_.size()));
    if (fresh) {
        variables_.push_back(variable);
        origins_.emplace_back(step, rank);
        return it->second;
    }
    const Variable& first = variables_[it->second];
    if (defined_alike(first, variable)) return it->second;
    const auto [first_step, first_rank] = origins_[it->second];
    conflicts_.try_emplace(it->second, "variable '" + variable.name + "' is a " + described(first) + " in " +
                                           step_rank(first_step, first_rank) + ", and a " +
                                           described(variable) + " in " + step_rank(step, rank) +
                                           ": all ranks of the writer must define it in the same way");
    return none;
}

void Dictionary::add(std::uint64_t step, std::uint32_t rank, Attribute&& attribute)
{
    std::vector<Version>& versions = attributes_[attribute.name];
    const auto key = std::pair(step, rank);
    const auto at = std::ranges::lower_bound(versions, key, {},
                                             [](const Version& v) { return std::pair(v.step, v.rank); });
    if (at != versions.end() && std::pair(at->step, at->rank) == key)
        at->attribute = std::move(attribute); // set twice
    else
        versions.insert(at, {step, rank, std::move(attribute)});
    // Also for one that is set twice: its value is another.
    attribute_steps_.insert(std::ranges::upper_bound(attribute_steps_, step), step);
}

std::uint64_t Dictionary::attribute_changes(std::uint64_t step) const
{
    return static_cast<std::uint64_t>(std::ranges::upper_bound(attribute_steps_, step) -
                                      attribute_steps_.begin());
}

std::uint32_t Dictionary::find(std::string_view name) const
{
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? none : found->second;
}

void Dictionary::check(VariableId id) const
{
    if (id >= variables_.size())
        throw Error(-DER_INVAL, "there is no variable with id " + std::to_string(id) +
                                    "; the stream defines " + std::to_string(variables_.size()));
    if (const auto found = conflicts_.find(id); found != conflicts_.end())
        throw Error(-DER_DF_INVAL, found->second);
}

const Attribute* Dictionary::attribute(std::string_view name, std::uint64_t step) const
{
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return nullptr;
    const std::vector<Version>& versions = found->second;
    const auto after = std::ranges::upper_bound(versions, step, {}, &Version::step);
    if (after == versions.begin()) return nullptr;
    return &std::ranges::lower_bound(versions, std::prev(after)->step, {}, &Version::step)->attribute;
}

std::vector<std::string> Dictionary::attribute_names(std::uint64_t step) const
{
    std::vector<std::string> names;
    for (const auto& [name, versions] : attributes_)
        if (versions.front().step <= step) names.push_back(name);
    return names;
}

} // namespace stepstore::steps
