// The threads that carry out what was launched with an event.
// Errors: std::system_error or std::bad_alloc, if no thread can be had.
#pragma once

#include <cstddef>
#include <functional>

namespace stepstore::daos {

// Runs `work` on a worker thread. The threads start with the first call, in each process; `work` must not
// throw. Throws std::system_error or std::bad_alloc when there can be no thread.
void run_on_worker(std::function<void()> work);

// Runs one piece of waiting work in the calling thread, which has nothing better to do. False: there is none.
bool help_workers();

// Waits until everything given so far has run, and ends the threads. Not from a worker.
void stop_workers();

} // namespace stepstore::daos
