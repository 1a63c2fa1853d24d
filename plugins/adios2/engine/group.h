// Which ranks open a stream together: the parameter Communicator (docs/parameters.md). Both doors have one
// rule.
//
// 1. A communicator that the program handed over for the location (stepstore/adios2.h).
// 2. Communicator=self: this process. Communicator=world: all of MPI_COMM_WORLD.
// 3. Communicator=auto: those of the communicator that ADIOS2 tells of. Where it tells of none, the ranks of
//    MPI_COMM_WORLD that open the same location in the same mode. Where no MPI runs, this process.
//
// Threads: one for each rank; the call is collective. Errors: those of form_group() (comm/communicator.h).
#pragma once

#include "parameters.h"
#include "plugin_api.h"
#include "releases.h"

#include <functional>
#include <memory>

namespace stepstore::adios {

struct Group {
    std::shared_ptr<Communicator> ranks;
    bool handed_over = false; // by the program
};

// told: asked in step 3, with what is opened and how; null: ADIOS2 tells of none.
using ToldGroup = std::function<std::shared_ptr<Communicator>(const std::string& key)>;
Group find_group(const Parameters& parameters, adios2::Mode mode, TakeHandedOver take_handed_over,
                 const ToldGroup& told);

} // namespace stepstore::adios
