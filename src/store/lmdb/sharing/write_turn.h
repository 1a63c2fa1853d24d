// A writer's turn at a target: taken before LMDB's own lock on writers, so that a waiting writer knows for
// whom it waits.
// Threads: a turn is of the one that took it; several wait for it. Errors: -DER_TIMEDOUT after the limit,
// -DER_CANCELED if the caller is asked to stop.
#pragma once

#include "base/interrupt.h"
#include "base/not_copied.h"
#include "store/lmdb/sharing/writers_file.h"

#include <string>

namespace stepstore::store::lmdb {

class WriteTurn : NotCopied {
public:
    // Waits. After five seconds it warns once, naming the process that writes. -DER_TIMEDOUT after the limit.
    WriteTurn(WritersFile& file, unsigned target, const std::string& where);
    ~WriteTurn();
    bool inherited() const { return inherited_; } // from a process that died with it

private:
    void wait(const std::string& where);

    WriterLine* line_;
    std::uint64_t mine_ = 0;
    std::uint64_t generation_ = 0;
    bool inherited_ = false;
};

// A wait for another process that a person should know of when it takes long.
class LongWait {
public:
    // what: "pool /p, target 3: cannot write".
    explicit LongWait(std::string what);
    // Call some times a second. blame: who is in the way, and what to do; asked for when it is told. Throws
    // -DER_TIMEDOUT, and -DER_CANCELED when the caller is asked to stop (base/interrupt.h).
    template <class Blame>
    void look(Blame blame)
    {
        stop_if_asked(what_);
        const double waited = seconds();
        if (!told_ && waited >= patience) tell(blame());
        if (limit_ > 0 && waited >= limit_) give_up(blame());
    }

private:
    static constexpr double patience = 5; // seconds, before it is told
    double seconds() const;
    void tell(const std::string& blame);
    [[noreturn]] void give_up(const std::string& blame) const;

    const std::string what_;
    const double limit_; // seconds; 0: none
    const std::uint64_t begun_;
    bool told_ = false;
};

// "process 12 on host a, which is stopped (by a signal or a debugger)".
std::string text_of_process(std::uint64_t process, const std::string& host);

} // namespace stepstore::store::lmdb
