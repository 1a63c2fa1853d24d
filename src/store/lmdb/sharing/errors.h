// The one translation of LMDB's errors into DER_* codes.
// Threads: any; pure.
#pragma once

#include "base/system_error.h"

namespace stepstore::store::lmdb {

// The error for `code`, an MDB_* value or, as system_error(), an errno.
Error error_of(int code, const std::string& where, const std::string& tried);
[[noreturn]] void fail(int code, const std::string& where, const std::string& tried);

} // namespace stepstore::store::lmdb
