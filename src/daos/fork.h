// Forks: handles made before a fork can be used after it, threads and events in flight stay the parent's.
#pragma once

#include <cstdint>
#include <mutex>

namespace stepstore::daos {

// Grows by one in the child at every fork: what was made under another number belongs to the parent.
std::uint64_t fork_generation() noexcept;

// Held across every fork, so that the child never finds it locked by a thread that it does not have. One per object
// that must be usable in the child; made at start-up and never destroyed.
std::mutex& table_mutex() noexcept;
std::mutex& workers_mutex() noexcept;
std::mutex& reopen_mutex() noexcept;

} // namespace stepstore::daos
