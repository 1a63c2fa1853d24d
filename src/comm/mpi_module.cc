// The MPI module: group forming among the ranks of MPI_COMM_WORLD, with time-outs.
//
// Which ranks open a thing is not known beforehand: all, some, or each a thing of its own. MPI has no collective that
// gives up, so every step here is non-blocking and polled against a deadline:
//   1. Once per process: a private duplicate of MPI_COMM_WORLD (MPI_Comm_idup), so that no message here ever meets one
//   of the program's.
//      All ranks must come; one that waited in vain leaves the request open and gives up meeting for good.
//   2. Each rank sends what it opens (a hash) to rank 0, which answers everybody once all have arrived, or, at its
//   deadline, tells those
//      that have come how many those were.
//   3. After a good answer, a non-blocking barrier. A rank that gave up before the answer reached it never enters the
//   barrier, so nobody
//      passes it: either all ranks go on or none.
//   4. MPI_Comm_split by hash: blocking, but now every rank is known to be in it.
// A rank that timed out has broken the order of meetings, so its later meetings fail at once with the same advice.
#include "comm/mpi_module.h"

#include "comm/mpi_communicator.h"
#include "daos_errno.h"
#include "stepstore/error.h"
#include "stepstore/export.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace stepstore {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int arrival_tag = 1;
constexpr int answer_tag = 2;

// What rank 0 tells a rank. The verdicts are the same everywhere.
struct Answer {
    std::uint64_t arrived = 0;      // ranks that came; all of them is good
    std::uint64_t color = 0;        // the lowest rank that opens the same
    std::uint64_t all_the_same = 0; // 1: every rank opens the same
};

class Deadline {
public:
    explicit Deadline(double seconds)
        : at_(Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8))))
    {
    }
    bool passed() const { return Clock::now() >= at_; }

private:
    Clock::time_point at_;
};

// Polls until `done` or the deadline: eagerly at first, then with pauses that leave the core to others.
template <class Done>
bool poll(const Deadline& deadline, Done done)
{
    for (int round = 0;; ++round) {
        if (done()) return true;
        if (deadline.passed()) return false;
        if (round < 200)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(std::min(2000, 20 * (round - 199))));
    }
}

bool completed(MPI_Request& request, const char* what)
{
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), what);
    return flag != 0;
}

// Everything that is kept between meetings: one per process, freed by MPI_Finalize.
struct Meeting {
    MPI_Comm world = MPI_COMM_NULL; // the private duplicate, from step 1
    MPI_Request making = MPI_REQUEST_NULL;
    bool made = false;
    bool broken = false;
    int rank = 0;
    int size = 1;
    // Buffers of requests that may outlive a call that timed out.
    std::uint64_t mine = 0;
    std::vector<std::uint64_t> arrivals;
    std::vector<MPI_Request> arriving;
    std::vector<Answer> answers;
    std::vector<MPI_Request> answering;
    Answer answer;
};

int free_meeting(MPI_Comm, int, void* attribute, void*)
{
    auto* meeting = static_cast<Meeting*>(attribute);
    if (meeting->made && !meeting->broken && meeting->world != MPI_COMM_NULL) MPI_Comm_free(&meeting->world);
    meeting->made = false;
    meeting->broken = true;
    return MPI_SUCCESS;
}

class Module final : public MpiModule {
public:
    std::shared_ptr<Communicator> form_group(const std::string& key, std::uint64_t key_hash, GroupChoice choice,
                                             double timeout_seconds) override;
    std::shared_ptr<Communicator> duplicate(const void* mpi_comm) override;

private:
    void make_private_world(const std::string& key, double timeout_seconds);
    void collect_arrivals(const Deadline& deadline);
    void await_answer(const std::string& key, double timeout_seconds);
    void enter_together(const std::string& key, double timeout_seconds);
    [[noreturn]] void give_up(const std::string& key, double timeout_seconds, const std::string& who);

    Meeting meeting_;
};

std::string seconds_text(double seconds)
{
    auto text = std::to_string(seconds);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

void Module::give_up(const std::string& key, double timeout_seconds, const std::string& who)
{
    meeting_.broken = true;
    throw Error(
        -DER_TIMEDOUT,
        key + ": " + who + " within " + seconds_text(timeout_seconds) +
            " s (parameter GroupTimeoutSecs). Without a communicator, all ranks of MPI_COMM_WORLD must open a "
            "stream together. Set the parameter Communicator=self where each rank that opens does so for itself "
            "(MPI_COMM_SELF), or hand the communicator over with stepstore_adios2_set_communicator() where a part "
            "of the ranks opens");
}

// Step 1.
void Module::make_private_world(const std::string& key, double timeout_seconds)
{
    if (meeting_.made) return;
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &meeting_.rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &meeting_.size), "MPI_Comm_size");
    check_mpi(MPI_Comm_idup(MPI_COMM_WORLD, &meeting_.world, &meeting_.making), "MPI_Comm_idup");
    Deadline deadline(timeout_seconds);
    if (!poll(deadline, [&] { return completed(meeting_.making, "MPI_Comm_idup"); }))
        give_up(key, timeout_seconds,
                "rank " + std::to_string(meeting_.rank) + " opened it, but not all of the " +
                    std::to_string(meeting_.size) + " ranks of MPI_COMM_WORLD did so");
    MPI_Comm_set_errhandler(meeting_.world, MPI_ERRORS_RETURN);
    meeting_.made = true;
    int keyval = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_meeting, &keyval, nullptr), "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &meeting_), "MPI_Comm_set_attr");
    MPI_Comm_free_keyval(&keyval);
}

// Rank 0's part of step 2: waits for all, then answers those that have come.
void Module::collect_arrivals(const Deadline& deadline)
{
    auto size = static_cast<std::size_t>(meeting_.size);
    auto& m = meeting_;
    m.arrivals.assign(size, 0);
    m.arriving.assign(size, MPI_REQUEST_NULL);
    m.arrivals[0] = m.mine;
    for (int from = 1; from < m.size; ++from)
        check_mpi(MPI_Irecv(&m.arrivals[static_cast<std::size_t>(from)], 1, MPI_UINT64_T, from, arrival_tag, m.world,
                            &m.arriving[static_cast<std::size_t>(from)]),
                  "MPI_Irecv");
    std::vector<bool> here(size, false);
    here[0] = true;
    std::size_t count = 1;
    poll(deadline, [&] {
        for (std::size_t from = 1; from < size; ++from) {
            if (here[from] || !completed(m.arriving[from], "MPI_Irecv")) continue;
            here[from] = true;
            ++count;
        }
        return count == size;
    });
    m.answers.assign(size, {});
    m.answering.assign(size, MPI_REQUEST_NULL);
    bool same = std::equal(m.arrivals.begin() + 1, m.arrivals.end(), m.arrivals.begin());
    for (std::size_t to = 0; to < size; ++to) {
        auto first = std::find(m.arrivals.begin(), m.arrivals.end(), m.arrivals[to]) - m.arrivals.begin();
        m.answers[to] = {count, static_cast<std::uint64_t>(first), same ? 1U : 0U};
        if (to == 0 || !here[to]) continue;
        check_mpi(
            MPI_Isend(&m.answers[to], 3, MPI_UINT64_T, static_cast<int>(to), answer_tag, m.world, &m.answering[to]),
            "MPI_Isend");
    }
    m.answer = m.answers[0];
}

// Step 2. After it `answer` is good, or this has thrown.
void Module::await_answer(const std::string& key, double timeout_seconds)
{
    auto& m = meeting_;
    if (m.rank == 0) {
        collect_arrivals(Deadline(timeout_seconds));
    } else {
        MPI_Request sending = MPI_REQUEST_NULL;
        MPI_Request receiving = MPI_REQUEST_NULL;
        check_mpi(MPI_Irecv(&m.answer, 3, MPI_UINT64_T, 0, answer_tag, m.world, &receiving), "MPI_Irecv");
        check_mpi(MPI_Isend(&m.mine, 1, MPI_UINT64_T, 0, arrival_tag, m.world, &sending), "MPI_Isend");
        // A little longer than rank 0 waits, so that its count of arrivals still gets here.
        Deadline deadline(timeout_seconds + 1);
        bool answered = poll(deadline, [&] { return completed(receiving, "MPI_Irecv"); });
        if (!answered)
            give_up(key, timeout_seconds,
                    "rank " + std::to_string(m.rank) + " opened it, but rank 0 of MPI_COMM_WORLD did not");
        check_mpi(MPI_Wait(&sending, MPI_STATUS_IGNORE), "MPI_Wait");
    }
    if (m.answer.arrived != static_cast<std::uint64_t>(m.size))
        give_up(key, timeout_seconds,
                "only " + std::to_string(m.answer.arrived) + " of the " + std::to_string(m.size) +
                    " ranks of MPI_COMM_WORLD opened it");
}

// Step 3.
void Module::enter_together(const std::string& key, double timeout_seconds)
{
    MPI_Request entering = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(meeting_.world, &entering), "MPI_Ibarrier");
    // All ranks have arrived, so this takes no time unless one gave up meanwhile.
    Deadline deadline(std::max(timeout_seconds, 10.0));
    if (!poll(deadline, [&] { return completed(entering, "MPI_Ibarrier"); }))
        give_up(key, timeout_seconds, "at least one rank of MPI_COMM_WORLD gave up waiting for the others");
    if (meeting_.rank == 0)
        check_mpi(MPI_Waitall(meeting_.size, meeting_.answering.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

std::shared_ptr<Communicator> Module::form_group(const std::string& key, std::uint64_t key_hash, GroupChoice choice,
                                                 double timeout_seconds)
{
    if (!std::isfinite(timeout_seconds) || timeout_seconds < 0)
        throw Error(
            -DER_INVAL,
            "the time-out for forming the group of ranks must be 0 or more seconds (parameter GroupTimeoutSecs)");
    auto& m = meeting_;
    if (m.broken)
        give_up(key, timeout_seconds,
                "an earlier opening was not joined by all ranks of MPI_COMM_WORLD, so this one cannot be");
    make_private_world(key, timeout_seconds);
    if (m.size == 1) return self_communicator();
    m.mine = key_hash;
    await_answer(key, timeout_seconds);
    enter_together(key, timeout_seconds);
    // Only now may one rank fail without leaving others behind: the verdict is the same on all that asked for the whole
    // world.
    MPI_Comm group = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(m.world, static_cast<int>(m.answer.color), m.rank, &group), "MPI_Comm_split");
    auto formed = std::make_shared<MpiCommunicator>(group);
    if (choice == GroupChoice::world && m.answer.all_the_same == 0)
        throw Error(
            -DER_MISMATCH,
            key +
                ": Communicator=world, but the ranks of MPI_COMM_WORLD opened different things or in different modes: "
                "let all open the same, or set Communicator=auto");
    if (formed->size() == 1) return self_communicator();
    return formed;
}

std::shared_ptr<Communicator> Module::duplicate(const void* mpi_comm)
{
    MPI_Comm theirs = *static_cast<const MPI_Comm*>(mpi_comm);
    if (theirs == MPI_COMM_NULL)
        throw Error(-DER_INVAL, "MPI_COMM_NULL was handed over: only ranks of the communicator can open the stream");
    MPI_Comm ours = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(theirs, &ours), "MPI_Comm_dup");
    auto formed = std::make_shared<MpiCommunicator>(ours);
    if (formed->size() == 1) return self_communicator();
    return formed;
}

} // namespace
} // namespace stepstore

extern "C" STEPSTORE_API stepstore::MpiModule* stepstore_mpi_module(int version)
{
    if (version != stepstore::mpi_module_version) return nullptr;
    // Never destroyed: MPI_Finalize, which frees what it holds, may come after the destruction of statics.
    static auto* module = new stepstore::Module;
    return module;
}
