// The C API that this library defines, with its functions visible outside; include it before anything else.
// Threads and errors: the functions here are pure; daos.h has those of the API.
#pragma once

#pragma GCC visibility push(default)
#include <daos.h>
#include <gurt/common.h>
#include <gurt/hash.h>

#include "stepstore/admin.h"
#pragma GCC visibility pop

#include <cstring>

namespace stepstore::daos {

// The number in an enumeration that a C caller gave, which need not be one of its values: C++ must not load
// it as such.
template <class Enum>
unsigned number_of(const Enum& given) noexcept
{
    unsigned number;
    static_assert(sizeof number == sizeof given);
    std::memcpy(&number, &given, sizeof number);
    return number;
}

inline unsigned type_number(daos_obj_id_t oid) noexcept
{
    return static_cast<unsigned>((oid.hi & OID_FMT_TYPE_MASK) >> OID_FMT_TYPE_SHIFT);
}

} // namespace stepstore::daos
