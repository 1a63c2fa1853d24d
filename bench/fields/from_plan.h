// An engine that has the fields of the plan without having archived them (`engine: plan`): in memory, found by arithmetic, read by one copy of the
// message. So what it takes to list and retrieve is what FDB itself takes: the limit for every back end.
#pragma once

#include "tasks.h"

namespace stepstore::bench {

// To be called before FDB is asked for anything; `work` must stay.
void serve(const Work& work);

} // namespace stepstore::bench
