// N ranks as threads of one process: a Communicator for tests of what is collective, without MPI.
#pragma once

#include "comm/communicator.h"
#include "comm/waiting.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace stepstore::testing {

// What the ranks share. A rank that leaves (its body threw) breaks the group: the others' calls throw instead of
// hanging.
class ThreadGroup {
public:
    explicit ThreadGroup(int size) : size_(size), posted_(static_cast<std::size_t>(size)) {}

    // Every rank posts its bytes; all see what all have posted.
    std::vector<std::vector<std::byte>> exchange(int rank, Bytes mine, const std::function<void()>& look)
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
    }
    int size() const { return size_; }

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
};

class ThreadCommunicator final : public Communicator {
public:
    ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return group_->size(); }
    void barrier() override { exchange({}); }
    void broadcast(std::vector<std::byte>& bytes, int root) override
    {
        bytes = exchange(rank_ == root ? Bytes(bytes) : Bytes())[static_cast<std::size_t>(root)];
    }
    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets, int root) override
    {
        const auto all = exchange(mine);
        gathered.clear();
        offsets.clear();
        if (rank_ != root) return;
        for (const auto& one : all) {
            offsets.push_back(gathered.size());
            gathered.insert(gathered.end(), one.begin(), one.end());
        }
        offsets.push_back(gathered.size());
    }
    std::vector<std::uint64_t> allgather(std::uint64_t mine) override
    {
        std::byte bytes[8];
        store_little(bytes, mine);
        std::vector<std::uint64_t> numbers;
        for (const auto& one : exchange(bytes))
            numbers.push_back(load_little<std::uint64_t>(one.data()));
        return numbers;
    }
    std::uint64_t max(std::uint64_t mine) override
    {
        const auto all = allgather(mine);
        return *std::max_element(all.begin(), all.end());
    }

private:
    std::vector<std::vector<std::byte>> exchange(Bytes mine)
    {
        if (broken_) throw std::runtime_error("a call after one that was given up");
        try {
            return group_->exchange(rank_, mine, look_);
        } catch (...) {
            broken_ = true;
            throw;
        }
    }

    bool broken_ = false;
    std::shared_ptr<ThreadGroup> group_;
    int rank_;
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
                body(std::make_shared<ThreadCommunicator>(group, rank));
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
