// Errors in the types that ADIOS2's users catch.
// Threads: any. An Error whose code has no counterpart among those types passes through.
#pragma once

#include "daos_errno.h"
#include "stepstore/error.h"

#include <ios>
#include <stdexcept>

namespace stepstore::adios {

[[noreturn]] inline void throw_as_adios(const Error& error)
{
    switch (-error.code()) {
    case DER_INVAL:
    case DER_NONEXIST:
    case DER_NOTSUPPORTED: throw std::invalid_argument(error.what());
    case DER_IO:
    case DER_NOSPACE:
    case DER_CSUM: throw std::ios_base::failure(error.what());
    default: throw;
    }
}

template <class Call>
decltype(auto) translated(Call&& call)
{
    try {
        return call();
    } catch (const Error& error) {
        throw_as_adios(error);
    }
}

} // namespace stepstore::adios
