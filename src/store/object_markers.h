// Markers of objects in the table of a snapshot (Container::mark_object), in meta: sealed records of up to 32
// bytes. They go with the snapshot or its container.
//
// Threads: any. Errors: DER_CSUM.
#pragma once

#include "store/pool_core.h"
#include "store/store.h"

namespace stepstore::store {

// The key of a marker; without an object what those of a snapshot begin with.
KeyBuffer object_markers_of(std::uint64_t container, Epoch snapshot);
KeyBuffer object_marker_key(std::uint64_t container, Epoch snapshot, const ObjectId& oid);
constexpr std::size_t object_marker_key_size = 1 + 4 + 8 + 16;

} // namespace stepstore::store
