#include "base/call_threads.h"

#include <exception>
#include <system_error>

namespace stepstore {

bool CallThreads::start(std::function<void()> part)
{
    {
        const std::lock_guard lock(guard_);
        ++running_;
    }
    try {
        threads_.emplace_back([this, part = std::move(part)] { run(part); });
        return true;
    } catch (const std::system_error&) {
        const std::lock_guard lock(guard_);
        --running_;
        return false;
    }
}

void CallThreads::run(const std::function<void()>& part)
{
    {
        const CarriedOutFor caller(stop_);
        const NotAsked not_asked;
        part();
    }
    const std::lock_guard lock(guard_);
    --running_;
    changed_.notify_all();
}

void CallThreads::wait()
{
    if (threads_.empty()) return;
    stop_ = stop_ || is_given_up();
    std::unique_lock lock(guard_);
    const auto all_ended = [&] { return running_ == 0; };
    while (may_be_asked() && !changed_.wait_for(lock, between_asking, all_ended)) {
        lock.unlock();
        if (asked_to_stop()) stop_ = true;
        lock.lock();
    }
    lock.unlock();
    for (std::thread& one : threads_)
        one.join();
    threads_.clear();
}

void ask_during(FunctionRef<void()> work)
{
    // A flag is heard under a lock too.
    const bool asks = interrupts().of_thread().not_asked == 0 && interrupts().host() != nullptr;
    std::exception_ptr failed;
    CallThreads threads;
    if (!asks || !threads.start([&] {
            try {
                work();
            } catch (...) {
                failed = std::current_exception();
            }
        }))
        return work();
    threads.wait();
    if (failed) std::rethrow_exception(failed);
}

} // namespace stepstore
