// Stepstore's errors as FDB's: what a user must change becomes a UserError (tools print it and stop), the
// rest an Exception.
// Threads: any; pure.
#pragma once

#include "stepstore/error.h"

#include <utility>

namespace stepstore::fdb_plugin {

[[noreturn]] void rethrow(const Error& error);
[[noreturn]] void refuse(const std::string& message); // a UserError: what was asked, why not, what to do

// work(), with a stepstore::Error turned into FDB's exception.
template <typename Work>
decltype(auto) translated(Work&& work)
{
    try {
        return std::forward<Work>(work)();
    } catch (const Error& error) {
        rethrow(error);
    }
}

} // namespace stepstore::fdb_plugin
