// How a reader that waits for a step passes the time between two looks at the stream. On Ceph a look is a few
// round trips. So there it watches the stream, where it may, and is told when to look. Else it sleeps.
// Threads: one at a time, as the Reader. Errors: those of KeyWatch.
#pragma once

#include "base/time_source.h"
#include "steps/read/open_stream.h"

namespace stepstore::steps {

class Pause {
public:
    Pause(const OpenStream& stream, double poll_interval);
    void begin() { interval_ = poll_interval_; } // another step is waited for
    void pass(double most);                      // seconds

private:
    const OpenStream& stream_;
    const double poll_interval_;
    const bool told_; // by writers, where it may watch
    double interval_;
    std::optional<KeyWatch> watch_;
    SteadyClock::time_point next_try_; // to watch
};

} // namespace stepstore::steps
