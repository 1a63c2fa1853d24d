// The processes of one subject: started once per case, made to work a round at a time, so that the rounds of
// several subjects can be interleaved.
// Threads: one. Errors: std::runtime_error, if a process failed.
#pragma once

#include "subject.h"

#include "common/workers.h"

namespace stepstore::bench {

// How long a round is: a time, or a number of operations per process where that is not 0.
struct RoundLength {
    double seconds = 0.1;
    std::uint64_t operations = 0;
};

class CaseWorkers {
public:
    // Starts the processes, which open the subject, and, for reading, store what will be read. Throws when
    // one fails.
    CaseWorkers(const Case& one, Peer peer, const Location& location, const RoundLength& length);
    ~CaseWorkers(); // removes it from the cluster
    CaseWorkers(const CaseWorkers&) = delete;
    CaseWorkers& operator=(const CaseWorkers&) = delete;

    // One round of all processes at once: microseconds per operation, the mean over the processes.
    double round();

private:
    bool in_own_process(const std::function<void()>& body) const;
    void remove() const;

    unsigned processes_;
    Peer peer_;
    Location location_;
    std::unique_ptr<Workers> workers_;
};

} // namespace stepstore::bench
