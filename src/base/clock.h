// The system's clocks.
// Threads: any. Errors: none; these clocks are always there.
#pragma once

#include <cstdint>
#include <ctime>

namespace stepstore {

// What this clock says, in ns.
inline std::uint64_t nanoseconds(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace stepstore
