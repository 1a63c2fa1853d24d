// N ranks as processes of their own, without MPI: a Communicator for tests that kill one of them.
#pragma once

#include "support/exchange_communicator.h"
#include "support/processes.h"

#include <array>
#include <atomic>
#include <span>
#include <sys/mman.h>

namespace stepstore::testing {

// Memory that the processes share. Every rank posts its bytes in one of two places in turn. It uses the first
// one again only when all have posted in the second one, and so have seen what was in the first.
class ProcessGroup {
    static constexpr std::size_t most = std::size_t{1} << 20;
    struct Rank {
        std::atomic<std::uint64_t> rounds; // that it has posted in
        std::array<std::size_t, 2> sizes;
        std::array<std::array<std::byte, most>, 2> bytes;
    };

public:
    explicit ProcessGroup(int size) : size_(static_cast<std::size_t>(size))
    {
        // For exchanges of all, and then for those of rows.
        void* memory = mmap(nullptr, 2 * size_ * sizeof(Rank), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
        ranks_ = static_cast<Rank*>(memory);
    }
    ~ProcessGroup() { munmap(ranks_, 2 * size_ * sizeof(Rank)); }
    ProcessGroup(const ProcessGroup&) = delete;
    ProcessGroup& operator=(const ProcessGroup&) = delete;

    std::vector<std::vector<std::byte>> exchange(int rank, std::uint64_t round, Bytes mine,
                                                 const std::function<void()>& look)
    {
        return exchange({ranks_, size_}, rank, round, mine, look);
    }
    class Row {
    public:
        std::vector<std::vector<std::byte>> exchange(int rank, std::uint64_t round, Bytes mine,
                                                     const std::function<void()>& look)
        {
            return ProcessGroup::exchange(ranks, rank, round, mine, look);
        }
        std::span<Rank> ranks;
    };
    Row& row(int first, int count)
    {
        row_.ranks = {ranks_ + size_ + first, static_cast<std::size_t>(count)};
        return row_; // this process is in one alone
    }
    int size() const { return static_cast<int>(size_); }

private:
    static std::vector<std::vector<std::byte>> exchange(std::span<Rank> ranks, int rank, std::uint64_t round,
                                                        Bytes mine, const std::function<void()>& look)
    {
        Rank& own = ranks[static_cast<std::size_t>(rank)];
        if (mine.size() > most) throw std::runtime_error("too much for this group");
        std::ranges::copy(mine, own.bytes[round % 2].begin());
        own.sizes[round % 2] = mine.size();
        own.rounds = round + 1;
        Lookout lookout(look);
        std::vector<std::vector<std::byte>> all;
        for (const Rank& other : ranks) {
            while (other.rounds <= round) {
                lookout.tick();
                usleep(50);
            }
            const std::byte* bytes = other.bytes[round % 2].data();
            all.emplace_back(bytes, bytes + other.sizes[round % 2]);
        }
        return all;
    }

    std::size_t size_;
    Rank* ranks_;
    Row row_;
};

// Runs `body` on `size` ranks, a process each; the result of each as end_of() gives it.
inline std::vector<int> run_processes(int size, const std::function<int(std::shared_ptr<Communicator>)>& body)
{
    const auto group = std::make_shared<ProcessGroup>(size);
    std::vector<pid_t> children;
    for (int rank = 0; rank < size; ++rank)
        children.push_back(start_child(
            [&, rank] { return body(std::make_shared<ExchangeCommunicator<ProcessGroup>>(group, rank)); }));
    std::vector<int> ends;
    for (const pid_t child : children)
        ends.push_back(end_of(child));
    return ends;
}

} // namespace stepstore::testing
