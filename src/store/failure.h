// How the object store states a failure: one call, a positive DER_* code and a text that names the thing.
// Threads: any; pure.
#pragma once

#include "stepstore/error.h"
#include "store/types.h"

#include <daos_errno.h>

#include <string>
#include <string_view>
#include <utility>

namespace stepstore::store {

[[noreturn]] void fail(int der, const std::string& message);
// DER_CSUM: what is damaged, and that a check of the pool says more.
[[noreturn]] void fail_damaged(const std::string& what);

// Whether this failure to read says that something stored is damaged or lost. Not what this process lacks
// (permission, memory, files that it may open), who is in the way, that another version made it, or that the
// caller wants the call to end.
bool says_damage(const Error& error);
// Whether a decoder takes these bytes. It may also say that they are of another version, if they are damaged.
template <class Decode>
bool is_sound(Decode&& decode)
{
    try {
        std::forward<Decode>(decode)();
        return true;
    } catch (const Error&) {
        return false;
    }
}

// How things are named in messages and in the findings of check.
std::string text(const Uuid& uuid);    // 8-4-4-4-12 hexadecimal digits
std::string text(const ObjectId& oid); // HI.LO
std::string quoted(Bytes key);         // printable characters as they are, others as \xHH, long keys cut

} // namespace stepstore::store
