#include "communicator.h"

#include "collective_costs.h"
#include "queue.h"
#include "world.h"

#include <array>
#include <map>
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
    // Of the ranks of a row.
    Group& of(RankRow row)
    {
        std::unique_ptr<Group>& group = rows[row.first];
        if (group == nullptr)
            group = std::make_unique<Group>(costs.machine, static_cast<std::size_t>(row.count));
        return *group;
    }
    CollectiveCosts costs;
    simgrid::s4u::BarrierPtr all_here;
    std::array<Exchange, 2> exchanges;
    std::map<int, std::unique_ptr<Group>> rows; // by the first rank
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
        const std::size_t call = ++calls_;
        broadcast(*group_, call, rank_, bytes, static_cast<std::size_t>(root));
    }
    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                int root) override
    {
        const std::size_t call = ++calls_;
        gather(*group_, call, rank_, mine, gathered, offsets, static_cast<std::size_t>(root));
    }
    void broadcast_row(std::vector<std::byte>& bytes, RankRow row) override
    {
        const std::size_t call = ++calls_in_row_;
        broadcast(group_->of(row), call, rank_ - static_cast<std::size_t>(row.first), bytes, 0);
    }
    void gather_row(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                    RankRow row) override
    {
        const std::size_t call = ++calls_in_row_;
        gather(group_->of(row), call, rank_ - static_cast<std::size_t>(row.first), mine, gathered, offsets,
               0);
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
    static void wait_for_all(Group& group)
    {
        World& world = World::current();
        world.storage().leave_processor(world.client());
        group.all_here->wait();
    }
    void wait_for_all() { wait_for_all(*group_); }
    void meet(double cost)
    {
        wait_for_all();
        spend(cost);
    }

    // In a group where this rank has the number `mine`.
    static void broadcast(Group& group, std::size_t call, std::size_t mine, std::vector<std::byte>& bytes,
                          std::size_t from)
    {
        Exchange& exchange = group.exchanges[call % 2];
        if (mine == from) exchange.bytes[from] = bytes;
        wait_for_all(group);
        spend(group.costs.broadcast(exchange.bytes[from].size()));
        if (mine != from) bytes = exchange.bytes[from];
    }

    static void gather(Group& group, std::size_t call, std::size_t mine, Bytes bytes,
                       std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets, std::size_t to)
    {
        Exchange& exchange = group.exchanges[call % 2];
        exchange.bytes[mine].assign(bytes.begin(), bytes.end());
        exchange.numbers[mine] = bytes.size();
        wait_for_all(group);
        gathered.clear();
        offsets.clear();
        if (mine == to) {
            offsets.push_back(0);
            for (const auto& one : exchange.bytes) {
                gathered.insert(gathered.end(), one.begin(), one.end());
                offsets.push_back(gathered.size());
            }
        }
        const auto all = std::accumulate(exchange.numbers.begin(), exchange.numbers.end(), std::uint64_t{0});
        spend(group.costs.gather(all));
    }

    std::shared_ptr<Group> group_;
    std::size_t rank_;
    std::size_t calls_ = 0;
    std::size_t calls_in_row_ = 0;
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
        gather(costs_, mine, gathered, offsets);
    }
    void broadcast_row(std::vector<std::byte>& bytes, RankRow row) override
    {
        spend(costs_of(row).broadcast(bytes.size()));
    }
    void gather_row(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                    RankRow row) override
    {
        gather(costs_of(row), mine, gathered, offsets);
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
    CollectiveCosts costs_of(RankRow row) const
    {
        return {costs_.machine, static_cast<std::size_t>(row.count)};
    }
    static void gather(const CollectiveCosts& costs, Bytes mine, std::vector<std::byte>& gathered,
                       std::vector<std::uint64_t>& offsets)
    {
        gathered.clear();
        offsets.assign(1, 0);
        for (std::size_t rank = 0; rank < costs.ranks; ++rank) {
            gathered.insert(gathered.end(), mine.begin(), mine.end());
            offsets.push_back(gathered.size());
        }
        spend(costs.gather(gathered.size()));
    }

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
