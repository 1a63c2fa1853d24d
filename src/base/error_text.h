// The names and texts of errors, from the lists of daos_errno.h.
// Threads: any; pure.
#pragma once

#include <daos_errno.h>

namespace stepstore {

struct ErrorText {
    const char* name;
    const char* description;
};

// code: as calls return it.
inline ErrorText text_of_error(int code)
{
    switch (code) {
    case DER_SUCCESS:
        return {"DER_SUCCESS", "success"};
        // clang-format off
#define STEPSTORE_CASE(with, name, value, text) case -(value): return {#name, text};
        // clang-format on
        DAOS_COMMON_ERRORS(STEPSTORE_CASE, )
        DAOS_STORAGE_ERRORS(STEPSTORE_CASE, )
#undef STEPSTORE_CASE
    default: return {"DER_UNKNOWN", "an unknown error code"};
    }
}

} // namespace stepstore
