// Deadlines and polling.
// Threads: each object belongs to the one that waits. Errors: what `look` or `done` throws.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <sys/prctl.h>
#include <thread>

namespace stepstore {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;
    explicit Deadline(double seconds)
        : at_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8))))
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

// For one who waits in a loop: tick() calls `look` after 20 ms, and then again and again, every 0.5 s in the
// end.
class Lookout {
public:
    explicit Lookout(const std::function<void()>& look) : look_(look) {}
    void tick()
    {
        if (!look_ || Clock::now() < next_) return;
        look_();
        interval_ = std::min(2 * interval_, std::chrono::milliseconds(500));
        next_ = Clock::now() + interval_;
    }

private:
    using Clock = std::chrono::steady_clock;
    const std::function<void()>& look_;
    std::chrono::milliseconds interval_{20};
    Clock::time_point next_ = Clock::now() + interval_;
};

// For a loop that waits for other processes: pause() yields at first, and sleeps longer the longer it has
// waited. MPI's own waiting keeps a processor busy. Where there are more ranks than processors, as in tests
// and on a workstation, it takes the processor from the rank that all wait for. So pauses begin soon.
//
// A pause is a small part of what was waited. In an exchange up and down a tree of ranks each level waits for
// the one before it, so the pauses of all levels add up. With a quarter they would feed each other: 8 ranks
// then need 8 ms for what takes 0.5.
class Backoff {
public:
    Backoff() = default;
    ~Backoff()
    {
        if (slack_ > 0) prctl(PR_SET_TIMERSLACK, slack_);
    }
    Backoff(const Backoff&) = delete;
    Backoff& operator=(const Backoff&) = delete;

    // short_for: for so long pauses stay short, as what moves on only while somebody looks at it needs.
    void pause(std::chrono::nanoseconds short_for = {})
    {
        using namespace std::chrono_literals;
        const auto waited = Clock::now() - begin_;
        if (waited < 50us) return std::this_thread::yield();
        sleep_exactly();
        const auto longest = waited < short_for ? 50us : 1000us;
        std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(waited / 64, 20us, longest));
    }

private:
    using Clock = std::chrono::steady_clock;

    // By default the kernel may let a thread sleep 50 us longer than it asks for.
    void sleep_exactly()
    {
        if (slack_ != 0) return;
        slack_ = prctl(PR_GET_TIMERSLACK); // of this thread; the program's own, which it gets back
        if (slack_ > 0) prctl(PR_SET_TIMERSLACK, 1000UL);
    }

    Clock::time_point begin_ = Clock::now();
    int slack_ = 0; // nanoseconds; negative: the kernel does not tell
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
