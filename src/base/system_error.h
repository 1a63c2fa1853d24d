// The one translation of the system's errors into DER_* codes.
// Threads: any; fail_errno() takes the errno of its own.
#pragma once

#include "stepstore/error.h"

#include <span>
#include <string>

namespace stepstore {

// What an error of the system or of a library means here.
struct Meaning {
    int error;
    int der;
    const char* text;
};
// The error that the table has for this one, or -DER_IO with the text `unknown`.
Error error_of(std::span<const Meaning> meanings, int error, const std::string& where,
               const std::string& tried, const std::string& unknown);

// The error for an errno. `where` names the pool and the target or file, `tried` says what was tried:
// "pool /p, target 3: cannot commit: the disk is full ...".
Error system_error(int error, const std::string& where, const std::string& tried);
// Throws it, of errno.
[[noreturn]] void fail_errno(const std::string& where, const std::string& tried);

// "; the path belongs to user 1000, this process runs as user 7": for errors of permission. Empty when the
// path cannot be looked at, and after ELOOP (a link was in the way). errno stays, as it is told next.
std::string owner_of(const std::string& path);

} // namespace stepstore
