// What ADIOS2's public plugin interface withholds: the same through BP5 and through both doors of Stepstore.
#include "harness.h"
#include "values.h"

#include <algorithm>
#include <iostream>
#include <numeric>
#include <sstream>

using namespace plugin_test;

namespace {

constexpr std::size_t steps = 3, columns = 5;

void put_span(adios2::Variable<double>& variable, adios2::Engine& engine, double base)
{
    auto span = engine.Put(variable, true, -1.0);
    EXPECT_EQ(span.size(), columns);
    EXPECT_EQ(span[columns - 1], -1.0);
    for (std::size_t i = 0; i + 1 < columns; ++i) // the last one keeps its first value
        span[i] = base + static_cast<double>(i);
}

// Two at a time, one filled by its iterators, the other one but for its first value.
template <class T>
void put_spans(adios2::IO& io, adios2::Engine& engine, const std::string& name, std::size_t step)
{
    const auto rank = static_cast<std::size_t>(run.rank), ranks = static_cast<std::size_t>(run.ranks);
    auto variable = io.InquireVariable<T>(name);
    if (!variable) variable = io.DefineVariable<T>(name, {2 * ranks, columns}, {0, 0}, {1, columns});
    variable.SetSelection({{2 * rank, 0}, {1, columns}});
    auto first = engine.Put(variable);
    variable.SetSelection({{2 * rank + 1, 0}, {1, columns}});
    auto second = engine.Put(variable, true, value_of<T>(rank, 0, step));
    const auto values = values_of<T>(rank, step, columns);
    std::copy(values.begin(), values.end(), first.begin());
    EXPECT_EQ(first.size(), columns);
    std::copy(values.begin() + 1, values.end(), second.data() + 1);
    EXPECT(first.data() != second.data());
    EXPECT(std::equal(values.begin(), values.end(), second.begin()));
}

template <class T>
void check_spans(adios2::IO& io, adios2::Engine& engine, const std::string& name, std::size_t step)
{
    std::vector<T> values;
    engine.Get(io.InquireVariable<T>(name), values, adios2::Mode::Sync);
    EXPECT_EQ(values.size(), 2 * columns * static_cast<std::size_t>(run.ranks));
    for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT(values[i] == value_of<T>(i / (2 * columns), i % columns, step));
}

} // namespace

CASE(spans_of_every_type)
{
    auto adios = make_adios();
    {
        auto io = make_io(adios, "out", "types");
        auto engine = open(io, "types", adios2::Mode::Write);
        for (std::size_t step = 0; step < steps; ++step) {
            engine.BeginStep();
#define put_one(T) put_spans<T>(io, engine, #T, step);
            FOR_TYPES(put_one)
#undef put_one
            engine.EndStep();
        }
        engine.Close();
    }
    auto io = make_io(adios, "in", "types");
    auto engine = open(io, "types", adios2::Mode::Read);
    std::size_t step = 0;
    for (; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
#define check_one(T) check_spans<T>(io, engine, #T, step);
        FOR_TYPES(check_one)
#undef check_one
        engine.EndStep();
    }
    EXPECT_EQ(step, steps);
    engine.Close();
}

CASE(spans)
{
    auto adios = make_adios();
    const auto rank = static_cast<std::size_t>(run.rank), ranks = static_cast<std::size_t>(run.ranks);
    {
        auto io = make_io(adios, "out", "spans");
        auto variable = io.DefineVariable<double>("x", {2 * ranks, columns}, {0, 0}, {1, columns});
        auto engine = open(io, "spans", adios2::Mode::Write);
        for (std::size_t step = 0; step < steps; ++step) {
            engine.BeginStep();
            for (std::size_t block = 0; block < 2; ++block) {
                variable.SetSelection({{2 * rank + block, 0}, {1, columns}});
                put_span(variable, engine, static_cast<double>(100 * step + 10 * (2 * rank + block)));
            }
            engine.EndStep();
        }
        engine.Close();
    }
    auto io = make_io(adios, "in", "spans");
    auto engine = open(io, "spans", adios2::Mode::Read);
    for (std::size_t step = 0; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
        auto variable = io.InquireVariable<double>("x");
        std::vector<double> values;
        engine.Get(variable, values, adios2::Mode::Sync);
        EXPECT_EQ(values.size(), 2 * ranks * columns);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t column = i % columns;
            const auto base = static_cast<double>(100 * step + 10 * (i / columns));
            EXPECT_EQ(values[i], column + 1 == columns ? -1.0 : base + static_cast<double>(column));
        }
        engine.EndStep();
    }
    engine.Close();
}

// Minimum and maximum of an array without its data: in all steps but one.
CASE(statistics_only)
{
    auto adios = make_adios();
    const auto rank = static_cast<std::size_t>(run.rank), ranks = static_cast<std::size_t>(run.ranks);
    constexpr std::size_t with_data = 1;
    {
        auto io = make_io(adios, "out", "statistics");
        const adios2::Dims shape{ranks, columns}, start{rank, 0}, count{1, columns};
        auto left_out = io.DefineVariable<double>("left out", shape, start, count);
        auto whole = io.DefineVariable<double>("whole", shape, start, count);
        auto engine = open(io, "statistics", adios2::Mode::Write);
        for (std::size_t step = 0; step < steps; ++step) {
            const auto values = values_of<double>(rank, step, columns);
            engine.BeginStep();
            left_out.StoreStatsOnly(step != with_data);
            engine.Put(left_out, values.data(), step == 0 ? adios2::Mode::Sync : adios2::Mode::Deferred);
            engine.Put(whole, values.data(), adios2::Mode::Deferred);
            engine.EndStep();
        }
        engine.Close();
    }
    auto io = make_io(adios, "in", "statistics", {{"Reading", "stream"}});
    auto engine = open(io, "statistics", adios2::Mode::Read);
    for (std::size_t step = 0; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
        auto left_out = io.InquireVariable<double>("left out"), whole = io.InquireVariable<double>("whole");
        EXPECT(left_out.Shape() == whole.Shape());
        EXPECT_EQ(left_out.Min(), whole.Min());
        EXPECT_EQ(left_out.Max(), whole.Max());
        std::vector<double> values, same;
        engine.Get(whole, values, adios2::Mode::Sync);
        const auto refused = error_of([&] { engine.Get(left_out, same, adios2::Mode::Sync); });
        if (step == with_data)
            EXPECT(refused.empty() && values == same);
        else
            EXPECT(run.engine == "BP5" ? !refused.empty() : contains(refused, "'left out' in step"));
        engine.EndStep();
    }
    engine.Close();
}

// Of a variable that changes its shape and misses a step.
CASE(inquiry_outside_of_a_step)
{
    auto adios = make_adios();
    {
        auto io = make_io(adios, "out", "asked");
        auto variable = io.DefineVariable<int>("x");
        auto engine = open(io, "asked", adios2::Mode::Write);
        engine.BeginStep();
        engine.Put(variable, 1);
        engine.EndStep();
        engine.Close();
    }
    auto io = make_io(adios, "in", "asked");
    auto engine = open(io, "asked", adios2::Mode::Read);
    std::ostringstream said;
    auto* const before = std::cerr.rdbuf(said.rdbuf());
    for (int i = 0; i < 3; ++i)
        EXPECT(!io.InquireVariable<int>("x"));
    std::cerr.rdbuf(before);
    const std::string text = said.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT(text.find("no step is open: call it between BeginStep and EndStep") != std::string::npos);
    engine.BeginStep();
    EXPECT(static_cast<bool>(io.InquireVariable<int>("x")));
    engine.EndStep();
    engine.Close();
}

CASE(introspection)
{
    auto adios = make_adios();
    const auto rank = static_cast<std::size_t>(run.rank), ranks = static_cast<std::size_t>(run.ranks);
    {
        auto io = make_io(adios, "out", "grows");
        auto variable = io.DefineVariable<int>("x", {ranks}, {rank}, {1});
        auto engine = open(io, "grows", adios2::Mode::Write);
        for (std::size_t step = 0; step < 4; ++step) {
            engine.BeginStep();
            const std::size_t each = step + 1;
            const std::vector<int> values(each, static_cast<int>(10 * step + rank));
            variable.SetShape({ranks * each});
            variable.SetSelection({{rank * each}, {each}});
            if (step != 1) engine.Put(variable, values.data(), adios2::Mode::Sync);
            engine.EndStep();
        }
        engine.Close();
    }
    auto io = make_io(adios, "in", "grows", {{"Reading", "random"}});
    auto engine = open(io, "grows", adios2::Mode::ReadRandomAccess); // on all ranks
    auto variable = io.InquireVariable<int>("x");
    EXPECT_EQ(engine.Steps(), 4U);
    EXPECT_EQ(variable.Steps(), 3U);
    EXPECT_EQ(variable.StepsStart(), 0U);
    EXPECT(engine.GetAbsoluteSteps(variable) == (std::vector<std::size_t>{0, 2, 3}));
    EXPECT(variable.Shape(1) == adios2::Dims{3 * ranks});
    variable.SetStepSelection({2, 1});
    EXPECT(variable.Shape() == adios2::Dims{4 * ranks});
    EXPECT_EQ(variable.Min(), 0);
    EXPECT_EQ(variable.Max(), static_cast<int>(30 + ranks - 1));
    const auto blocks = engine.BlocksInfo(variable, 1);
    EXPECT_EQ(blocks.size(), ranks);
    EXPECT(blocks.back().Count == adios2::Dims{3});
    EXPECT_EQ(blocks.back().Max, static_cast<int>(20 + ranks - 1));
    EXPECT_EQ(engine.AllStepsBlocksInfo(variable).size(), 3U);
    variable.SetSelection({{rank * 4}, {4}});
    std::vector<int> values;
    engine.Get(variable, values, adios2::Mode::Sync);
    EXPECT(values == std::vector<int>(4, static_cast<int>(30 + rank)));
    engine.Close();

    auto stepwise = make_io(adios, "stepwise", "grows", {{"Reading", "stream"}});
    auto stream = open(stepwise, "grows", adios2::Mode::Read);
    for (std::size_t step = 0; stream.BeginStep() == adios2::StepStatus::OK; ++step) {
        auto now = stepwise.InquireVariable<int>("x");
        EXPECT_EQ(static_cast<bool>(now), step != 1);
        if (now) {
            EXPECT(now.Shape() == adios2::Dims{(step + 1) * ranks});
            if (!run.plugin()) EXPECT(stream.GetAbsoluteSteps(now).empty());
            EXPECT_EQ(now.Min(), static_cast<int>(10 * step));
            EXPECT_EQ(now.Max(), static_cast<int>(10 * step + ranks - 1));
            now.SetBlockSelection(rank);
            EXPECT(now.Count() == adios2::Dims{step + 1});
        }
        stream.EndStep();
        if (!now) continue;
        // Until the next step begins programs look at what they have read.
        EXPECT_EQ(now.Min(), static_cast<int>(10 * step));
        EXPECT_EQ(now.Max(), static_cast<int>(10 * step + ranks - 1));
        EXPECT(now.Shape() == adios2::Dims{(step + 1) * ranks});
        EXPECT_EQ(stream.BlocksInfo(now, step).size(), ranks);
        if (run.engine == "BP5") continue;
        std::vector<int> all;
        EXPECT(contains(error_of([&] { stream.Get(now, all, adios2::Mode::Sync); }), "BeginStep"));
    }
    stream.Close();
}

// Two halves of the ranks write a stream each, by the communicator alone.
CASE(parts_of_the_world)
{
    const int half = run.rank % 2;
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, half, run.rank, &part);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &ranks);
    const std::string name = "half" + std::to_string(half);
    const auto at = static_cast<std::size_t>(rank), size = static_cast<std::size_t>(ranks);
    {
        auto adios = make_adios(part);
        auto io = make_io(adios, "out", name);
        auto variable = io.DefineVariable<int>("x", {size}, {at}, {1});
        auto engine = open(io, name, adios2::Mode::Write);
        engine.BeginStep();
        const int value = 10 * half + rank;
        engine.Put(variable, &value, adios2::Mode::Sync);
        engine.EndStep();
        engine.Close();
        auto in = make_io(adios, "in", name, {{"Reading", "random"}});
        auto reader = open(in, name, adios2::Mode::ReadRandomAccess);
        auto all = in.InquireVariable<int>("x");
        std::vector<int> values, expected(size);
        reader.Get(all, values, adios2::Mode::Sync);
        std::iota(expected.begin(), expected.end(), 10 * half);
        EXPECT(values == expected);
        reader.Close();
    }
    MPI_Comm_free(&part);
}
