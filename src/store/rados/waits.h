// Waits for librados that a caller may give up (base/interrupt.h), and what is in flight meanwhile.
//
// librados waits for as long as rados_osd_op_timeout says, and its own waits cannot be left. So a thread that
// may be asked to stop waits here:
// 1. An operation that is given up is taken back (aio_cancel), as librados itself does when its time is over.
//    When that returns, librados uses none of the caller's memory any more. The cluster may have the
//    operation, and carry it out later: an update is in doubt. If its answer was there first, that counts.
// 2. What cannot be taken back, as a connection or a watch, is waited for by a thread of its own. It has all
//    that librados uses, and lives until librados has answered.
// 3. After that the call sends nothing more: it ends as if its process had been killed there, and the process
//    knows what is in doubt. So no clean-up waits for a cluster that does not answer, and none removes what a
//    call in doubt may publish.
// A thread that cannot be asked waits in librados, which is some microseconds less.
//
// Threads: an Arrival is of the one that waits for it; the rest any. A forked child has none of what is in
// flight. Errors: -EINTR is a wait that was given up.
#pragma once

#include "base/not_copied.h"

#include <rados/librados.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace stepstore::store::rados {

// A use of librados: the exit of the process waits for its end, before the connection ends.
class Use : NotCopied {
public:
    Use();
    ~Use();
    bool refused() const; // the connection has ended: nothing of librados may be used any more
};
// Refuses further ones, and waits for those that are under way. False: some are left.
bool end_uses(std::chrono::milliseconds patience);
bool uses_ended();
void forget_uses_of_parent(); // in a child, before its first one

// The answer to one operation. It must be waited for, once the operation was sent.
class Arrival : NotCopied {
public:
    Arrival();
    ~Arrival();
    librados::AioCompletion* completion() { return completion_; }
    // What librados says. at_once: do not wait for the cluster, but take the operation back.
    int wait(librados::IoCtx& context, bool at_once = false);
    std::uint64_t version() { return completion_->get_version64(); }

private:
    static void arrived(rados_completion_t, void* self);

    const bool asks_;
    const std::uint64_t generation_;
    librados::AioCompletion* const completion_;
    std::mutex guard_; // guards there_
    std::condition_variable changed_;
    bool there_ = false;
};

// A call of librados that waits and cannot be taken back, such as of the monitors. It owns all that it uses.
// Given up: `undo` is run when the call has succeeded nevertheless.
int wait_for(const std::function<int()>& call, const std::function<void()>& undo = {});
// The same on a thread of its own in any case.
int wait_for_thread(const std::function<int()>& call, const std::function<void()>& undo = {});
// Nobody waits for it.
void leave_to_thread(const std::function<void()>& call);

// The cluster did not answer the last wait, which was given up or took too long.
bool is_silent();

// Bytes that this process has in flight with large operations. librados has a bound of its own
// (objecter_inflight_op_bytes, 100 MiB), where it waits without asking anybody.
class InFlight {
public:
    static bool try_add(std::uint64_t bytes);
    static int wait(); // a moment, until there may be room
    static void remove(std::uint64_t bytes);
};

} // namespace stepstore::store::rados
