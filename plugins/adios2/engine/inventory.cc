#include "inventory.h"

namespace stepstore::adios {

void Inventory::note(const adios2::IO& io, const std::unordered_map<const void*, steps::VariableId>& ids)
{
    entries_.clear();
    for (const auto& [name, variable] : core_of(io).GetVariables()) {
        const auto found = ids.find(variable.get());
        entries_.push_back({variable.get(), found == ids.end() ? none : found->second});
    }
    noted_ = true;
}

bool Inventory::visit(const adios2::IO& io, const adios2::core::Engine* owner, Look look) const
{
    const auto& there = core_of(io).GetVariables();
    if (!noted_ || there.size() != entries_.size()) return false;
    auto expected = entries_.begin();
    for (const auto& [name, variable] : there) {
        const Entry& entry = *expected++;
        if (variable.get() != entry.identity) return false;
        if (entry.id == none) continue;
        if (!is_engine_of(*variable, owner)) return false;
        look(entry.id, *variable);
    }
    return true;
}

} // namespace stepstore::adios
