// stepstore-bench-decomposed: a block-decomposed array through Stepstore's arrays, MPI-IO and parallel HDF5.
#include "common/command_line.h"
#include "subject.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

namespace stepstore::bench {

std::uint64_t Block::elements() const
{
    return std::accumulate(count.begin(), count.end(), std::uint64_t{1}, std::multiplies<>());
}

int my_rank()
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

namespace {

struct Options {
    std::vector<std::uint64_t> shape = {512, 512, 512};
    std::uint64_t rounds = 3;
    std::string directory = ".";
};

Options parse_options(int argc, char** argv)
{
    Options options;
    CommandLine line(
        "stepstore-bench-decomposed", "[OPTIONS]     (an MPI program)",
        "Writes an array of doubles and reads it, through Stepstore's arrays, MPI-IO and parallel HDF5\n"
        "in turn. Each rank has one block of it. A measurement goes from opening to the end of closing, on\n"
        "the slowest rank. What is read is compared with what was written. Prints the seconds of each round\n"
        "as JSON. `stepstore bench decomposed` runs it.");
    line.numbers("shape", "elements in each dimension, row-major (default: 512,512,512)", options.shape,
                 std::uint64_t{1} << 31);
    line.number("rounds", "rounds (default: 3)", options.rounds, 1, 1000);
    line.text("directory", "DIR", "where all of them write (default: .)", options.directory);
    if (!line.parse(argc, argv).empty()) line.refuse("give options only");
    if (options.shape.size() > 7) line.refuse("--shape takes 1 to 7 dimensions");
    return options;
}

// This rank's block: the ranks as a grid, as MPI_Dims_create makes it.
Block my_block(const std::vector<std::uint64_t>& shape)
{
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<int> grid(shape.size(), 0);
    MPI_Dims_create(ranks, static_cast<int>(grid.size()), grid.data());
    Block block{.shape = shape, .start = shape, .count = shape};
    auto left = static_cast<std::uint64_t>(my_rank());
    for (std::size_t i = shape.size(); i-- > 0;) {
        const auto parts = static_cast<std::uint64_t>(grid[i]);
        const std::uint64_t part = left % parts;
        left /= parts;
        block.start[i] = shape[i] * part / parts;
        block.count[i] = shape[i] * (part + 1) / parts - block.start[i];
    }
    return block;
}

// Seconds of the slowest rank.
double timed(const std::function<void()>& call)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    call();
    double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

double value(std::uint64_t at, std::uint64_t round)
{
    return static_cast<double>(at * 31 + round * 7 + static_cast<std::uint64_t>(my_rank()));
}

void measure(Subject& subject, const Block& block, std::uint64_t round, std::vector<double>& memory,
             nlohmann::ordered_json& found)
{
    for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = value(i, round);
    const double write = timed([&] { subject.write(block, memory); });
    std::fill(memory.begin(), memory.end(), -1.0);
    const double read = timed([&] { subject.read(block, memory); });
    for (std::size_t i = 0; i < memory.size(); ++i)
        if (memory[i] != value(i, round))
            throw std::runtime_error(std::string(subject.name()) + ": element " + std::to_string(i) +
                                     " of the block is not what was written");
    MPI_Barrier(MPI_COMM_WORLD);
    subject.remove();
    if (round == 0) return; // it fills caches
    found[subject.name()]["write"].push_back(write);
    found[subject.name()]["read"].push_back(read);
}

void run(const Options& options)
{
    std::vector<std::unique_ptr<Subject>> subjects;
    for (const auto make : {make_arrays, make_mpi_io, make_parallel_hdf5})
        if (auto subject = make(options.directory)) subjects.push_back(std::move(subject));
    const Block block = my_block(options.shape);
    std::vector<double> memory(block.elements());
    nlohmann::ordered_json found;
    for (std::uint64_t round = 0; round <= options.rounds; ++round)
        for (std::size_t i = 0; i < subjects.size(); ++i)
            measure(*subjects[(i + round) % subjects.size()], block, round, memory, found);
    if (my_rank() == 0) std::puts(found.dump().c_str());
}

} // namespace
} // namespace stepstore::bench

int main(int argc, char** argv)
{
    const auto options = stepstore::bench::parse_options(argc, argv);
    MPI_Init(&argc, &argv);
    try {
        stepstore::bench::run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stepstore-bench-decomposed: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
