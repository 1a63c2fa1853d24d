// One writing or reading run of a stream of steps through ADIOS2, timed: the same program for every engine.
#include "common/command_line.h"
#include "common/with_mpi.h"

#include <adios2.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace stepstore::bench {
namespace {

enum class Task {
    write, // a stream
    read,  // step by step
    last,  // open at random, get the last step
};

struct Options {
    Task task = Task::write;
    std::string engine = "BP5";
    std::string parameters; // NAME=VALUE,... of the engine
    std::string name = "steps";
    std::uint64_t bytes = 1 << 20; // of a rank and step, in two variables
    std::uint64_t steps = 10;
    double compute = 0; // seconds after each step that is written
};

// Ends the program for wrong usage (status 2) and for --help.
Options parse_options(int argc, char** argv)
{
    Options options;
    CommandLine line(
        "stepstore-bench-steps", "write|read|last [OPTIONS]     (an MPI program)",
        "Writes a stream of steps with ADIOS2, or reads one. A step has two variables U and V of doubles;\n"
        "each rank has a slab of both. read: reads step by step, each rank its own slab. last: opens the\n"
        "stream at random and gets U of the last step. What is read is compared with what was written.\n"
        "Prints the seconds of the slowest rank and the bytes of all ranks and steps as JSON. `stepstore\n"
        "bench data` and `stepstore bench open` run it with BP5 and Stepstore in turn.");
    line.text("engine", "NAME", "ADIOS2's engine, such as BP5 or Plugin (default: BP5)", options.engine);
    line.text("parameters", "N=V,...", "the engine's parameters (default: none)", options.parameters);
    line.text("name", "NAME", "name given to Open (default: steps)", options.name);
    line.bytes("bytes", "bytes of a rank in one step, a multiple of 16, also with k or M (default: 1M)",
               options.bytes);
    line.number("steps", "number of steps (default: 10)", options.steps);
    line.seconds(
        "compute",
        "write: compute after each step, for so long if the processor does nothing else (default: 0)",
        options.compute);
    line.example("Write a BP5 stream on two ranks",
                 "mpirun -n 2 stepstore-bench-steps write --name out.bp --steps 20");
    line.example("Read it", "mpirun -n 2 stepstore-bench-steps read --name out.bp --steps 20");
    const auto task = line.parse(argc, argv);
    if (task.size() != 1) line.refuse("give one task: write, read or last");
    if (task[0] == "read")
        options.task = Task::read;
    else if (task[0] == "last")
        options.task = Task::last;
    else if (task[0] != "write")
        line.refuse("there is no task '" + task[0] + "': give write, read or last");
    if (options.bytes % 16 != 0) line.refuse("--bytes must be a multiple of 16");
    return options;
}

struct Times {
    double open = 0;
    double steps = 0; // the rest, Close included
    double close = 0;
    double calls = 0; // of ADIOS2, from the first BeginStep on
    std::uint64_t count = 0;
};

// A simulation's work between two steps: the same in each, however long it takes then.
class Computation {
public:
    explicit Computation(double seconds)
    {
        if (seconds <= 0) return;
        const double begin = MPI_Wtime();
        std::uint64_t turns = 0;
        for (; MPI_Wtime() < begin + seconds; ++turns)
            turn();
        turns_ = turns;
    }
    void run()
    {
        for (std::uint64_t i = 0; i < turns_; ++i)
            turn();
    }

private:
    void turn() // some microseconds, in the processor's first cache
    {
        for (double& cell : cells_)
            cell = cell * 0.999 + 0.5 / (cell + 1);
    }
    std::vector<double> cells_ = std::vector<double>(1024, 1.5);
    std::uint64_t turns_ = 0;
};

class Run {
public:
    explicit Run(const Options& options)
        : options_(options), adios_(MPI_COMM_WORLD), io_(adios_.DeclareIO("steps")),
          field_(options.bytes / 2 / sizeof(double))
    {
        int rank = 0, ranks = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        // As a simulation's slab: planes of 64 x 64 where there are enough elements.
        const std::size_t plane = field_.size() % 4096 == 0 ? 64 : 1;
        count_ = {field_.size() / plane / plane, plane, plane};
        start_ = {static_cast<std::size_t>(rank) * count_[0], 0, 0};
        shape_ = {static_cast<std::size_t>(ranks) * count_[0], plane, plane};
        for (std::size_t i = 0; i < field_.size(); ++i)
            field_[i] = static_cast<double>(i % 1000) * 0.001 + static_cast<double>(rank);
        io_.SetEngine(options.engine);
        set_parameters(options.parameters);
    }

    Times write()
    {
        Times times;
        adios2::Variable<double> fields[] = {io_.DefineVariable<double>("U", shape_, start_, count_),
                                             io_.DefineVariable<double>("V", shape_, start_, count_)};
        Computation computation(options_.compute);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = now();
        auto engine = io_.Open(options_.name, adios2::Mode::Write);
        const double opened = now();
        for (; times.count < options_.steps; ++times.count) {
            field_.front() = field_.back() = mark(times.count);
            const double begins = now();
            engine.BeginStep();
            for (auto& field : fields)
                engine.Put(field, field_.data());
            engine.EndStep();
            times.calls += now() - begins;
            computation.run();
        }
        close(engine, times);
        times.calls += times.close;
        times.open = opened - begin;
        times.steps = now() - opened;
        return times;
    }

    Times read()
    {
        Times times;
        std::vector<double> fields[] = {std::vector<double>(field_.size()),
                                        std::vector<double>(field_.size())};
        const double begin = now();
        auto engine = io_.Open(options_.name, adios2::Mode::Read);
        const double opened = now();
        for (; engine.BeginStep() == adios2::StepStatus::OK; ++times.count) {
            for (int i = 0; i < 2; ++i) {
                auto field = io_.InquireVariable<double>(i == 0 ? "U" : "V");
                field.SetSelection({start_, count_});
                engine.Get(field, fields[i].data());
            }
            engine.EndStep();
            for (const auto& field : fields)
                check(field, times.count);
        }
        close(engine, times);
        times.open = opened - begin;
        times.steps = now() - opened;
        if (times.count != options_.steps)
            throw std::runtime_error("read " + std::to_string(times.count) + " steps of " +
                                     std::to_string(options_.steps));
        return times;
    }

    Times last()
    {
        Times times;
        std::vector<double> field(field_.size());
        const double begin = now();
        auto engine = io_.Open(options_.name, adios2::Mode::ReadRandomAccess);
        const double opened = now();
        auto variable = io_.InquireVariable<double>("U");
        const std::size_t steps = engine.Steps();
        variable.SetStepSelection({steps - 1, 1});
        variable.SetSelection({start_, count_});
        engine.Get(variable, field.data(), adios2::Mode::Sync);
        times.open = opened - begin;
        times.steps = now() - opened;
        times.count = 1;
        engine.Close();
        if (steps != options_.steps)
            throw std::runtime_error("found " + std::to_string(steps) + " steps of " +
                                     std::to_string(options_.steps));
        check(field, steps - 1);
        return times;
    }

private:
    static double now() { return MPI_Wtime(); }
    static void close(adios2::Engine& engine, Times& times)
    {
        const double begin = now();
        engine.Close();
        times.close = now() - begin;
    }
    static double mark(std::uint64_t step) { return static_cast<double>(step) + 0.5; }

    void check(const std::vector<double>& read, std::uint64_t step) const
    {
        const bool same =
            read.front() == mark(step) && read.back() == mark(step) &&
            (read.size() < 3 || std::equal(read.begin() + 1, read.begin() + 2, field_.begin() + 1));
        if (!same)
            throw std::runtime_error("step " + std::to_string(step) + " does not hold what was written");
    }

    void set_parameters(const std::string& text)
    {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(',', at), text.size());
            const std::string one = text.substr(at, end - at);
            const std::size_t equals = one.find('=');
            if (equals == std::string::npos)
                throw std::runtime_error("parameter '" + one + "' has no value: give NAME=VALUE");
            io_.SetParameter(one.substr(0, equals), one.substr(equals + 1));
            at = end + 1;
        }
    }

    Options options_;
    adios2::ADIOS adios_;
    adios2::IO io_;
    std::vector<double> field_;
    adios2::Dims shape_, start_, count_;
};

void run(const Options& options)
{
    Run run(options);
    MPI_Barrier(MPI_COMM_WORLD);
    const Times mine = options.task == Task::write  ? run.write()
                       : options.task == Task::read ? run.read()
                                                    : run.last();
    const double local[] = {mine.open, mine.steps, mine.close, mine.calls};
    double slowest[4];
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(local, slowest, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    const double bytes =
        static_cast<double>(options.bytes) * static_cast<double>(mine.count) * static_cast<double>(ranks);
    std::printf("{\"open_seconds\": %.9f, \"steps_seconds\": %.9f, \"close_seconds\": %.9f, \"steps\": %llu, "
                "\"bytes\": %.0f, \"calls_seconds\": %.9f}\n",
                slowest[0], slowest[1], slowest[2], static_cast<unsigned long long>(mine.count), bytes,
                slowest[3]);
}

} // namespace
} // namespace stepstore::bench

int main(int argc, char** argv)
{
    using namespace stepstore::bench;
    const auto options = parse_options(argc, argv);
    return with_mpi(argc, argv, "stepstore-bench-steps", [&] { run(options); });
}
