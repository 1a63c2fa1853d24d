// stepstore-bench-exchanges: what the calls of a group of ranks take, as the timestep engine makes them.
#include "comm/communicator.h"
#include "common/command_line.h"
#include "common/with_mpi.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace stepstore::bench {
namespace {

struct Options {
    std::uint64_t repeats = 200;
    std::uint64_t waiting = 0;      // ranks
    std::uint64_t bytes = 64 << 10; // of one rank in a large gather, of all in a large broadcast
};

Options parse_options(int argc, char** argv)
{
    Options options;
    CommandLine line(
        "stepstore-bench-exchanges", "[OPTIONS]     (an MPI program)",
        "Measures an allgather of a number of each rank, a gather of bytes on rank 0, and a\n"
        "broadcast from it, small and large: through the group of ranks that a stream uses. Prints\n"
        "the mean seconds of a call as JSON.");
    line.number("repeats", "calls of each kind (default: 200)", options.repeats, 1, 1'000'000);
    line.number("waiting", "ranks that wait for the others meanwhile (default: 0)", options.waiting, 0,
                1 << 20);
    line.bytes("bytes", "bytes of a large call, also with k or M (default: 64k)", options.bytes, 1, 1 << 30);
    line.example("Measure the calls of four ranks, large ones of 1 MiB",
                 "mpirun -n 4 stepstore-bench-exchanges --bytes 1M");
    if (!line.parse(argc, argv).empty()) line.refuse("give options only");
    return options;
}

class Exchanges {
public:
    Exchanges(Communicator& ranks, std::uint64_t repeats) : ranks_(ranks), repeats_(repeats) {}

    // Of one call: the mean over ranks and calls. Collective.
    double mean(const std::function<void()>& call)
    {
        call();
        ranks_.barrier();
        const auto begin = Clock::now();
        for (std::uint64_t i = 0; i < repeats_; ++i)
            call();
        const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
        double sum = 0;
        for (const std::uint64_t one : ranks_.allgather(static_cast<std::uint64_t>(took.count())))
            sum += static_cast<double>(one) * 1e-9;
        return sum / static_cast<double>(repeats_) / ranks_.size();
    }

private:
    using Clock = std::chrono::steady_clock;
    Communicator& ranks_;
    std::uint64_t repeats_;
};

void run(const Options& options)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const auto all = mpi_communicator(&world);
    const bool waits =
        static_cast<std::uint64_t>(all->rank()) + options.waiting >= static_cast<std::uint64_t>(all->size());
    MPI_Comm side = MPI_COMM_NULL;
    MPI_Comm_split(world, waits ? 1 : 0, all->rank(), &side);
    const auto ranks = mpi_communicator(&side);
    MPI_Comm_free(&side);
    if (waits) return all->barrier();
    Exchanges exchanges(*ranks, options.repeats);
    const auto broadcast = [&](std::uint64_t bytes) {
        std::vector<std::byte> all(ranks->rank() == 0 ? bytes : 0);
        return exchanges.mean([&] { ranks->broadcast(all, 0); });
    };
    // Rank 0 answers, as the layout posix does: else the others would run ahead of it.
    const auto gather = [&](std::uint64_t bytes) {
        const std::vector<std::byte> mine(bytes);
        std::vector<std::byte> all, answer;
        std::vector<std::uint64_t> offsets;
        return exchanges.mean([&] {
            ranks->gather(mine, all, offsets, 0);
            ranks->broadcast(answer, 0);
        });
    };
    const nlohmann::ordered_json found = {{"ranks", ranks->size()},
                                          {"bytes", options.bytes},
                                          {"allgather", exchanges.mean([&] { ranks->allgather(1); })},
                                          {"broadcast", broadcast(1)},
                                          {"large_broadcast", broadcast(options.bytes)},
                                          {"gather", gather(1)},
                                          {"large_gather", gather(options.bytes)}};
    all->barrier();
    if (ranks->rank() == 0) std::puts(found.dump().c_str());
}

} // namespace
} // namespace stepstore::bench

int main(int argc, char** argv)
{
    using namespace stepstore::bench;
    const auto options = parse_options(argc, argv);
    return with_mpi(argc, argv, "stepstore-bench-exchanges", [&] { run(options); });
}
