// d_errstr and d_errdesc.
#include "daos/api.h"

#include "base/error_text.h"

extern "C" const char* d_errstr(int errnum)
{
    return stepstore::text_of_error(errnum).name;
}

extern "C" const char* d_errdesc(int errnum)
{
    return stepstore::text_of_error(errnum).description;
}
