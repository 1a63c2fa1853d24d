#include "comm/mpi_communicator.h"

#include "base/checksum.h"
#include "base/process.h"
#include "daos_errno.h"
#include "stepstore/error.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace stepstore {
namespace {

// MPI counts are ints; longer transfers go in pieces of this size.
constexpr std::size_t piece_bytes = std::size_t{1} << 30;
// A broadcast's first message: the length and, where it fits, all of the bytes. Most are short and need no
// second one. Below what any MPI sends without asking the receiver.
constexpr std::size_t first_bytes = 2048;
// MPI moves a message of at least so many bytes in many parts, each when somebody calls it.
constexpr std::size_t many_parts_bytes = std::size_t{64} << 10;

// How long a rank calls it often: a second for the others to come, and 200 MB/s. A rank that waits longer
// shall not take the processor of those that compute.
std::chrono::nanoseconds short_pauses_for(std::size_t bytes)
{
    using namespace std::chrono_literals;
    if (bytes < many_parts_bytes) return 0ns;
    return 1s + bytes * 5ns;
}

constexpr std::size_t length_bytes = sizeof(std::uint64_t);

// A call receives all its messages before it returns, so those of one rank come in the order of the calls.
enum Tag : int { more_follows = 1, last_piece, broadcast_message, allgather_message, farewell_message };

// How long to wait for what a rank sent before it left: it may still be under way, by other ranks.
constexpr std::chrono::milliseconds under_way{500};

} // namespace

void check_mpi(int result, const char* call)
{
    if (result == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(result, text.data(), &length);
    throw Error(-DER_IO,
                std::string(call) + ": " + std::string(text.data(), static_cast<std::size_t>(length)));
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
    if (broken_)
        static_cast<void>(buffers_.release()); // messages may still come
    else if (mpi_is_usable())
        MPI_Comm_free(&comm_);
}

void MpiCommunicator::require_usable() const
{
    if (!mpi_is_usable())
        throw Error(-DER_NO_PERM, "MPI was finalised while a stream was open: close the stream before "
                                  "MPI_Finalize");
    if (broken_) throw Error(-DER_CANCELED, "a rank of the group that opened this stream was lost");
}

void MpiCommunicator::wait_until(FunctionRef<bool()> done, std::chrono::nanoseconds short_pauses)
{
    if (done()) return;
    const std::function<void()> look = [this] {
        if (look_) look_();
        look_for_farewells();
    };
    Lookout lookout(look);
    Backoff backoff;
    while (!done()) {
        try {
            lookout.tick();
        } catch (...) {
            broken_ = true;
            throw;
        }
        backoff.pause(short_pauses);
    }
}

void MpiCommunicator::look_for_farewells()
{
    int found = 0;
    MPI_Status status{};
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, farewell_message, comm_, &found, &status), "MPI_Iprobe");
    if (found == 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (!farewell_seen_) farewell_seen_ = now;
    if (now - *farewell_seen_ >= under_way) fail_with_farewell(status.MPI_SOURCE);
}

// Of a farewell that has arrived.
void MpiCommunicator::fail_with_farewell(int from)
{
    std::string text(first_bytes, '\0');
    MPI_Status status{};
    int count = 0;
    check_mpi(MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_CHAR, from, farewell_message, comm_,
                       &status),
              "MPI_Recv");
    check_mpi(MPI_Get_count(&status, MPI_CHAR, &count), "MPI_Get_count");
    text.resize(static_cast<std::size_t>(count));
    broken_ = true;
    throw Error(-DER_CANCELED, text);
}

void MpiCommunicator::leave(const std::string& why) noexcept
{
    const bool forked = generation_ != process_generation(); // MPI belongs to the parent
    if (broken_ || forked || size_ == 1 || !mpi_is_usable()) return;
    broken_ = true;
    try {
        buffers_->farewell = why.substr(0, first_bytes);
        for (int to = 0; to < size_; ++to) {
            MPI_Request request = MPI_REQUEST_NULL;
            if (to == rank_) continue;
            check_mpi(MPI_Isend(buffers_->farewell.data(), static_cast<int>(buffers_->farewell.size()),
                                MPI_CHAR, to, farewell_message, comm_, &request),
                      "MPI_Isend");
            MPI_Request_free(&request);
        }
    } catch (...) { // without memory, or without MPI: the launcher of the job has to end the others
    }
}

void MpiCommunicator::finish(std::span<MPI_Request> requests, const char* call, std::size_t bytes)
{
    const auto done = [&] {
        int flag = 0;
        check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE),
                  call);
        return flag != 0;
    };
    wait_until(done, short_pauses_for(bytes));
}

// What has begun to arrive in `bytes` cannot be called off: the memory stays where it is.
void MpiCommunicator::finish_into(std::vector<std::byte>& bytes, MPI_Request request, const char* call,
                                  int count)
{
    try {
        finish({&request, 1}, call, static_cast<std::size_t>(count));
    } catch (...) {
        if (broken_) buffers_->given_up = std::move(bytes);
        throw;
    }
}

void MpiCommunicator::barrier()
{
    allgather(0);
}

// From the root down a binomial tree.
void MpiCommunicator::pass_first_on(RankRow row, int root)
{
    std::byte* const first = buffers_->first.data();
    const int size = row.count;
    const auto rank_of = [&](int place) { return row.first + (place + root - row.first) % size; };
    const int mine = (rank_ - root + size) % size; // as if the root were the first of them
    int reach = 1;
    while (reach < size && (mine & reach) == 0)
        reach *= 2;
    if (mine != 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Irecv(first, static_cast<int>(first_bytes), MPI_BYTE, rank_of(mine - reach),
                            broadcast_message, comm_, &request),
                  "MPI_Irecv");
        finish({&request, 1}, "MPI_Irecv");
    }
    const auto length = static_cast<std::size_t>(load_little<std::uint64_t>(first));
    const auto count = static_cast<int>(length_bytes + std::min(length, first_bytes - length_bytes));
    std::array<MPI_Request, 32> requests{};
    std::size_t sent = 0;
    for (reach /= 2; reach > 0; reach /= 2)
        if (mine + reach < size)
            check_mpi(MPI_Isend(first, count, MPI_BYTE, rank_of(mine + reach), broadcast_message, comm_,
                                &requests[sent++]),
                      "MPI_Isend");
    finish(std::span(requests).first(sent), "MPI_Isend");
}

// How many of the bytes have come. There is memory for all of them then.
std::size_t MpiCommunicator::broadcast_first(std::vector<std::byte>& bytes, RankRow row, int root)
{
    std::vector<std::byte>& first = buffers_->first;
    first.resize(first_bytes);
    if (rank_ == root) {
        store_little<std::uint64_t>(first.data(), bytes.size());
        std::copy_n(bytes.begin(), std::min(bytes.size(), first_bytes - length_bytes),
                    first.begin() + length_bytes);
    }
    pass_first_on(row, root);
    const auto length = static_cast<std::size_t>(load_little<std::uint64_t>(first.data()));
    const auto in_first = std::min(length, first_bytes - length_bytes);
    if (rank_ != root) {
        bytes.resize(length);
        std::copy_n(first.begin() + length_bytes, in_first, bytes.begin());
    }
    return in_first;
}

void MpiCommunicator::broadcast_piece(std::vector<std::byte>& bytes, std::size_t at, int count, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, root, comm_, &request), "MPI_Ibcast");
    finish_into(bytes, request, "MPI_Ibcast", count);
}

void MpiCommunicator::broadcast(std::vector<std::byte>& bytes, int root)
{
    require_usable();
    for (std::size_t at = broadcast_first(bytes, {0, size_}, root); at < bytes.size();) {
        const std::size_t count = std::min(piece_bytes, bytes.size() - at);
        broadcast_piece(bytes, at, static_cast<int>(count), root);
        at += count;
    }
}

// Mostly all of it is in the first message.
void MpiCommunicator::broadcast_row(std::vector<std::byte>& bytes, RankRow row)
{
    require_usable();
    const std::size_t done = broadcast_first(bytes, row, row.first);
    if (done == bytes.size()) return;
    if (rank_ == row.first) {
        for (int to = row.first + 1; to < row.first + row.count; ++to)
            send_pieces(Bytes(bytes).subspan(done), to);
        return;
    }
    bytes.resize(done);
    receive_pieces(bytes, row.first);
}

void MpiCommunicator::gather(Bytes mine, std::vector<std::byte>& gathered,
                             std::vector<std::uint64_t>& offsets, int root)
{
    gather_from({0, size_}, mine, gathered, offsets, root);
}

void MpiCommunicator::gather_row(Bytes mine, std::vector<std::byte>& gathered,
                                 std::vector<std::uint64_t>& offsets, RankRow row)
{
    gather_from(row, mine, gathered, offsets, row.first);
}

// One message from each rank, its length found by the probe: half the messages of a gather of lengths and a
// gather of bytes.
void MpiCommunicator::gather_from(RankRow row, Bytes mine, std::vector<std::byte>& gathered,
                                  std::vector<std::uint64_t>& offsets, int root)
{
    require_usable();
    gathered.clear();
    offsets.clear();
    if (rank_ != root) {
        send_pieces(mine, root);
        return;
    }
    offsets.reserve(static_cast<std::size_t>(row.count) + 1);
    offsets.push_back(0);
    for (int from = row.first; from < row.first + row.count; ++from) {
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
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to,
                            mine.empty() ? last_piece : more_follows, comm_, &request),
                  "MPI_Isend");
        finish({&request, 1}, "MPI_Isend", piece.size());
    } while (!mine.empty());
}

void MpiCommunicator::receive_pieces(std::vector<std::byte>& gathered, int from)
{
    MPI_Status status{};
    do {
        const auto found = [&] {
            int flag = 0;
            check_mpi(MPI_Iprobe(from, MPI_ANY_TAG, comm_, &flag, &status), "MPI_Iprobe");
            return flag != 0;
        };
        wait_until(found);
        if (status.MPI_TAG == farewell_message) fail_with_farewell(from);
        int count = 0;
        check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
        auto at = gathered.size();
        gathered.resize(at + static_cast<std::size_t>(count));
        // A sender that dies may leave a long message half sent.
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Irecv(gathered.data() + at, count, MPI_BYTE, from, status.MPI_TAG, comm_, &request),
                  "MPI_Irecv");
        finish_into(gathered, request, "MPI_Irecv", count);
    } while (status.MPI_TAG == more_follows);
}

std::vector<std::uint64_t> MpiCommunicator::allgather(std::uint64_t mine)
{
    return allgather_after(mine, [](const std::vector<std::uint64_t>& all) { return all.front(); });
}

// Up the tree of broadcast_first() to rank 0, and down again.
std::vector<std::uint64_t> MpiCommunicator::allgather_after(std::uint64_t mine, RootWork work)
{
    require_usable();
    std::vector<std::uint64_t>& known = buffers_->numbers; // of this rank, and of those below it in the tree
    known.resize(static_cast<std::size_t>(size_));
    known[0] = mine;
    std::array<MPI_Request, 32> requests{};
    std::size_t below = 0;
    int reach = 1;
    for (; reach < size_ && (rank_ & reach) == 0; reach *= 2)
        if (rank_ + reach < size_)
            check_mpi(MPI_Irecv(known.data() + reach, std::min(reach, size_ - rank_ - reach), MPI_UINT64_T,
                                rank_ + reach, allgather_message, comm_, &requests[below++]),
                      "MPI_Irecv");
    finish(std::span(requests).first(below), "MPI_Irecv");
    if (rank_ != 0) {
        check_mpi(MPI_Isend(known.data(), std::min(reach, size_ - rank_), MPI_UINT64_T, rank_ - reach,
                            allgather_message, comm_, &requests[0]),
                  "MPI_Isend");
        finish(std::span(requests).first(1), "MPI_Isend");
    }
    std::vector<std::byte> bytes(rank_ == 0 ? known.size() * sizeof(mine) : 0);
    if (rank_ == 0) known[0] = work(known);
    if (rank_ == 0) std::memcpy(bytes.data(), known.data(), bytes.size());
    broadcast(bytes, 0);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

std::uint64_t MpiCommunicator::max(std::uint64_t mine)
{
    const std::vector<std::uint64_t> all = allgather(mine);
    return *std::ranges::max_element(all);
}

bool MpiCommunicator::on_one_machine()
{
    const std::vector<std::uint64_t> machines = allgather(checksum(as_bytes(this_machine().boot)));
    return std::ranges::count(machines, machines.front()) == size_;
}

} // namespace stepstore
