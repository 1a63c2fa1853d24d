// An engine that has the fields of the plan without having archived them (`engine: plan`): found by
// arithmetic, read by one copy from the page cache. So what it takes to list and retrieve is what FDB itself
// and that copy take: the limit for every back end on one machine.
// Threads: serve() is called before FDB starts any. Errors: std::runtime_error, if the file cannot be read.
#pragma once

#include "tasks.h"

namespace stepstore::bench {

// To be called before FDB is asked for anything; `work` must stay. work.copies: the file, with one message
// after the other.
void serve(const Work& work);

} // namespace stepstore::bench
