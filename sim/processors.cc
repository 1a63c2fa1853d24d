#include "processors.h"

#include "queue.h"

#include <algorithm>

namespace stepstore::sim {

void Processors::get(Running& process)
{
    if (process.has_processor) return;
    ++waiting_;
    free_->acquire();
    --waiting_;
    process = {true, 0};
}

void Processors::leave(Running& process)
{
    if (!process.has_processor) return;
    process.has_processor = false;
    free_->release();
}

void Processors::work(Running& process, double seconds)
{
    while (seconds > 0) {
        get(process);
        const double now = std::min(seconds, slice_ - process.since);
        spend(now);
        seconds -= now;
        process.since += now;
        if (process.since < slice_) continue;
        if (waiting_ > 0)
            leave(process);
        else
            process.since = 0;
    }
}

} // namespace stepstore::sim
