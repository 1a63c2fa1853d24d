// What a fork means here. A child has one thread, and a copy of all that its parent had. It uses nothing that
// its parent shares with the system by process: LMDB's environments, locks on files, threads. Whatever was
// opened carries the generation of its process. A child opens its own, and leaves its parent's objects alone,
// without closing them: closing a file drops LMDB's locks of the whole process.
// Threads: any. Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace stepstore {

namespace detail {
extern std::atomic<std::uint64_t> process_generation; // written in a child that begins
}

// Differs between a process and its forked children. Cheap: one load.
inline std::uint64_t process_generation() noexcept
{
    return detail::process_generation.load(std::memory_order_relaxed);
}

// Locks of this library that are held over every fork, so that no child begins with one locked by a thread
// that it does not have. In the order in which they nest. They are never destroyed.
enum class ForkLock : std::uint8_t {
    workers,      // of asynchronous calls
    handles,      // the table of handles
    pools,        // the open pools of the store
    reopening,    // of a back end's pool in a child
    backend,      // pools of a back end being opened and closed
    containers,   // which containers are open; also asked within transactions
    file_systems, // which handles of libdfs there are; nothing is locked below it
    count
};
std::mutex& held_over_fork(ForkLock which) noexcept;

// A child closes these descriptors of files with locks of ours at its start: the lock stays the parent's
// alone.
void close_in_children(int fd);
void forget_in_children(int fd); // before the descriptor is closed

} // namespace stepstore
