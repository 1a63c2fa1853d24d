// N ranks as threads of one process: a Communicator for tests of what is collective, without MPI.
#pragma once

#include "support/exchange_communicator.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace stepstore::testing {

// What the ranks share. A rank that leaves (its body threw) breaks the group: the others' calls throw instead
// of hanging.
class ThreadGroup {
public:
    explicit ThreadGroup(int size) : size_(size), posted_(static_cast<std::size_t>(size)) {}

    // Every rank posts its bytes; all see what all have posted.
    std::vector<std::vector<std::byte>> exchange(int rank, std::uint64_t /*round*/, Bytes mine,
                                                 const std::function<void()>& look)
    {
        std::unique_lock lock(mutex_);
        posted_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
        const std::uint64_t round = round_;
        if (++arrived_ == size_) {
            arrived_ = 0;
            ++round_;
            seen_ = std::make_shared<const std::vector<std::vector<std::byte>>>(posted_);
            changed_.notify_all();
        } else {
            wait(lock, [&] { return round_ != round || broken_; }, look);
            if (round_ == round) throw std::runtime_error("another rank has left the group");
        }
        return *seen_;
    }
    void leave()
    {
        const std::lock_guard lock(mutex_);
        broken_ = true;
        changed_.notify_all();
        for (auto& [first, row] : rows_)
            row.leave();
    }
    int size() const { return size_; }
    ThreadGroup& row(int first, int count)
    {
        const std::lock_guard lock(mutex_);
        const auto [found, is_new] = rows_.try_emplace(first, count);
        if (broken_) found->second.leave();
        return found->second;
    }

private:
    template <class Done>
    void wait(std::unique_lock<std::mutex>& lock, Done done, const std::function<void()>& look)
    {
        Lookout lookout(look);
        while (!changed_.wait_for(lock, std::chrono::milliseconds(10), done)) {
            lock.unlock();
            lookout.tick();
            lock.lock();
        }
    }

    int size_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<std::byte>> posted_;
    std::shared_ptr<const std::vector<std::vector<std::byte>>> seen_;
    int arrived_ = 0;
    std::uint64_t round_ = 0;
    bool broken_ = false;
    std::map<int, ThreadGroup> rows_; // by the first rank
};

// Runs `body` on `size` ranks and rethrows the lowest rank's exception.
inline void run_ranks(int size, const std::function<void(std::shared_ptr<Communicator>)>& body)
{
    const auto group = std::make_shared<ThreadGroup>(size);
    std::vector<std::exception_ptr> failed(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
            try {
                body(std::make_shared<ExchangeCommunicator<ThreadGroup>>(group, rank));
            } catch (...) {
                failed[static_cast<std::size_t>(rank)] = std::current_exception();
                group->leave();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const auto& one : failed)
        if (one != nullptr) std::rethrow_exception(one);
}

} // namespace stepstore::testing
