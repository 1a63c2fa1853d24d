// The back ends of this library, a line each here and in registry.cc.
// Threads and errors: these are pure; backend.h has those of a back end.
#pragma once

#include "store/backend.h"

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

} // namespace stepstore::store
