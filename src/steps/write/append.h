// Going on with a stream that is there: how many steps stay, what the new segment looks like, what is freed.
#pragma once

#include "steps/stream/stream.h"

namespace stepstore::steps {

struct Append {
    StreamRecord record;         // with the new segment as the last one; what is not kept is in `dropped`
    std::vector<Variable> known; // what the kept steps define
};
// What appending will make of the stream; changes nothing but the container's numbers. -DER_INVAL: an option
// contradicts the stream; the message names both.
Append plan_append(const OpenedStream& old, Container& container, const WriterOptions& options, int ranks);

// Frees what the record does not refer to any more: dropped segments, and what lies behind the last step that
// is kept. May be done again, after a death in the middle. Steps that were kept are not touched.
void reclaim(const Pool& pool, const Container& container, const StreamRecord& record);

} // namespace stepstore::steps
