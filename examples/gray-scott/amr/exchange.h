// Numbers from every rank to every other.
#pragma once

#include <cstddef>
#include <mpi.h>
#include <vector>

namespace gray_scott::amr {

// outgoing: for each rank. expected: how many numbers come from each. Returns them. Collective among the
// ranks that have anything for each other. Throws std::runtime_error.
std::vector<std::vector<double>> exchange(MPI_Comm comm, std::vector<std::vector<double>> outgoing,
                                          const std::vector<std::size_t>& expected);

} // namespace gray_scott::amr
