// A meeting over non-blocking collectives of a communicator:
//   1. MPI_Iallgather of what each rank opens, polled against the deadline.
//   2. MPI_Ibarrier: a rank that gave up in 1 never enters it, so either all ranks pass or none.
// A rank that gave up has a collective of the communicator open for the rest of the run. It is out of step
// with the others, so it must not try again.
#include "comm/meeting.h"

#include "comm/mpi_communicator.h"
#include "comm/waiting.h"

#include <mpi.h>
#include <vector>

namespace stepstore {
namespace {

bool completed(MPI_Request& request, const char* what)
{
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), what);
    return flag != 0;
}

class CollectiveMeeting final : public Meeting {
public:
    explicit CollectiveMeeting(MPI_Comm comm) : comm_(comm)
    {
        int rank = 0;
        int size = 1;
        check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
        check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
        rank_ = static_cast<std::size_t>(rank);
        all_.resize(static_cast<std::size_t>(size));
    }

    Verdict meet(std::uint64_t key_hash, double timeout_seconds) override
    {
        mine_ = key_hash;
        check_mpi(MPI_Iallgather(&mine_, 1, MPI_UINT64_T, all_.data(), 1, MPI_UINT64_T, comm_, &request_),
                  "MPI_Iallgather");
        if (!poll_until(Deadline(timeout_seconds), [&] { return completed(request_, "MPI_Iallgather"); }))
            return {};
        check_mpi(MPI_Ibarrier(comm_, &request_), "MPI_Ibarrier");
        // All ranks have arrived, so this takes no time unless one gave up meanwhile.
        if (!poll_until(Deadline(std::max(timeout_seconds, 10.0)),
                        [&] { return completed(request_, "MPI_Ibarrier"); }))
            return {};
        Verdict verdict;
        verdict.arrived = all_.size();
        while (all_[verdict.color] != all_[rank_])
            ++verdict.color;
        verdict.all_the_same = std::equal(all_.begin() + 1, all_.end(), all_.begin());
        return verdict;
    }
    bool repeatable() const override { return false; }

private:
    MPI_Comm comm_;
    std::size_t rank_ = 0;
    // Kept beyond a call that gave up: the open request uses them.
    std::uint64_t mine_ = 0;
    std::vector<std::uint64_t> all_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

} // namespace

std::unique_ptr<Meeting> make_collective_meeting(MPI_Comm comm)
{
    return std::make_unique<CollectiveMeeting>(comm);
}

} // namespace stepstore
