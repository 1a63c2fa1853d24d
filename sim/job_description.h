// What is asked of a simulated cluster: the references' experiment (bench/layouts) with so many ranks.
#pragma once

#include "layouts/experiment.h"
#include "layouts/points.h"
#include "layouts/summary.h"

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
// range.
Job job_of(const bench::Json& description);
// Throws what job_of() throws for a job that cannot be.
[[noreturn]] void refuse_job(const std::string& text);

} // namespace stepstore::sim
