// The one translation of librados' errors.
// Threads: any; pure.
#pragma once

#include "stepstore/error.h"

#include <cerrno>
#include <string>

namespace stepstore::store::rados {

// `code` is negative, as librados returns it. The message: where, what was tried, why, what to do.
[[noreturn]] void fail(int code, const std::string& where, const std::string& tried);

// Whether an update that ended so may have been carried out: its answer did not come, or the process was shut
// out before it came, or the wait for it was given up.
constexpr bool is_in_doubt(int code)
{
    return code == -ETIMEDOUT || code == -ESHUTDOWN || code == -EINTR;
}

} // namespace stepstore::store::rados
