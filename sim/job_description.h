// What is asked of a simulated cluster: the references' experiment (bench/layouts) with so many ranks.
// Threads: any; pure. Errors: -DER_INVAL.
#pragma once

#include "layouts/experiment.h"
#include "layouts/points.h"
#include "layouts/summary.h"
#include "machine.h"

#include <cstdint>
#include <span>
#include <string>

namespace stepstore::sim {

struct Job {
    std::uint64_t readers = 0; // 0: nothing is read
    bench::Experiment experiment;
    bench::StreamOptions stream;
    std::uint64_t stride = 0; // 0: a stream. Else extents of one array, so many bytes from rank to rank
    bool in_files = false;    // the pool is in files, on the file system
    std::string parameters, reading; // as they were given
};

// From {"writers", "readers", "steps", "size" (as bench::MetadataSizes), "set" and "read" (NAME=VALUE,...),
// "together" (default: true), "stride" (default: 0), "on" ("objects", default, or "files")}. -DER_INVAL: a
// value is missing, unknown or out of its range.
Job job_of(const bench::Json& description, const Machine& machine);
// Throws what job_of() throws for a job that cannot be.
[[noreturn]] void refuse_job(const std::string& text);
// A value of the description; they throw what job_of() throws.
std::uint64_t count_of(const bench::Json& description, const char* name, std::uint64_t least,
                       std::uint64_t most);
std::string text_of(const bench::Json& description, const char* name); // empty: it is not there
void require_known(const bench::Json& description, std::span<const char* const> names);
// A simulation keeps so many bytes for each of `ranks`, and `bytes` for all. Refuses a job that this machine
// cannot hold, and says the largest number of ranks that would do.
void require_memory(double ranks, double bytes_of_rank, double bytes, const char* what);

} // namespace stepstore::sim
