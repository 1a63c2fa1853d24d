#include "communicator.h"

#include "collective_costs.h"
#include "queue.h"
#include "world.h"

#include <array>
#include <numeric>

namespace stepstore::sim {

namespace {

// What the ranks of a group bring to a call. Two in turn: a rank may be in the next call while another one
// still takes what the last one brought.
struct Exchange {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<std::uint64_t> numbers;
};

struct Group {
    Group(const Machine& machine, std::size_t ranks)
        : costs{machine, ranks}, all_here(simgrid::s4u::Barrier::create(static_cast<unsigned>(ranks)))
    {
        for (Exchange& one : exchanges) {
            one.bytes.resize(ranks);
            one.numbers.resize(ranks);
        }
    }
    CollectiveCosts costs;
    simgrid::s4u::BarrierPtr all_here;
    std::array<Exchange, 2> exchanges;
};

class SimulatedCommunicator final : public Communicator {
public:
    SimulatedCommunicator(std::shared_ptr<Group> group, std::size_t rank)
        : group_(std::move(group)), rank_(rank)
    {
    }
    int rank() const override { return static_cast<int>(rank_); }
    int size() const override { return static_cast<int>(group_->costs.ranks); }

    bool on_one_machine() override { return group_->costs.machine.is_one(); }

    void barrier() override
    {
        next();
        meet(group_->costs.barrier());
    }

    void broadcast(std::vector<std::byte>& bytes, int root) override
    {
        Exchange& exchange = next();
        const auto from = static_cast<std::size_t>(root);
        if (rank_ == from) exchange.bytes[from] = bytes;
        wait_for_all();
        spend(group_->costs.broadcast(exchange.bytes[from].size()));
        if (rank_ != from) bytes = exchange.bytes[from];
    }

    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                int root) override
    {
        Exchange& exchange = next();
        exchange.bytes[rank_].assign(mine.begin(), mine.end());
        exchange.numbers[rank_] = mine.size();
        wait_for_all();
        gathered.clear();
        offsets.clear();
        if (rank_ == static_cast<std::size_t>(root)) {
            offsets.push_back(0);
            for (const auto& bytes : exchange.bytes) {
                gathered.insert(gathered.end(), bytes.begin(), bytes.end());
                offsets.push_back(gathered.size());
            }
        }
        const auto all = std::accumulate(exchange.numbers.begin(), exchange.numbers.end(), std::uint64_t{0});
        spend(group_->costs.gather(all));
    }

    std::vector<std::uint64_t> allgather(std::uint64_t mine) override
    {
        Exchange& exchange = next();
        exchange.numbers[rank_] = mine;
        meet(group_->costs.allgather(8 * exchange.numbers.size()));
        return exchange.numbers;
    }

    std::vector<std::uint64_t> allgather_after(std::uint64_t mine, RootWork work) override
    {
        Exchange& exchange = next();
        exchange.numbers[rank_] = mine;
        wait_for_all();
        if (rank_ == 0) exchange.numbers[0] = work(exchange.numbers);
        meet(group_->costs.allgather(8 * exchange.numbers.size()));
        return exchange.numbers;
    }

    std::uint64_t max(std::uint64_t mine) override
    {
        Exchange& exchange = next();
        exchange.numbers[rank_] = mine;
        meet(group_->costs.barrier());
        return *std::max_element(exchange.numbers.begin(), exchange.numbers.end());
    }

private:
    Exchange& next() { return group_->exchanges[++calls_ % 2]; }
    void wait_for_all()
    {
        World& world = World::current();
        world.storage().leave_processor(world.client());
        group_->all_here->wait();
    }
    void meet(double cost)
    {
        wait_for_all();
        spend(cost);
    }

    std::shared_ptr<Group> group_;
    std::size_t rank_;
    std::size_t calls_ = 0;
};

class AloneForAll final : public Communicator {
public:
    AloneForAll(const Machine& machine, std::size_t ranks) : costs_{machine, ranks} {}
    int rank() const override { return 0; }
    int size() const override { return static_cast<int>(costs_.ranks); }
    void barrier() override { spend(costs_.barrier()); }
    void broadcast(std::vector<std::byte>& bytes, int /*root*/) override
    {
        spend(costs_.broadcast(bytes.size()));
    }
    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                int /*root*/) override
    {
        gathered.clear();
        offsets.assign(1, 0);
        for (std::size_t rank = 0; rank < costs_.ranks; ++rank) {
            gathered.insert(gathered.end(), mine.begin(), mine.end());
            offsets.push_back(gathered.size());
        }
        spend(costs_.gather(gathered.size()));
    }
    std::vector<std::uint64_t> allgather(std::uint64_t mine) override
    {
        spend(costs_.allgather(8 * costs_.ranks));
        return std::vector<std::uint64_t>(costs_.ranks, mine);
    }
    std::vector<std::uint64_t> allgather_after(std::uint64_t mine, RootWork work) override
    {
        std::vector<std::uint64_t> all = allgather(mine);
        all.front() = work(all);
        return all;
    }
    std::uint64_t max(std::uint64_t mine) override
    {
        spend(costs_.barrier());
        return mine;
    }

private:
    CollectiveCosts costs_;
};

} // namespace

std::vector<std::shared_ptr<Communicator>> communicators(const Machine& machine, std::size_t ranks)
{
    const auto group = std::make_shared<Group>(machine, ranks);
    std::vector<std::shared_ptr<Communicator>> all;
    for (std::size_t rank = 0; rank < ranks; ++rank)
        all.push_back(std::make_shared<SimulatedCommunicator>(group, rank));
    return all;
}

std::shared_ptr<Communicator> alone_for_all(const Machine& machine, std::size_t ranks)
{
    return std::make_shared<AloneForAll>(machine, ranks);
}

} // namespace stepstore::sim
