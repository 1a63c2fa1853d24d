// What goes wrong, as the C API says it: a code for the caller, and a message kept for
// stepstore_last_message().
// Threads: the message is kept for the thread of the call. Errors: current_failure() and report() throw none.
#pragma once

#include "stepstore/error.h"

#include <string>

namespace stepstore::daos {

struct Failure {
    int code = 0; // negative
    std::string message;
};

// What is being caught, as a failure of the call `name`. Never throws: without memory the message is dropped.
Failure current_failure(const char* name) noexcept;

// Remembers the message for this thread and returns the code.
int report(Failure failure) noexcept;
void set_last_message(std::string message) noexcept;

// -DER_INVAL, with the name of what is NULL.
void require(const void* pointer, const char* what);
[[noreturn]] void invalid(const std::string& message);

} // namespace stepstore::daos
