// Global arrays: several blocks per rank, shapes that change, variables that come and go, selections, blocks'
// information.
#include "harness.h"

#include <array>
#include <numeric>

namespace {

using namespace plugin_test;
using adios2::Dims;

double cell(std::size_t x, std::size_t y, std::size_t step)
{
    return 1e6 * static_cast<double>(step) + 1e3 * static_cast<double>(x) + static_cast<double>(y);
}

std::size_t ranks()
{
    return static_cast<std::size_t>(run.ranks);
}
std::size_t rank()
{
    return static_cast<std::size_t>(run.rank);
}

// Step s has shape {4 ranks, 6 + 2 s}. Each rank puts three blocks: two halves of its first two rows and all
// of the other two.
struct Box {
    Dims start, count;
};

std::array<Box, 3> boxes(std::size_t r, std::size_t step)
{
    const auto width = 6 + 2 * step;
    return {Box{{4 * r, 0}, {2, width / 2}}, Box{{4 * r, width / 2}, {2, width - width / 2}},
            Box{{4 * r + 2, 0}, {2, width}}};
}

std::vector<double> fill(const Box& box, std::size_t step)
{
    std::vector<double> data;
    for (std::size_t x = 0; x < box.count[0]; ++x)
        for (std::size_t y = 0; y < box.count[1]; ++y)
            data.push_back(cell(box.start[0] + x, box.start[1] + y, step));
    return data;
}

void write_grid(const std::string& name, std::size_t steps)
{
    auto adios = make_adios();
    auto io = make_io(adios, "out-" + name, name);
    auto grid = io.DefineVariable<double>("grid", {4 * ranks(), 6}, {0, 0}, {1, 1});
    auto sometimes = io.DefineVariable<int>("sometimes", {ranks()}, {rank()}, {1});
    auto engine = open(io, name, adios2::Mode::Write);
    for (std::size_t step = 0; step < steps; ++step) {
        engine.BeginStep();
        std::vector<std::vector<double>> data;
        for (const auto& box : boxes(rank(), step)) {
            grid.SetShape({4 * ranks(), 6 + 2 * step});
            grid.SetSelection({box.start, box.count});
            data.push_back(fill(box, step));
            engine.Put(grid, data.back().data());
        }
        const int number = static_cast<int>(10 * step + rank());
        if (step % 2 == 1) engine.Put(sometimes, &number, adios2::Mode::Sync);
        engine.EndStep();
    }
    engine.Close();
}

void check_grid(adios2::IO& io, adios2::Engine& engine, std::size_t step)
{
    auto grid = io.InquireVariable<double>("grid");
    EXPECT(grid);
    const Dims shape = {4 * ranks(), 6 + 2 * step};
    EXPECT(grid.Shape() == shape);
    EXPECT_EQ(grid.SelectionSize(), shape[0] * shape[1]); // whole until a selection is made
    std::vector<double> all;
    engine.Get(grid, all, adios2::Mode::Sync);
    EXPECT(all == fill({{0, 0}, shape}, step));
    // A box across the blocks of all ranks, one of a single cell, an empty one.
    const std::vector<Box> wanted = {
        {{1, 1}, {shape[0] - 2, shape[1] - 2}}, {{shape[0] - 1, shape[1] - 1}, {1, 1}}, {{2, 3}, {0, 2}}};
    std::vector<std::vector<double>> got(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        grid.SetSelection({wanted[i].start, wanted[i].count});
        got[i].resize(wanted[i].count[0] * wanted[i].count[1]);
        double nothing = 0;
        engine.Get(grid, got[i].empty() ? &nothing : got[i].data(), adios2::Mode::Deferred);
    }
    engine.PerformGets();
    for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT(got[i] == fill(wanted[i], step));
    EXPECT_EQ(static_cast<bool>(io.InquireVariable<int>("sometimes")), step % 2 == 1);
    if (step % 2 == 1) {
        std::vector<int> numbers(ranks());
        engine.Get("sometimes", numbers.data(), adios2::Mode::Sync);
        for (std::size_t r = 0; r < ranks(); ++r)
            EXPECT_EQ(numbers[r], static_cast<int>(10 * step + r));
    }
}

CASE(changing_shapes)
{
    write_grid("grid", 4);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "grid");
    auto engine = open(io, "grid", adios2::Mode::Read);
    for (std::size_t step = 0; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
        check_grid(io, engine, step);
        engine.EndStep();
        if (step == 3) {
            EXPECT(engine.BeginStep() == adios2::StepStatus::EndOfStream);
            break;
        }
        EXPECT(step < 3);
    }
    engine.Close();
}

// Single blocks of a global array, and boxes within a block.
CASE(block_selections)
{
    write_grid("grid", 2);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "grid");
    auto engine = open(io, "grid", adios2::Mode::Read);
    for (std::size_t step = 0; step < 2; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        auto grid = io.InquireVariable<double>("grid");
        for (std::size_t block = 0; block < 3 * ranks(); ++block) {
            const auto box = boxes(block / 3, step)[block % 3];
            std::vector<double> data(box.count[0] * box.count[1], -1);
            engine.Get(grid, data.data(), adios2::Selection::Block(block), adios2::Mode::Sync);
            EXPECT(data == fill(box, step));
            // The older interface: the variable itself carries the selection.
            auto again = io.InquireVariable<double>("grid");
            again.SetBlockSelection(block);
            std::vector<double> same(data.size(), -1);
            engine.Get(again, same.data(), adios2::Mode::Deferred);
            engine.PerformGets();
            EXPECT(same == data);
        }
        std::vector<double> part(2);
        engine.Get(grid, part.data(), adios2::Selection::BoundingBox({3, 1}, {1, 2}), adios2::Mode::Sync);
        EXPECT((part == std::vector<double>{cell(3, 1, step), cell(3, 2, step)}));
        engine.EndStep();
    }
    engine.Close();
}

// What BP5 says about every block is what the plugin says.
struct BlockFacts {
    Dims start, count;
    double min, max;
    int writer;
    std::size_t id;
    bool operator==(const BlockFacts&) const = default;
};

std::vector<std::vector<BlockFacts>> facts_of(const std::string& name)
{
    auto adios = make_adios();
    auto io = make_io(adios, "in-" + run.engine, name);
    auto engine = open(io, name, adios2::Mode::Read);
    std::vector<std::vector<BlockFacts>> facts;
    while (engine.BeginStep() == adios2::StepStatus::OK) {
        std::vector<BlockFacts> one;
        for (const auto& info : engine.BlocksInfo(io.InquireVariable<double>("grid"), engine.CurrentStep()))
            one.push_back({info.Start, info.Count, info.Min, info.Max, info.WriterID, info.BlockID});
        facts.push_back(one);
        for (const auto& info :
             engine.BlocksInfo(io.InquireVariable<double>("value"), engine.CurrentStep())) {
            EXPECT(info.IsValue);
            EXPECT_EQ(info.Value, 2.5);
        }
        EXPECT(!engine.BlocksInfo(io.InquireVariable<double>("value"), engine.CurrentStep()).empty());
        const auto local = engine.BlocksInfo(io.InquireVariable<int>("local_value"), engine.CurrentStep());
        EXPECT_EQ(local.size(), ranks());
        for (std::size_t r = 0; r < ranks(); ++r) {
            EXPECT_EQ(local[r].WriterID, static_cast<int>(r));
            EXPECT_EQ(local[r].Min, static_cast<int>(r) - 3);
            EXPECT((local[r].Start == Dims{r} && local[r].Count == Dims{1}));
        }
        const auto text = engine.BlocksInfo(io.InquireVariable<std::string>("text"), engine.CurrentStep());
        EXPECT(!text.empty());
        EXPECT_EQ(text.front().Value, "some text");
        engine.EndStep();
    }
    engine.Close();
    return facts;
}

void write_for_facts(const std::string& name)
{
    auto adios = make_adios();
    auto io = make_io(adios, "facts-" + run.engine, name);
    auto grid = io.DefineVariable<double>("grid", {4 * ranks(), 6}, {0, 0}, {1, 1});
    auto value = io.DefineVariable<double>("value");
    auto local_value = io.DefineVariable<int>("local_value", {adios2::LocalValueDim});
    auto text = io.DefineVariable<std::string>("text");
    auto engine = open(io, name, adios2::Mode::Write);
    for (std::size_t step = 0; step < 3; ++step) {
        engine.BeginStep();
        for (const auto& box : boxes(rank(), step)) {
            grid.SetShape({4 * ranks(), 6 + 2 * step});
            grid.SetSelection({box.start, box.count});
            engine.Put(grid, fill(box, step).data(), adios2::Mode::Sync);
        }
        engine.Put(value, 2.5);
        engine.Put(local_value, run.rank - 3);
        engine.Put(text, std::string("some text"));
        engine.EndStep();
    }
    engine.Close();
}

CASE(blocks_info)
{
    write_for_facts("facts");
    auto ours = facts_of("facts");
    EXPECT_EQ(ours.size(), 3U);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT_EQ(ours[step].size(), 3 * ranks());
        for (std::size_t block = 0; block < ours[step].size(); ++block) {
            const auto box = boxes(block / 3, step)[block % 3];
            const auto data = fill(box, step);
            const BlockFacts expected = {
                box.start, box.count, data.front(), data.back(), static_cast<int>(block / 3), block};
            EXPECT(ours[step][block] == expected);
        }
    }
#ifdef ADIOS2_HAS_MPI
    const bool comparable = true;
#else
    const bool comparable = run.ranks == 1; // BP5 of the wheel knows of no other ranks
#endif
    if (!comparable) return;
    run.engine = "BP5";
    write_for_facts("facts");
    auto theirs = facts_of("facts");
    run.engine = "Plugin";
    EXPECT(ours == theirs);
}

// Ranks that put nothing, or blocks of no element, and data beyond what is gathered into one request.
CASE(uneven_ranks)
{
    constexpr std::size_t big = 300000; // 2.4 MB
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "uneven");
        auto mine = io.DefineVariable<double>("mine", {big * ranks()}, {0}, {1});
        auto empty = io.DefineVariable<float>("empty", {0}, {0}, {0});
        auto engine = open(io, "uneven", adios2::Mode::Write);
        std::vector<double> data(big);
        std::iota(data.begin(), data.end(), static_cast<double>(big * rank()));
        for (int step = 0; step < 2; ++step) {
            engine.BeginStep();
            const bool silent = ranks() > 1 && rank() == ranks() - 1;
            if (!silent) {
                mine.SetSelection({{big * rank()}, {big}});
                engine.Put(mine, data.data());
                engine.Put(empty, static_cast<const float*>(nullptr));
            }
            engine.EndStep();
        }
        engine.Close();
    }
    auto adios = make_adios();
    auto io = make_io(adios, "in", "uneven");
    auto engine = open(io, "uneven", adios2::Mode::Read);
    for (int step = 0; step < 2; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        auto mine = io.InquireVariable<double>("mine");
        EXPECT(mine.Shape() == Dims{big * ranks()});
        const auto written = ranks() > 1 ? ranks() - 1 : 1;
        mine.SetSelection({{0}, {big * written}});
        std::vector<double> data;
        engine.Get(mine, data, adios2::Mode::Sync);
        for (std::size_t i = 0; i < data.size(); ++i)
            EXPECT(data[i] == static_cast<double>(i));
        EXPECT(io.InquireVariable<float>("empty").Shape() == Dims{0});
        engine.EndStep();
    }
    engine.Close();
}

// Variables whose dimensions ADIOS2 promises not to change, in all kinds, several blocks of each, next to
// variables of which one comes at the address of another.
void write_constant(const std::string& name)
{
    auto adios = make_adios();
    auto io = make_io(adios, "out-" + name, name);
    const Dims shape{2 * ranks(), 3}, start{2 * rank(), 0}, count{2, 3};
    auto global = io.DefineVariable<double>("global", shape, start, count, adios2::ConstantDims);
    auto local = io.DefineVariable<int>("local", {}, {}, {2}, adios2::ConstantDims);
    auto single = io.DefineVariable<int>("single", {}, {}, {1}, adios2::ConstantDims);
    auto joined = io.DefineVariable<int>("joined", {adios2::JoinedDim, 2}, {}, {1, 2}, adios2::ConstantDims);
    auto growing = io.DefineVariable<int>("growing", {}, {}, {1});
    auto engine = open(io, name, adios2::Mode::Write);
    for (int step = 0; step < 4; ++step) {
        engine.BeginStep();
        auto passing = io.DefineVariable<int>("passing" + std::to_string(step));
        const int here = 1000 * step + 10 * run.rank;
        std::vector<double> ghosts(4 * 5, -1), packed(6);
        for (std::size_t i = 0; i < 6; ++i) {
            packed[i] = cell(2 * rank() + i / 3, i % 3, static_cast<std::size_t>(step));
            ghosts[(i / 3 + 1) * 5 + i % 3 + 1] = packed[i];
        }
        if (step == 1) global.SetMemorySelection({{1, 1}, {4, 5}});
        if (step == 2) global.SetMemorySelection({});
        engine.Put(global, step == 1 ? ghosts.data() : packed.data());
        std::vector<int> values(static_cast<std::size_t>(4 + step));
        std::iota(values.begin(), values.end(), here);
        for (std::size_t block = 0; block < 2; ++block) {
            engine.Put(local, &values[2 * block]);
            engine.Put(single, &values[block], step == 2 ? adios2::Mode::Sync : adios2::Mode::Deferred);
        }
        engine.Put(joined, values.data());
        growing.SetSelection({{}, {static_cast<std::size_t>(step + 1)}});
        engine.Put(growing, values.data());
        engine.Put(passing, step);
        engine.EndStep();
        io.RemoveVariable("passing" + std::to_string(step));
    }
    engine.Close();
}

// What a program selects in one step is not selected in the next, where nothing but the values is new.
CASE(constant_dims)
{
    write_constant("constant");
    auto adios = make_adios();
    auto io = make_io(adios, "in", "constant");
    auto engine = open(io, "constant", adios2::Mode::Read);
    for (int step = 0; step < 4; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        auto global = io.InquireVariable<double>("global");
        auto joined = io.InquireVariable<int>("joined");
        EXPECT((global.Shape() == Dims{2 * ranks(), 3} && global.Count() == global.Shape()));
        EXPECT((joined.Shape() == Dims{ranks(), 2}));
        EXPECT(!run.plugin() || joined.Count() == joined.Shape()); // BP5 counts otherwise
        std::vector<double> all;
        std::vector<int> rows, block(2), element(1), grown(static_cast<std::size_t>(step + 1));
        engine.Get(global, all);
        engine.Get(joined, rows);
        engine.PerformGets();
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ(all[i], cell(i / 3, i % 3, static_cast<std::size_t>(step)));
        for (std::size_t i = 0; i < rows.size(); ++i)
            EXPECT_EQ(rows[i], 1000 * step + 10 * static_cast<int>(i / 2) + static_cast<int>(i % 2));
        global.SetSelection({{1, 1}, {1, 1}});
        double one = 0;
        engine.Get(global, &one, adios2::Mode::Sync);
        EXPECT_EQ(one, cell(1, 1, static_cast<std::size_t>(step)));
        auto local = io.InquireVariable<int>("local"), single = io.InquireVariable<int>("single"),
             growing = io.InquireVariable<int>("growing");
        EXPECT_EQ(engine.BlocksInfo(single, engine.CurrentStep()).size(), 2 * ranks());
        for (std::size_t b = 0; b < 2 * ranks(); ++b) {
            const int first = 1000 * step + 10 * static_cast<int>(b / 2);
            local.SetBlockSelection(b);
            single.SetBlockSelection(b);
            engine.Get(local, block.data(), adios2::Mode::Sync);
            engine.Get(single, element.data());
            engine.PerformGets();
            const int in_block = first + 2 * static_cast<int>(b % 2);
            EXPECT((block == std::vector{in_block, in_block + 1}));
            EXPECT_EQ(element[0], first + static_cast<int>(b % 2));
        }
        growing.SetBlockSelection(0);
        engine.Get(growing, grown.data(), adios2::Mode::Sync);
        EXPECT_EQ(grown.back(), 1000 * step + step);
        int passing = -1;
        engine.Get("passing" + std::to_string(step), passing);
        EXPECT_EQ(passing, step);
        EXPECT(!io.InquireVariable<int>("passing" + std::to_string(step - 1)));
        engine.EndStep();
    }
    engine.Close();
}

} // namespace
