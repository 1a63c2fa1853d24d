// The parts of renames and exchanges that finishing one shares with doing one (rename.h).
// Threads: any. Errors: calls fail with an errno (failure.h).
#pragma once

#include "dfs/rename.h"

namespace stepstore::dfs {

// The process that set this mark is about to go on, or has died: waits, and then clears it.
void wait_or_clear(const Spot& spot, const Mark& mark);

// Of the first one of an exchange, which has the mark.
void settle_exchange(const ::dfs& fs, const Spot& one, const Entry& entry);

// EINVAL: a directory would become an entry of itself.
void require_not_within(const Inode& moved, const Level& directory, const std::string& name);

} // namespace stepstore::dfs
