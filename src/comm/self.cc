// The communicator of one process alone.
#include "comm/communicator.h"

namespace stepstore {
namespace {

class SelfCommunicator final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    bool on_one_machine() override { return true; }
    void barrier() override {}
    void broadcast(std::vector<std::byte>&, int) override {}
    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                int) override
    {
        gathered.assign(mine.begin(), mine.end());
        offsets.assign({0, mine.size()});
    }
    void broadcast_row(std::vector<std::byte>&, RankRow) override {}
    void gather_row(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                    RankRow) override
    {
        gather(mine, gathered, offsets, 0);
    }
    std::vector<std::uint64_t> allgather(std::uint64_t mine) override { return {mine}; }
    std::vector<std::uint64_t> allgather_after(std::uint64_t mine, RootWork work) override
    {
        return {work({mine})};
    }
    std::uint64_t max(std::uint64_t mine) override { return mine; }
};

} // namespace

std::shared_ptr<Communicator> self_communicator()
{
    return std::make_shared<SelfCommunicator>();
}

} // namespace stepstore
