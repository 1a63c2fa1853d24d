// The interpreter's lock: let go of while the store works, and taken back. Two things may come in between.
//
// The interpreter ends. It ends all threads but its main one when they ask for its lock: by pthread_exit,
// up to Python 3.13. That unwinds the stack, and neither a destructor nor the frames of nanobind let it
// through: the process would abort. So a thread that is ended stays where it is, as it does from Python 3.14
// on. The process ends without it. See stays_when_ended.
//
// A signal arrives, such as Ctrl-C. A call that waits asks for it (base/interrupt.h). If a handler of
// Python raises an exception, the call ends, and `unlocked` raises it.
#pragma once

#include "base/interrupt.h"
#include "stepstore/error.h"

#include <nanobind/nanobind.h>

#include <type_traits>
#include <unistd.h>
#include <utility>

namespace stepstore::python {

namespace nb = nanobind;

// Calls into Python's C interface what may take the interpreter's lock or run code of Python. No C++ object
// with a destructor may live between here and there. A destructor stops the unwinding: a handler could not,
// for within another handler the runtime ends the process. Not inlined: a caller may be noexcept.
template <class Call>
[[gnu::noinline]] auto stays_when_ended(Call&& call)
{
    struct Stays {
        bool returned = false;
        ~Stays()
        {
            while (!returned)
                pause();
        }
    } stays;
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        stays.returned = true;
    } else {
        const auto result = call();
        stays.returned = true;
        return result;
    }
}

// While it lives, this thread does not hold the lock.
class Unlocked {
public:
    Unlocked();
    ~Unlocked() { take_back(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

    // Takes the lock, and raises what a handler of a signal has raised meanwhile.
    void end();
    // Runs `body` with the lock. Throws instead what a handler of a signal has raised meanwhile.
    template <class Body>
    void locked(Body&& body)
    {
        end();
        body();
        let_go();
    }
    // Does this thread hold the lock? False in threads that Python does not know. Asked without
    // PyGILState_Check, which the stable interface does not have.
    static bool is_locked() noexcept;
    // For waits: has a handler of a signal raised an exception? False in threads that are not Python's.
    static bool asked_to_stop() noexcept;

    // For waits of all threads, also of the library's own: from now on they end, or no more.
    static void end_all_waits(bool end) noexcept;

private:
    void let_go();
    void take_back() noexcept;

    PyThreadState* state_ = nullptr; // nullptr: it holds the lock
    Unlocked* outer_;
    bool interrupted_ = false;
};

// Runs `body`, which gets the Unlocked if it wants it, without the lock: for everything that may touch the
// store.
template <class Body>
auto unlocked(Body&& body)
{
    Unlocked away;
    const auto run = [&]() -> decltype(auto) {
        if constexpr (std::is_invocable_v<Body, Unlocked&>)
            return std::forward<Body>(body)(away);
        else
            return std::forward<Body>(body)();
    };
    try {
        if constexpr (std::is_void_v<decltype(run())>) {
            run();
            away.end();
        } else {
            auto result = run();
            away.end();
            return result;
        }
    } catch (const Error&) {
        away.end();
        throw;
    }
}

// For the end of an object: `body`, which throws nothing, without the lock. Nothing passes a destructor. So
// what a handler of a signal raises is told to sys.unraisablehook. Does nothing in threads that Python does
// not know.
template <class Body>
void unlocked_at_end(Body&& body) noexcept
{
    if (!Unlocked::is_locked()) return;
    const nb::error_scope raised_before;
    try {
        unlocked(std::forward<Body>(body));
    } catch (nb::python_error& error) {
        error.discard_as_unraisable("the end of an object of stepstore");
    }
}

} // namespace stepstore::python
