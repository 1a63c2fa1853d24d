#include "exchange.h"

#include <climits>
#include <stdexcept>
#include <string>

namespace gray_scott::amr {
namespace {

constexpr int tag = 7;

int count_of(const std::vector<double>& numbers)
{
    if (numbers.size() > INT_MAX)
        throw std::runtime_error("an exchange of " + std::to_string(numbers.size()) +
                                 " numbers between two ranks is more than MPI takes: use more ranks");
    return static_cast<int>(numbers.size());
}

} // namespace

std::vector<std::vector<double>> exchange(MPI_Comm comm, std::vector<std::vector<double>> outgoing,
                                          const std::vector<std::size_t>& expected)
{
    int mine = 0;
    MPI_Comm_rank(comm, &mine);
    std::vector<std::vector<double>> incoming(outgoing.size());
    std::vector<MPI_Request> requests;
    for (std::size_t rank = 0; rank < incoming.size(); ++rank) {
        if (static_cast<int>(rank) == mine || expected[rank] == 0) continue;
        incoming[rank].resize(expected[rank]);
        MPI_Irecv(incoming[rank].data(), count_of(incoming[rank]), MPI_DOUBLE, static_cast<int>(rank), tag,
                  comm, &requests.emplace_back());
    }
    for (std::size_t rank = 0; rank < outgoing.size(); ++rank) {
        if (static_cast<int>(rank) == mine || outgoing[rank].empty()) continue;
        MPI_Isend(outgoing[rank].data(), count_of(outgoing[rank]), MPI_DOUBLE, static_cast<int>(rank), tag,
                  comm, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    incoming[static_cast<std::size_t>(mine)] = std::move(outgoing[static_cast<std::size_t>(mine)]);
    return incoming;
}

} // namespace gray_scott::amr
