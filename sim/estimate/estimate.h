// What a job costs on a cluster, without running it. The requests of single steps (requests.h) pass through
// the queues of the cluster (replay.h). Collective calls have a closed
// form. Both are added up over the steps.
// Threads: any; no state. Errors: as job_of() has them, for a job that cannot be estimated.
#pragma once

#include "job_description.h"
#include "machine.h"

namespace stepstore::sim {

// The fields of what simulate() gives that users compare, in seconds of a rank and step, and more.
// The ranks begin each step together. Steps that bring definitions are not in the means.
//
// {"engine": "estimated", "writers", "readers", "steps", "rank_bytes", "metadata_bytes",
//  "stabilisation": {"mean", "exchange", "first", "open"},
//  "readings": [{"acquisition": {"mean", "open", "parts": {"read", "broadcast"}}}],
//  "requests": {"writer", "busiest_target", "short_of_buffers", "reader", "together", "bound"},
//  "memory": {"reader", "root"}, and of a pool in files "files", "aggregated": {"nodes", "stabilisation"}}
//
// exchange: of the mean, waiting for other ranks. requests: of a step. together: steps that are read at once.
// files: of the stream. aggregated: stabilisation if one rank of so many nodes wrote for all of their ranks.
// bound: whether the reading is one. memory: bytes, of a reader rank and of rank 0.
bench::Json estimate(const Machine& machine, const Job& job);

} // namespace stepstore::sim
