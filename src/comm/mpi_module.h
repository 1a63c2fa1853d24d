// The seam between this library, which knows no MPI, and the module that is compiled with MPI
// (libstepstore_mpi.so). The module is loaded only into processes that run MPI themselves, so nothing else
// ever needs an MPI library.
// Threads: one at a time, as MPI's collective calls demand. Errors: -DER_TIMEDOUT, -DER_INVAL, -DER_MISMATCH,
// and what MPI says.
#pragma once

#include "comm/communicator.h"

#include <cstdint>

namespace stepstore {

class MpiModule {
public:
    virtual ~MpiModule() = default;
    // See form_group(): `key_hash` stands for the key, `key` is for messages. Collective over the ranks that
    // call it; waits at most about `timeout_seconds` in each phase.
    virtual std::shared_ptr<Communicator> form_group(const std::string& key, std::uint64_t key_hash,
                                                     GroupChoice choice, double timeout_seconds) = 0;
    virtual std::shared_ptr<Communicator> form_group_within(const void* mpi_comm, const std::string& key,
                                                            std::uint64_t key_hash,
                                                            double timeout_seconds) = 0;
    virtual std::shared_ptr<Communicator> form_group_within_fortran(int mpi_comm, const std::string& key,
                                                                    std::uint64_t key_hash,
                                                                    double timeout_seconds) = 0;
    virtual std::shared_ptr<Communicator> duplicate(const void* mpi_comm) = 0;
};

// The module exports its one object, or null if it was built for another `version` of this header.
inline constexpr int mpi_module_version = 4;
using MpiModuleFactory = MpiModule* (*)(int version);
inline constexpr const char* mpi_module_symbol = "stepstore_mpi_module";

} // namespace stepstore
