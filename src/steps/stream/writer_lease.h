// One writer per stream: rank 0 of a writer holds the lease of the stream (client/lease.h). The leases of a
// container's streams lie in one key-value object, each under the name of its stream (docs/format-stream.md).
// Threads: as client/lease.h. Errors: -DER_BUSY, -DER_STALE.
#pragma once

#include "client/lease.h"

namespace stepstore::steps {

// timeout_seconds: after so long without a sign of life a writer on another machine is dead; 0: at once.
// where: the stream, for messages. -DER_BUSY: a writer is at work; the message names it.
Lease take_stream(const Container& container, const std::string& stream, const std::string& where,
                  double timeout_seconds);
// -DER_STALE: another writer has taken over, because it believed this one dead.
void require_held(const Lease& lease, const std::string& where);
// The same, and asks the store: so what was read before is what the holder of the lease reads.
void require_still_held(Lease& lease, const std::string& where);
// The same, but asks only if another writer may have taken over: the last sign of life is so old.
void require_surely_held(Lease& lease, const std::string& where);
// A reader's view.
LeaseWatch watch_writer(const Container& container, const std::string& stream);

} // namespace stepstore::steps
