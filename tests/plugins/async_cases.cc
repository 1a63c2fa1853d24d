// AsyncWrite: EndStep returns before the data is written. The program uses its memory for other things then.
#include "harness.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sys/resource.h>

namespace {

using namespace plugin_test;

constexpr std::size_t steps = 4;
constexpr std::size_t elements = 1 << 17; // of a rank: 1 MiB

std::size_t ranks()
{
    return static_cast<std::size_t>(run.ranks);
}

double cell(std::size_t step, std::size_t at)
{
    return static_cast<double>(step * 1000000 + at);
}

std::size_t steps_seen_by_others()
{
    auto adios = make_adios(MPI_COMM_SELF);
    auto io = make_io(adios, "look", "async", {{"Reading", "random"}, {"Communicator", "self"}});
    auto reader = open(io, "async", adios2::Mode::ReadRandomAccess);
    const auto seen = reader.Steps();
    reader.Close();
    return seen;
}

void write(const adios2::Params& parameters)
{
    const auto rank = static_cast<std::size_t>(run.rank);
    auto adios = make_adios();
    auto io = make_io(adios, "out", "async", parameters);
    const adios2::Dims shape{ranks() * elements}, start{rank * elements}, count{elements};
    auto field = io.DefineVariable<double>("field", shape, start, count);
    auto sync = io.DefineVariable<double>("sync", shape, start, count);
    auto spanned = io.DefineVariable<double>("spanned", shape, start, count);
    auto writer = open(io, "async", adios2::Mode::Write);
    std::vector<double> memory(elements);
    for (std::size_t step = 0; step < steps; ++step) {
        writer.BeginStep();
        EXPECT_EQ(writer.CurrentStep(), step);
        if (run.engine != "BP5") {
            MPI_Barrier(MPI_COMM_WORLD); // now all have waited for the step before
            if (run.rank == 0 && step > 0) EXPECT_EQ(steps_seen_by_others(), step);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        for (std::size_t at = 0; at < elements; ++at)
            memory[at] = cell(step, rank * elements + at);
        if (run.has_core()) std::memcpy(writer.Put(spanned).data(), memory.data(), elements * sizeof(double));
        writer.Put(sync, memory.data(), adios2::Mode::Sync);
        writer.Put(field, memory.data());
        if (step == 1) writer.PerformPuts();
        if (step == 2 && !run.plugin()) writer.PerformDataWrite();
        writer.EndStep();
        adios.EnterComputationBlock();
        std::ranges::fill(memory, -1);
        adios.ExitComputationBlock();
        io.DefineAttribute<int>("last", static_cast<int>(step), "", "/", true); // between steps
    }
    writer.Close();
}

void read(std::size_t expected)
{
    auto adios = make_adios();
    auto io = make_io(adios, "in", "async", {{"Reading", "stream"}});
    auto reader = open(io, "async", adios2::Mode::Read);
    std::size_t step = 0;
    for (; reader.BeginStep() == adios2::StepStatus::OK; ++step) {
        for (const std::string name : {"field", "sync", "spanned"}) {
            if (name == "spanned" && !run.has_core()) continue;
            std::vector<double> values;
            reader.Get(io.InquireVariable<double>(name), values, adios2::Mode::Sync);
            EXPECT_EQ(values.size(), ranks() * elements);
            for (std::size_t at = 0; at < values.size(); ++at)
                EXPECT_EQ(values[at], cell(step, at));
        }
        reader.EndStep();
    }
    EXPECT_EQ(step, expected);
    reader.Close();
}

CASE(async_write)
{
    write({{"AsyncWrite", "Guided"}});
    read(steps);
    write({{"AsyncWrite", "true"}, {"MinDeferredSize", "1k"}});
    read(steps);
    if (run.engine == "BP5") return;
    for (const char* layout : {"posix", "array", "array-adaptive"}) {
        write({{"AsyncWrite", "Naive"}, {"Layout", layout}});
        read(steps);
    }
    write({{"AsyncWrite", "On"}, {"Compression", "zstd"}});
    read(steps);
    const auto error = error_of([] { write({{"AsyncWrite", "later"}}); });
    EXPECT(contains(error, "AsyncWrite='later'"));
    EXPECT(contains(error, "guided"));
}

// A full disk: the next BeginStep, or Close, has the error of the step. The steps before are whole.
CASE(async_write_that_fails)
{
    std::signal(SIGXFSZ, SIG_IGN);
    std::size_t whole = 0;
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "async", {{"AsyncWrite", "on"}});
        const adios2::Dims shape{ranks() * elements}, start{static_cast<std::size_t>(run.rank) * elements},
            count{elements};
        adios2::Variable<double> fields[] = {io.DefineVariable<double>("field", shape, start, count),
                                             io.DefineVariable<double>("sync", shape, start, count),
                                             io.DefineVariable<double>("spanned", shape, start, count)};
        auto writer = open(io, "async", adios2::Mode::Write);
        MPI_Barrier(MPI_COMM_WORLD);
        rlimit limit{};
        getrlimit(RLIMIT_FSIZE, &limit);
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = 24 << 20;
        setrlimit(RLIMIT_FSIZE, &limit);
        std::vector<double> memory(elements);
        std::string error;
        for (std::size_t step = 0; error.empty() && step < 1000; ++step)
            error = error_of([&] {
                writer.BeginStep();
                for (std::size_t at = 0; at < elements; ++at)
                    memory[at] = cell(step, start[0] + at);
                for (auto& field : fields)
                    writer.Put(field, memory.data());
                writer.EndStep();
                std::ranges::fill(memory, -1);
            });
        EXPECT(contains(error, "step "));
        limit.rlim_cur = before;
        setrlimit(RLIMIT_FSIZE, &limit);
        EXPECT(!error_of([&] { writer.BeginStep(); }).empty()); // only Close is left
        error_of([&] { writer.Close(); });
        MPI_Barrier(MPI_COMM_WORLD);
        whole = steps_seen_by_others();
    }
    EXPECT(whole >= 1);
    read(whole);
}

} // namespace
