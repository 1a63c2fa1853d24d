#include "store/lmdb/index/group_commit.h"

#include "base/interrupt.h"
#include "stepstore/error.h"

#include <daos_errno.h>

namespace stepstore::store::lmdb {

void GroupCommit::write(Body body, FunctionRef<void()> take_turn, FunctionRef<void(const Group&)> run)
{
    Call mine{body};
    std::unique_lock lock(guard_);
    queue_.push_back(&mine);
    wait(lock, mine);
    if (!mine.done) {
        leading_ = true;
        const Group group = lead(lock, mine, take_turn, run);
        leading_ = false;
        for (Call* each : group)
            each->done = true;
        changed_.notify_all();
    }
    if (mine.error) std::rethrow_exception(mine.error);
}

// Until `mine` is done, or is to lead. One that no leader has taken yet may be given up.
void GroupCommit::wait(std::unique_lock<std::mutex>& lock, Call& mine)
{
    while (!changed_.wait_for(lock, between_asking, [&] { return mine.done || !leading_; })) {
        lock.unlock();
        const bool stops = asked_to_stop();
        lock.lock();
        if (!stops || std::erase(queue_, &mine) == 0) continue;
        throw Error(-DER_CANCELED, where_ + ": interrupted while it waited to write");
    }
}

// The calls that have their results afterwards.
GroupCommit::Group GroupCommit::lead(std::unique_lock<std::mutex>& lock, Call& mine,
                                     FunctionRef<void()> take_turn, FunctionRef<void(const Group&)> run)
{
    Group group;
    std::exception_ptr failed;
    lock.unlock();
    try {
        take_turn();
    } catch (const Error& error) {
        failed = std::current_exception();
        if (error.code() == -DER_CANCELED) {
            lock.lock();
            std::erase(queue_, &mine);
            mine.error = failed;
            mine.done = true;
            return group;
        }
    } catch (...) {
        failed = std::current_exception();
    }
    lock.lock();
    group.swap(queue_);
    lock.unlock();
    if (failed)
        for (Call* each : group)
            each->error = failed;
    else
        run(group);
    lock.lock();
    return group;
}

} // namespace stepstore::store::lmdb
