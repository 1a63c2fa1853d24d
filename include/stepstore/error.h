// The one exception of Stepstore's C++ interfaces.
// Threads: an Error does not change, and may be handed from one to another.
#pragma once

#include "stepstore/export.h"
#include "stepstore/printable.h"

#include <stdexcept>
#include <string>

namespace stepstore {

// Carries the DAOS error code (negative, as the C calls return it: -DER_NONEXIST ...) and a message that
// names the thing, what was tried on it, and what to do. It is one line that a terminal may show, whatever
// names are in it: printable(). Codes: include/libdaos/daos_errno.h.
class STEPSTORE_API Error : public std::runtime_error {
public:
    Error(int code, const std::string& message) : std::runtime_error(printable(message)), code_(code) {}
    int code() const noexcept { return code_; }

private:
    int code_;
};

} // namespace stepstore
