// A Communicator whose every call is one exchange: each rank posts its bytes, and all see what all have
// posted.
#pragma once

#include "comm/communicator.h"
#include "comm/waiting.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace stepstore::testing {

// Group: size(), exchange(rank, round, bytes, look), round counting a rank's exchanges, and row(first,
// count): the Group of a row of its ranks, in which they are counted from 0.
template <class Group>
class ExchangeCommunicator final : public Communicator {
public:
    ExchangeCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return group_->size(); }
    bool on_one_machine() override { return true; }
    void barrier() override { exchange({}); }
    void broadcast(std::vector<std::byte>& bytes, int root) override
    {
        bytes = exchange(rank_ == root ? Bytes(bytes) : Bytes())[static_cast<std::size_t>(root)];
    }
    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                int root) override
    {
        put_together(exchange(mine), rank_ == root, gathered, offsets);
    }
    void broadcast_row(std::vector<std::byte>& bytes, RankRow row) override
    {
        bytes = exchange_in(row, rank_ == row.first ? Bytes(bytes) : Bytes()).front();
    }
    void gather_row(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                    RankRow row) override
    {
        put_together(exchange_in(row, mine), rank_ == row.first, gathered, offsets);
    }
    std::vector<std::uint64_t> allgather(std::uint64_t mine) override
    {
        return allgather_after(mine, [](const std::vector<std::uint64_t>& all) { return all.front(); });
    }
    // The second half is rank 0's word.
    std::vector<std::uint64_t> allgather_after(std::uint64_t mine, RootWork work) override
    {
        std::vector<std::uint64_t> all = numbers(mine);
        all.front() = numbers(rank_ == 0 ? work(all) : 0).front();
        return all;
    }
    std::uint64_t max(std::uint64_t mine) override { return std::ranges::max(allgather(mine)); }

private:
    std::vector<std::uint64_t> numbers(std::uint64_t mine)
    {
        std::byte bytes[8];
        store_little(bytes, mine);
        std::vector<std::uint64_t> found;
        for (const auto& one : exchange(bytes))
            found.push_back(load_little<std::uint64_t>(one.data()));
        return found;
    }
    static void put_together(const std::vector<std::vector<std::byte>>& all, bool is_root,
                             std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets)
    {
        gathered.clear();
        offsets.clear();
        if (!is_root) return;
        for (const auto& one : all) {
            offsets.push_back(gathered.size());
            gathered.insert(gathered.end(), one.begin(), one.end());
        }
        offsets.push_back(gathered.size());
    }
    std::vector<std::vector<std::byte>> exchange(Bytes mine)
    {
        return in_group(*group_, rank_, round_++, mine);
    }
    std::vector<std::vector<std::byte>> exchange_in(RankRow row, Bytes mine)
    {
        return in_group(group_->row(row.first, row.count), rank_ - row.first, round_in_row_++, mine);
    }
    template <class One>
    std::vector<std::vector<std::byte>> in_group(One& group, int rank, std::uint64_t round, Bytes mine)
    {
        if (broken_) throw std::runtime_error("a call after one that was given up");
        try {
            return group.exchange(rank, round, mine, look_);
        } catch (...) {
            broken_ = true;
            throw;
        }
    }

    std::shared_ptr<Group> group_;
    int rank_;
    std::uint64_t round_ = 0;
    std::uint64_t round_in_row_ = 0;
    bool broken_ = false;
};

} // namespace stepstore::testing
