// A rank that is killed while the others write, or wait for it: what killed_rank_test.sh runs.
//
//   killed_rank write LOCATION LAYOUT VICTIM MICROSECONDS   under mpirun: appends steps for ever; when all
//                                                           ranks have ended two, the victim lives so long
//   killed_rank finish LOCATION                             under mpirun: appends two steps and closes
//   killed_rank verify LOCATION                             reads and checks all steps, prints their number
#include "steps/check/check.h"
#include "steps/model.h"
#include "support/report.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

using namespace stepstore;
using namespace stepstore::steps;

steps::testing::Model model_of(int ranks)
{
    return {ranks, 4096, true};
}

constexpr int steps_before = 2;

int write(const std::string& location, std::string layout, int victim, unsigned microseconds)
{
    constexpr std::string_view beside = "-async";
    const bool async = layout.ends_with(beside);
    if (async) layout.resize(layout.size() - beside.size());
    const auto group = form_group("killed_rank", GroupChoice::world, 60);
    WriterOptions options;
    const bool aggregated = layout == "aggregated";
    options.set("Layout", aggregated ? "array-aligned" : layout);
    if (aggregated) options.ranks_per_aggregator = 2;
    options.append = true;
    options.async_write = async;
    Writer writer(location, options, group);
    for (int step = 0;; ++step) {
        if (step == steps_before + (async ? 1 : 0)) { // one more is on its way
            group->barrier();
            if (group->rank() == victim)
                std::thread([microseconds] {
                    usleep(microseconds);
                    kill(getpid(), SIGKILL);
                }).detach();
        }
        model_of(group->size()).write_step(writer, group->rank());
    }
}

int finish(const std::string& location)
{
    const auto group = form_group("killed_rank", GroupChoice::world, 60);
    WriterOptions options;
    options.append = true;
    Writer writer(location, options, group);
    for (int step = 0; step < steps_before; ++step)
        model_of(group->size()).write_step(writer, group->rank());
    writer.close();
    return 0;
}

int verify(const std::string& location)
{
    ReaderOptions options;
    options.mode = ReadMode::random_access;
    Reader reader(location, options, self_communicator());
    const std::uint64_t steps = reader.steps();
    for (std::uint64_t step = 0; step < steps; ++step)
        model_of(static_cast<int>(reader.describe().ranks)).check_step(reader, step);
    Reader streaming(location, {}, self_communicator());
    for (std::uint64_t step = 0; step < steps; ++step) {
        EXPECT_EQ(streaming.begin_step(0), StepStatus::ok);
        streaming.end_step();
    }
    EXPECT_EQ(streaming.begin_step(-1),
              reader.closed() ? StepStatus::end_of_stream : StepStatus::writer_died);
    const StreamReport report = check_streams(location, true);
    EXPECT_FALSE(report.damaged()) << report;
    EXPECT_TRUE(!reader.closed() || report.findings.empty()) << report;
    std::printf("%llu\n", static_cast<unsigned long long>(steps));
    return ::testing::Test::HasFailure() ? 1 : 0;
}

} // namespace

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    const std::string what = argc > 2 ? argv[1] : "";
    try {
        if (what == "verify") return verify(argv[2]);
        MPI_Init(&argc, &argv);
        int result = 2;
        if (what == "write" && argc == 6)
            result = write(argv[2], argv[3], std::atoi(argv[4]), static_cast<unsigned>(std::atoi(argv[5])));
        if (what == "finish") result = finish(argv[2]);
        MPI_Finalize();
        return result;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "killed_rank %s: %s\n", what.c_str(), error.what());
        std::_Exit(3);
    }
}
