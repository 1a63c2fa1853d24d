// One machine at a time. LMDB's locks and maps, the pool's clock and its locks hold between the processes of
// one machine. On a file system that several machines share, the pool's file `machine` says which one writes.
//
// 1. The first process of a machine that is going to write makes the file, by a link, which one of several
//    succeeds in. Others of the same machine (the same boot of it) find it and go on.
// 2. A process of another machine is refused (DER_BUSY), for writing and for reading, as long as that one
//    lives.
// 3. Every process that writes gives a sign of life in the file every third of the time-out, from a thread of
//    its own. Clocks need not agree: a sign that does not look fresh is watched for the time-out. If it does
//    not change the machine is dead, and so it is at once when it is this one before a restart.
// 4. The file of a dead machine is replaced by a rename. After a moment the last of several who do so finds
//    its own.
// 5. A machine that was stopped for longer than the time-out looks before it goes on whether the file still
//    is its own.
// 6. The last process of the machine that closes the pool removes the file.
// On a file system that only one machine can have, none of this is needed, and none of it done.
#pragma once

#include "base/files.h"
#include "base/not_copied.h"
#include "base/process.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace stepstore::store::lmdb {

// The name of a file system that several machines may share; empty: only one machine can have it. By the type
// that statfs() tells; one that is not known may be shared.
std::string shared_file_system(std::uint64_t type);

class MachineClaim : NotCopied {
public:
    static constexpr const char* name = "machine";
    static bool is_name(const std::string& file); // that, or one of the files that get this name

    explicit MachineClaim(const RootedPath& pool);
    MachineClaim(RootedPath pool, std::string file_system); // the name of a shared one, or empty
    ~MachineClaim();

    bool needed() const { return !file_system_.empty(); }
    // Returns once no other machine writes, which may take the time-out. DER_BUSY names the one that does.
    void require_no_other() const;
    // This machine writes from now on. DER_BUSY.
    void claim();
    bool claimed() const { return claimed_.load(std::memory_order_acquire); }
    // On a file system that others share this process only reads, without a trace, until this machine has the
    // pool.
    bool only_looks() const { return needed() && !claimed(); }
    // DER_STALE: another machine has taken over, because it believed this one dead.
    void require_held();
    // This process is the machine's last.
    void give_back() noexcept;

private:
    struct Note {
        Machine machine;
        std::uint64_t process = 0;
        std::uint64_t sign_ms = 0;    // since 1970, by that machine's clock
        std::uint64_t timeout_ms = 0; // that it gives itself for three signs
        bool readable = false;
    };
    std::string encoded() const;
    static Note decode(const std::string& text);
    std::optional<std::string> read() const;
    void wait_until_over(const std::string& text) const;
    [[noreturn]] void refuse(const Note& other) const;
    bool put_in_place(bool replace);
    bool give_sign();
    void give_signs(const std::stop_token& stop);

    const RootedPath pool_;
    const std::string file_system_; // its name; empty: only one machine can have it
    const Machine mine_;
    const std::chrono::milliseconds timeout_;
    std::mutex claiming_; // guards claimed_ while it changes, signs_
    std::atomic<bool> claimed_{false};
    std::atomic<bool> lost_{false};
    std::atomic<std::int64_t> signed_ms_{0}; // steady clock
    std::mutex waiting_;
    std::condition_variable_any stopped_;
    std::jthread signs_;
};

} // namespace stepstore::store::lmdb
