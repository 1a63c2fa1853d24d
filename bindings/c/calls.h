// What all calls of the C interface share: no exception gets out, and the message of the last error is kept.
// Threads: any; the message is each thread's own. Errors: become the negative DER_ code that the call
// returns.
#pragma once

#include "cookies.h"
#include "stepstore/printable.h"

#include <daos_errno.h>

#include <new>
#include <string>
#include <vector>

namespace stepstore {

// Not destroyed at the end of a thread: a message is asked for at any time.
inline thread_local std::string last_message;

inline int failed(int code, const char* text) noexcept
{
    try {
        last_message = printable(text); // also of what is no Error
    } catch (...) {
        last_message.clear();
    }
    return code;
}

template <class Work>
int shielded(Work&& work) noexcept
{
    try {
        work();
        return 0;
    } catch (const Error& error) {
        return failed(error.code() == 0 ? -DER_MISC : error.code(), error.what());
    } catch (const std::bad_alloc&) {
        return failed(-DER_NOMEM, "out of memory");
    } catch (const std::exception& error) {
        return failed(-DER_MISC, error.what());
    } catch (...) {
        return failed(-DER_MISC, "an error of a kind that is not known");
    }
}

inline void require(const void* pointer, const char* what)
{
    if (pointer == nullptr)
        throw Error(-DER_INVAL, std::string(what) + " is a null pointer: give its address");
}

// A handle of a list of names, for stepstore_names_get().
std::uint64_t names_handle(std::vector<std::string> names);

} // namespace stepstore
