// Updates that are committed together, because each commit waits for the disk.
//
// The first waiting call becomes the leader. It takes the turn, which may take long. Then it runs all calls
// that wait by then, the group, and wakes them with their results. A call that writes to another target
// meanwhile waits only for leaders of higher targets (the order that Target::write demands). So no circle of
// waiting closes.
//
// Any thread may call write(). A forked child leaves it to its parent, with the target. What a turn is, and
// how a group is run, only the caller knows. Errors: each call gets that of its own update, or -DER_CANCELED.
#pragma once

#include "base/function_ref.h"
#include "base/not_copied.h"
#include "store/backend.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

namespace stepstore::store::lmdb {

class GroupCommit : NotCopied {
public:
    using Body = FunctionRef<void(WriteTransaction&)>;
    struct Call {
        Body body;
        std::exception_ptr error = nullptr; // its result
        bool done = false;
    };
    using Group = std::vector<Call*>;

    explicit GroupCommit(const std::string& where) : where_(where) {}

    // Returns when the body was run and committed, and throws its error. -DER_CANCELED: asked to stop before
    // a leader took it.
    // take_turn: its error becomes the error of the whole group. If it is -DER_CANCELED, only the leader's:
    // another one leads. run: sets every error, gives the turn back, throws nothing.
    void write(Body body, FunctionRef<void()> take_turn, FunctionRef<void(const Group&)> run);

private:
    void wait(std::unique_lock<std::mutex>& lock, Call& mine);
    Group lead(std::unique_lock<std::mutex>& lock, Call& mine, FunctionRef<void()> take_turn,
               FunctionRef<void(const Group&)> run);

    const std::string& where_;
    std::mutex guard_; // guards queue_, leading_
    std::condition_variable changed_;
    Group queue_;
    bool leading_ = false;
};

} // namespace stepstore::store::lmdb
