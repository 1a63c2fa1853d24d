// Calls in doubt. An update that failed may have been carried out all the same, or may be so later: its
// answer did not come in time, or its caller waited no longer (Ctrl-C). What makes something, and then names
// it in one update, follows these rules:
//
// 1. After an update in doubt nothing is destroyed that it would name. The numbers, the pack and the place
//    that it used are not used for anything else.
// 2. What is left so lies under a mark that names its process. Others reclaim it as what a dead writer left.
//    They first see that the process is dead, and then read what names what. So its calls are over by then.
// 3. A process that goes on may be sooner. If the key that the update would have changed has been changed
//    since, the update is not carried out any more, and what it would have named is free.
// 4. A process knows its own leases: one that bears its name and that it has let go of is over (lease.h).
//
// Threads: any; is_in_doubt() is pure. Errors: it throws none.
#pragma once

#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <iterator>

namespace stepstore {

// Whether an update that failed with this error may have been carried out, or may be so later. Not after a
// refusal: then nothing was changed, and nothing will be.
inline bool is_in_doubt(const Error& error)
{
    constexpr int refusals[] = {
        DER_NO_PERM, DER_NO_HDL,        DER_INVAL,    DER_EXIST,    DER_NONEXIST,     DER_NOSPACE,
        DER_NOSYS,   DER_BUSY,          DER_NOMEM,    DER_OVERFLOW, DER_REC2BIG,      DER_STALE,
        DER_CSUM,    DER_CONT_NONEXIST, DER_MISMATCH, DER_DF_INVAL, DER_NOTSUPPORTED, DER_DF_INCOMPT};
    return std::ranges::find(refusals, -error.code()) == std::end(refusals);
}

} // namespace stepstore
