// The references' experiment (bench/layouts) on the simulated cluster: writer ranks write steps of one text
// each, then reader ranks acquire them.
// Threads: one, which runs the simulation. Errors: -DER_INVAL for a job that is too large; what the ranks
// throw comes out.
#pragma once

#include "job_description.h"
#include "machine.h"

#include <string>

namespace stepstore::sim {

// Refuses a job that this machine cannot hold, with the estimate and the largest that would do.
void require_memory(const Machine& machine, const Job& job);
// Runs the job on a pool of its own in `directory`. The result is what stepstore-bench-layouts prints, in
// virtual seconds; "targets" has what each simulated target served.
bench::Json simulate(const Machine& machine, const Job& job, const std::string& directory);

} // namespace stepstore::sim
