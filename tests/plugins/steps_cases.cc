// Steps: time-outs, end of stream, programs without steps, streams that were not closed, readers that start
// first.
#include "harness.h"
#include "stepstore/adios2.h"

#include <chrono>

namespace {

using namespace plugin_test;

adios2::Params quick()
{
    return {{"BeginStepPollingFrequencySecs", "0.001"}};
}

CASE(time_outs)
{
    auto adios = make_adios();
    auto out = make_io(adios, "out", "stream");
    auto in = make_io(adios, "in", "stream", quick());
    auto x = out.DefineVariable<int>("x");
    auto writer = open(out, "stream", adios2::Mode::Write);
    auto reader = in.Open("another name for the reader", adios2::Mode::Read);
    EXPECT(reader.BeginStep(adios2::StepMode::Read, 0.0F) == adios2::StepStatus::NotReady);
    EXPECT(reader.BeginStep(adios2::StepMode::Read, 0.2F) == adios2::StepStatus::NotReady);
    for (int step = 0; step < 3; ++step) {
        writer.BeginStep();
        writer.Put(x, step);
        // Not there before the writer's EndStep.
        EXPECT(reader.BeginStep(adios2::StepMode::Read, 0.0F) == adios2::StepStatus::NotReady);
        writer.EndStep();
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT(reader.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::OK);
        int value = -1;
        reader.Get("x", value);
        reader.EndStep();
        EXPECT_EQ(value, step);
    }
    EXPECT(reader.BeginStep(adios2::StepMode::Read, 0.0F) == adios2::StepStatus::NotReady);
    writer.Close();
    EXPECT(reader.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::EndOfStream);
    EXPECT(reader.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::EndOfStream);
    reader.Close();
}

CASE(open_time_out)
{
    auto adios = make_adios();
    auto none = make_io(adios, "none", "nothing-here");
    auto error = error_of([&] { open(none, "nothing-here", adios2::Mode::Read); });
    EXPECT(contains(error, "nothing-here"));
    auto waiting = make_io(adios, "waiting", "nothing-here", {{"OpenTimeoutSecs", "0.3"}});
    const auto begin = std::chrono::steady_clock::now();
    EXPECT(!error_of([&] { open(waiting, "nothing-here", adios2::Mode::Read); }).empty());
    EXPECT(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(300));
}

void write_without_steps()
{
    auto adios = make_adios();
    auto io = make_io(adios, "out", "stepless");
    auto x = io.DefineVariable<int>("x", {static_cast<std::size_t>(run.ranks)},
                                    {static_cast<std::size_t>(run.rank)}, {1});
    auto only_first = io.DefineVariable<int>("only_first");
    auto engine = open(io, "stepless", adios2::Mode::Write);
    const int mine = 100 + run.rank;
    // The last rank puts nothing at all, and must still close with the others.
    if (run.ranks == 1 || run.rank < run.ranks - 1) engine.Put(x, &mine);
    if (run.rank == 0) engine.Put(only_first, 5);
    engine.Close();
}

CASE(without_steps)
{
    write_without_steps();
    auto adios = make_adios();
    auto io = make_io(adios, "in", "stepless");
    auto engine = open(io, "stepless", adios2::Mode::Read);
    EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
    const auto written = static_cast<std::size_t>(run.ranks == 1 ? 1 : run.ranks - 1);
    auto x = io.InquireVariable<int>("x");
    x.SetSelection({{0}, {written}});
    std::vector<int> data;
    engine.Get(x, data, adios2::Mode::Sync);
    for (std::size_t i = 0; i < written; ++i)
        EXPECT_EQ(data[i], 100 + static_cast<int>(i));
    int first = 0;
    engine.Get("only_first", first);
    engine.EndStep();
    EXPECT_EQ(first, 5);
    EXPECT(engine.BeginStep() == adios2::StepStatus::EndOfStream);
    engine.Close();
}

// What a reader does to the stream's variables, and defines beside them, is gone in the next step.
CASE(variables_anew_in_each_step)
{
    const auto ranks = static_cast<std::size_t>(run.ranks), rank = static_cast<std::size_t>(run.rank);
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "anew");
        auto x = io.DefineVariable<int>("x", {ranks, 2}, {rank, 0}, {1, 2});
        auto one = io.DefineVariable<int>("one");
        auto engine = open(io, "anew", adios2::Mode::Write);
        for (int step = 0; step < 8; ++step) {
            engine.BeginStep();
            const std::vector<int> values(2, step);
            engine.Put(x, values.data(), adios2::Mode::Sync);
            engine.Put(one, step);
            engine.EndStep();
        }
        engine.Close();
    }
    auto adios = make_adios();
    auto io = make_io(adios, "in", "anew", {{"Reading", "stream"}});
    auto engine = open(io, "anew", adios2::Mode::Read);
    int step = 0;
    for (; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
        auto x = io.InquireVariable<int>("x");
        auto one = io.InquireVariable<int>("one");
        EXPECT(x && one);
        EXPECT(x.Shape() == (adios2::Dims{ranks, 2}));
        EXPECT(x.Count() == x.Shape());
        std::vector<int> values;
        engine.Get(x, values, adios2::Mode::Sync);
        EXPECT(values == std::vector<int>(2 * ranks, step));
        int value = -1;
        engine.Get(one, value, adios2::Mode::Sync);
        EXPECT_EQ(value, step);
        if (step == 1) x.SetSelection({{rank, 1}, {1, 1}});
        if (step == 2) io.DefineVariable<double>("own");
        if (step == 3) io.RemoveVariable("x");
        if (step >= 4) { // of the same name: it most often gets the address of the removed one
            io.RemoveVariable("x");
            if (step != 6) io.DefineVariable<int>("x", {1, 1}, {0, 0}, {1, 1});
            if (step == 6) io.DefineVariable<float>("x", {1, 1}, {0, 0}, {1, 1});
        }
        if (step == 5) io.RemoveVariable("own");
        engine.EndStep();
    }
    EXPECT_EQ(step, 8);
    engine.Close();
}

// Mode::ReadRandomAccess and no BeginStep.
CASE(at_random)
{
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "many");
        auto x = io.DefineVariable<int>("x", {static_cast<std::size_t>(run.ranks)},
                                        {static_cast<std::size_t>(run.rank)}, {1});
        auto odd = io.DefineVariable<int>("odd");
        io.DefineAttribute<std::string>("note", "a note");
        auto engine = open(io, "many", adios2::Mode::Write);
        for (int step = 0; step < 4; ++step) {
            engine.BeginStep();
            const int value = 10 * step + run.rank;
            engine.Put(x, &value, adios2::Mode::Sync);
            if (step % 2 == 1) engine.Put(odd, step);
            engine.EndStep();
        }
        engine.Close();
    }
    auto adios = make_adios();
    auto io = make_io(adios, "in", "many", {{"Reading", "random"}});
    auto engine = open(io, "many", adios2::Mode::ReadRandomAccess);
    EXPECT_EQ(engine.Steps(), 4U);
    EXPECT_EQ(io.InquireAttribute<std::string>("note").Data().at(0), "a note");
    auto x = io.InquireVariable<int>("x");
    auto odd = io.InquireVariable<int>("odd");
    EXPECT(x && odd);
    for (std::size_t step : {3, 0, 2}) {
        x.SetStepSelection({step, 1});
        std::vector<int> data(static_cast<std::size_t>(run.ranks));
        engine.Get(x, data.data(), adios2::Mode::Sync);
        for (int r = 0; r < run.ranks; ++r)
            EXPECT_EQ(data[static_cast<std::size_t>(r)], static_cast<int>(10 * step) + r);
    }
    // Two steps at once, and the steps of a variable that not every step has.
    x.SetStepSelection({1, 2});
    x.SetSelection({{0}, {1}});
    std::vector<int> two(2);
    engine.Get(x, two.data(), adios2::Mode::Deferred);
    engine.PerformGets();
    EXPECT((two == std::vector<int>{10, 20}));
    odd.SetStepSelection({1, 1});
    int last = 0;
    engine.Get(odd, &last, adios2::Mode::Sync);
    EXPECT_EQ(last, 3);
    odd.SetStepSelection({2, 1});
    EXPECT(contains(error_of([&] { engine.Get(odd, &last, adios2::Mode::Sync); }), "2 steps"));
    EXPECT(contains(error_of([&] { engine.BeginStep(); }), "Reading"));
    engine.Close();
}

CASE(not_closed)
{
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "open");
        auto x = io.DefineVariable<int>("x");
        auto engine = open(io, "open", adios2::Mode::Write);
        for (int step = 0; step < 3; ++step) {
            engine.BeginStep();
            engine.Put(x, step);
            if (step < 2) engine.EndStep();
        }
        // The ADIOS object goes away: two whole steps, and one that was never ended.
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "open", quick());
    auto engine = open(io, "open", adios2::Mode::Read);
    for (int step = 0; step < 2; ++step) {
        EXPECT(engine.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::OK);
        int value = -1;
        engine.Get("x", value);
        engine.EndStep();
        EXPECT_EQ(value, step);
    }
    // Its writers are gone, so there will be no further one.
    EXPECT(engine.BeginStep(adios2::StepMode::Read) == adios2::StepStatus::EndOfStream);
    engine.Close();
}

adios2::IO append_io(adios2::ADIOS& adios, const char* after)
{
    static int number = 0;
    auto io = make_io(adios, "append-" + std::to_string(number++), "appended");
    if (after != nullptr) io.SetParameter("AppendAfterSteps", after);
    return io;
}

// Every rank's own numbers, so that each step tells who wrote it and when.
void append_steps(MPI_Comm comm, int run_number, int steps, std::size_t first, const char* after,
                  bool close = true)
{
    int rank = 0, ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    auto adios = make_adios(comm);
    auto io = append_io(adios, after);
    const auto all = static_cast<std::size_t>(ranks), mine = static_cast<std::size_t>(rank);
    auto x = io.DefineVariable<int>("x", {all}, {mine}, {1});
    auto only = io.DefineVariable<int>("of run " + std::to_string(run_number));
    io.DefineAttribute<int>("run", run_number);
    if (run.plugin() && ranks < run.ranks)
        EXPECT_EQ(stepstore_adios2_set_communicator(location_of("appended").c_str(), &comm), 0);
    auto engine = open(io, "appended", adios2::Mode::Append);
    EXPECT_EQ(engine.CurrentStep(), first);
    for (int step = 0; step < steps; ++step) {
        engine.BeginStep();
        EXPECT_EQ(engine.CurrentStep(), first + static_cast<std::size_t>(step));
        const int value = 1000 * run_number + 10 * step + rank;
        engine.Put(x, value, adios2::Mode::Sync);
        if (rank == 0) engine.Put(only, run_number);
        engine.EndStep();
        EXPECT_EQ(engine.CurrentStep(), first + static_cast<std::size_t>(step) + 1);
    }
    if (close) engine.Close();
}

struct Appended {
    int run_number, step, ranks;
};

void check_appended(const std::vector<Appended>& expected)
{
    auto adios = make_adios();
    auto io = append_io(adios, nullptr);
    auto engine = open(io, "appended", adios2::Mode::Read);
    for (const Appended& one : expected) {
        EXPECT(engine.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::OK);
        auto x = io.InquireVariable<int>("x");
        EXPECT(static_cast<bool>(x));
        EXPECT_EQ(x.Shape().at(0), static_cast<std::size_t>(one.ranks));
        std::vector<int> values;
        x.SetSelection({{0}, {static_cast<std::size_t>(one.ranks)}});
        engine.Get(x, values, adios2::Mode::Sync);
        for (int rank = 0; rank < one.ranks; ++rank)
            EXPECT_EQ(values.at(static_cast<std::size_t>(rank)),
                      1000 * one.run_number + 10 * one.step + rank);
        EXPECT(static_cast<bool>(io.InquireVariable<int>("of run " + std::to_string(one.run_number))));
        EXPECT_EQ(io.InquireAttribute<int>("run").Data().at(0), one.run_number);
        engine.EndStep();
    }
    EXPECT(engine.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::EndOfStream);
    engine.Close();
}

// Restarts, as BP5 does them.
CASE(appended)
{
    append_steps(MPI_COMM_WORLD, 1, 3, 0, nullptr); // nothing there yet
    append_steps(MPI_COMM_WORLD, 2, 2, 3, nullptr);
    const int n = run.ranks;
    check_appended({{1, 0, n}, {1, 1, n}, {1, 2, n}, {2, 0, n}, {2, 1, n}});
    append_steps(MPI_COMM_WORLD, 3, 1, 4, "-2");
    append_steps(MPI_COMM_WORLD, 4, 1, 5, "100");
    check_appended({{1, 0, n}, {1, 1, n}, {1, 2, n}, {2, 0, n}, {3, 0, n}, {4, 0, n}});
    append_steps(MPI_COMM_WORLD, 5, 2, 2, "2");
    check_appended({{1, 0, n}, {1, 1, n}, {5, 0, n}, {5, 1, n}});
    append_steps(MPI_COMM_WORLD, 6, 1, 0, "-9");
    check_appended({{6, 0, n}});
}

// On fewer ranks, and on more, after writers that did not close.
CASE(appended_on_other_ranks)
{
    const int n = run.ranks, half = n / 2;
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, run.rank < half ? 0 : MPI_UNDEFINED, run.rank, &some);
    append_steps(MPI_COMM_WORLD, 1, 2, 0, nullptr, false);
    MPI_Barrier(MPI_COMM_WORLD);
    if (some != MPI_COMM_NULL) append_steps(some, 2, 2, 2, nullptr, false);
    MPI_Barrier(MPI_COMM_WORLD);
    append_steps(MPI_COMM_WORLD, 3, 1, 4, nullptr);
    check_appended({{1, 0, n}, {1, 1, n}, {2, 0, half}, {2, 1, half}, {3, 0, n}});
    if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
}

CASE(selected_steps)
{
    auto adios = make_adios();
    {
        auto io = make_io(adios, "out", "selected");
        auto x = io.DefineVariable<int>("x");
        auto engine = open(io, "selected", adios2::Mode::Write);
        for (int step = 0; step < 12; ++step) {
            engine.BeginStep();
            engine.Put(x, step, adios2::Mode::Sync);
            engine.EndStep();
        }
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto io = make_io(adios, "in", "selected", {{"Reading", "stream"}});
    io.SetParameter("SelectSteps", "0:n:5 2 7:8");
    auto engine = open(io, "selected", adios2::Mode::Read);
    std::size_t shown = 0;
    for (const int expected : {0, 2, 5, 7, 8, 10}) {
        EXPECT(engine.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::OK);
        EXPECT_EQ(engine.CurrentStep(), shown++);
        int value = -1;
        engine.Get("x", value);
        engine.EndStep();
        EXPECT_EQ(value, expected);
    }
    EXPECT(engine.BeginStep(adios2::StepMode::Read, 10.0F) == adios2::StepStatus::EndOfStream);
    engine.Close();
}

// A stream that is written again holds only what was written last.
// make_io gives parameters to the plugin only.
adios2::IO make_io_with(adios2::ADIOS& adios, const std::string& name, const adios2::Params& how)
{
    auto io = make_io(adios, "out", name);
    for (const auto& [key, value] : how)
        io.SetParameter(key, value);
    return io;
}

void write_and_read(const adios2::Params& how, const std::string& name, int steps)
{
    auto adios = make_adios();
    auto out = make_io_with(adios, name, how);
    auto x = out.DefineVariable<int>("x", {std::size_t(run.ranks)}, {std::size_t(run.rank)}, {1});
    auto writer = open(out, name, adios2::Mode::Write);
    for (int step = 0; step < steps; ++step) {
        writer.BeginStep();
        const int value = 100 * step + run.rank;
        writer.Put(x, &value, adios2::Mode::Sync);
        writer.EndStep();
    }
    writer.Close();
    auto in = make_io(adios, "in", name, quick());
    auto reader = open(in, name, adios2::Mode::Read);
    for (int step = 0; step < steps; ++step) {
        EXPECT(reader.BeginStep() == adios2::StepStatus::OK);
        EXPECT_EQ(reader.CurrentStep(), std::size_t(step));
        std::vector<int> values;
        reader.Get("x", values, adios2::Mode::Sync);
        EXPECT_EQ(values.size(), std::size_t(run.ranks));
        for (int rank = 0; rank < run.ranks; ++rank)
            EXPECT_EQ(values[std::size_t(rank)], 100 * step + rank);
        reader.EndStep();
    }
    EXPECT(reader.BeginStep() == adios2::StepStatus::EndOfStream);
    reader.Close();
}

// The parameters that say where metadata lies reach the engine.
CASE(design_space)
{
    const adios2::Params taken[] = {
        {{"Layout", "array-adaptive"}},
        {{"Layout", "array-adaptive"}, {"Steps", "snapshot"}},
        {{"Layout", "kv"}, {"Objects", "per-step"}},
        {{"Layout", "array"}, {"Objects", "per-writer"}, {"Steps", "snapshot"}},
        {{"Steps", "Snapshot"}},
        {{"Objects", "per-writer"}, {"Steps", "extend"}},
    };
    int number = 0;
    for (const adios2::Params& how : taken)
        write_and_read(how, "design-" + std::to_string(++number), 4);
    const adios2::Params refused[] = {
        {{"Layout", "posix"}, {"Steps", "snapshot"}},
        {{"Objects", "per-step"}, {"Steps", "snapshot"}},
        {{"Layout", "posix"}, {"Objects", "per-writer"}},
    };
    for (const adios2::Params& how : refused) {
        auto adios = make_adios();
        auto io = make_io_with(adios, "refused", how);
        const std::string error = error_of([&] { open(io, "refused", adios2::Mode::Write); });
        EXPECT(contains(error, "does not go with"));
    }
}

CASE(written_again)
{
    for (int round = 0; round < 2; ++round) {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "again");
        auto x = io.DefineVariable<int>(round == 0 ? "old" : "new");
        auto engine = open(io, "again", adios2::Mode::Write);
        for (int step = 0; step < 3 - round; ++step) {
            engine.BeginStep();
            engine.Put(x, 10 * round + step);
            engine.EndStep();
        }
        engine.Close();
    }
    auto adios = make_adios();
    auto io = make_io(adios, "in", "again");
    auto engine = open(io, "again", adios2::Mode::Read);
    int steps = 0;
    while (engine.BeginStep() == adios2::StepStatus::OK) {
        EXPECT(!io.InquireVariable<int>("old"));
        int value = 0;
        engine.Get("new", value);
        engine.EndStep();
        EXPECT_EQ(value, 10 + steps++);
    }
    EXPECT_EQ(steps, 2);
    engine.Close();
}

} // namespace
