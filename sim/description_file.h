// The file that describes a cluster and a job, for the programs that take one.
// Threads: any. Errors: std::runtime_error.
#pragma once

#include "job_description.h"

namespace stepstore::sim {

// JSON with the fields "machine" (machine_of) and "job" (job_of). std::runtime_error: it is not.
bench::Json read_description(const char* file);

} // namespace stepstore::sim
