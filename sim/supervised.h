// Work in a process of its own, with a directory that goes when the work ends, however it ends.
// Threads: one, before any other is started. Errors: std::runtime_error.
#pragma once

#include <functional>
#include <string>

namespace stepstore::sim {

// Calls `work` with a new directory, and returns what it returned. SIGINT, SIGTERM and SIGHUP end the work;
// then the directory is removed, and this process ends by the same signal. Throws std::runtime_error where
// there can be no directory or process, or where the work was killed.
int supervised(const std::function<int(const std::string& directory)>& work);

} // namespace stepstore::sim
