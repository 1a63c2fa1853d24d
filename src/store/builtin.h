// The back ends of this library, a line each here and in registry.cc. And pools in files, the other kind of
// pools (kinds.cc). Threads and errors: the back ends are pure; backend.h has those of a back end, and
// store.h those of pools.
#pragma once

#include "store/backend.h"
#include "store/store.h"

#include <memory>
#include <string>
#include <string_view>

namespace stepstore::store {

namespace lmdb {
Backend backend(); // lmdb/backend.cc
}
namespace memory {
Backend backend(); // memory/backend.cc
}
namespace rados {
Backend backend(); // rados/loader.cc
}

// files/pool.cc. Pools and containers of store.h in a directory of a file system that machines may share.
// files/place.h, keys.h and objects.h say how they are stored, and why that holds.
//
// Pools of versioned.h have some things that these have not: epochs and snapshots (DER_NOTSUPPORTED),
// several targets, and copies of their own. Their updates of arrays are atomic. Here a process that dies in
// one leaves a part of it. The values of keys are whole, and carry checksums. The cells of arrays carry
// none.
namespace files {

inline constexpr std::string_view name = "files"; // in the place of a back end's

// path: of a file system, as canonical_pool_path() gives it.
Found look(const std::string& path); // throws nothing
std::shared_ptr<Pool> create(const std::string& path, const PoolOptions& options);
std::shared_ptr<Pool> open(const std::string& path, Access access);
void destroy(const std::string& path);
CheckReport check(const std::string& path, const CheckOptions& options);

} // namespace files

} // namespace stepstore::store
