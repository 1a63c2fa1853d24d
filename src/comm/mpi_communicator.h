// A Communicator over an MPI communicator. Compiled only into the MPI module.
#pragma once

#include "comm/communicator.h"

#include <mpi.h>

namespace stepstore {

// Throws what MPI said as a stepstore::Error.
void check_mpi(int result, const char* call);

// MPI may be called: it was initialised and not finalised. A destructor asks before it frees.
bool mpi_is_usable();

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
    void gather(Bytes mine, std::vector<std::byte>& gathered, std::vector<std::uint64_t>& offsets, int root) override;
    std::vector<std::uint64_t> allgather(std::uint64_t mine) override;
    std::uint64_t max(std::uint64_t mine) override;

private:
    void require_usable() const;
    void wait(MPI_Request request, const char* call) const;
    void broadcast_first(MutableBytes first, int root) const;
    void send_pieces(Bytes mine, int to);
    void receive_pieces(std::vector<std::byte>& gathered, int from);

    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace stepstore
