// d_errstr and d_errdesc, from the lists of daos_errno.h.
#include "daos/api.h"

extern "C" const char* d_errstr(int errnum)
{
    switch (errnum) {
    case DER_SUCCESS: return "DER_SUCCESS";
#define STEPSTORE_CASE(name, value, text)                                                                    \
    case -(value): return #name;
        DAOS_COMMON_ERRORS(STEPSTORE_CASE)
        DAOS_STORAGE_ERRORS(STEPSTORE_CASE)
#undef STEPSTORE_CASE
    default: return "DER_UNKNOWN";
    }
}

extern "C" const char* d_errdesc(int errnum)
{
    switch (errnum) {
    case DER_SUCCESS: return "success";
#define STEPSTORE_CASE(name, value, text)                                                                    \
    case -(value): return text;
        DAOS_COMMON_ERRORS(STEPSTORE_CASE)
        DAOS_STORAGE_ERRORS(STEPSTORE_CASE)
#undef STEPSTORE_CASE
    default: return "an unknown error code";
    }
}
