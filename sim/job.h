// The references' experiment (bench/layouts) on the simulated cluster: writer ranks write steps of one blob
// each, then reader ranks acquire them.
#pragma once

#include "layouts/experiment.h"
#include "layouts/points.h"
#include "layouts/summary.h"
#include "machine.h"

#include <cstdint>
#include <string>

namespace stepstore::sim {

struct Job {
    std::uint64_t readers = 0; // 0: nothing is read
    bench::Experiment experiment;
    bench::StreamOptions stream;
    std::uint64_t stride = 0; // 0: a stream. Else extents of one array, so many bytes from rank to rank
    std::string parameters, reading; // as they were given
};

// From {"writers", "readers", "steps", "size" (as bench::BlobSizes), "set" and "read" (NAME=VALUE,...),
// "together" (default: true), "stride" (default: 0)}. -DER_INVAL: a value is missing, unknown or out of its
// range; more than this machine can hold, with the estimate.
Job job_of(const bench::Json& description);

// Runs it on a pool of its own in `directory`. The result is what stepstore-bench-layouts prints, in virtual
// seconds; "targets" has what each simulated target served.
bench::Json simulate(const Machine& machine, const Job& job, const std::string& directory);

} // namespace stepstore::sim
