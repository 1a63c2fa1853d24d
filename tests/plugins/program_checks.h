// What programs of tests check with: they are built alone, against an ADIOS2 (test_derived.py).
// Threads: any. Errors: CHECK throws std::runtime_error.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            throw std::runtime_error(std::string(__func__) + ", line " + std::to_string(__LINE__) +          \
                                     ": " #condition);                                                       \
    } while (false)

// What a call throws; empty: nothing.
inline std::string refusal(const std::function<void()>& call)
{
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}
