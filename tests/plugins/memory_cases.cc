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

// BP5 copies a deferred block below MinDeferredSize in Put, and programs rely on it.
constexpr std::size_t least_deferred = 4 << 20; // bytes, unless the parameter says otherwise
constexpr double used_again = -7;

double put_value(std::size_t number, std::size_t step)
{
    return static_cast<double>(1000 * number + 10 * step + rank());
}

// What a program has on its stack, or a temporary: it is something else as soon as Put has returned.
class ReusedMemory {
public:
    ReusedMemory(adios2::Engine& engine, std::size_t step) : engine_(engine), step_(step) {}
    void put(const adios2::Variable<double>& variable, std::size_t elements, std::size_t number,
             adios2::Mode mode = adios2::Mode::Deferred)
    {
        values_.assign(elements, put_value(number, step_));
        engine_.Put(variable, values_.data(), mode);
        std::fill(values_.begin(), values_.end(), used_again);
    }

private:
    adios2::Engine& engine_;
    std::size_t step_;
    std::vector<double> values_;
};

struct Point {
    double x, y;
};

void write_from_reused_memory(const std::string& name, std::size_t least, const adios2::Params& parameters)
{
    const std::size_t below = (least - 1) / sizeof(double), not_below = (least - 1) / sizeof(double) + 1;
    auto adios = make_adios();
    auto io = make_io(adios, "out", name, parameters);
    const auto global = io.DefineVariable<double>("global", {6 * ranks()}, {6 * rank()}, {6});
    auto local = io.DefineVariable<double>("local", {}, {}, {1});
    auto ghosts = io.DefineVariable<double>("ghosts", {6 * ranks()}, {6 * rank()}, {6});
    const auto value = io.DefineVariable<double>("value");
    const auto local_value = io.DefineVariable<double>("local_value", {adios2::LocalValueDim});
    const auto text = io.DefineVariable<std::string>("text");
    const auto large = io.DefineVariable<double>("large", {}, {}, {not_below});
    adios2::VariableNT point;
    const bool structs = run.engine == "Stepstore" || run.engine == "BP5";
    if (structs) {
        auto fields = io.DefineStruct("point", sizeof(Point));
        fields.AddField("x", offsetof(Point, x), adios2::DataType::Double);
        fields.AddField("y", offsetof(Point, y), adios2::DataType::Double);
        point = io.DefineStructVariable("point", fields, {3 * ranks()}, {3 * rank()}, {3});
    }
    auto engine = open(io, name, adios2::Mode::Write);
    for (std::size_t step = 0; step < 3; ++step) {
        engine.BeginStep();
        ReusedMemory memory(engine, step);
        memory.put(global, 6, 1);
        std::size_t number = 2;
        for (const std::size_t elements : {std::size_t{1}, std::size_t{2}, below / 2 + 1, below}) {
            local.SetSelection({{}, {elements}});
            for (const auto mode : {adios2::Mode::Deferred, adios2::Mode::Sync, adios2::Mode::Deferred})
                memory.put(local, elements, number++, mode);
            if (elements == 2) engine.PerformPuts();
        }
        ghosts.SetMemorySelection({{2}, {9}});
        memory.put(ghosts, 9, 20);
        memory.put(value, 1, 21);
        memory.put(local_value, 1, 22);
        {
            std::string words = "step " + std::to_string(step);
            engine.Put(text, &words);
            words = "used again";
        }
        if (structs) {
            std::vector<Point> points(3, {put_value(23, step), put_value(24, step)});
            engine.Put(point, points.data());
            std::fill(points.begin(), points.end(), Point{used_again, used_again});
        }
        // A large one is not copied: what counts is what it holds when the step ends.
        std::vector<double> kept(not_below, used_again);
        engine.Put(large, kept.data());
        std::fill(kept.begin(), kept.end(), put_value(25, step));
        engine.EndStep();
    }
    engine.Close();
}

void expect_all(const std::vector<double>& values, double expected)
{
    for (const double one : values)
        EXPECT_EQ(one, expected);
}

void read_from_reused_memory(const std::string& name, std::size_t least, const adios2::Params& parameters)
{
    auto adios = make_adios();
    auto io = make_io(adios, "in", name, parameters);
    auto engine = open(io, name, adios2::Mode::Read);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        const auto box_of = [&](const std::string& of, const adios2::Box<Dims>& box) {
            auto variable = io.InquireVariable<double>(of);
            variable.SetSelection(box);
            std::vector<double> values(box.second[0]);
            engine.Get(variable, values.data(), adios2::Mode::Sync);
            return values;
        };
        expect_all(box_of("global", {{6 * rank()}, {6}}), put_value(1, step));
        expect_all(box_of("ghosts", {{6 * rank()}, {6}}), put_value(20, step));
        double value = 0;
        engine.Get(io.InquireVariable<double>("value"), &value, adios2::Mode::Sync);
        EXPECT_EQ(value - 10 * static_cast<double>(step), 21000);
        expect_all(box_of("local_value", {{rank()}, {1}}), put_value(22, step));
        std::string text;
        engine.Get(io.InquireVariable<std::string>("text"), text, adios2::Mode::Sync);
        EXPECT_EQ(text, "step " + std::to_string(step));
        auto local = io.InquireVariable<double>("local");
        const auto blocks = engine.BlocksInfo(local, engine.CurrentStep());
        EXPECT_EQ(blocks.size(), 12 * ranks());
        for (std::size_t i = 0; i < 12; ++i) {
            const auto& block = blocks[12 * rank() + i];
            EXPECT_EQ(block.Min, put_value(2 + i, step));
            EXPECT_EQ(block.Max, put_value(2 + i, step));
            local.SetBlockSelection(12 * rank() + i);
            local.SetSelection({{0}, block.Count});
            std::vector<double> values(block.Count[0]);
            engine.Get(local, values.data(), adios2::Mode::Sync);
            expect_all(values, put_value(2 + i, step));
        }
        auto large = io.InquireVariable<double>("large");
        large.SetBlockSelection(rank());
        large.SetSelection({{0}, {(least - 1) / sizeof(double) + 1}});
        std::vector<double> values((least - 1) / sizeof(double) + 1);
        engine.Get(large, values.data(), adios2::Mode::Sync);
        expect_all(values, put_value(25, step));
        if (run.engine == "Stepstore" || run.engine == "BP5") {
            auto point = io.InquireStructVariable("point");
            point.SetReadStructDef(point.GetWriteStructDef());
            point.SetSelection({{3 * rank()}, {3}});
            std::vector<Point> points(3);
            engine.Get(point, points.data(), adios2::Mode::Sync);
            for (const Point& one : points) {
                EXPECT_EQ(one.x, put_value(23, step));
                EXPECT_EQ(one.y, put_value(24, step));
            }
        }
        engine.EndStep();
    }
    engine.Close();
}

CASE(reused_buffers)
{
    write_from_reused_memory("default", least_deferred, {});
    read_from_reused_memory("default", least_deferred, {});
    write_from_reused_memory("chosen", 100, {{"MinDeferredSize", "100"}});
    read_from_reused_memory("chosen", 100, {});
    if (run.engine == "BP5") return; // it has no such parameter
    for (const char* method : {"zstd", "blosc2-lz4"}) {
        write_from_reused_memory(method, least_deferred, {{"Compression", method}});
        read_from_reused_memory(method, least_deferred, {});
    }
}

} // namespace
