// The pool's file `shared`, mapped by every process that has the pool open: the
// epoch clock and the targets' counters.
//
// The clock. next_epoch() sets it to the greater of the real-time clock and itself plus one, by compare and
// swap. So no two callers of any process get the same epoch. The page belongs to the file, so it survives
// every process. After a power failure the file may be older than the last epoch given. The boot id shows
// that. Then the clock goes on from its ceiling. This bound is written and synced before any epoch above it
// is given (about every ten seconds).
//
// Threads: any, of any process. Errors: DER_DF_INVAL for a file that is missing or damaged, DER_NO_PERM if it
// cannot be written, and the system's.
#pragma once

#include "base/files.h"
#include "base/not_copied.h"
#include "store/backend.h"

#include <atomic>
#include <string>

namespace stepstore::store::lmdb {

// Sets the word to the value, unless it is as great already.
inline void raise_to(std::atomic<std::uint64_t>& word, std::uint64_t value)
{
    std::uint64_t known = word.load();
    while (known < value && !word.compare_exchange_weak(known, value)) {
    }
}

class SharedState : NotCopied {
public:
    // Writes a new file. `durable`: synced, and the ceiling is kept.
    static void create(const RootedPath& path, unsigned targets);
    // Maps the file; only for looking where it cannot be written (writable() is
    // false then).
    SharedState(const RootedPath& path, unsigned targets, bool durable);
    ~SharedState();

    bool writable() const { return writable_; }
    Epoch next_epoch();
    void count(unsigned target, const Counters& added);
    Counters counters(unsigned target) const;

private:
    struct Header;
    struct CounterLine;
    static std::size_t length_for(unsigned targets); // bytes
    void start_clock();
    void raise_ceiling(Epoch epoch);

    const RootedPath path_;
    bool durable_;
    bool writable_ = false;
    std::atomic<bool> started_{false}; // the clock: by the first who asks for an epoch
    std::size_t length_ = 0;
    Header* header_ = nullptr;
    CounterLine* lines_ = nullptr; // some a target, the pool's metadata last
};

} // namespace stepstore::store::lmdb
