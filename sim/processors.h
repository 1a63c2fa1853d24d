// The processors of one machine, and which processes run on them.
//
// A process that works keeps its processor, also from one piece of work to the next. It leaves it when it
// waits for something else, or has had it for a slice of time while others wait. They get it in the order in
// which they asked. So most short works are not disturbed, and a few wait for long, as with a real scheduler.
//
// Threads: the actors of the simulation, of which one runs at a time. Errors: none.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstddef>
#include <limits>

namespace stepstore::sim {

struct Running {
    bool has_processor = false;
    double since = 0; // seconds of work since it got it
};

class Processors {
public:
    // A slice of 0 has no end.
    Processors(std::size_t count, double slice)
        : free_(simgrid::s4u::Semaphore::create(static_cast<unsigned>(count))),
          slice_(slice > 0 ? slice : std::numeric_limits<double>::infinity())
    {
    }
    void get(Running& process);
    void work(Running& process, double seconds);
    void leave(Running& process); // before it waits, and at its end

private:
    simgrid::s4u::SemaphorePtr free_;
    double slice_;
    std::size_t waiting_ = 0;
};

} // namespace stepstore::sim
