// How arrays lie in the program's memory: inside of larger arrays (memory selections), and in either order of
// dimensions.
#include "harness.h"

namespace {

using namespace plugin_test;
using adios2::Dims;

std::size_t ranks()
{
    return static_cast<std::size_t>(run.ranks);
}
std::size_t rank()
{
    return static_cast<std::size_t>(run.rank);
}

// An IO whose arrays are in this order. Engines are told by ADIOS2, or the plugin by a parameter.
adios2::IO ordered_io(adios2::ADIOS& adios, const std::string& io_name, const std::string& name, bool column)
{
    if (!run.has_core()) return make_io(adios, io_name, name, {{"ArrayOrder", column ? "column" : "row"}});
    return make_io(adios, io_name, name, {},
                   column ? adios2::ArrayOrdering::ColumnMajor : adios2::ArrayOrdering::RowMajor);
}

// Where the element (i, j) of an array of `extent` lies in memory.
std::size_t place(const Dims& extent, std::size_t i, std::size_t j, bool column)
{
    return column ? i + j * extent[0] : i * extent[1] + j;
}

double cell(std::size_t i, std::size_t j, std::size_t step)
{
    return 1e4 * static_cast<double>(step) + 100 * static_cast<double>(i) + static_cast<double>(j);
}

// BP5 lays memory selections out by the program's language, not by the IO's order, so a C++ program cannot
// use them with column-major arrays.
bool has_memory_selections(bool column)
{
    return run.plugin() || !column;
}

constexpr std::size_t rows = 5, columns_per_rank = 3;
constexpr double ghost = -7;

// Each rank has rows x 3 of an array of rows x (3 ranks), with one ghost row above, two below and one ghost
// column on the left. The variable "plain" is put without ghosts.
void write_order(const std::string& name, bool column, const adios2::Params& more = {})
{
    auto adios = make_adios();
    auto io = ordered_io(adios, "out", name, column);
    if (run.plugin())
        for (const auto& [key, value] : more)
            io.SetParameter(key, value);
    const Dims shape = {rows, columns_per_rank * ranks()}, start = {0, columns_per_rank * rank()},
               count = {rows, columns_per_rank}, extent = {rows + 3, columns_per_rank + 1};
    auto with_ghosts = io.DefineVariable<double>("ghosts", shape, start, count);
    auto plain = io.DefineVariable<double>("plain", shape, start, count);
    auto local = io.DefineVariable<float>("local", {}, {}, {2, 1 + rank()});
    auto engine = open(io, name, adios2::Mode::Write);
    for (std::size_t step = 0; step < 3; ++step) {
        std::vector<double> large(extent[0] * extent[1], ghost), packed(rows * columns_per_rank);
        std::vector<float> block(2 * (1 + rank()));
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns_per_rank; ++j) {
                const double value = cell(i, start[1] + j, step);
                large[place(extent, i + 1, j + 1, column)] = value;
                packed[place(count, i, j, column)] = value;
            }
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j <= rank(); ++j)
                block[place({2, 1 + rank()}, i, j, column)] = static_cast<float>(cell(i, j, rank()));
        engine.BeginStep();
        const bool ghosts = has_memory_selections(column);
        if (ghosts) with_ghosts.SetMemorySelection({{1, 1}, extent});
        engine.Put(with_ghosts, ghosts ? large.data() : packed.data(),
                   step == 1 ? adios2::Mode::Sync : adios2::Mode::Deferred);
        engine.Put(plain, packed.data());
        engine.Put(local, block.data());
        engine.EndStep();
    }
    engine.Close();
}

// A box of both variables, into packed memory and into the middle of a larger array. `turned`: the reader's
// order is not the writer's, so it sees the dimensions the other way round.
void check_box(adios2::IO& io, adios2::Engine& engine, const std::string& name, std::size_t step, bool column,
               bool turned)
{
    auto variable = io.InquireVariable<double>(name);
    const auto seen = [&](std::size_t a, std::size_t b) { return turned ? Dims{b, a} : Dims{a, b}; };
    EXPECT(variable.Shape() == seen(rows, columns_per_rank * ranks()));
    const Dims start = seen(1, 1), count = seen(3, columns_per_rank * ranks() - 2);
    const auto expected = [&](std::size_t a, std::size_t b) {
        return turned ? cell(start[1] + b, start[0] + a, step) : cell(start[0] + a, start[1] + b, step);
    };
    variable.SetSelection({start, count});
    std::vector<double> packed(count[0] * count[1]);
    engine.Get(variable, packed.data(), adios2::Mode::Deferred);
    if (!has_memory_selections(column)) {
        engine.PerformGets();
        for (std::size_t a = 0; a < count[0]; ++a)
            for (std::size_t b = 0; b < count[1]; ++b)
                EXPECT_EQ(packed[place(count, a, b, column)], expected(a, b));
        return;
    }
    const Dims extent = {count[0] + 4, count[1] + 2};
    std::vector<double> large(extent[0] * extent[1], ghost), now = large;
    variable.SetMemorySelection({{3, 2}, extent});
    engine.Get(variable, large.data(), adios2::Mode::Deferred);
    engine.PerformGets();
    engine.Get(variable, now.data(), adios2::Mode::Sync);
    variable.SetMemorySelection();
    for (std::size_t a = 0; a < count[0]; ++a)
        for (std::size_t b = 0; b < count[1]; ++b) {
            EXPECT_EQ(packed[place(count, a, b, column)], expected(a, b));
            EXPECT_EQ(large[place(extent, a + 3, b + 2, column)], expected(a, b));
        }
    std::size_t untouched = 0;
    for (const double one : large)
        untouched += one == ghost;
    EXPECT_EQ(untouched, large.size() - packed.size());
    EXPECT(now == large);
}

void read_order(const std::string& name, bool column, bool turned)
{
    auto adios = make_adios();
    auto io = ordered_io(adios, "in", name, column);
    auto engine = open(io, name, adios2::Mode::Read);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        for (const char* variable : {"ghosts", "plain"})
            check_box(io, engine, variable, step, column, turned);
        auto local = io.InquireVariable<float>("local");
        const std::size_t other = ranks() - 1 - rank();
        local.SetBlockSelection(other);
        std::vector<float> block(2 * (1 + other));
        engine.Get(local, block.data(), adios2::Mode::Sync);
        const Dims extent = turned ? Dims{1 + other, 2} : Dims{2, 1 + other};
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j <= other; ++j) {
                const auto at = turned ? place(extent, j, i, column) : place(extent, i, j, column);
                EXPECT_EQ(block[at], static_cast<float>(cell(i, j, other)));
            }
        // Blocks are described in the reader's order.
        for (const auto& info :
             engine.BlocksInfo(io.InquireVariable<double>("plain"), engine.CurrentStep())) {
            auto count = info.Count;
            if (info.IsReverseDims) std::reverse(count.begin(), count.end());
            EXPECT((count == Dims{rows, columns_per_rank}) ||
                   (turned && count == Dims{columns_per_rank, rows}));
        }
        engine.EndStep();
    }
    engine.Close();
}

CASE(array_orders)
{
    for (const bool writer : {false, true}) {
        const std::string name = writer ? "column" : "row";
        write_order(name, writer);
        for (const bool reader : {false, true})
            read_order(name, reader, reader != writer);
    }
}

CASE(memory_selections)
{
    write_order("memory", false);
    read_order("memory", false, false);
    if (!run.plugin()) return;
    for (const char* method : {"zstd", "blosc2-lz4", "blosc2-zstd"}) {
        write_order(method, false, {{"Compression", method}, {"MetadataCompression", "zstd"}});
        read_order(method, false, false);
    }
    auto adios = make_adios();
    auto io = make_io(adios, "refused", "memory");
    auto engine = open(io, "memory", adios2::Mode::Read);
    EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
    auto variable = io.InquireVariable<double>("plain");
    std::vector<double> to(1000);
    // Room for fewer elements than are got.
    const auto selection = adios2::Selection::BoundingBox({0, 0}, {3, 2}).WithMemory({1, 1}, {3, 4});
    EXPECT(contains(error_of([&] { engine.Get(variable, to.data(), selection, adios2::Mode::Sync); }),
                    "memory selection"));
    engine.EndStep();
    engine.Close();
}

} // namespace
