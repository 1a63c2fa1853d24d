// Finding, listing and removing streams.
// Threads: any; there is no state. Errors: -DER_NONEXIST, -DER_INVAL, -DER_NOSYS, -DER_STALE for a stream
// that was replaced.
#pragma once

#include "location/find/location.h"
#include "steps/stream/stream_list.h"
#include "steps/types.h"

#include <optional>
#include <vector>

namespace stepstore::steps {

// What rank 0 finds out and the other ranks are told.
struct OpenedStream {
    Location location;
    StreamRecord record;
    std::uint64_t snapshot = 0; // the epoch that a reader looks at; 0: now
};
std::vector<std::byte> encode_opened(const OpenedStream& opened);
OpenedStream decode_opened(Bytes bytes);

// -DER_NONEXIST, saying which part is missing.
OpenedStream find_stream(const std::string& location, std::uint64_t snapshot = 0);

// The streams of a container, by name. `location` may name a stream or only a pool and container.
std::vector<std::string> list_streams(const std::string& location);
// Removes a stream and all its objects. -DER_NONEXIST.
void remove_stream(const std::string& location);

struct AggregatedSteps {
    std::uint64_t removed = 0;    // by this call
    std::uint64_t first_kept = 0; // the steps before it are gone
    std::uint64_t steps = 0;      // of the stream, the gone ones included
};
// Removes the metadata, and the snapshots, of all but the last `keep` steps of a stream that keeps its steps
// by snapshots: StepMode::snapshot. It may be written and read meanwhile. -DER_INVAL: another stream, or
// keep is 0.
AggregatedSteps aggregate_steps(const std::string& location, std::uint64_t keep);

} // namespace stepstore::steps
