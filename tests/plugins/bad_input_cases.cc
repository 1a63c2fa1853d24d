// One rank does something wrong, or has no space left: it gets an error that names what it was about, nobody waits for
// ever, and nothing else is lost.
#include "features.h"

#include <csignal>
#include <sys/resource.h>

namespace {

using namespace plugin_test;

bool last_rank()
{
    return run.rank == run.ranks - 1;
}

void expect_named(const std::string& error, std::initializer_list<std::string> parts)
{
    for (const auto& part : parts)
        EXPECT(contains(error, part));
}

// The last rank takes a variable for another type (x) and another kind of shape (y) in step 1.
void write_with_other_definitions(const std::string& name)
{
    auto adios = make_adios();
    auto io = make_io(adios, "out", name);
    const auto ranks = static_cast<std::size_t>(run.ranks);
    const Dims mine = {static_cast<std::size_t>(run.rank)};
    auto good = io.DefineVariable<double>("good", {ranks}, mine, {1});
    if (last_rank()) {
        io.DefineVariable<float>("x", {ranks}, mine, {1});
        io.DefineVariable<int>("y", {adios2::LocalValueDim});
    } else {
        io.DefineVariable<double>("x", {ranks}, mine, {1});
        io.DefineVariable<int>("y");
    }
    auto engine = open(io, name, adios2::Mode::Write);
    for (int step = 0; step < 3; ++step) {
        engine.BeginStep();
        const double value = 10 * step + run.rank;
        const auto small = static_cast<float>(value);
        engine.Put(good, &value, adios2::Mode::Sync);
        if (step == 1) {
            if (last_rank())
                engine.Put<float>("x", &small, adios2::Mode::Sync);
            else
                engine.Put<double>("x", &value, adios2::Mode::Sync);
            engine.Put<int>("y", run.rank);
        }
        engine.EndStep();
    }
    engine.Close();
}

void expect_good(adios2::IO& io, adios2::Engine& engine, std::size_t step, bool at_random)
{
    auto good = io.InquireVariable<double>("good");
    EXPECT(good);
    if (at_random) good.SetStepSelection({step, 1});
    std::vector<double> values(static_cast<std::size_t>(run.ranks));
    engine.Get(good, values.data(), adios2::Mode::Sync);
    for (int rank = 0; rank < run.ranks; ++rank)
        EXPECT_EQ(values[static_cast<std::size_t>(rank)], 10.0 * static_cast<double>(step) + rank);
}

CASE(ranks_define_differently)
{
    const auto last = "rank " + std::to_string(run.ranks - 1);
    write_with_other_definitions("conflict");
    MPI_Barrier(MPI_COMM_WORLD);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "conflict", {{"Reading", "stream"}});
    auto engine = open(io, "conflict", adios2::Mode::Read);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        expect_good(io, engine, step, false);
        if (step == 1) {
            double to[64] = {};
            int number = 0;
            expect_named(error_of([&] { engine.Get("x", to, adios2::Mode::Sync); }), {"'x'", last, "float"});
            expect_named(error_of([&] { engine.Get("y", &number, adios2::Mode::Sync); }), {"'y'", last});
        }
        engine.EndStep();
    }
    EXPECT(engine.BeginStep() == adios2::StepStatus::EndOfStream);
    engine.Close();
    auto at_random = make_io(adios, "at-random", "conflict", {{"Reading", "random"}});
    engine = open(at_random, "conflict", adios2::Mode::ReadRandomAccess);
    for (const std::size_t step : {2, 1, 0})
        expect_good(at_random, engine, step, true);
    engine.Close();
}

// Blocks outside of the shape, of another number of dimensions, without memory; an unknown name.
CASE(one_rank_puts_wrongly)
{
    const auto ranks = static_cast<std::size_t>(run.ranks);
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "puts");
        auto good = io.DefineVariable<double>("good", {ranks}, {static_cast<std::size_t>(run.rank)}, {1});
        auto bad = io.DefineVariable<double>("bad", {ranks}, {0}, {1});
        auto engine = open(io, "puts", adios2::Mode::Write);
        for (int step = 0; step < 2; ++step) {
            engine.BeginStep();
            const double value = 10 * step + run.rank;
            engine.Put(good, &value, adios2::Mode::Deferred);
            if (last_rank()) {
                const auto place = "step " + std::to_string(step);
                for (const auto mode : {adios2::Mode::Sync, adios2::Mode::Deferred}) {
                    bad.SetSelection({{ranks - 1}, {2}});
                    expect_named(error_of([&] { engine.Put(bad, &value, mode); }),
                                 {"'bad'", place, "rank " + std::to_string(run.rank)});
                }
                bad.SetSelection({{0}, {1}});
                const double* nothing = nullptr;
                EXPECT(!error_of([&] { engine.Put(bad, nothing, adios2::Mode::Sync); }).empty()); // ADIOS2's own
            }
            engine.EndStep();
        }
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "puts", {{"Reading", "stream"}});
    auto engine = open(io, "puts", adios2::Mode::Read);
    for (std::size_t step = 0; step < 2; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        expect_good(io, engine, step, false);
        EXPECT(!io.InquireVariable<double>("bad"));
        engine.EndStep();
    }
    engine.Close();
}

// Selections out of bounds, blocks, steps and variables that are not there: what else was asked for still comes.
CASE(one_rank_gets_wrongly)
{
    const auto ranks = static_cast<std::size_t>(run.ranks);
    write_with_other_definitions("gets");
    MPI_Barrier(MPI_COMM_WORLD);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "gets", {{"Reading", "stream"}});
    auto engine = open(io, "gets", adios2::Mode::Read);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        auto good = io.InquireVariable<double>("good");
        double first = -1;
        good.SetSelection({{0}, {1}});
        engine.Get(good, &first, adios2::Mode::Deferred);
        if (last_rank()) {
            const auto place = "step " + std::to_string(step);
            std::vector<double> to(2 * ranks);
            for (const auto mode : {adios2::Mode::Sync, adios2::Mode::Deferred}) {
                expect_named(
                    error_of([&] { engine.Get(good, to.data(), adios2::Selection::BoundingBox({1}, {ranks}), mode); }),
                    {"'good'", place});
                expect_named(error_of([&] {
                                 engine.Get(good, to.data(), adios2::Selection::BoundingBox({0, 0}, {1, 1}), mode);
                             }),
                             {"'good'", place});
                expect_named(error_of([&] { engine.Get(good, to.data(), adios2::Selection::Block(ranks), mode); }),
                             {"'good'", place});
            }
            if (step != 1) expect_named(error_of([&] { engine.Get("x", to.data(), adios2::Mode::Sync); }), {"x"});
        }
        engine.PerformGets();
        EXPECT_EQ(first, 10.0 * static_cast<double>(step));
        engine.EndStep();
    }
    engine.Close();
    auto at_random = make_io(adios, "at-random", "gets", {{"Reading", "random"}});
    engine = open(at_random, "gets", adios2::Mode::ReadRandomAccess);
    auto good = at_random.InquireVariable<double>("good");
    good.SetStepSelection({3, 1});
    std::vector<double> values(3 * ranks, -1);
    expect_named(error_of([&] { engine.Get(good, values.data(), adios2::Mode::Sync); }), {"'good'", "3 steps"});
    good.SetStepSelection({1, 3});
    expect_named(error_of([&] { engine.Get(good, values.data(), adios2::Mode::Sync); }), {"'good'", "3 steps"});
    EXPECT(values == std::vector<double>(3 * ranks, -1));
    expect_good(at_random, engine, 2, true);
    engine.Close();
}

// The last rank has no space for step 1, as if its disk were full. What was stored stays; the writer ends with an
// error on every rank.
void write_without_space(const std::string& layout)
{
    auto adios = make_adios();
    auto io = make_io(adios, "out", layout, {{"Layout", layout}});
    const auto ranks = static_cast<std::size_t>(run.ranks);
    const Dims mine = {static_cast<std::size_t>(run.rank)};
    auto good = io.DefineVariable<double>("good", {ranks}, mine, {1});
    auto large = io.DefineVariable<double>("large", {}, {}, {3 << 20});
    auto engine = open(io, layout, adios2::Mode::Write);
    const std::vector<double> data(last_rank() ? 3 << 20 : 0, 1.5);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const auto before = limit.rlim_cur;
    std::signal(SIGXFSZ, SIG_IGN);
    std::string error;
    for (int step = 0; step < 2 && error.empty(); ++step) {
        engine.BeginStep();
        const double value = 10 * step + run.rank;
        engine.Put(good, &value, adios2::Mode::Sync);
        if (step == 1 && last_rank()) {
            limit.rlim_cur = 1 << 20; // less than each target's part
            setrlimit(RLIMIT_FSIZE, &limit);
            engine.Put(large, data.data());
        }
        error = error_of([&] { engine.EndStep(); });
    }
    if (last_rank()) expect_named(error, {"step 1", "rank " + std::to_string(run.rank)});
    const auto at_close = error_of([&] { engine.Close(); });
    EXPECT(!error.empty() || !at_close.empty()); // on every rank
    if (error.empty()) EXPECT(contains(at_close, "has ended 1 steps, this rank 2"));
    limit.rlim_cur = before;
    setrlimit(RLIMIT_FSIZE, &limit);
}

CASE(no_space_left)
{
    for (const char* layout : {"posix", "kv", "array", "array-aligned"}) {
        write_without_space(layout);
        MPI_Barrier(MPI_COMM_WORLD);
        auto adios = make_adios();
        auto io = make_io(adios, "in", layout, {{"Reading", "stream"}});
        auto engine = open(io, layout, adios2::Mode::Read);
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        expect_good(io, engine, 0, false);
        engine.EndStep();
        EXPECT(engine.BeginStep(adios2::StepMode::Read, 10) == adios2::StepStatus::EndOfStream);
        engine.Close();
    }
}

} // namespace
