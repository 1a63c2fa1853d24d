// The processes of one subject: started once per case, made to work a round at a time, so that the rounds of
// several subjects can be interleaved.
#pragma once

#include "subject.h"

#include <sys/types.h>

namespace stepstore::bench {

// How long a round is: a time, or a number of operations per process where that is not 0.
struct RoundLength {
    double seconds = 0.1;
    std::uint64_t operations = 0;
};

class Workers {
public:
    // Starts the processes, which open the subject, and, for reading, store what will be read. Throws when
    // one fails.
    Workers(const Case& one, Peer peer, const std::string& directory, const RoundLength& length);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // One round of all processes at once: microseconds per operation, the mean over the processes.
    double round();

private:
    struct Worker {
        pid_t process = -1;
        int commands = -1;
        int results = -1;
    };
    void start(const Case& one, Peer peer, const std::string& directory, unsigned process,
               const RoundLength& length);
    double result_of(const Worker& worker) const;

    std::string name_;
    std::vector<Worker> workers_;
};

} // namespace stepstore::bench
