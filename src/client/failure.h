// What the client throws: the code of a call, with what was tried on what.
// Threads: in the one that made the call, since the library keeps the message for that thread.
#pragma once

#include "stepstore/error.h"
#include "stepstore/libdaos.h"

#include <string>
#include <string_view>

namespace stepstore {

// "put 'a' into object 1.2 of container c: DER_NO_PERM(-1001): the operation is not permitted; <the library's
// message>"
[[noreturn]] void fail(const Library& library, int code, const std::string& tried);

// Throws unless code is 0. `tried` makes the text, only when it is needed.
template <class Tried>
void check(const Library& library, int code, Tried&& tried)
{
    if (code != 0) [[unlikely]]
        fail(library, code, tried());
}

std::string quoted(std::string_view text);

} // namespace stepstore
