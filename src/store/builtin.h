// The back ends of this library, a line each here and in registry.cc.
#pragma once

#include "store/backend.h"

namespace stepstore::store {

namespace lmdb {
BackendFactory factory(); // lmdb/backend.cc
}
namespace memory {
BackendFactory factory(); // memory/backend.cc
}

} // namespace stepstore::store
