// ADIOS2's BP5 as the experiment uses it, with the same variable: so it has the same volume of metadata.
// Where this is built without an ADIOS2 that has MPI, have_bp5 is false, and opening throws.
// Threads: one for each rank. Errors: std::runtime_error, or what ADIOS2 throws.
#pragma once

#include "layouts/experiment.h"

#include <mpi.h>

namespace stepstore::bench {

extern const bool have_bp5;

std::unique_ptr<StepWriter> open_bp5_writer(const std::string& name, MPI_Comm ranks);
// timeout: seconds to wait for the file, and for a step.
std::unique_ptr<StepReader> open_bp5_reader(const std::string& name, double timeout, MPI_Comm ranks);

} // namespace stepstore::bench
