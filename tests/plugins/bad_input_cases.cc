// One rank does something wrong, or has no space left. It gets an error that names the subject, nobody waits
// for ever, and nothing else is lost.
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

// What the last rank takes for something else than the others do, from step 1 on.
enum class Other { nothing, type, shape_kind, dimensions, shape };

void put_x(adios2::IO& io, adios2::Engine& engine, Other other)
{
    const auto ranks = static_cast<std::size_t>(run.ranks), rank = static_cast<std::size_t>(run.rank);
    const double value = run.rank;
    const auto small = static_cast<float>(run.rank);
    const auto define = [&]<class T>(T, const Dims& shape, const Dims& start, const Dims& count) {
        auto x = io.InquireVariable<T>("x");
        return x ? x : io.DefineVariable<T>("x", shape, start, count);
    };
    if (!last_rank()) other = Other::nothing;
    switch (other) {
    case Other::nothing: engine.Put(define(value, {ranks}, {rank}, {1}), &value, adios2::Mode::Sync); break;
    case Other::type: engine.Put(define(small, {ranks}, {rank}, {1}), &small, adios2::Mode::Sync); break;
    case Other::shape_kind:
        engine.Put(define(value, {adios2::LocalValueDim}, {}, {}), &value, adios2::Mode::Sync);
        break;
    case Other::dimensions:
        engine.Put(define(value, {ranks, 1}, {rank, 0}, {1, 1}), &value, adios2::Mode::Sync);
        break;
    case Other::shape: engine.Put(define(value, {ranks + 1}, {rank}, {1}), &value, adios2::Mode::Sync); break;
    }
}

// What this rank was told; empty: nothing.
std::string write_steps(const std::string& name, const std::string& layout, Other other)
{
    auto adios = make_adios();
    auto io = make_io(adios, "out", name, {{"Layout", layout}});
    auto good = io.DefineVariable<double>("good", {static_cast<std::size_t>(run.ranks)},
                                          {static_cast<std::size_t>(run.rank)}, {1});
    auto engine = open(io, name, adios2::Mode::Write);
    std::string error;
    for (int step = 0; step < 3 && error.empty(); ++step) {
        engine.BeginStep();
        const double value = 10 * step + run.rank;
        engine.Put(good, &value, adios2::Mode::Sync);
        if (step == 1 || (step == 2 && other != Other::nothing)) put_x(io, engine, other);
        error = error_of([&] { engine.EndStep(); });
    }
    const auto at_close = error_of([&] { engine.Close(); });
    EXPECT(error.empty() || at_close.empty()); // who was told can close
    return error + at_close;
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
    const std::map<Other, std::vector<std::string>> others = {
        {Other::type, {"float32", "float64"}},
        {Other::shape_kind, {"local value", "global array"}},
        {Other::dimensions,
         {"{" + std::to_string(run.ranks) + "}", "{" + std::to_string(run.ranks) + ", 1}"}},
        {Other::shape, {"{" + std::to_string(run.ranks) + "}", "{" + std::to_string(run.ranks + 1) + "}"}},
    };
    for (const char* layout : {"posix", "kv", "array", "array-aligned"})
        for (const auto& [other, parts] : others) {
            const auto error = write_steps("conflict", layout, other);
            expect_named(error, {"'x'", "step 1", "rank " + std::to_string(run.ranks - 1)});
            for (const auto& part : parts)
                expect_named(error, {part});
            MPI_Barrier(MPI_COMM_WORLD);
            auto adios = make_adios();
            auto io = make_io(adios, "in", "conflict", {{"Reading", "stream"}});
            auto engine = open(io, "conflict", adios2::Mode::Read);
            EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
            expect_good(io, engine, 0, false);
            engine.EndStep();
            EXPECT(engine.BeginStep() == adios2::StepStatus::EndOfStream);
            engine.Close();
            MPI_Barrier(MPI_COMM_WORLD);
        }
}

// A rank that loses its engine in the middle of a step, as by an exception: the others are told, and end.
CASE(one_rank_leaves)
{
    for (const char* layout : {"posix", "kv", "array", "array-aligned"}) {
        {
            auto adios = make_adios();
            auto io = make_io(adios, "out", layout, {{"Layout", layout}});
            auto good = io.DefineVariable<double>("good", {static_cast<std::size_t>(run.ranks)},
                                                  {static_cast<std::size_t>(run.rank)}, {1});
            auto engine = open(io, layout, adios2::Mode::Write);
            std::string error;
            for (int step = 0; error.empty(); ++step) {
                engine.BeginStep();
                const double value = 10 * step + run.rank;
                engine.Put(good, &value, adios2::Mode::Sync);
                if (step == 1 && last_rank()) break;
                error = error_of([&] { engine.EndStep(); });
            }
            if (!last_rank()) {
                expect_named(error, {"rank " + std::to_string(run.ranks - 1) + " left", "step 1"});
                EXPECT(!error_of([&] { engine.Close(); }).empty());
            }
        }
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

// The same of one that reads, after a Get that is refused: rank 0, for which the others wait before the next
// step, or the last one, for which nobody waits.
CASE(one_rank_leaves_reading)
{
    EXPECT_EQ(write_steps("left", "array-aligned", Other::nothing), std::string());
    for (const int leaver : {0, run.ranks - 1}) {
        MPI_Barrier(MPI_COMM_WORLD);
        auto adios = make_adios();
        auto io = make_io(adios, "in", "left", {{"Reading", "stream"}});
        auto engine = open(io, "left", adios2::Mode::Read);
        const auto read_on = [&] {
            while (engine.BeginStep() == adios2::StepStatus::OK) {
                if (run.rank == leaver) {
                    double value = 0;
                    engine.Get(io.InquireVariable<double>("good"), &value,
                               adios2::Selection::BoundingBox({static_cast<std::size_t>(run.ranks)}, {1}),
                               adios2::Mode::Sync);
                }
                engine.EndStep();
            }
            engine.Close();
        };
        const auto error = error_of(read_on);
        if (run.rank == leaver)
            expect_named(error, {"'good'", "step 0"});
        else if (leaver == 0)
            expect_named(error, {"rank 0 left", "left/", "step 0", "without Close"});
        else
            EXPECT_EQ(error, std::string());
    }
}

// Blocks outside of the shape, of another number of dimensions, without memory; an unknown name.
CASE(one_rank_puts_wrongly)
{
    const auto ranks = static_cast<std::size_t>(run.ranks);
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "puts");
        auto good = io.DefineVariable<double>("good", {ranks}, {static_cast<std::size_t>(run.rank)}, {1});
        auto bad = io.DefineVariable<double>("bad", {ranks}, {ranks - 1}, {2}, adios2::ConstantDims);
        auto engine = open(io, "puts", adios2::Mode::Write);
        for (int step = 0; step < 2; ++step) {
            engine.BeginStep();
            const double value = 10 * step + run.rank;
            engine.Put(good, &value, adios2::Mode::Deferred);
            if (last_rank()) {
                const auto place = "step " + std::to_string(step);
                for (const auto mode : {adios2::Mode::Sync, adios2::Mode::Deferred})
                    expect_named(error_of([&] { engine.Put(bad, &value, mode); }),
                                 {"'bad'", place, "rank " + std::to_string(run.rank)});
                const double* nothing = nullptr;
                EXPECT(
                    !error_of([&] { engine.Put(bad, nothing, adios2::Mode::Sync); }).empty()); // ADIOS2's own
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

// Behind its put: a variable that is removed, which keeps its shape, and a shape that its block is too large
// for.
CASE(shape_after_put)
{
    const auto ranks = static_cast<std::size_t>(run.ranks), rank = static_cast<std::size_t>(run.rank);
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "after");
        for (const char* name : {"x", "gone"})
            io.DefineVariable<double>(name, {ranks, 2}, {rank, 0}, {1, 2});
        auto engine = open(io, "after", adios2::Mode::Write);
        const std::vector<double> data = {1, 2};
        const auto put = [&](const char* name, std::size_t columns) {
            auto variable = io.InquireVariable<double>(name);
            engine.Put(variable, data.data(), adios2::Mode::Sync);
            variable.SetShape({ranks, columns});
        };
        engine.BeginStep();
        put("x", 5);
        put("gone", 7);
        io.RemoveVariable("gone");
        engine.EndStep();
        engine.BeginStep();
        put("x", 1);
        expect_named(error_of([&] { engine.EndStep(); }),
                     {"'x'", "step 1", "{" + std::to_string(ranks) + ", 1}"});
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "after", {{"Reading", "stream"}});
    auto engine = open(io, "after", adios2::Mode::Read);
    EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
    EXPECT(io.InquireVariable<double>("x").Shape() == (Dims{ranks, 5}));
    EXPECT(io.InquireVariable<double>("gone").Shape() == (Dims{ranks, 2}));
    engine.EndStep();
    EXPECT(engine.BeginStep(adios2::StepMode::Read, 10) == adios2::StepStatus::EndOfStream);
    engine.Close();
}

// Selections out of bounds, blocks, steps and variables that are not there: what else was asked for still
// comes.
CASE(one_rank_gets_wrongly)
{
    const auto ranks = static_cast<std::size_t>(run.ranks);
    EXPECT_EQ(write_steps("gets", "array-aligned", Other::nothing), std::string());
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
                expect_named(error_of([&] {
                                 engine.Get(good, to.data(), adios2::Selection::BoundingBox({1}, {ranks}),
                                            mode);
                             }),
                             {"'good'", place});
                expect_named(error_of([&] {
                                 engine.Get(good, to.data(), adios2::Selection::BoundingBox({0, 0}, {1, 1}),
                                            mode);
                             }),
                             {"'good'", place});
                expect_named(
                    error_of([&] { engine.Get(good, to.data(), adios2::Selection::Block(ranks), mode); }),
                    {"'good'", place});
            }
            if (step != 1)
                expect_named(error_of([&] { engine.Get("x", to.data(), adios2::Mode::Sync); }), {"x"});
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
    expect_named(error_of([&] { engine.Get(good, values.data(), adios2::Mode::Sync); }),
                 {"'good'", "3 steps"});
    good.SetStepSelection({1, 3});
    expect_named(error_of([&] { engine.Get(good, values.data(), adios2::Mode::Sync); }),
                 {"'good'", "3 steps"});
    EXPECT(values == std::vector<double>(3 * ranks, -1));
    expect_good(at_random, engine, 2, true);
    engine.Close();
}

// The last rank has no space for step 1, as if its disk were full. What was stored stays; the writer ends
// with an error on every rank.
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
    if (error.empty()) expect_named(at_close, {"has ended 1 steps, this rank 2"});
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
