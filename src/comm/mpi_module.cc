// The MPI module: communicators over MPI, and the forming of groups among ranks.
//
// It is not known which ranks open a thing: all, some, or each a thing of its own. And MPI has no collective
// with a time limit. So the ranks meet first (meeting.h), and a meeting may fail in time. Then all of them
// are known to be here, and a blocking MPI_Comm_split makes the groups. It leaves nothing behind in MPI that
// could disturb the program: the groups' communicators are ours alone.
#include "comm/mpi_module.h"

#include "comm/meeting.h"
#include "comm/mpi_communicator.h"
#include "daos_errno.h"
#include "stepstore/error.h"
#include "stepstore/export.h"

#include <cmath>

namespace stepstore {
namespace {

class Module final : public MpiModule {
public:
    std::shared_ptr<Communicator> form_group(const std::string& key, std::uint64_t key_hash,
                                             GroupChoice choice, double timeout_seconds) override;
    std::shared_ptr<Communicator> form_group_within(const void* mpi_comm, const std::string& key,
                                                    std::uint64_t key_hash, double timeout_seconds) override;
    std::shared_ptr<Communicator> form_group_within_fortran(int mpi_comm, const std::string& key,
                                                            std::uint64_t key_hash,
                                                            double timeout_seconds) override;
    std::shared_ptr<Communicator> duplicate(const void* mpi_comm) override;

private:
    void prepare();
    [[noreturn]] void give_up(const std::string& key, double timeout_seconds, const std::string& who) const;

    std::unique_ptr<Meeting> meeting_;
    int rank_ = 0;
    int size_ = 0;
    bool out_of_step_ = false; // a meeting failed that cannot be repeated
};

std::string seconds_text(double seconds)
{
    auto text = std::to_string(seconds);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

void Module::prepare()
{
    if (size_ != 0) return;
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    if (size_ == 1) return;
    meeting_ = make_local_meeting(rank_, size_);
    if (!meeting_) meeting_ = make_collective_meeting(MPI_COMM_WORLD);
}

void Module::give_up(const std::string& key, double timeout_seconds, const std::string& who) const
{
    throw Error(
        -DER_TIMEDOUT,
        key + ": " + who + " within " + seconds_text(timeout_seconds) +
            " s (parameter GroupTimeoutSecs). Without a communicator, all ranks of MPI_COMM_WORLD must open "
            "a stream together. If each rank opens a stream of its own set the parameter Communicator=self. "
            "If only some ranks open it give their communicator with stepstore_adios2_set_communicator()");
}

void check_timeout(double seconds)
{
    if (!std::isfinite(seconds) || seconds < 0)
        throw Error(-DER_INVAL,
                    "the parameter GroupTimeoutSecs is not a number of 0 or more seconds: give one");
}

#ifdef OPEN_MPI
// A handle is a pointer, which MPI follows. So it is looked for among those that MPI has given out: each has
// a Fortran handle, a small number.
bool was_given_out(MPI_Comm comm)
{
    constexpr int most_missing = 4096;
    int missing = 0;
    for (int handle = 0; missing < most_missing; ++handle) {
        const MPI_Comm one = MPI_Comm_f2c(handle);
        if (one == comm) return one != nullptr;
        missing = one == nullptr ? missing + 1 : 0;
    }
    return false;
}
#else
bool was_given_out(MPI_Comm)
{
    return true; // MPI itself tells
}
#endif

// What MPI finds wrong with a handle goes to the error handler of MPI_COMM_WORLD, which ends the program.
class ErrorsReturn {
public:
    ErrorsReturn()
    {
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    ~ErrorsReturn()
    {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
        MPI_Errhandler_free(&before_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

private:
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

void require_communicator(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        throw Error(-DER_INVAL, "the communicator is MPI_COMM_NULL: only ranks of a communicator can open a "
                                "location with it");
    const ErrorsReturn instead_of_ending;
    int joins_two = 0;
    if (!was_given_out(comm) || MPI_Comm_test_inter(comm, &joins_two) != MPI_SUCCESS)
        throw Error(-DER_INVAL, "the communicator is none: it was freed, or is no MPI_Comm of this process's "
                                "MPI");
    if (joins_two != 0)
        throw Error(-DER_INVAL, "the communicator joins two groups of ranks (MPI_Intercomm_create): give one "
                                "of a single group, as MPI_Intercomm_merge makes it");
}

// Of ranks that are known to be in this call.
std::shared_ptr<MpiCommunicator> split(MPI_Comm comm, int color, int rank)
{
    MPI_Comm group = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(comm, color, rank, &group), "MPI_Comm_split");
    return std::make_shared<MpiCommunicator>(group);
}

std::shared_ptr<Communicator> simplest(std::shared_ptr<MpiCommunicator> formed)
{
    if (formed->size() == 1) return self_communicator();
    return formed;
}

std::shared_ptr<Communicator> Module::form_group(const std::string& key, std::uint64_t key_hash,
                                                 GroupChoice choice, double timeout_seconds)
{
    check_timeout(timeout_seconds);
    prepare();
    if (size_ == 1) return self_communicator();
    if (out_of_step_)
        give_up(key, timeout_seconds,
                "not all ranks of MPI_COMM_WORLD joined an earlier opening, so this one is not possible");
    const auto verdict = meeting_->meet(key_hash, timeout_seconds);
    if (verdict.arrived != static_cast<std::uint64_t>(size_)) {
        out_of_step_ = !meeting_->repeatable();
        const auto all = std::to_string(size_) + " ranks of MPI_COMM_WORLD";
        if (verdict.arrived > 0)
            give_up(key, timeout_seconds,
                    "only " + std::to_string(verdict.arrived) + " of the " + all + " opened it");
        give_up(key, timeout_seconds,
                "rank " + std::to_string(rank_) + " opened it, but not all of the " + all + " did");
    }
    auto formed = split(MPI_COMM_WORLD, static_cast<int>(verdict.color), rank_);
    if (choice == GroupChoice::world && !verdict.all_the_same)
        throw Error(-DER_MISMATCH,
                    key +
                        ": with Communicator=world all ranks of MPI_COMM_WORLD must open the same stream in "
                        "the same mode: do so, or set Communicator=auto");
    return simplest(std::move(formed));
}

std::shared_ptr<Communicator> Module::form_group_within(const void* mpi_comm, const std::string& key,
                                                        std::uint64_t key_hash, double timeout_seconds)
{
    check_timeout(timeout_seconds);
    const MPI_Comm theirs = *static_cast<const MPI_Comm*>(mpi_comm);
    require_communicator(theirs);
    int rank = 0;
    int size = 1;
    check_mpi(MPI_Comm_rank(theirs, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(theirs, &size), "MPI_Comm_size");
    if (size == 1) return self_communicator();
    auto meeting = make_collective_meeting(theirs);
    const auto verdict = meeting->meet(key_hash, timeout_seconds);
    if (verdict.arrived == static_cast<std::uint64_t>(size))
        return simplest(split(theirs, static_cast<int>(verdict.color), rank));
    static_cast<void>(meeting.release()); // the collective that is open uses its memory
    throw Error(-DER_TIMEDOUT, key + ": rank " + std::to_string(rank) + " opened it, but not all of the " +
                                   std::to_string(size) + " ranks of the communicator did within " +
                                   seconds_text(timeout_seconds) + " s (parameter GroupTimeoutSecs)");
}

std::shared_ptr<Communicator> Module::form_group_within_fortran(int mpi_comm, const std::string& key,
                                                                std::uint64_t key_hash,
                                                                double timeout_seconds)
{
    const MPI_Comm theirs = MPI_Comm_f2c(mpi_comm);
    return form_group_within(&theirs, key, key_hash, timeout_seconds);
}

std::shared_ptr<Communicator> Module::duplicate(const void* mpi_comm)
{
    MPI_Comm theirs = *static_cast<const MPI_Comm*>(mpi_comm);
    require_communicator(theirs);
    MPI_Comm ours = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(theirs, &ours), "MPI_Comm_dup");
    return simplest(std::make_shared<MpiCommunicator>(ours));
}

} // namespace
} // namespace stepstore

extern "C" STEPSTORE_API stepstore::MpiModule* stepstore_mpi_module(int version)
{
    if (version != stepstore::mpi_module_version) return nullptr;
    // Never destroyed: an MPI request that a meeting left open uses its memory.
    static auto* module = new stepstore::Module;
    return module;
}
