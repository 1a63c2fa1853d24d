// Announcements between processes (backend.h): a notify on the object of a target's index, whose text is the
// key, and watches of it. Who watches gets those of all keys of the target, and passes over the others'.
//
// A notify ends when all watchers have answered, or after a second: one that was killed does not answer until
// its watch is over. So nobody waits for a notify. At most so many of a process are under way on a target at
// a time, and further ones are left out.
//
// Threads: any. Errors: DER_TIMEDOUT if the process is ending (cluster.h). Else an announcement that fails is
// lost, and watch() gives nullptr if keys cannot be watched.
#pragma once

#include "store/rados/index.h"

#include <condition_variable>

namespace stepstore::store::rados {

class Announcer : NotCopied {
public:
    explicit Announcer(Index& index) : index_(index) {}
    ~Announcer(); // gives what is under way a moment to arrive
    void send(Bytes key);
    std::unique_ptr<Waiter> watch(Bytes key);

    struct UnderWay {
        std::mutex guard; // guards count
        std::condition_variable fewer;
        unsigned count = 0;
    };

private:
    Index& index_;
    const std::shared_ptr<UnderWay> under_way_ = std::make_shared<UnderWay>();
};

} // namespace stepstore::store::rados
