// Variables of every type and shape kind, compared with BP5.
#include "features.h"
#include "values.h"

namespace {

using namespace plugin_test;

// Arrays of every type, values of every type but char (BP5 gives values of char back as int8_t), strings.
class Types final : public Feature {
public:
    void define(adios2::IO& io, const Writers& writers) override
    {
#define define_one(T)                                                                                        \
    io.DefineVariable<T>(#T, {writers.ranks * 5}, {writers.rank * 5}, {5});                                  \
    if (!std::is_same_v<T, char>) io.DefineVariable<T>(#T "/value");
        FOR_TYPES(define_one)
#undef define_one
        io.DefineVariable<std::string>("text");
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
#define put_one(T)                                                                                           \
    engine.Put(io.InquireVariable<T>(#T), values_of<T>(writers.rank, step, 5).data(), adios2::Mode::Sync);   \
    if (!std::is_same_v<T, char>) engine.Put(io.InquireVariable<T>(#T "/value"), value_of<T>(0, step, step));
        FOR_TYPES(put_one)
#undef put_one
        engine.Put(io.InquireVariable<std::string>("text"), "text \n of step " + std::to_string(step));
    }
    void look(View& view) override
    {
#define look_one(T) look_as<T>(view, #T);
        FOR_TYPES(look_one)
#undef look_one
        auto text = view.variable<std::string>("text");
        std::string value;
        view.engine.Get(text, value, adios2::Mode::Sync);
        view.seen.note("text " + value);
    }

private:
    template <class T>
    void look_as(View& view, const std::string& name)
    {
        view.seen.note(view.io.VariableType(name));
        auto array = view.variable<T>(name);
        const auto got = view.get(name, array, view.writers * 5);
        for (std::size_t r = 0; r < view.writers; ++r)
            for (std::size_t i = 0; i < 5; ++i)
                EXPECT(got[r * 5 + i] == value_of<T>(r, i, view.step));
        if (std::is_same_v<T, char>) return;
        auto one = view.variable<T>(name + "/value");
        EXPECT(view.get(name + "/value", one, 1)[0] == value_of<T>(0, view.step, view.step));
    }
};
FEATURE(feature_types, Types)

// A value of each rank, shown as an array.
class LocalValues final : public Feature {
public:
    void define(adios2::IO& io, const Writers&) override
    {
        io.DefineVariable<std::int32_t>("id", {adios2::LocalValueDim});
        io.DefineVariable<double>("load", {adios2::LocalValueDim});
        io.DefineVariable<std::complex<float>>("phase", {adios2::LocalValueDim});
    }
    void put(adios2::IO&, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        const auto number = static_cast<int>(writers.rank * 10 + step);
        engine.Put("id", number);
        engine.Put("load", 0.5 * number);
        engine.Put("phase", std::complex<float>(static_cast<float>(number), -1.5F));
    }
    void look(View& view) override
    {
        look_as<std::int32_t>(view, "id");
        look_as<double>(view, "load");
        look_as<std::complex<float>>(view, "phase");
    }

private:
    template <class T>
    void look_as(View& view, const std::string& name)
    {
        auto variable = view.variable<T>(name);
        view.seen.note(name + " shape", variable.Shape());
        view.get(name, variable, view.writers);
        variable.SetSelection({{view.writers - 1}, {1}});
        view.get(name + " of the last rank", variable, 1, adios2::Mode::Deferred);
    }
};
FEATURE(feature_local_values, LocalValues)

// Two blocks of each rank, of lengths that differ by rank and step; the second is empty on rank 0 of step 0.
class LocalArrays final : public Feature {
public:
    void define(adios2::IO& io, const Writers&) override
    {
        io.DefineVariable<double>("particles", {}, {}, {1, 3});
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        auto particles = io.InquireVariable<double>("particles");
        for (std::size_t block = 0; block < 2; ++block) {
            const auto count = rows(writers.rank, block, step);
            particles.SetSelection({{}, {count, 3}});
            engine.Put(particles, cells(writers.rank, block, step).data(), adios2::Mode::Sync);
        }
    }
    void look(View& view) override
    {
        const auto blocks = view.engine.BlocksInfo(view.variable<double>("particles"), view.step);
        EXPECT_EQ(blocks.size(), 2 * view.writers);
        // Whole blocks first: a box that is selected in one stays in the variable.
        for (std::size_t block = 0; block < blocks.size() && !view.random; ++block) {
            auto particles = view.variable<double>("particles");
            particles.SetBlockSelection(block);
            const auto count = rows(block / 2, block % 2, view.step);
            EXPECT(view.get("block", particles, count * 3) == cells(block / 2, block % 2, view.step));
        }
        for (std::size_t block = 0; block < blocks.size(); ++block) {
            auto particles = view.variable<double>("particles");
            view.seen.note("count", blocks[block].Count);
            const auto count = rows(block / 2, block % 2, view.step);
            particles.SetBlockSelection(block);
            particles.SetSelection({{0, 0}, {count, 3}});
            EXPECT(view.get("all of the block", particles, count * 3) ==
                   cells(block / 2, block % 2, view.step));
            if (count < 2) continue;
            particles.SetSelection({{1, 1}, {count - 1, 2}});
            view.get("box in the block", particles, (count - 1) * 2, adios2::Mode::Deferred);
        }
    }

private:
    static std::size_t rows(std::size_t rank, std::size_t block, std::size_t step)
    {
        return block == 0 ? 2 + rank : (rank + step) % 4;
    }
    static std::vector<double> cells(std::size_t rank, std::size_t block, std::size_t step)
    {
        std::vector<double> cells(rows(rank, block, step) * 3);
        for (std::size_t i = 0; i < cells.size(); ++i)
            cells[i] = static_cast<double>(1000 * step + 100 * rank + 50 * block + i);
        return cells;
    }
};
FEATURE(feature_local_arrays, LocalArrays)

// Local arrays of which some blocks have no element, got into vectors as ADIOS2 sizes them; and what the
// variable says of itself while nothing is selected.
class EmptyBlocks final : public Feature {
public:
    void define(adios2::IO& io, const Writers&) override
    {
        for (const auto& [name, sizes] : all())
            io.DefineVariable<double>(name, {}, {}, {1});
        io.DefineVariable<std::complex<double>>("complex", {}, {}, {1});
        io.DefineVariable<std::string>("text");
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        for (const auto& [name, sizes] : all()) {
            auto variable = io.InquireVariable<double>(name);
            for (std::size_t block = 0; block < sizes.size(); ++block) {
                const std::vector<double> values(sizes[(block + step) % sizes.size()],
                                                 static_cast<double>(100 * writers.rank + 10 * block + step));
                variable.SetSelection({{}, {values.size()}});
                engine.Put(variable, values.data(), adios2::Mode::Sync);
            }
        }
        const std::complex<double> number(1, 2);
        engine.Put(io.InquireVariable<std::complex<double>>("complex"), &number, adios2::Mode::Sync);
        engine.Put("text", std::string("of step ") + std::to_string(step), adios2::Mode::Sync);
    }
    void look(View& view) override
    {
        for (const auto& [name, sizes] : all()) {
            auto variable = view.variable<double>(name);
            view.seen.note(name + ", count", variable.Count());
            for (std::size_t block = 0; block < sizes.size() * view.writers; ++block) {
                const std::size_t size = sizes[(block % sizes.size() + view.step) % sizes.size()];
                variable.SetBlockSelection(block);
                variable.SetSelection({{0}, {size}});
                std::vector<double> values;
                view.engine.Get(variable, values, adios2::Mode::Sync);
                view.seen.note(name + ", block " + std::to_string(block), values);
            }
        }
        if (!run.has_core()) return;
        // Numbers that have no order, and texts, have no extremes: both refuse, or neither does.
        const auto refuses = [&]<class T>(const std::string& name, std::type_identity<T>) {
            auto variable = view.io.InquireVariable<T>(name);
            const bool refused = !error_of([&] { static_cast<void>(variable.MinMax()); }).empty();
            view.seen.note(name + (refused ? " has no extremes" : " has extremes"));
        };
        refuses("complex", std::type_identity<std::complex<double>>());
        refuses("text", std::type_identity<std::string>());
    }

private:
    static std::map<std::string, std::vector<std::size_t>> all()
    {
        return {{"first", {0, 3}}, {"only", {0}}, {"grows", {1, 4, 2}}, {"none", {0, 0}}, {"last", {3, 0}}};
    }
};
FEATURE(feature_empty_blocks, EmptyBlocks)

// Rows of all ranks one below the other, their number known to the reader only.
class JoinedArrays final : public Feature {
public:
    void define(adios2::IO& io, const Writers& writers) override
    {
        io.DefineVariable<float>("joined", {adios2::JoinedDim, 4}, {}, {writers.rank + 1, 4});
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        auto joined = io.InquireVariable<float>("joined");
        const auto rows = (writers.rank + step) % 3 + 1;
        std::vector<float> cells(rows * 4);
        for (std::size_t i = 0; i < cells.size(); ++i)
            cells[i] = static_cast<float>(1000 * step + 100 * writers.rank + i);
        joined.SetSelection({{}, {rows, 4}});
        engine.Put(joined, cells.data(), adios2::Mode::Sync);
    }
    void look(View& view) override
    {
        auto joined = view.variable<float>("joined");
        std::size_t rows = 0;
        for (std::size_t rank = 0; rank < view.writers; ++rank)
            rows += (rank + view.step) % 3 + 1;
        if (!view.random) EXPECT((joined.Shape() == Dims{rows, 4}));
        joined.SetSelection({{0, 0}, {rows, 4}});
        EXPECT_EQ(view.get("all", joined, rows * 4)[0], static_cast<float>(1000 * view.step));
        joined.SetSelection({{rows - 1, 1}, {1, 2}});
        view.get("of the last row", joined, 2, adios2::Mode::Deferred);
    }
};
FEATURE(feature_joined_arrays, JoinedArrays)

// A matrix of 4 rows a rank, in three blocks each: two halves of two rows, and the other two.
class Blocks : public Feature {
public:
    void define(adios2::IO& io, const Writers& writers) override
    {
        io.DefineVariable<double>("grid", {4 * writers.ranks, width(0)}, {0, 0}, {1, 1});
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        auto grid = io.InquireVariable<double>("grid");
        const auto row = 4 * writers.rank;
        const auto half = width(step) / 2;
        grid.SetShape({4 * writers.ranks, width(step)});
        put_block(grid, engine, step, {row, 0}, {2, half});
        put_block(grid, engine, step, {row, half}, {2, width(step) - half});
        put_block(grid, engine, step, {row + 2, 0}, {2, width(step)});
    }
    void look(View& view) override
    {
        auto grid = view.variable<double>("grid");
        const Dims shape = {4 * view.writers, width(view.step)};
        if (!view.random) view.seen.note("shape", grid.Shape());
        select(view, grid, {0, 0}, shape, "all");
    }

protected:
    virtual std::size_t width(std::size_t) const { return 7; }
    static double cell(std::size_t row, std::size_t column, std::size_t step)
    {
        return static_cast<double>(1000000 * step + 1000 * row + column);
    }
    static std::vector<double> box(std::size_t step, const Dims& start, const Dims& count)
    {
        std::vector<double> cells;
        for (std::size_t row = 0; row < count[0]; ++row)
            for (std::size_t column = 0; column < count[1]; ++column)
                cells.push_back(cell(start[0] + row, start[1] + column, step));
        return cells;
    }
    static void put_block(adios2::Variable<double>& grid, adios2::Engine& engine, std::size_t step,
                          const Dims& start, const Dims& count)
    {
        grid.SetSelection({start, count});
        engine.Put(grid, box(step, start, count).data(), adios2::Mode::Sync);
    }
    static void select(View& view, adios2::Variable<double>& grid, const Dims& start, const Dims& count,
                       const std::string& what)
    {
        grid.SetSelection({start, count});
        EXPECT(view.get(what, grid, count[0] * count[1]) == box(view.step, start, count));
    }
};
FEATURE(feature_several_blocks, Blocks)

class ChangingShapes final : public Blocks {
    std::size_t width(std::size_t step) const override { return 6 + 3 * step; }
};
FEATURE(feature_changing_shapes, ChangingShapes)

// Each block of a step makes the shape longer. The last shape is that of the step.
class ShapeWithinStep final : public Feature {
public:
    void define(adios2::IO& io, const Writers& writers) override
    {
        io.DefineVariable<double>("grows", {writers.ranks, 1}, {writers.rank, 0}, {1, 1});
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        auto grows = io.InquireVariable<double>("grows");
        for (std::size_t block = 0; block < blocks(step); ++block) {
            grows.SetShape({writers.ranks, (block + 1) * length});
            grows.SetSelection({{writers.rank, block * length}, {1, length}});
            const auto data = values_of<double>(writers.rank, step + block, length);
            engine.Put(grows, data.data(), adios2::Mode::Sync);
        }
    }
    void look(View& view) override
    {
        auto grows = view.variable<double>("grows");
        const std::size_t columns = blocks(view.step) * length;
        grows.SetSelection({{0, 0}, {view.writers, columns}});
        view.get("grows", grows, view.writers * columns);
    }

private:
    static std::size_t blocks(std::size_t step) { return 1 + (step + 1) % 3; }
    static constexpr std::size_t length = 20;
};
FEATURE(feature_shape_within_step, ShapeWithinStep)

// SetShape behind the puts: the shape at EndStep is that of the step and of all its blocks.
class ShapeAfterPut final : public Feature {
public:
    std::size_t steps() const override { return 5; }
    void define(adios2::IO& io, const Writers& writers) override
    {
        for (const char* name : {"sync", "deferred", "twice"})
            io.DefineVariable<double>(name, {writers.ranks, length}, {writers.rank, 0}, {1, length});
        io.DefineVariable<double>("grows", {writers.ranks, length}, {writers.rank, 0}, {1, length});
        io.DefineVariable<double>("one", {writers.ranks}, {writers.rank}, {1});
        io.DefineVariable<double>("stays", {writers.ranks, length}, {writers.rank, 0}, {1, length},
                                  adios2::ConstantDims);
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        data_ = values_of<double>(writers.rank, step, length);
        const auto variable = [&](const char* name) { return io.InquireVariable<double>(name); };
        for (const char* name : {"sync", "twice", "stays", "one"})
            engine.Put(variable(name), data_.data(), adios2::Mode::Sync);
        variable("sync").SetShape({writers.ranks, columns(step)});
        for (const auto mode : {adios2::Mode::Sync, adios2::Mode::Deferred}) { // outside at that moment
            variable("grows").SetShape({writers.ranks, 1});
            engine.Put(variable("grows"), data_.data(), mode);
        }
        variable("grows").SetShape({writers.ranks, columns(step)});
        engine.Put(variable("deferred"), data_.data(), adios2::Mode::Deferred);
        engine.PerformPuts();
        variable("deferred").SetShape({writers.ranks + step, columns(step)});
        variable("twice").SetShape({writers.ranks, 10 * length}); // counts for no block: it is set again
        engine.Put(variable("twice"), data_.data(), adios2::Mode::Sync);
        variable("twice").SetShape({writers.ranks, columns(step)});
        if (step % 2 == 0) variable("one").SetShape({writers.ranks + step});
    }
    void look(View& view) override
    {
        for (const char* name : {"sync", "deferred", "twice", "stays", "grows"})
            look_at(view, name);
        auto one = view.variable<double>("one");
        view.seen.note("one", one.Shape());
    }

private:
    // Longer, then as it was, then longer again.
    static std::size_t columns(std::size_t step) { return length * (1 + (step + 1) % 3); }
    static void look_at(View& view, const std::string& name)
    {
        auto array = view.variable<double>(name);
        view.seen.note(name, array.Shape());
        array.SetSelection({{0, 0}, {view.writers, length}});
        view.get(name, array, view.writers * length);
    }
    static constexpr std::size_t length = 6;
    std::vector<double> data_; // deferred until EndStep
};
FEATURE(feature_shape_after_put, ShapeAfterPut)

// Boxes across the blocks of all ranks, a single cell, a row, a column; each reader its own part too.
class BoxSelections final : public Blocks {
    void look(View& view) override
    {
        auto grid = view.variable<double>("grid");
        const auto rows = 4 * view.writers;
        select(view, grid, {1, 1}, {rows - 2, 5}, "inner box");
        select(view, grid, {rows - 1, 6}, {1, 1}, "last cell");
        select(view, grid, {rows / 2, 0}, {1, 7}, "row");
        select(view, grid, {0, 3}, {rows, 1}, "column");
        select(view, grid, {static_cast<std::size_t>(run.rank) % rows, 2}, {1, 3}, "this reader's");
    }
};
FEATURE(feature_box_selections, BoxSelections)

// Single blocks, and boxes that count from a block's own corner.
class BlockSelections final : public Blocks {
    void look(View& view) override
    {
        for (std::size_t block = 0; block < 3 * view.writers; ++block) {
            auto grid = view.variable<double>("grid");
            grid.SetBlockSelection(block);
            const auto columns = std::vector<std::size_t>{3, 4, 7}[block % 3];
            view.get("block", grid, 2 * columns);
            auto again = view.variable<double>("grid");
            again.SetBlockSelection(block);
            view.get("block, deferred", again, 2 * columns, adios2::Mode::Deferred);
        }
    }
};
FEATURE(feature_block_selections, BlockSelections)

// Get with a Selection: nothing is set in the variable.
class SelectionObjects final : public Blocks {
    void look(View& view) override
    {
        const auto steps = [&](adios2::Selection selection) {
            return view.random ? selection.WithSteps(view.step, 1) : selection;
        };
        auto grid = view.io.InquireVariable<double>("grid");
        std::vector<double> all(4 * view.writers * 7);
        view.engine.Get(grid, all.data(), steps(adios2::Selection::All()), adios2::Mode::Sync);
        view.seen.note("All", all);
        EXPECT(all == box(view.step, {0, 0}, {4 * view.writers, 7}));
        std::vector<double> part(6);
        view.engine.Get(grid, part.data(), steps(adios2::Selection::BoundingBox({1, 2}, {2, 3})),
                        adios2::Mode::Sync);
        view.seen.note("BoundingBox", part);
        EXPECT(part == box(view.step, {1, 2}, {2, 3}));
        std::vector<double> one(14);
        view.engine.Get(grid, one.data(), steps(adios2::Selection::Block(3 * view.writers - 1)),
                        adios2::Mode::Deferred);
        std::vector<double> in_block(2);
        view.engine.Get(grid, in_block.data(),
                        steps(adios2::Selection::BoundingBox({1, 1}, {1, 2}).WithBlock(2)),
                        adios2::Mode::Deferred);
        view.engine.PerformGets();
        view.seen.note("Block", one);
        view.seen.note("box WithBlock", in_block);
    }
};
FEATURE(feature_selection_objects, SelectionObjects)

// Extremes of each block and where it lies, for numbers, single values and values of each rank.
class BlocksInfo final : public Blocks {
    void define(adios2::IO& io, const Writers& writers) override
    {
        Blocks::define(io, writers);
        io.DefineVariable<std::int64_t>("value");
        io.DefineVariable<float>("of_rank", {adios2::LocalValueDim});
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        Blocks::put(io, engine, step, writers);
        engine.Put("value", static_cast<std::int64_t>(step) - 5);
        engine.Put("of_rank", static_cast<float>(writers.rank) - 1.5F);
    }
    void look(View& view) override
    {
        note<double>(view, "grid");
        note<std::int64_t>(view, "value");
        note<float>(view, "of_rank");
    }
    template <class T>
    static void note(View& view, const std::string& name)
    {
        const auto blocks = view.engine.BlocksInfo(view.io.InquireVariable<T>(name), view.step);
        EXPECT(!blocks.empty());
        for (const auto& block : blocks) {
            view.seen.note(name + " start", block.Start);
            view.seen.note(name + " count", block.Count);
            view.seen.note(name + " writer, block",
                           std::vector<std::size_t>{std::size_t(block.WriterID), block.BlockID});
            if (block.IsValue)
                view.seen.note(name + " value", std::vector<T>{block.Value});
            else
                view.seen.note(name + " min, max", std::vector<T>{block.Min, block.Max});
        }
    }
};
FEATURE(feature_blocks_info, BlocksInfo)

// Fewer and more ranks than wrote.
CASE(feature_reader_counts)
{
    EXPECT_EQ(run.ranks, 8);
    Comparison how;
    how.writers = 4;
    how.readers = {1, 2, 3, 8};
    compare_with_bp5([]() -> std::unique_ptr<Feature> { return std::make_unique<BoxSelections>(); }, how);
    compare_with_bp5([]() -> std::unique_ptr<Feature> { return std::make_unique<LocalArrays>(); }, how);
}

} // namespace
