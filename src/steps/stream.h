// Finding, making and removing streams: the administrative part that writers and readers share.
#pragma once

#include "steps/catalogue.h"
#include "steps/location.h"

#include <optional>

namespace stepstore::steps {

// What rank 0 finds out and the other ranks are told.
struct OpenedStream {
    Location location;
    StreamRecord record;
    std::uint64_t snapshot = 0; // the epoch that a reader looks at; 0: now
};
std::vector<std::byte> encode_opened(const OpenedStream& opened);
OpenedStream decode_opened(Bytes bytes);

// Makes pool, container and record where they are missing; replaces a stream of the same name: first the new record is
// there, then the old objects are destroyed, so that whoever finds the old record still in place after a read has read
// whole data.
OpenedStream create_stream(const std::string& location, const WriterOptions& options, int ranks);
// -DER_NONEXIST, saying which part is missing.
OpenedStream find_stream(const std::string& location, std::uint64_t snapshot = 0);

} // namespace stepstore::steps
