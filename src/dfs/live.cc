#include "dfs/live.h"

#include "base/fork.h"

#include <mutex>
#include <unordered_map>

namespace stepstore::dfs {
namespace {

// Guarded by ForkLock::file_systems. Never destroyed: threads may still release while the process ends.
std::unordered_map<const void*, Kind>& all()
{
    static auto& kept = *new std::unordered_map<const void*, Kind>();
    return kept;
}

} // namespace

Live::Live(Kind kind, const void* owner) : kind_(kind), owner_(owner)
{
    const std::lock_guard lock(held_over_fork(ForkLock::file_systems));
    all().emplace(owner, kind);
}

bool is_live(Kind kind, const void* what) noexcept
{
    const std::lock_guard lock(held_over_fork(ForkLock::file_systems));
    const auto found = all().find(what);
    return found != all().end() && found->second == kind;
}

bool end_life(Kind kind, const void* what) noexcept
{
    const std::lock_guard lock(held_over_fork(ForkLock::file_systems));
    const auto found = all().find(what);
    if (found == all().end() || found->second != kind) return false;
    all().erase(found);
    return true;
}

} // namespace stepstore::dfs
