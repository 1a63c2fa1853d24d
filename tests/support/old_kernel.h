// A kernel without openat2, for programs that include this in one of their files: in front of the system's
// call.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <sys/syscall.h>

namespace stepstore::testing {
inline std::atomic<bool> old_kernel{false};
}

extern "C" [[gnu::visibility("default")]] long syscall(long number, ...) noexcept
{
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (long& argument : arguments)
        argument = va_arg(list, long);
    va_end(list);
    if (number == SYS_openat2 && stepstore::testing::old_kernel) {
        errno = ENOSYS;
        return -1;
    }
    using Call = long (*)(long, long, long, long, long, long, long);
    static const auto next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
