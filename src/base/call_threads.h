// Threads that carry out parts of a call. They do not ask whether the call is to end (interrupt.h): the
// thread that waits for them asks, and tells them. So a part may wait under a lock that is held over forks,
// and the call ends with Ctrl-C all the same.
//
// Threads: start() and wait() are for one thread at a time. A fork while they run takes none of them
// along; the thread that forks is not the one that waits. Errors: none of its own; a part must throw none.
#pragma once

#include "base/function_ref.h"
#include "base/interrupt.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stepstore {

class CallThreads : NotCopied {
public:
    ~CallThreads() { wait(); }
    // False: the system gives no more threads, and `part` was not begun.
    bool start(std::function<void()> part);
    std::size_t count() const { return threads_.size(); }
    // Until all have ended.
    void wait();

private:
    void run(const std::function<void()>& part);

    std::vector<std::thread> threads_;
    std::atomic<bool> stop_{false}; // the parts are to end
    std::mutex guard_;              // guards running_
    std::condition_variable changed_;
    unsigned running_ = 0;
};

// Runs `work`, which takes a lock that is held over forks and waits, and throws what it throws. If this
// thread asks, another one runs it, and this one asks meanwhile.
void ask_during(FunctionRef<void()> work);

} // namespace stepstore
