// What survives a power failure.
#pragma once

#include <string>

namespace stepstore {

// Of a file its bytes, of a directory its names: an errno, or 0. A file system that cannot sync directories counts as
// one that need not.
int sync_path(const std::string& path);

} // namespace stepstore
