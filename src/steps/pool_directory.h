// What the engine asks of a pool beside its objects: files of the layout posix and profiles lie in its
// directory.
// Threads: any. Errors: the system's, for a directory that cannot be opened.
#pragma once

#include "base/files.h"

#include <optional>
#include <string>

namespace stepstore::steps {

std::optional<RootedPath> pool_directory(const std::string& pool); // nullopt: it has none (on a cluster)
bool survives_power_failure(const std::string& pool);

} // namespace stepstore::steps
