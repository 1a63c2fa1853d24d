// Opening a stream to write it: a new one, one in the place of another, or an appended one.
// Threads: one, on rank 0. Errors: -DER_BUSY, -DER_INVAL for options that do not fit the stream, and those of
// the store.
#pragma once

#include "steps/stream/options.h"
#include "steps/stream/stream.h"
#include "steps/stream/writer_lease.h"

#include <memory>
#include <vector>

namespace stepstore::steps {

// What rank 0 of a writer has.
struct StreamToWrite {
    OpenedStream opened;
    std::vector<Variable> known;  // what the steps that are kept define
    std::unique_ptr<Lease> lease; // this writer's alone, until it is given back
};
struct WriterGroup {
    std::uint32_t ranks;
    std::uint32_t of_a_machine; // of the machine that has the most
};
// Makes pool, container and record where they are missing. A stream of the same name is appended to, or
// replaced. Then the new record is put first, and the old objects are destroyed after it. So a reader that
// still finds the old record after a read has read whole data. -DER_BUSY: another writer is at work.
StreamToWrite open_to_write(const std::string& location, const WriterOptions& options,
                            const WriterGroup& group);

} // namespace stepstore::steps
