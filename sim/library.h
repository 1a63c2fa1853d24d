// The libdaos of a simulation: our own library, whose calls take the time that the simulated cluster takes.
// What is stored, and every error, is that of our own library. So the code above it runs unmodified.
// Threads: the actors of the simulation, of which one runs at a time.
#pragma once

#include "stepstore/libdaos.h"

namespace stepstore::sim {

// Calls World::current(). Asynchronous calls are helpers of the calling actor.
Library simulated_library();

} // namespace stepstore::sim
