// Events of the simulated libraries. A helper actor does the rest of a launched call, beside its caller.
// Threads: the actors of the simulation, of which one runs at a time. Errors: the code of the call.
#pragma once

#include "stepstore/libdaos.h"

#include <functional>

namespace stepstore::sim {

void replace_events(Library& library);
// Without an event `rest` is done at once, and its code is given. Else its code becomes the event's. On one
// machine the caller does it all the same.
int launch(daos_event_t* event, std::function<int()> rest);

} // namespace stepstore::sim
