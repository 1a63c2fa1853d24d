// How the ranks of a communicator find out who opens what, without a call that may wait for ever. Part of the
// MPI module.
// Threads: one at a time. Errors: the Verdict says that a meeting failed; what the system or MPI refuses is
// thrown.
#pragma once

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>

namespace stepstore {

// The same on all ranks of a meeting that succeeded.
struct Verdict {
    std::uint64_t arrived = 0; // ranks that came; 0: unknown. All of them: success, and every rank knows so
    std::uint64_t color = 0;   // the lowest rank that opens the same
    bool all_the_same = false; // every rank opens the same
};

class Meeting {
public:
    virtual ~Meeting() = default;
    // Brings what this rank opens. Returns within about the time-out. After success all ranks of the
    // communicator are known to have succeeded too, or to be about to return: a collective call may follow.
    virtual Verdict meet(std::uint64_t key_hash, double timeout_seconds) = 0;
    // Whether a rank may try again after a meeting that failed.
    virtual bool repeatable() const = 0;
};

// Among the ranks of MPI_COMM_WORLD on one machine, over local sockets: no MPI call, so a rank that nobody
// meets leaves no trace in MPI. Null where it is not certain that all ranks run on this machine.
std::unique_ptr<Meeting> make_local_meeting(int rank, int size);

// Over non-blocking collectives of the communicator: for jobs on several machines, and for parts of a job.
// One that fails leaves a collective open.
std::unique_ptr<Meeting> make_collective_meeting(MPI_Comm comm);

} // namespace stepstore
