// Whether the caller of a call that waits wants it to end, as with Ctrl-C. A host language with signals of
// its own, such as Python, says so; a C program's signals end the program or interrupt nothing.
//
// Asked by the thread that waits, at least some times a second, and never while it holds a lock that is held
// over forks, or a transaction that keeps others from writing. What it asks runs code of the host's, perhaps
// a handler of signals, which must not call this library. A forked child has what its parent set.
//
// Errors: -DER_CANCELED of stop_if_asked().
#pragma once

#include "base/not_copied.h"

#include <atomic>
#include <chrono>
#include <string>

namespace stepstore {

using AskedToStop = bool (*)();
void ask_in_waits(AskedToStop asked); // for the whole process; nullptr: never asked

constexpr std::chrono::milliseconds between_asking(100);

bool asked_to_stop();
// -DER_CANCELED. what: which wait ends, and for whom it was.
void stop_if_asked(const std::string& what);

// Whether asked_to_stop() can ever say so in this thread, as it is now. If not, a wait need not wake up.
// Without a host nobody sets the flags below.
bool may_be_asked() noexcept;
// Whether the call of this thread was asked to stop, and has not returned since. What it would still do need
// not begin then. Cheap: the host is asked only if it said so before.
bool is_given_up();

// While it lives, waits of this thread end also when the flag is set: of a call that one thread waits for and
// this one carries out.
class CarriedOutFor : NotCopied {
public:
    explicit CarriedOutFor(const std::atomic<bool>& stop);
    ~CarriedOutFor();

private:
    const std::atomic<bool>* const outer_;
};

// While it lives, this thread does not ask. For waits under a lock that is held over forks (base/fork.h): to
// ask may mean to wait for a lock of the host's, which a thread has that forks, and waits for this one. A
// flag of CarriedOutFor still ends them; see call_threads.h.
class NotAsked : NotCopied {
public:
    NotAsked();
    ~NotAsked();
};

// What the functions above go by. A library and a module that it loads have a copy of this code each, and
// must go by the same.
struct Interrupts {
    struct OfThread {
        const std::atomic<bool>* stop_of_caller = nullptr;
        unsigned not_asked = 0;
        bool given_up = false; // what the last asked_to_stop() said
    };
    OfThread& (*of_thread)() noexcept;
    AskedToStop (*host)() noexcept;
};
Interrupts interrupts() noexcept;
void go_by(const Interrupts& others) noexcept; // before any other use

} // namespace stepstore
