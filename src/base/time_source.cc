#include "base/time_source.h"

#include <thread>

namespace stepstore {

namespace {

const TimeSource* in_use = nullptr;

} // namespace

void use_time(const TimeSource* source)
{
    in_use = source;
}

SteadyClock::time_point SteadyClock::now()
{
    if (in_use != nullptr) return time_point(duration(in_use->now()));
    return time_point(std::chrono::steady_clock::now().time_since_epoch());
}

void sleep_nanoseconds(std::chrono::nanoseconds span)
{
    if (span.count() <= 0) return;
    if (in_use != nullptr) return in_use->sleep(static_cast<std::uint64_t>(span.count()));
    std::this_thread::sleep_for(span);
}

bool notes_file_accesses()
{
    return in_use != nullptr;
}

void note_file_access(const FileAccess& access)
{
    if (in_use != nullptr) in_use->file(access);
}

} // namespace stepstore
