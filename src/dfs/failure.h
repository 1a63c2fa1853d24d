// What goes wrong: an errno for the caller, and a sentence kept for dfs_last_message().
// Threads: the sentence is kept for the thread of the call. Errors: fail() and require_done() throw Failure,
// and run() throws nothing.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace stepstore::dfs {

struct Failure {
    int number; // an errno
};

[[noreturn]] void fail(int number, const std::string& message);

// Fails with the errno of a code of libdaos, and what that says of it.
[[noreturn]] void fail_with(int code, const std::string& tried);

// tried: what was tried, or a function that says it where that takes time.
template <class Text>
void require_done(int code, const Text& tried)
{
    if (code == 0) return;
    if constexpr (std::is_invocable_v<const Text&>)
        fail_with(code, tried());
    else
        fail_with(code, tried);
}

// EINVAL, with the name of what is NULL.
void require(const void* pointer, const char* what);

// `text` in quotes, fit to be printed.
std::string quoted(const std::string& text);

void begin_message(const char* call) noexcept;
int out_of_memory() noexcept;
int of_unknown_kind(const char* what) noexcept;

// How each function of the API runs; gives what it returns.
template <class Body>
int run(const char* call, Body body) noexcept
{
    begin_message(call);
    try {
        body();
        return 0;
    } catch (const Failure& failure) {
        return failure.number;
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    } catch (const std::length_error&) {
        return out_of_memory();
    } catch (const std::exception& error) {
        return of_unknown_kind(error.what());
    } catch (...) {
        return of_unknown_kind("an exception of an unknown kind");
    }
}

} // namespace stepstore::dfs
