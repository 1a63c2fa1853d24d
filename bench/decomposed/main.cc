// stepstore-bench-decomposed: a block-decomposed array through Stepstore's arrays, MPI-IO and parallel HDF5.
#include "common/command_line.h"
#include "common/with_mpi.h"
#include "subject.h"

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
    std::vector<std::string> read_as = {"same"};
    std::string directory = ".";
    bool keep_pool = false;
};

// How the ranks divide the array: "same", a grid over all dimensions; "rows" or "columns", along one of them.
std::vector<int> grid_of(const std::string& division, std::size_t dimensions)
{
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<int> grid(dimensions, division == "same" ? 0 : 1);
    if (division == "same") MPI_Dims_create(ranks, static_cast<int>(dimensions), grid.data());
    if (division == "rows") grid.front() = ranks;
    if (division == "columns") grid.back() = ranks;
    return grid;
}

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
    line.words("read-as", "WORD,...",
               "how the reading ranks divide the array, also several: same as the writers, rows (along the\n"
               "first dimension), columns (along the last; default: same)",
               options.read_as);
    line.flag("keep-pool", "keep Stepstore's pool from round to round", [&] { options.keep_pool = true; });
    line.text("directory", "DIR", "where all of them write (default: .)", options.directory);
    line.example("Compare on four ranks with an array of 128 MiB",
                 "mpirun -n 4 stepstore-bench-decomposed --shape 256,256,256");
    line.example("Read by columns too what was written in blocks",
                 "mpirun -n 4 stepstore-bench-decomposed --read-as same,columns");
    if (!line.parse(argc, argv).empty()) line.refuse("give options only");
    if (options.shape.size() > 7) line.refuse("--shape takes 1 to 7 dimensions");
    for (const std::string& name : options.read_as)
        if (name != "same" && name != "rows" && name != "columns")
            line.refuse("--read-as takes same, rows and columns, not '" + name + "'");
    return options;
}

// This rank's block.
Block my_block(const std::vector<std::uint64_t>& shape, const std::vector<int>& grid)
{
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

// Of an element by its place in the whole array, so that any division of it can be compared.
double value(std::uint64_t place, std::uint64_t round)
{
    return static_cast<double>(place * 31 + round * 7);
}

// Calls `visit` with an element's place in the block and in the array.
template <typename Visit>
void each_element(const Block& block, const Visit& visit)
{
    const std::uint64_t row = block.count.back();
    for (std::uint64_t at = 0; at < block.elements(); at += row) {
        std::uint64_t left = at / row, place = block.start.back(), stride = block.shape.back();
        for (std::size_t i = block.shape.size() - 1; i-- > 0;) {
            place += (block.start[i] + left % block.count[i]) * stride;
            left /= block.count[i];
            stride *= block.shape[i];
        }
        for (std::uint64_t i = 0; i < row; ++i)
            visit(at + i, place + i);
    }
}

double timed_read(Subject& subject, const Block& block, std::uint64_t round, std::vector<double>& memory)
{
    memory.assign(block.elements(), -1.0);
    const double seconds = timed([&] { subject.read(block, memory); });
    each_element(block, [&](std::uint64_t at, std::uint64_t place) {
        if (memory[at] != value(place, round))
            throw std::runtime_error(std::string(subject.name()) + ": element " + std::to_string(place) +
                                     " of the array is not what was written");
    });
    return seconds;
}

void measure(Subject& subject, const Options& options, std::uint64_t round, std::vector<double>& memory,
             nlohmann::ordered_json& found)
{
    const std::size_t dimensions = options.shape.size();
    const Block mine = my_block(options.shape, grid_of("same", dimensions));
    memory.resize(mine.elements());
    each_element(mine, [&](std::uint64_t at, std::uint64_t place) { memory[at] = value(place, round); });
    const bool counts = round > 0; // the first fills caches
    const double write = timed([&] { subject.write(mine, memory); });
    if (counts) found[subject.name()]["write"].push_back(write);
    for (const std::string& division : options.read_as) {
        const Block block = my_block(options.shape, grid_of(division, dimensions));
        const double read = timed_read(subject, block, round, memory);
        if (counts) found[subject.name()]["read"][division].push_back(read);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    subject.remove();
}

void run(const Options& options)
{
    std::vector<std::unique_ptr<Subject>> subjects;
    subjects.push_back(make_arrays(options.directory, options.keep_pool));
    for (const auto make : {make_mpi_io, make_parallel_hdf5})
        if (auto subject = make(options.directory)) subjects.push_back(std::move(subject));
    std::vector<double> memory;
    nlohmann::ordered_json found;
    for (std::uint64_t round = 0; round <= options.rounds; ++round)
        for (std::size_t i = 0; i < subjects.size(); ++i)
            measure(*subjects[(i + round) % subjects.size()], options, round, memory, found);
    if (my_rank() == 0) std::puts(found.dump().c_str());
}

} // namespace
} // namespace stepstore::bench

int main(int argc, char** argv)
{
    using namespace stepstore::bench;
    const auto options = parse_options(argc, argv);
    return with_mpi(argc, argv, "stepstore-bench-decomposed", [&] { run(options); });
}
