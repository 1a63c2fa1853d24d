// Looks through the streams of a container: what is whole, what is damaged, what nothing refers to. Used by
// `stepstore pool check`.
// Threads: any; each check has a state of its own. Errors: -DER_NONEXIST, -DER_INVAL, and those of the store;
// damage is a finding.
#pragma once

#include "stepstore/administration.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepstore::steps {

struct StreamSummary {
    std::string name;
    std::uint64_t generation = 0;
    std::string layout;
    std::uint32_t ranks = 0;    // of the last segment
    std::uint64_t segments = 1; // one, and one more for every time that it was appended to
    bool closed = false;
    std::uint64_t whole_steps = 0;   // readable from end to end
    std::uint64_t damaged_steps = 0; // published, but not readable
    std::uint64_t gone_steps = 0;    // removed on request (Steps=snapshot)
    std::uint64_t half_steps = 0;    // the metadata of some ranks is missing: a writer is dead, or at work
    std::uint64_t metadata_bytes = 0;
    std::uint64_t data_bytes = 0;
};

struct StreamReport {
    std::vector<StreamSummary> streams;
    std::vector<Finding> findings; // "POOL/CONTAINER/STREAM step 3 rank 1" is where
    bool damaged() const;
};

// `location`: a pool (all its containers), a container or one stream: "POOL", "POOL/CONTAINER",
// "POOL/CONTAINER/STREAM". data: also read every block that a step refers to. Makes and changes nothing.
// -DER_NONEXIST as for a Reader.
StreamReport check_streams(const std::string& location, bool data);

} // namespace stepstore::steps
