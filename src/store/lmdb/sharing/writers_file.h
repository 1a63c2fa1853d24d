// The pool's file `writers`, mapped by every process that writes. It says who writes to each target now
// (write_turn.h). It also says which reservations in extent files belong to a process and to no record
// (reservations.h).
//
// A process that may only read the pool cannot open it, so it cannot take a lock on it. Bytes of zero are its
// first state, so the first process that needs it makes it.
// Every writer needs it: what the file says of dead processes holds only if no writer goes without. Nothing
// in it outlives a run of the machine, so it is never synced. It is as long as what was used of it, so that a
// copy that knows no holes takes no more.
//
// Threads: any; the words are atomic, and a slot is guarded by Reservations. Errors: nullptr or false if
// there is no file to write; require_line() throws why.
#pragma once

#include "base/files.h"
#include "base/not_copied.h"
#include "base/process.h"
#include "store/lmdb/sharing/shared_state.h"

#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <string>

namespace stepstore::store::lmdb {

inline constexpr const char* writers_name = "writers";

// The failed syncs of a target's index, or of its extents, of all processes (write_again.h).
struct FailedSyncs {
    std::atomic<std::uint64_t> all;
    std::atomic<std::uint64_t> mended; // so many of them have left nothing
    bool open() const { return all.load() != mended.load(); }
    void mend(std::uint64_t seen) // of `all`, before the mending began
    {
        raise_to(mended, seen);
    }
};

// Who writes to a target, and what is known of its files.
struct alignas(64) WriterLine {
    std::atomic<std::uint64_t> owner; // 0: nobody; else see write_turn.cc
    std::atomic<std::uint64_t> since; // ns of the real-time clock
    std::atomic<std::uint64_t> stamp; // of the last one that began to write; see reservations.h
    FailedSyncs index;
    FailedSyncs extents;
    std::atomic<std::uint64_t> syncing; // 1: the owner is inside a commit that syncs
};
static_assert(sizeof(WriterLine) == 64);

class WritersFile : NotCopied {
public:
    static constexpr unsigned slots = 256;
    static constexpr std::size_t slot_size = 16 << 10; // bytes

    WritersFile(RootedPath path, unsigned lines);
    ~WritersFile();

    // While LMDB opens a target's index or gives out a reader's slot, or while its lock file is cut: no other
    // process does any of these (reader_table.h).
    //
    // LMDB's first user of a lock file locks it, writes version 0 into it, and later the newest version. A
    // process that waits for this lock goes on when the first one is killed in between. It reads version 0
    // then: nothing is there, or the index looks damaged. With a lock of our own before LMDB's, nobody waits
    // for LMDB's. The next process is a first one again.
    class Opening : NotCopied {
    public:
        // Waits, and warns as for a writer (LongWait). A process that may not write the file goes without.
        // It makes the file where that is missing.
        Opening(const WritersFile& writers, unsigned target, const std::string& where);
        // For a process that closes it: waits for a few milliseconds at most, and makes nothing.
        Opening(const WritersFile& writers, unsigned target);
        ~Opening();
        bool held() const { return held_; }

    private:
        bool lock(int kind) { return lock_bytes(fd_.get(), F_OFD_SETLK, kind, target_, 1).has_value(); }
        const unsigned target_;
        Descriptor fd_;
        bool held_ = false;
    };

    // nullptr: this process has no such file to write.
    WriterLine* line(unsigned index)
    {
        std::byte* map = ready_.load(std::memory_order_acquire);
        if (map == nullptr) [[unlikely]]
            map = first_use();
        return map == nullptr ? nullptr : reinterpret_cast<WriterLine*>(map) + index;
    }
    WriterLine& require_line(unsigned index, const std::string& where); // throws why there is none
    const ProcessIdentity& process() const { return process_; } // this one; once line() gave something

    // A slot is one process's while it holds the lock on its bytes, which goes with the process.
    // try_slot: true: it is ours, empty or as a dead process left it.
    bool try_slot(unsigned number) { return lock_slot(number, F_WRLCK); }
    void leave_slot(unsigned number) { lock_slot(number, F_UNLCK); }
    bool room_for_slot(unsigned number); // on the medium: false where that is full
    std::byte* slot(unsigned number) { return map_ + place_of(number); }
    // Its first eight bytes, not through the map. On a full disk of memory (tmpfs) a look at a slot without
    // room ends the process.
    std::uint64_t first_word(unsigned number) const;
    // Of this file and this run of the machine: what was written under another one is void.
    std::uint64_t mark();

private:
    std::byte* first_use();
    bool open();
    std::uint64_t place_of(unsigned number) const { return slots_at_ + number * slot_size; }
    std::size_t length() const { return slots_at_ + slots * slot_size; } // of the map
    bool lock_slot(unsigned number, int kind)
    {
        return lock_bytes(fd_.get(), F_OFD_SETLK, kind, place_of(number), slot_size).has_value();
    }

    const RootedPath path_;
    const unsigned lines_;
    const std::size_t slots_at_; // in the file: on the page after the lines
    std::once_flag opened_;
    int error_ = 0;
    ProcessIdentity process_;
    Descriptor fd_;
    std::byte* map_ = nullptr;
    std::atomic<std::byte*> ready_{nullptr}; // map_, once all of the above is there
};

} // namespace stepstore::store::lmdb
