// Time as everything above the store sees it: the system's, or the virtual time of a simulation. The store
// itself, which waits for other processes, keeps to the system's.
// Threads: any, but for use_time(), which comes before them. Errors: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace stepstore {

// Of a file beside the objects.
struct FileAccess {
    enum Kind : std::uint8_t { open, read, write, sync } kind;
    const std::string& path;
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
    std::uint64_t file_size = 0; // of a read
};

struct TimeSource {
    std::uint64_t (*now)();            // ns since any moment; never goes back
    void (*sleep)(std::uint64_t span); // ns, of the caller alone
    void (*file)(const FileAccess&);   // after a file was accessed: lets the time pass that it takes
};

// From now on, for the whole process. Before anything of it is in use; nullptr: the system's again.
void use_time(const TimeSource* source);

// In the place of std::chrono::steady_clock.
class SteadyClock {
public:
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<SteadyClock>;
    static constexpr bool is_steady = true;
    static time_point now();
};

// In the place of std::this_thread::sleep_for; nothing where the span is negative.
void sleep_nanoseconds(std::chrono::nanoseconds span);
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> span)
{
    sleep_nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(span));
}

// Nothing with the system's time: then the access itself took its time.
void note_file_access(const FileAccess& access);
// Whether somebody wants to know of accesses.
bool notes_file_accesses();

} // namespace stepstore
