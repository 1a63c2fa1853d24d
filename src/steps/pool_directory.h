// What the engine asks of a pool beside its objects: files of the layout posix and profiles lie in its
// directory.
#pragma once

#include "base/files.h"

#include <optional>
#include <string>

namespace stepstore::steps {

// nullopt: it has none (daos://). Throws what stepstore_pool_path says.
std::optional<Place> pool_directory(const std::string& pool);
std::string describe_pool(const std::string& pool); // as stepstore_pool_describe does
bool survives_power_failure(const std::string& pool);

} // namespace stepstore::steps
