// Programs that name no engine, such as FileReader(path) in Python, bpls without -E, scripts for BP files.
// What they open for reading is read by Stepstore if it lies in a pool. ADIOS2 takes such names for files of
// BP3 or BP4, so these two engines are registered anew. For every other name, and for writing, the engine
// is ADIOS2's own.
// Threads: one registers, before engines are made. Errors: -DER_NOSYS.
#pragma once

#include "releases.h"

namespace stepstore::adios {

// Again: nothing. make: the reader of pools. Throws stepstore::Error (-DER_NOSYS): this ADIOS2 hides its own.
void read_pools_by_default(const adios2::core::IO::MakeEngineFunc& make);

} // namespace stepstore::adios
