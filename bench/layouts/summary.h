// What all ranks have measured, brought together and summed up.
// Threads: one for each rank. Errors: those of the Communicator alone.
#pragma once

#include "comm/communicator.h"
#include "layouts/experiment.h"
#include "stepstore/administration.h"

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace stepstore::bench {

using Json = nlohmann::ordered_json;

struct Measured {
    RankTimes times;
    std::vector<TargetInfo> targets; // what each target served meanwhile; on rank 0 of the side only
};

// On rank 0, of every rank in rank order; elsewhere empty. Collective.
std::vector<Measured> gather_times(Communicator& world, const Measured& mine);

double rank_bytes(const Experiment& experiment); // the mean size of a rank's metadata

// Times are seconds of one rank and one step; what is left out is said by each.
// {"mean","p50","p90","p99","most","per_byte","first" (step),"open","close","whole" (open, all steps and
//  close by step),"parts":{..},"by_step":[means over the ranks]}
// The first step is one of the one-off costs.
Json stabilisation(const std::vector<Measured>& writers, const Experiment& experiment);
// As above. The first step counts: it may bring others along. reads_when_opened: so does the opening.
Json acquisition(const std::vector<Measured>& readers, const Experiment& experiment, bool reads_when_opened);
// From the moment when the last writer has begun to end a step until a reader has it. {"mean", "p50", ...}
Json latency(const std::vector<Measured>& writers, const std::vector<Measured>& readers);
Json targets(const std::vector<Measured>& side);
double
metadata_bytes(const std::vector<Measured>& writers); // of a rank and step; 0: the engine does not tell

} // namespace stepstore::bench
