// The one translation of librados' errors.
#pragma once

#include "stepstore/error.h"

#include <string>

namespace stepstore::store::rados {

// `code` is negative, as librados returns it. The message: where, what was tried, why, what to do.
[[noreturn]] void fail(int code, const std::string& where, const std::string& tried);

} // namespace stepstore::store::rados
