// Finding, listing and removing streams.
#pragma once

#include "steps/location.h"
#include "steps/stream/catalogue.h"
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

} // namespace stepstore::steps
