// The second reference's experiment: processes archive weather fields and flush after each step, others
// retrieve them. On the simulated object store it is the field engine (src/fields) that does so. On the
// simulated file system it is FDB's files (fdb_files.h), or the field engine with a pool in files
// (files_library.h).
//
// separate: all write; then as many new processes read what was written. together: what is to be read was
// written before; then writers and readers work at the same time, with fields of their own.
//
// Threads: one, which runs the simulation. Errors: -DER_INVAL for a bad description; what the processes throw
// comes out of simulate().
#pragma once

#include "fields/options.h"
#include "layouts/summary.h"
#include "machine.h"

#include <cstdint>
#include <string>

namespace stepstore::sim {

struct FieldsJob {
    enum class Store : std::uint8_t { objects, files, shared };
    Store store = Store::objects;
    bool together = false;
    std::uint64_t writers = 0, readers = 0;
    std::uint64_t steps = 0, parameters = 0, levels = 0;
    std::uint64_t size = 0; // bytes of a field
    fields::Options options;
    std::string settings; // as they were given

    std::uint64_t fields_of_a_step() const { return parameters * levels; }
};

// From {"fields": "objects", "files" (FDB's) or "shared" (a pool in files), "pattern": "separate" or
// "together", "writers", "readers", "steps", "parameters", "levels", "size", "set" (settings of the field
// engine, NAME=VALUE,...)}. -DER_INVAL: a value is missing, unknown or out of its range.
FieldsJob fields_job_of(const bench::Json& description);

// Refuses a job that this machine cannot hold, with the estimate and the largest that would do.
void require_memory(const FieldsJob& job);
// Runs it on a pool of its own in `directory`. The result has a part for what was written, and one for what
// was read. "seconds": from the first beginning to the last end. "ends": when the mean process had ended each
// step. "process": the seconds of the mean process. "bytes": of all.
bench::Json simulate(const Machine& machine, const FieldsJob& job, const std::string& directory);

} // namespace stepstore::sim
