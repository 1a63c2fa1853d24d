// Whether the caller of a call that waits wants it to end, as with Ctrl-C. A host language with signals of
// its own, such as Python, says so; a C program's signals end the program or interrupt nothing.
//
// Asked by the thread that waits, at least some times a second, and never within a transaction. What it asks
// runs code of the host's, perhaps a handler of signals, which must not call this library. A forked child has
// what its parent set.
//
// Errors: -DER_CANCELED of stop_if_asked().
#pragma once

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

// While it lives, waits of this thread end also when the flag is set: of a call that one thread waits for and
// this one carries out.
class CarriedOutFor {
public:
    explicit CarriedOutFor(const std::atomic<bool>& stop);
    ~CarriedOutFor();
    CarriedOutFor(const CarriedOutFor&) = delete;
    CarriedOutFor& operator=(const CarriedOutFor&) = delete;

private:
    const std::atomic<bool>* const outer_;
};

// While it lives, this thread does not ask. For waits under a lock that is held over forks (base/fork.h): to
// ask may mean to wait for a lock of the host's, which a thread has that forks, and waits for this one.
class NotAsked {
public:
    NotAsked();
    ~NotAsked();
    NotAsked(const NotAsked&) = delete;
    NotAsked& operator=(const NotAsked&) = delete;
};

} // namespace stepstore
