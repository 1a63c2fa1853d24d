#include "collective_costs.h"

#include <algorithm>
#include <bit>

namespace stepstore::sim {

namespace {

double hops(std::size_t ranks)
{
    return static_cast<double>(std::bit_width(ranks - 1));
}

} // namespace

double CollectiveCosts::exchange() const
{
    if (!machine.is_one()) return hops(ranks) * machine.mpi_hop;
    const double turns = static_cast<double>(ranks) / static_cast<double>(machine.processors);
    return 2 * hops(ranks) * machine.mpi_hop * std::max(1.0, turns);
}

double CollectiveCosts::barrier() const
{
    return exchange();
}

double CollectiveCosts::broadcast(std::size_t bytes) const
{
    const double once = static_cast<double>(bytes) / machine.mpi_bandwidth;
    const double tree = hops(ranks) * (machine.mpi_hop + once);
    const double scattered = 2 * hops(ranks) * machine.mpi_hop + 2 * once;
    return std::min(tree, scattered);
}

double CollectiveCosts::gather(std::size_t all_bytes) const
{
    return machine.mpi_hop + static_cast<double>(ranks - 1) * machine.mpi_gather_message +
           static_cast<double>(all_bytes) / machine.mpi_bandwidth;
}

double CollectiveCosts::allgather(std::size_t all_bytes) const
{
    return exchange() + static_cast<double>(all_bytes) / machine.mpi_bandwidth;
}

} // namespace stepstore::sim
