// Finding, making and removing streams: the administrative part that writers and readers share.
#pragma once

#include "steps/location.h"
#include "steps/stream/catalogue.h"
#include "steps/stream/writer_lease.h"
#include "steps/types.h"

#include <memory>
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

// What rank 0 of a writer has.
struct StreamToWrite {
    OpenedStream opened;
    std::vector<Variable> known;        // what the steps that are kept define
    std::unique_ptr<WriterLease> lease; // this writer's alone, until it is given back
};
// Makes pool, container and record where they are missing. A stream of the same name is appended to, or
// replaced: first the new record is there, then the old objects are destroyed, so that whoever finds the old
// record still in place after a read has read whole data. -DER_BUSY: another writer is at work.
StreamToWrite open_to_write(const std::string& location, const WriterOptions& options, int ranks);
// -DER_NONEXIST, saying which part is missing.
OpenedStream find_stream(const std::string& location, std::uint64_t snapshot = 0);

} // namespace stepstore::steps
