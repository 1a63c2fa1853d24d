// Over how many groups of targets an object is spread.
// Threads: any; pure.
#pragma once

#include "stepstore/client.h"

namespace stepstore {

// By the object's id, on a pool with `targets` targets. An id has the number of its groups, or a larger one
// for as many as fit. A group is one target, or as many as there are copies.
STEPSTORE_API unsigned object_groups(const ObjectId& id, unsigned targets);

} // namespace stepstore
