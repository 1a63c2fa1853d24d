// What serves one request after the other, and how an actor of the simulation waits.
// Threads: the actors of the simulation, of which one runs at a time. Errors: none.
#pragma once

#include <simgrid/s4u.hpp>

#include <algorithm>
#include <functional>

namespace stepstore::sim {

inline double now()
{
    return simgrid::s4u::Engine::get_clock();
}

inline void wait_until(double when)
{
    if (when > now()) simgrid::s4u::this_actor::sleep_until(when);
}

inline void spend(double seconds)
{
    if (seconds > 0) simgrid::s4u::this_actor::sleep_for(seconds);
}

// In order of arrival: a call is made when its request arrives.
class Queue {
public:
    // When the request will have been served.
    double take(double service)
    {
        busy_until_ = std::max(busy_until_, now()) + service;
        return busy_until_;
    }

    double busy_until() const { return busy_until_; }
    void stay_busy(double until) { busy_until_ = until; }

private:
    double busy_until_ = 0;
};

// Runs `work` beside the caller, on its node, as a helper of its own.
inline void beside(const std::function<void()>& work)
{
    simgrid::s4u::Actor::create("helper", simgrid::s4u::this_actor::get_host(), work);
}

} // namespace stepstore::sim
