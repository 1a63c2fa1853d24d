#include "comm/mpi_communicator.h"

#include "daos_errno.h"
#include "stepstore/error.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace stepstore {
namespace {

// MPI counts are ints; longer transfers go in pieces of this size.
constexpr std::size_t piece_bytes = std::size_t{1} << 30;
// A broadcast's first message: the length and, where it fits, all of the bytes. Most are short and need no second one.
// Below what any MPI sends without asking the receiver.
constexpr std::size_t first_bytes = 2048;
constexpr std::size_t length_bytes = sizeof(std::uint64_t);

enum Tag : int { more_follows = 1, last_piece = 2, broadcast_begins = 3 };

} // namespace

void check_mpi(int result, const char* call)
{
    if (result == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(result, text.data(), &length);
    throw Error(-DER_IO, std::string(call) + ": " + std::string(text.data(), static_cast<std::size_t>(length)));
}

bool mpi_is_usable()
{
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) MPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

MpiCommunicator::MpiCommunicator(MPI_Comm comm) : comm_(comm)
{
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
}

MpiCommunicator::~MpiCommunicator()
{
    if (mpi_is_usable()) MPI_Comm_free(&comm_);
}

void MpiCommunicator::require_usable() const
{
    if (!mpi_is_usable())
        throw Error(-DER_NO_PERM, "MPI was finalised while a stream was open: close it before MPI_Finalize");
}

void MpiCommunicator::barrier()
{
    require_usable();
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
    wait(request, "MPI_Ibarrier");
}

// MPI's own waiting keeps a processor busy. Where there are more ranks than processors, as in tests and on a
// workstation, it takes it from the rank that all wait for; so pauses begin soon, and grow with the time waited.
void MpiCommunicator::wait(MPI_Request request, const char* call) const
{
    using namespace std::chrono;
    const auto begin = steady_clock::now();
    int done = 0;
    while (true) {
        check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
        if (done != 0) return;
        const auto waited = steady_clock::now() - begin;
        if (waited < 50us)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::clamp<nanoseconds>(waited / 4, 20us, 1ms));
    }
}

// Along a binomial tree: whoever has the bytes sends them to the rank that is 2^k further, for falling k.
void MpiCommunicator::broadcast_first(MutableBytes first, int root) const
{
    const int from_root = (rank_ - root + size_) % size_;
    const auto at = [&](int distance) { return (distance + root) % size_; };
    int step = 1;
    while (step < size_ && (from_root & step) == 0)
        step <<= 1;
    const auto length = static_cast<int>(first.size());
    if (from_root != 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Irecv(first.data(), length, MPI_BYTE, at(from_root - step), broadcast_begins, comm_, &request),
                  "MPI_Irecv");
        wait(request, "MPI_Irecv");
    }
    for (step >>= 1; step > 0; step >>= 1)
        if (from_root + step < size_)
            check_mpi(MPI_Send(first.data(), length, MPI_BYTE, at(from_root + step), broadcast_begins, comm_),
                      "MPI_Send");
}

void MpiCommunicator::broadcast(std::vector<std::byte>& bytes, int root)
{
    require_usable();
    std::array<std::byte, first_bytes> first{};
    if (rank_ == root) {
        store_little<std::uint64_t>(first.data(), bytes.size());
        std::copy_n(bytes.begin(), std::min(bytes.size(), first_bytes - length_bytes), first.begin() + length_bytes);
    }
    broadcast_first(first, root);
    auto length = static_cast<std::size_t>(load_little<std::uint64_t>(first.data()));
    auto in_first = std::min(length, first_bytes - length_bytes);
    if (rank_ != root) {
        bytes.resize(length);
        std::copy_n(first.begin() + length_bytes, in_first, bytes.begin());
    }
    for (auto at = in_first; at < length;) {
        auto count = std::min(piece_bytes, length - at);
        check_mpi(MPI_Bcast(bytes.data() + at, static_cast<int>(count), MPI_BYTE, root, comm_), "MPI_Bcast");
        at += count;
    }
}

// One message from each rank, its length found by the probe: half the messages of a gather of lengths and a gather of
// bytes.
void MpiCommunicator::gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                             int root)
{
    require_usable();
    gathered.clear();
    offsets.clear();
    if (rank_ != root) {
        send_pieces(mine, root);
        return;
    }
    offsets.reserve(static_cast<std::size_t>(size_) + 1);
    offsets.push_back(0);
    for (int from = 0; from < size_; ++from) {
        if (from == rank_)
            gathered.insert(gathered.end(), mine.begin(), mine.end());
        else
            receive_pieces(gathered, from);
        offsets.push_back(gathered.size());
    }
}

void MpiCommunicator::send_pieces(Bytes mine, int to)
{
    do {
        auto piece = mine.first(std::min(piece_bytes, mine.size()));
        mine = mine.subspan(piece.size());
        check_mpi(MPI_Send(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to,
                           mine.empty() ? last_piece : more_follows, comm_),
                  "MPI_Send");
    } while (!mine.empty());
}

void MpiCommunicator::receive_pieces(std::vector<std::byte>& gathered, int from)
{
    MPI_Status status{};
    do {
        MPI_Message message = MPI_MESSAGE_NULL;
        int count = 0;
        check_mpi(MPI_Mprobe(from, MPI_ANY_TAG, comm_, &message, &status), "MPI_Mprobe");
        check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
        auto at = gathered.size();
        gathered.resize(at + static_cast<std::size_t>(count));
        check_mpi(MPI_Mrecv(gathered.data() + at, count, MPI_BYTE, &message, &status), "MPI_Mrecv");
    } while (status.MPI_TAG == more_follows);
}

std::vector<std::uint64_t> MpiCommunicator::allgather(std::uint64_t mine)
{
    require_usable();
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
    check_mpi(MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm_), "MPI_Allgather");
    return all;
}

std::uint64_t MpiCommunicator::max(std::uint64_t mine)
{
    require_usable();
    std::uint64_t largest = 0;
    check_mpi(MPI_Allreduce(&mine, &largest, 1, MPI_UINT64_T, MPI_MAX, comm_), "MPI_Allreduce");
    return largest;
}

} // namespace stepstore
