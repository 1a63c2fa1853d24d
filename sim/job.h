// The references' experiment (bench/layouts) on the simulated cluster: writer ranks write steps of one blob
// each, then reader ranks acquire them.
#pragma once

#include "job_description.h"
#include "machine.h"

#include <string>

namespace stepstore::sim {

// Runs the job on a pool of its own in `directory`. The result is what stepstore-bench-layouts prints, in
// virtual seconds; "targets" has what each simulated target served. -DER_INVAL: it needs more than this
// machine has, with the estimate.
bench::Json simulate(const Machine& machine, const Job& job, const std::string& directory);

} // namespace stepstore::sim
