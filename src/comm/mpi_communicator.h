// A Communicator over an MPI communicator. Compiled only into the MPI module.
// Threads: one at a time, and MPI's rules for threads. Errors: -DER_CANCELED if a rank is lost, -DER_NO_PERM
// after MPI_Finalize, else -DER_IO with MPI's text.
#pragma once

#include "base/fork.h"
#include "base/function_ref.h"
#include "comm/communicator.h"
#include "comm/waiting.h"

#include <chrono>
#include <mpi.h>
#include <optional>
#include <span>

namespace stepstore {

// Throws what MPI said as a stepstore::Error.
void check_mpi(int result, const char* call);

// MPI may be called: it was initialised and not finalised. A destructor asks before it frees.
bool mpi_is_usable();

// No call blocks inside MPI: every one starts its messages and asks whether they are done, so that it can be
// given up (Communicator::watch). What was started then stays so, with its memory, and the communicator is
// not freed.
class MpiCommunicator final : public Communicator {
public:
    // Takes over `comm`, which is nobody else's, and frees it.
    explicit MpiCommunicator(MPI_Comm comm);
    ~MpiCommunicator() override;
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void barrier() override;
    void broadcast(std::vector<std::byte>& bytes, int root) override;
    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                int root) override;
    void broadcast_row(std::vector<std::byte>& bytes, RankRow row) override;
    void gather_row(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets,
                    RankRow row) override;
    std::vector<std::uint64_t> allgather(std::uint64_t mine) override;
    std::vector<std::uint64_t> allgather_after(std::uint64_t mine, RootWork work) override;
    std::uint64_t max(std::uint64_t mine) override;
    void leave(const std::string& why) noexcept override;
    bool on_one_machine() override;

private:
    struct Buffers {                        // of messages that may be under way
        std::vector<std::byte> first;       // a broadcast's first message
        std::vector<std::uint64_t> numbers; // of an allgather
        std::vector<std::byte> given_up;    // what a call was receiving into when a rank was lost
        std::string farewell;               // why this rank left
    };
    void require_usable() const;
    void finish(std::span<MPI_Request> requests, const char* call, std::size_t bytes = 0); // in all
    void finish_into(std::vector<std::byte>& bytes, MPI_Request request, const char* call, int count);
    // Meanwhile the communicator is watched. short_pauses: for so long.
    void wait_until(FunctionRef<bool()> done, std::chrono::nanoseconds short_pauses = {});
    void look_for_farewells();
    [[noreturn]] void fail_with_farewell(int from);
    void send_pieces(Bytes mine, int to);
    void receive_pieces(std::vector<std::byte>& gathered, int from);
    void gather_from(RankRow row, Bytes mine, std::vector<std::byte>& gathered,
                     std::vector<std::uint64_t>& offsets, int root);
    std::size_t broadcast_first(std::vector<std::byte>& bytes, RankRow row, int root);
    void pass_first_on(RankRow row, int root);
    void broadcast_piece(std::vector<std::byte>& bytes, std::size_t at, int count, int root);

    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 1;
    bool broken_ = false;
    std::uint64_t generation_ = process_generation();
    std::optional<std::chrono::steady_clock::time_point> farewell_seen_;
    std::unique_ptr<Buffers> buffers_ = std::make_unique<Buffers>();
};

} // namespace stepstore
