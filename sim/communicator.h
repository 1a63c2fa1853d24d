// The groups of ranks of a simulation. A collective call ends for all ranks at the same time: when the last
// one has come, and what the exchange costs is over (collective_costs.h).
// Threads: the actors of the simulation, of which one runs at a time. Errors: none of its own.
#pragma once

#include "comm/communicator.h"
#include "machine.h"

#include <memory>
#include <vector>

namespace stepstore::sim {

// One communicator for each rank, for actors that call them.
std::vector<std::shared_ptr<Communicator>> communicators(const Machine& machine, std::size_t ranks);

// Rank 0 of a group whose other ranks are not simulated: they would do as rank 0 does. Rank 0's calls take as
// long as if all were there.
std::shared_ptr<Communicator> alone_for_all(const Machine& machine, std::size_t ranks);

} // namespace stepstore::sim
