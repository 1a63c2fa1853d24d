// Which process this is, and whether another one still lives: as far as this machine can tell.
// Threads: any. Errors: none; what the system does not tell is empty, or `elsewhere`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stepstore {

// A process number alone is not enough: numbers are used again, and are different ones in another container.
struct ProcessIdentity {
    std::string host;    // for messages
    std::string machine; // the running system and its space of process numbers
    std::uint64_t process = 0;
    std::uint64_t started = 0; // in the machine's own ticks since it was started

    std::string text() const { return "process " + std::to_string(process) + " on host " + host; }
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

ProcessIdentity this_process();

// What this machine says of a process number.
struct ProcessSight {
    bool alive = false;                   // killed ones, of which nobody asked the exit status yet, are not
    bool stopped = false;                 // by a signal, or by a debugger
    std::optional<std::uint64_t> started; // as ProcessIdentity::started; nothing: the system does not tell
};
ProcessSight look_at(std::uint64_t process);

enum class Life : std::uint8_t {
    alive,
    dead,
    elsewhere // on another machine, or in another container: cannot be seen from here
};
Life life_of(const ProcessIdentity& process);

// The running system. Containers of one machine share it, whatever their names and process numbers.
struct Machine {
    std::string host; // for messages
    std::string id;   // of its installation; empty: unknown
    std::string boot; // differs after a restart

    bool same_as(const Machine& other) const { return boot == other.boot; }
    // It runs again since then: what the other was is dead.
    bool was_restarted_since(const Machine& other) const
    {
        return !same_as(other) && !id.empty() && id == other.id && host == other.host;
    }
};
Machine this_machine();
// For tests: STEPSTORE_TEST_MACHINE=NAME or NAME/BOOT makes this process believe that it runs on another
// machine, and that its pools lie on a file system that both share.
bool pretends_machine();

} // namespace stepstore
