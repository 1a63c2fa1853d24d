// What an MPI program does between MPI_Init and MPI_Finalize. What it throws ends all ranks.
// Threads: one, which is MPI's main thread.
#pragma once

#include <cstdio>
#include <exception>
#include <mpi.h>

namespace stepstore::bench {

// The program's exit status.
template <class Work>
int with_mpi(int argc, char** argv, const char* program, const Work& work)
{
    MPI_Init(&argc, &argv);
    try {
        work();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}

} // namespace stepstore::bench
