#include "daos/workers.h"

#include "base/fork.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace stepstore::daos {
namespace {

constexpr unsigned most_threads = 16; // more do not help one machine's disks

class Workers {
public:
    Workers() : generation_(process_generation()) {}

    // Guarded by ForkLock::workers, held by the caller.
    void start()
    {
        if (!threads_.empty()) return;
        const unsigned count = std::clamp(std::thread::hardware_concurrency(), 2U, most_threads);
        threads_.reserve(count);
        while (threads_.size() < count) {
            try {
                threads_.emplace_back([this] { serve(); });
            } catch (...) {
                if (threads_.empty()) throw;
                break; // fewer will do
            }
        }
    }

    void add(std::function<void()> work)
    {
        {
            const std::lock_guard lock(mutex_);
            work_.push_back(std::move(work));
        }
        changed_.notify_one();
    }

    std::function<void()> take()
    {
        const std::lock_guard lock(mutex_);
        if (work_.empty()) return {};
        auto work = std::move(work_.front());
        work_.pop_front();
        return work;
    }

    void stop()
    {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (auto& thread : threads_)
            thread.join();
    }

    bool of_this_process() const { return generation_ == process_generation(); }

private:
    void serve()
    {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
            if (work_.empty()) return;
            {
                const auto work = std::move(work_.front());
                work_.pop_front();
                lock.unlock();
                work();
            } // what the work holds is let go of outside the lock
            lock.lock();
        }
    }

    std::uint64_t generation_;
    std::vector<std::thread> threads_;
    std::mutex mutex_; // guards the following
    std::condition_variable changed_;
    std::deque<std::function<void()>> work_;
    bool stopping_ = false;
};

// Guarded by ForkLock::workers. Raw: those of a parent process are left behind in the child, where nothing
// may touch them.
Workers* current = nullptr;

} // namespace

void run_on_worker(std::function<void()> work)
{
    const std::lock_guard lock(held_over_fork(ForkLock::workers));
    if (!current || !current->of_this_process()) current = new Workers;
    current->start();
    current->add(std::move(work));
}

bool help_workers()
{
    std::function<void()> work;
    {
        const std::lock_guard lock(held_over_fork(ForkLock::workers)); // so that nobody stops them meanwhile
        if (!current || !current->of_this_process()) return false;
        work = current->take();
    }
    if (!work) return false;
    work();
    return true;
}

void stop_workers()
{
    std::unique_ptr<Workers> stopped;
    {
        const std::lock_guard lock(held_over_fork(ForkLock::workers));
        if (!current || !current->of_this_process()) return;
        stopped.reset(std::exchange(current, nullptr));
    }
    stopped->stop();
}

} // namespace stepstore::daos
