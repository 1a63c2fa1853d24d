// The queues of storage.h for requests that are known in advance: what they cost without a simulation of what
// causes them. A million takes about a second.
// Threads: any; pure.
#pragma once

#include "machine.h"

#include <cstdint>
#include <vector>

namespace stepstore::sim {

// A request to a target, and its reply.
struct Message {
    std::uint32_t target = 0;
    bool is_inline = true;      // the value comes with the request, or with the reply
    double service = 0;         // seconds of the target, without its medium
    std::uint64_t sent = 0;     // bytes of the value
    std::uint64_t received = 0; // bytes of the value that is read
};

// Of the library: the caller's own work, and then the messages, one after the other.
struct Call {
    double own = 0;    // seconds
    bool waits = true; // for the replies; else the next call comes at once
    std::vector<Message> messages;
};

using Calls = std::vector<Call>;

// One of several that begin at the same time.
struct Process {
    std::size_t node = 0;
    const Calls* calls = nullptr;
};

struct Replayed {
    double mean = 0;                  // seconds until a process has all its replies
    double last = 0;                  // until all have
    std::uint64_t most_at_target = 0; // messages
    std::uint64_t short_of_buffers = 0;
    std::vector<std::uint32_t> ended; // the processes, the first to end first
};

Replayed replay(const Machine& machine, const std::vector<Process>& processes);

// Of so many processes with the same calls, where a replay would take too long: what the busiest of the
// caller, the targets, the rails and the switches needs at least.
Replayed bound(const Machine& machine, const Calls& calls, std::uint64_t processes);

std::uint64_t messages_in(const Calls& calls);

} // namespace stepstore::sim
