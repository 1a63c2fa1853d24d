// Pools in files: pools and containers of store.h in a directory of a file system that machines may share.
// place.h, keys.h and objects.h say how they are stored, and why that holds.
//
// What pools of versioned.h have and these have not: epochs and snapshots (DER_NOTSUPPORTED), several targets,
// copies of their own, and updates of arrays that are atomic: who dies in one leaves a part of it. The values
// of keys are whole, and carry checksums; the cells of arrays carry none.
//
// Threads and fork: as store.h. Errors: those of store.h.
#pragma once

#include "store/backend.h"
#include "store/store.h"

#include <memory>
#include <string>
#include <string_view>

namespace stepstore::store::files {

inline constexpr std::string_view backend_name = "files";

// All of a path of a file system, as canonical_pool_path() gives it.
Found look(const std::string& path); // throws nothing
std::shared_ptr<Pool> create(const std::string& path, const PoolOptions& options);
std::shared_ptr<Pool> open(const std::string& path, Access access);
void destroy(const std::string& path, bool force);
CheckReport check(const std::string& path, const CheckOptions& options);

} // namespace stepstore::store::files
