#include "steps/read/pause.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

// Seconds. Who is told looks all the same: what he was told may be lost, and the writer dead.
constexpr double longest_watch = 0.5;
constexpr double longest_sleep_on_ceph = 0.05; // where it may not watch
constexpr std::chrono::seconds between_tries{10};

} // namespace

Pause::Pause(const OpenStream& stream, double poll_interval)
    : stream_(stream), poll_interval_(poll_interval), told_(capabilities_of(stream.location().pool).watches),
      interval_(poll_interval)
{
}

void Pause::pass(double most)
{
    if (told_ && !watch_ && SteadyClock::now() >= next_try_) {
        watch_ = stream_.watch();
        next_try_ = SteadyClock::now() + between_tries;
        if (watch_) return; // the step may have come before
    }
    if (watch_) {
        const std::chrono::duration<double> span(std::min(most, longest_watch));
        if (watch_->wait(std::chrono::ceil<std::chrono::microseconds>(span)) == KeyWatch::Got::lost)
            watch_.reset();
        return;
    }
    sleep_for(std::chrono::duration<double>(std::min(most, interval_)));
    const double longest = std::max(poll_interval_ * 4, told_ ? longest_sleep_on_ceph : 0);
    interval_ = std::min(interval_ * 1.5, longest);
}

} // namespace stepstore::steps
