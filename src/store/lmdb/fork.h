// What a fork means for this back end: a child may use nothing of LMDB's that
// its parent opened, and must not hold its parent's locks. Everything that was
// opened carries the generation of its process; a child opens anew and leaves
// the parent's objects alone, without closing them (closing a file drops LMDB's
// locks of the whole process).
#pragma once

#include <cstdint>
#include <mutex>

namespace stepstore::store::lmdb {

// Differs between a process and its forked children. Cheap: one load.
std::uint64_t process_generation() noexcept;

// Held while pools are opened and closed, and over every fork, so that no child
// begins with it locked.
std::mutex& process_guard();

// A child closes these descriptors of files with locks of ours at its start:
// the lock stays the parent's alone. Called with process_guard() held or from
// inside of opening.
void close_in_children(int fd);
void forget_in_children(int fd); // before the descriptor is closed

} // namespace stepstore::store::lmdb
