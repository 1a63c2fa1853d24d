// Variables of structs, through the native engine: compared with BP5 where BP5 has them, and what it has not.
#include "features.h"
#include "stepstore/adios2.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

namespace {

using namespace plugin_test;

struct Cell {
    std::int8_t kind;
    double place[3];
    std::complex<float> wave;
    char tag;
    std::uint16_t links[2];
    float mass;
};

// BP5 cannot read a definition with complex numbers or characters. Their bytes come back without a field
// too.
adios2::StructDefinition define_cell(adios2::IO& io, bool all_types = true)
{
    auto cell = io.DefineStruct("cell", sizeof(Cell));
    cell.AddField("kind", offsetof(Cell, kind), adios2::DataType::Int8);
    cell.AddField("place", offsetof(Cell, place), adios2::DataType::Double, 3);
    if (all_types) {
        cell.AddField("wave", offsetof(Cell, wave), adios2::DataType::FloatComplex);
        cell.AddField("tag", offsetof(Cell, tag), adios2::DataType::Char);
    }
    cell.AddField("links", offsetof(Cell, links), adios2::DataType::UInt16, 2);
    cell.AddField("mass", offsetof(Cell, mass), adios2::DataType::Float);
    return cell;
}

std::vector<Cell> cells(std::size_t count, std::size_t rank, std::size_t step)
{
    std::vector<Cell> all(count);
    std::memset(static_cast<void*>(all.data()), 0, count * sizeof(Cell)); // the gaps too
    for (std::size_t i = 0; i < count; ++i) {
        const auto number = static_cast<float>(i + 100 * rank + 1000 * step);
        all[i].kind = static_cast<std::int8_t>(i + rank);
        for (int d = 0; d < 3; ++d)
            all[i].place[d] = number + 0.25 * d;
        all[i].wave = {number, -number};
        all[i].tag = static_cast<char>('a' + i % 26);
        all[i].links[0] = static_cast<std::uint16_t>(i);
        all[i].links[1] = static_cast<std::uint16_t>(rank);
        all[i].mass = number / 2;
    }
    return all;
}

std::string text_of(const Cell& cell)
{
    std::ostringstream text;
    text << int{cell.kind} << "," << cell.place[0] << "," << cell.place[1] << "," << cell.place[2] << ","
         << cell.wave << "," << cell.tag << "," << cell.links[0] << "," << cell.links[1] << "," << cell.mass;
    return text.str();
}

std::string text_of(adios2::StructDefinition definition)
{
    std::ostringstream text;
    text << definition.StructName() << " " << definition.StructSize();
    for (std::size_t i = 0; i < definition.Fields(); ++i)
        text << "; " << definition.Name(i) << " " << definition.Offset(i) << " " << definition.Type(i) << " "
             << definition.ElementCount(i);
    return text.str();
}

// Gets what is selected, as cells.
std::vector<std::string> get_cells(adios2::Engine& engine, adios2::VariableNT variable, std::size_t count,
                                   adios2::Mode mode = adios2::Mode::Sync)
{
    auto got = cells(count + 1, 7, 7);
    const auto last = text_of(got.back());
    engine.Get(variable, got.data(), mode);
    if (mode == adios2::Mode::Deferred) engine.PerformGets();
    EXPECT_EQ(text_of(got.back()), last); // no get beyond its selection
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i)
        texts.push_back(text_of(got[i]));
    return texts;
}

class Structs final : public Feature {
public:
    void define(adios2::IO& io, const Writers& writers) override
    {
        auto cell = define_cell(io, false);
        io.DefineStructVariable("global", cell, {writers.ranks * 2, 6}, {0, 0}, {1, 6});
        io.DefineStructVariable("sometimes", cell, {writers.ranks, 4}, {writers.rank, 0}, {1, 4});
        io.DefineVariable<int>("number");
        // A definition is final with its first variable.
        EXPECT(!error_of([&] { cell.AddField("late", 0, adios2::DataType::Int8); }).empty());
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        auto global = io.InquireStructVariable("global");
        for (std::size_t block = 0; block < 2; ++block) {
            global.SetSelection({{writers.rank * 2 + block, 0}, {1, 6}});
            data_[block] = cells(6, writers.rank + 10 * block, step);
            engine.Put(global, data_[block].data(), block == 0 ? adios2::Mode::Sync : adios2::Mode::Deferred);
        }
        if (step != 1) {
            auto sometimes = io.InquireStructVariable("sometimes");
            engine.Put(sometimes, cells(4, writers.rank, step).data(), adios2::Mode::Sync);
        }
        const auto number = static_cast<int>(step);
        engine.Put(io.InquireVariable<int>("number"), number);
        engine.PerformPuts();
    }
    void look(View& view) override
    {
        const std::string reader = view.engine.Name() + (view.random ? " at random" : "");
        if (std::exchange(reader_, reader) != reader) { // with an ADIOS object of its own
            wanted_ = define_cell(view.io, false);
            other_ = view.io.DefineStruct("other", sizeof(Cell));
            other_->AddField("kind", offsetof(Cell, kind), adios2::DataType::Int8);
        }
        view.seen.note("available", std::vector<std::size_t>{view.io.AvailableVariables().size()});
        view.seen.note("type " + view.io.VariableType("global"));
        EXPECT(!view.io.InquireVariable<double>("global"));
        auto global = look_at(view, "global", view.step);
        global.SetSelection({{0, 0}, {view.writers * 2, 6}});
        view.seen.note("all", get_cells(view.engine, global, view.writers * 12));
        global.SetSelection({{1, 2}, {view.writers, 3}});
        view.seen.note("part", get_cells(view.engine, global, view.writers * 3, adios2::Mode::Deferred));
        const bool there = static_cast<bool>(view.io.InquireStructVariable("sometimes"));
        view.seen.note("sometimes is there", std::vector<bool>{there});
        if (view.step == 1) return;
        auto sometimes = look_at(view, "sometimes", view.step / 2);
        sometimes.SetSelection({{view.writers - 1, 1}, {1, 3}});
        view.seen.note("sometimes", get_cells(view.engine, sometimes, 3));
    }

private:
    // With the definition to read with, once it was shown to be needed.
    adios2::VariableNT look_at(View& view, const std::string& name, std::size_t relative_step)
    {
        auto variable = view.io.InquireStructVariable(name);
        EXPECT(variable);
        if (view.random) variable.SetStepSelection({relative_step, 1});
        view.seen.note(name + " " + variable.Type() + " " + text_of(variable.GetWriteStructDef()));
        view.seen.note(name + " shape", variable.Shape());
        view.seen.note(name + " count", variable.Count());
        view.seen.note(
            name + " size and kind", // BP5 counts no steps of structs
            std::vector<std::size_t>{variable.Sizeof(), static_cast<std::size_t>(variable.ShapeID())});
        EXPECT(view.io.InquireStructVariable(name, *wanted_));
        EXPECT(!view.io.InquireStructVariable(name, *other_));
        const bool set = static_cast<bool>(variable.GetReadStructDef());
        view.seen.note(name + " has a definition to read with", std::vector<bool>{set});
        if (!set) {
            EXPECT(is_refused(view, variable));
            variable.SetReadStructDef(*wanted_);
        } else {
            variable.SetReadStructDef(*other_);
            EXPECT(is_refused(view, variable)); // once it was read with another
            variable.SetReadStructDef(*wanted_);
        }
        return variable;
    }
    bool is_refused(View& view, adios2::VariableNT variable)
    {
        std::vector<Cell> to(view.writers * 12);
        try {
            view.engine.Get(variable, to.data(), adios2::Mode::Sync);
        } catch (const std::logic_error& error) {
            return contains(error.what(), variable.Name());
        }
        return false;
    }

    std::vector<Cell> data_[2];
    std::optional<adios2::StructDefinition> wanted_, other_;
    std::string reader_;
};
FEATURE(feature_structs, Structs)

// What BP5 cannot: blocks, joined arrays, single values, fields at other places, blocks' information.
CASE(structs)
{
    run.engine = "Stepstore";
    const auto ranks = static_cast<std::size_t>(run.ranks);
    const auto rank = static_cast<std::size_t>(run.rank);
    constexpr std::size_t steps = 2;
    {
        auto adios = make_adios();
        auto io = make_io(adios, "out", "structs");
        auto cell = define_cell(io);
        auto global = io.DefineStructVariable("global", cell, {ranks, 5}, {rank, 0}, {1, 5});
        auto framed = io.DefineStructVariable("framed", cell, {ranks, 2}, {rank, 0}, {1, 2});
        framed.SetMemorySelection({{1, 1}, {3, 4}});
        auto local = io.DefineStructVariable("local", cell, {}, {}, {3, 2});
        auto joined = io.DefineStructVariable("joined", cell, {adios2::JoinedDim}, {}, {2});
        auto value = io.DefineStructVariable("value", cell);
        auto own = io.DefineStructVariable("own", cell, {adios2::LocalValueDim}, {}, {});
        auto number = io.DefineVariable<double>("number", {ranks}, {rank}, {1});
        auto squeezed = io.DefineStructVariable("squeezed", cell, {ranks, 50}, {rank, 0}, {1, 50});
        squeezed.AddOperation("plugin", {{"PluginName", "turn"}, {"PluginLibrary", "test_operator_probe"}});
        EXPECT(squeezed.Operations().empty()); // ADIOS2 adds none to structs
        auto engine = open(io, "structs", adios2::Mode::Write);
        for (std::size_t step = 0; step < steps; ++step) {
            engine.BeginStep();
            engine.Put(global, cells(5, rank, step).data(), adios2::Mode::Sync);
            engine.Put(framed, cells(12, rank, step).data(), adios2::Mode::Sync);
            engine.Put(local, cells(6, rank, step).data(), adios2::Mode::Sync);
            engine.Put(joined, cells(2, rank, step).data(), adios2::Mode::Sync);
            engine.Put(value, cells(1, 0, step).data(), adios2::Mode::Sync);
            engine.Put(number, 1.5);
            engine.Put(own, cells(1, rank, step).data(), adios2::Mode::Sync);
            engine.Put(squeezed, cells(50, rank, step).data(), adios2::Mode::Sync);
            engine.EndStep();
        }
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    struct Other { // some of the fields, elsewhere
        float mass;
        std::int32_t mine;
        double place[3];
    };
    auto adios = make_adios();
    auto io = make_io(adios, "in", "structs");
    auto other = io.DefineStruct("other", sizeof(Other));
    other.AddField("mass", offsetof(Other, mass), adios2::DataType::Float);
    other.AddField("place", offsetof(Other, place), adios2::DataType::Double, 3);
    auto wrong = io.DefineStruct("wrong", sizeof(Other));
    wrong.AddField("place", offsetof(Other, place), adios2::DataType::Double, 2);
    auto engine = open(io, "structs", adios2::Mode::ReadRandomAccess);
    const auto check = [&](const Other& got, const Cell& put, int mine) {
        EXPECT_EQ(got.mass, put.mass);
        EXPECT_EQ(got.mine, mine); // what is no field stays as it is
        for (int d = 0; d < 3; ++d)
            EXPECT_EQ(got.place[d], put.place[d]);
    };
    auto global = io.InquireStructVariable("global");
    EXPECT_EQ(global.Steps(), steps);
    std::vector<Other> got(ranks * 5 * steps, Other{0, 42, {}});
    global.SetReadStructDef(wrong);
    const auto refused = error_of([&] { engine.Get(global, got.data(), adios2::Mode::Sync); });
    for (const char* part : {"'global'", "'place'", "float64[3]", "float64[2]"})
        EXPECT(contains(refused, part));
    global.SetReadStructDef(other);
    global.SetStepSelection({0, steps});
    engine.Get(global, got.data(), adios2::Mode::Deferred);
    engine.PerformGets();
    for (std::size_t i = 0; i < got.size(); ++i) {
        const auto step = i / (ranks * 5), writer = i / 5 % ranks;
        check(got[i], cells(5, writer, step)[i % 5], 42);
    }
    auto framed = io.InquireStructVariable("framed");
    framed.SetReadStructDef(other);
    framed.SetSelection({{rank, 0}, {1, 2}});
    framed.SetMemorySelection({{0, 1}, {2, 3}});
    framed.SetStepSelection({1, 1});
    std::vector<Other> frame(6, Other{-1, 42, {}});
    engine.Get(framed, frame.data(), adios2::Mode::Sync);
    for (std::size_t i = 0; i < frame.size(); ++i)
        if (i == 1 || i == 2)
            check(frame[i], cells(12, rank, 1)[4 + i], 42);
        else
            EXPECT_EQ(frame[i].mass, -1);
    auto local = io.InquireStructVariable("local");
    local.SetReadStructDef(local.GetWriteStructDef());
    local.SetBlockSelection(ranks - 1);
    local.SetSelection({{1, 0}, {2, 1}});
    const auto in_block = get_cells(engine, local, 2);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(in_block[i], text_of(cells(6, ranks - 1, 0)[2 + 2 * i]));
    auto joined = io.InquireStructVariable("joined");
    joined.SetReadStructDef(joined.GetWriteStructDef());
    EXPECT(joined.Shape() == adios2::Dims{2 * ranks});
    const auto texts = get_cells(engine, joined, 2 * ranks);
    for (std::size_t i = 0; i < texts.size(); ++i)
        EXPECT_EQ(texts[i], text_of(cells(2, i / 2, 0)[i % 2]));
    auto value = io.InquireStructVariable("value");
    value.SetReadStructDef(other);
    value.SetStepSelection({1, 1});
    Other one{0, 42, {}};
    engine.Get(value, &one, adios2::Mode::Sync);
    check(one, cells(1, 0, 1)[0], 42);
    auto own = io.InquireStructVariable("own");
    own.SetReadStructDef(other);
    EXPECT(own.Shape() == adios2::Dims{ranks});
    std::vector<Other> of_ranks(ranks, Other{0, 42, {}});
    engine.Get(own, of_ranks.data(), adios2::Mode::Sync);
    for (std::size_t i = 0; i < ranks; ++i)
        check(of_ranks[i], cells(1, i, 0)[0], 42);
    own.SetBlockSelection(ranks - 1);
    engine.Get(own, of_ranks.data(), adios2::Mode::Sync);
    check(of_ranks[0], cells(1, ranks - 1, 0)[0], 42);
    for (std::size_t step = 0; step < steps; ++step) {
        const auto blocks = engine.BlocksInfo(global, step);
        EXPECT_EQ(blocks.size(), ranks);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            EXPECT_EQ(blocks[i].WriterID, static_cast<int>(i));
            EXPECT((blocks[i].Start == adios2::Dims{i, 0}));
            EXPECT((blocks[i].Count == adios2::Dims{1, 5}));
        }
    }
    EXPECT_EQ(engine.AllStepsBlocksInfo(global).size(), steps);
    engine.Close();
}

// Through the plugin ADIOS2 itself withholds structs. All else of a stream that has some is read.
CASE(structs_beside_others)
{
    const auto door = run.engine;
    EXPECT_EQ(stepstore_adios2_register(), 0);
    const auto ranks = static_cast<std::size_t>(run.ranks);
    const auto rank = static_cast<std::size_t>(run.rank);
    {
        run.engine = "Stepstore";
        auto adios = make_adios();
        auto io = make_io(adios, "out", "beside");
        auto cells_of_ranks = io.DefineStructVariable("cells", define_cell(io), {ranks}, {rank}, {1});
        auto number = io.DefineVariable<double>("number", {ranks}, {rank}, {1});
        auto engine = open(io, "beside", adios2::Mode::Write);
        for (std::size_t step = 0; step < 2; ++step) {
            engine.BeginStep();
            engine.Put(cells_of_ranks, cells(1, rank, step).data(), adios2::Mode::Sync);
            engine.Put(number, static_cast<double>(step + 10 * rank));
            engine.EndStep();
        }
        engine.Close();
        run.engine = door;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto adios = make_adios();
    auto io = make_io(adios, "in", "beside");
    auto engine = open(io, "beside", adios2::Mode::Read);
    std::vector<double> got(ranks);
    for (std::size_t step = 0; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
        EXPECT(!io.InquireVariable<double>("cells"));
        if (auto hidden = io.InquireStructVariable("cells")) {
            hidden.SetReadStructDef(hidden.GetWriteStructDef());
            std::vector<Cell> to(ranks);
            const auto error = error_of([&] { engine.Get(hidden, to.data(), adios2::Mode::Sync); });
            EXPECT(error.empty() == (door == "Stepstore"));
        } else {
            fail(__FILE__, __LINE__, "there is no struct variable");
        }
        engine.Get("number", got.data(), adios2::Mode::Sync);
        for (std::size_t i = 0; i < ranks; ++i)
            EXPECT_EQ(got[i], static_cast<double>(step + 10 * i));
        engine.EndStep();
    }
    engine.Close();
}

} // namespace
