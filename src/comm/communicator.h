// A group of ranks. Everything collective in Stepstore goes through this: self (one process), MPI, and later
// the simulator.
// Threads: one at a time for each communicator. Errors: -DER_CANCELED from a call whose other ranks have
// left, -DER_TIMEDOUT from forming a group, and what MPI says.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stepstore {

struct RankRow { // neighbouring ranks
    int first = 0;
    int count = 1;
};

class Communicator {
public:
    virtual ~Communicator() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Until all are here. For waits that may be long: a rank that waits leaves its processor to those that
    // work.
    virtual void barrier() = 0;
    // The root's bytes on every rank; `bytes` is resized elsewhere. Any length, also beyond 2 GiB.
    virtual void broadcast(std::vector<std::byte>& bytes, int root) = 0;
    // On the root: everyone's bytes in rank order, all in `gathered`, rank r's at offsets[r] to offsets[r +
    // 1] (size() + 1 of them). Elsewhere both are left empty.
    virtual void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                        int root) = 0;
    // The same among the ranks of a row alone, from and to its first one. Other rows may do so meanwhile.
    virtual void broadcast_row(std::vector<std::byte>& bytes, RankRow row) = 0;
    virtual void gather_row(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                            RankRow row) = 0;
    // One number of every rank, on every rank, in rank order.
    virtual std::vector<std::uint64_t> allgather(std::uint64_t mine) = 0;
    // As allgather(), and one exchange with it: some ranks may call the one, some the other. When all ranks
    // are here, and before any of them goes on, rank 0 does `work`. It is given the numbers, and gives rank
    // 0's own, in the place of `mine`. It throws nothing.
    using RootWork = FunctionRef<std::uint64_t(const std::vector<std::uint64_t>&)>;
    virtual std::vector<std::uint64_t> allgather_after(std::uint64_t mine, RootWork work) = 0;
    // The largest of every rank's number, on every rank.
    virtual std::uint64_t max(std::uint64_t mine) = 0;

    // This rank takes part in nothing any more, for the reason `why`. A call of another rank that waits for
    // it, now or later, throws -DER_CANCELED with that text within about a second. Then the group is of no
    // use any more. For a rank that fails alone; nothing where nobody can wait.
    virtual void leave(const std::string& why) noexcept { static_cast<void>(why); }

    // Whether all ranks are known to run on one machine, whose memory and files they share. Collective.
    virtual bool on_one_machine() { return false; }

    // `look` is called from time to time while a call of this communicator waits for other ranks. When it
    // throws, that call ends with its exception, and the group is of no use any more: every later call
    // throws.
    void watch(std::function<void()> look) { look_ = std::move(look); }

protected:
    std::function<void()> look_;
};

std::shared_ptr<Communicator> self_communicator();

// How a group is chosen where nobody handed one over.
enum class GroupChoice : std::uint8_t {
    // The ranks of MPI_COMM_WORLD that open the same thing in the same mode. Where MPI is not running, this
    // process.
    automatic,
    world, // all of MPI_COMM_WORLD; an error where MPI is not running
    self,  // this process alone
};

// The group of the ranks that call this with the same `key` (what they open and how). Where the process has
// initialised MPI (its symbols are in the process) the MPI module is loaded from beside this library. Never
// hangs: ranks that do not arrive within `timeout_seconds` raise DER_TIMEDOUT, whose message names the
// parameter to set.
std::shared_ptr<Communicator> form_group(const std::string& key, GroupChoice choice, double timeout_seconds);

// The same among the ranks of an MPI communicator, given by its address. For one that all of its ranks share
// but where it is not certain that all of them come. -DER_INVAL: it is no communicator, or joins two groups.
std::shared_ptr<Communicator> form_group_within(const void* mpi_comm, const std::string& key,
                                                double timeout_seconds);

// The same for one that is given by its Fortran handle.
std::shared_ptr<Communicator> form_group_within_fortran(int mpi_comm, const std::string& key,
                                                        double timeout_seconds);

// How many processes a launcher (mpirun, srun) has started together, this one among them, if MPI is not
// running in this one. 0: it is, or this process was started alone.
int launched_without_mpi();

// A group over an MPI communicator that the program handed over: the address of an MPI_Comm, which is
// duplicated (collective over it). Throws DER_NOSYS when MPI is not initialised in this process.
std::shared_ptr<Communicator> mpi_communicator(const void* mpi_comm);

} // namespace stepstore
