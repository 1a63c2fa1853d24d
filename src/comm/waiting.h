// Deadlines and polling for the meetings.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace stepstore {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;
    explicit Deadline(double seconds)
        : at_(Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8))))
    {
    }
    bool passed() const { return Clock::now() >= at_; }
    // For poll(): the time left, at least 0, at most `most`.
    int milliseconds(int most) const
    {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(at_ - Clock::now()).count() + 1;
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
    }

private:
    Clock::time_point at_;
};

// Polls until `done` or the deadline: eagerly at first, then with pauses that leave the core to others.
template <class Done>
bool poll_until(const Deadline& deadline, Done done)
{
    for (int round = 0;; ++round) {
        if (done()) return true;
        if (deadline.passed()) return false;
        if (round < 200)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(std::min(2000, 20 * (round - 199))));
    }
}

} // namespace stepstore
