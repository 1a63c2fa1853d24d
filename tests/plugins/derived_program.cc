// Derived variables, in a program that test_derived.py builds against an ADIOS2 that has them. With BP5 it
// does what both engines do alike; with Stepstore also what BP5 cannot.
//   derived_program ENGINE FOLDER
#include "program_checks.h"

#include <adios2.h>

#include <cmath>
#include <iostream>

namespace {

using Kind = adios2::DerivedVarType;
using adios2::Mode;

struct Program {
    std::string engine, folder;
    adios2::ADIOS adios;
    int ios = 0;

    bool ours() const { return engine != "BP5"; }
    adios2::IO io()
    {
        auto made = adios.DeclareIO("io" + std::to_string(ios++));
        made.SetEngine(engine);
        return made;
    }
    adios2::Engine open(adios2::IO& io, const std::string& name, Mode mode) const
    {
        if (engine == "Plugin")
            io.SetParameters(
                {{"PluginName", "stepstore"}, {"PluginLibrary", "stepstore_adios2"}, {"Location", name}});
        return io.Open(name, mode);
    }
};

bool says(const std::string& message, const std::string& part)
{
    const bool does = message.find(part) != std::string::npos;
    if (!does) std::cerr << "not '" << part << "' but: " << message << "\n";
    return does;
}

double a_at(std::size_t step, std::size_t i)
{
    return 1.0 + static_cast<double>(100 * step + i);
}

constexpr std::size_t steps = 3, blocks = 4, width = 5, length = blocks * width;

// Two arrays, each of four blocks in a step, put in all ways that there are.
void write(Program& program, const std::string& name, Kind kind)
{
    auto io = program.io();
    auto a = io.DefineVariable<double>("a", {length}, {0}, {width});
    auto b = io.DefineVariable<double>("b", {length}, {0}, {width});
    auto unused = io.DefineVariable<double>("unused", {length}, {0}, {width});
    io.DefineDerivedVariable("sum", "x = a\ny = b\nx + y * 2", kind);
    io.DefineDerivedVariable("of_unused", "sqrt(unused)", kind);
    auto engine = program.open(io, name, Mode::Write);
    for (std::size_t step = 0; step < steps; ++step) {
        engine.BeginStep();
        std::vector<std::vector<double>> kept;
        kept.reserve(2 * blocks);
        for (std::size_t block = 0; block < blocks; ++block) {
            std::vector<double> values(width), others(width);
            for (std::size_t i = 0; i < width; ++i) {
                values[i] = a_at(step, block * width + i);
                others[i] = -values[i];
            }
            a.SetSelection({{block * width}, {width}});
            b.SetSelection({{block * width}, {width}});
            if (block % 2 == 0) {
                engine.Put(a, values.data(), Mode::Sync);
                values.assign(width, std::nan("")); // is the program's again
            } else {
                kept.push_back(values);
                engine.Put(a, kept.back().data(), Mode::Deferred);
            }
            if (block == 3) {
                auto span = engine.Put(b);
                for (std::size_t i = 0; i < width; ++i)
                    span[i] = others[i];
            } else if (block == 1) {
                kept.push_back(others);
                engine.Put(b, kept.back().data(), Mode::Deferred);
                engine.PerformPuts();
                for (auto& one : kept)
                    one.assign(width, std::nan(""));
            } else {
                engine.Put(b, others.data(), Mode::Sync);
            }
        }
        engine.EndStep();
    }
    engine.Close();
}

void read_steps(Program& program, const std::string& name, Kind kind)
{
    auto io = program.io();
    auto engine = program.open(io, name, Mode::Read);
    std::size_t step = 0;
    for (; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
        CHECK(!io.InquireVariable<double>("of_unused"));
        CHECK(io.AvailableAttributes().empty());
        auto sum = io.InquireVariable<double>("sum");
        CHECK(sum);
        CHECK(sum.Shape() == adios2::Dims{length});
        std::vector<double> all;
        engine.Get(sum, all, Mode::Sync);
        CHECK(all.size() == length);
        for (std::size_t i = 0; i < length; ++i)
            CHECK(all[i] == -a_at(step, i));
        // Parts of two blocks, together with an array that is stored.
        sum.SetSelection({{3}, {5}});
        auto a = io.InquireVariable<double>("a");
        std::vector<double> part(5, 0), stored;
        engine.Get(sum, part.data());
        engine.Get(a, stored);
        engine.PerformGets();
        for (std::size_t i = 0; i < 5; ++i)
            CHECK(part[i] == -a_at(step, 3 + i) && stored[3 + i] == a_at(step, 3 + i));
        const auto infos = engine.BlocksInfo(sum, engine.CurrentStep());
        CHECK(infos.size() == blocks);
        for (std::size_t block = 0; block < blocks; ++block) {
            CHECK(infos[block].Start == adios2::Dims{block * width});
            CHECK(infos[block].Count == adios2::Dims{width});
            if (kind == Kind::ExpressionString) continue;
            CHECK(infos[block].Min == -a_at(step, block * width + width - 1));
            CHECK(infos[block].Max == -a_at(step, block * width));
        }
        if (program.ours() || kind == Kind::StoreData) { // BP5: "No data exists for this variable"
            sum.SetBlockSelection(2);
            std::vector<double> block(width);
            engine.Get(sum, block.data(), Mode::Sync);
            for (std::size_t i = 0; i < width; ++i)
                CHECK(block[i] == -a_at(step, 2 * width + i));
        }
        engine.EndStep();
    }
    CHECK(step == steps);
    engine.Close();
}

void read_at_random(Program& program, const std::string& name)
{
    auto io = program.io();
    auto engine = program.open(io, name, Mode::ReadRandomAccess);
    auto sum = io.InquireVariable<double>("sum");
    CHECK(sum.Steps() == steps);
    sum.SetStepSelection({2, 1});
    sum.SetSelection({{4}, {length - 4}});
    std::vector<double> part;
    engine.Get(sum, part, Mode::Sync);
    for (std::size_t i = 0; i < part.size(); ++i)
        CHECK(part[i] == -a_at(2, 4 + i));
    engine.Close();
}

// The shape grows, and the last block has one element. Here BP5 keeps the shape of the definition.
void growing(Program& program, const std::string& name, Kind kind)
{
    if (!program.ours()) return;
    auto io = program.io();
    auto field = io.DefineVariable<float>("field", {3, 4}, {0, 0}, {3, 4});
    auto factor = io.DefineVariable<float>("factor");
    io.DefineDerivedVariable("curled", "cross(field, field, field, field, field, field)", kind);
    io.DefineDerivedVariable("root", "sqrt(factor)", kind);
    auto engine = program.open(io, name, Mode::Write);
    for (std::size_t step = 0; step < 2; ++step) {
        const std::size_t rows = 3 + step;
        std::vector<float> values(rows * 4, 2);
        engine.BeginStep();
        field.SetShape({rows, 4});
        field.SetSelection({{0, 0}, {rows - 1, 4}});
        engine.Put(field, values.data());
        field.SetSelection({{rows - 1, 0}, {1, 4}});
        engine.Put(field, values.data());
        engine.Put(factor, 16.0F);
        engine.EndStep();
    }
    engine.Close();
    auto reading = program.io();
    auto reader = program.open(reading, name, Mode::Read);
    for (std::size_t step = 0; step < 2; ++step) {
        CHECK(reader.BeginStep() == adios2::StepStatus::OK);
        auto curled = reading.InquireVariable<float>("curled");
        CHECK((curled.Shape() == adios2::Dims{3 + step, 4, 3}));
        std::vector<float> values;
        reader.Get(curled, values, Mode::Sync);
        CHECK(values.size() == (3 + step) * 12);
        for (const float one : values)
            CHECK(one == 0);
        double root = 0;
        reader.Get(reading.InquireVariable<double>("root"), root, Mode::Sync);
        CHECK(root == 4);
        reader.EndStep();
    }
    reader.Close();
}

// Blocks of one element, ghost cells in memory, local and joined arrays.
void shapes(Program& program, const std::string& name, Kind kind)
{
    if (!program.ours()) return; // BP5 ends on derived local arrays
    auto io = program.io();
    auto one = io.DefineVariable<double>("one", {2}, {0}, {1});
    auto local = io.DefineVariable<double>("local", {}, {}, {3});
    auto joined = io.DefineVariable<double>("joined", {adios2::JoinedDim, 2}, {}, {2, 2});
    auto inner = io.DefineVariable<double>("inner", {2, 2}, {0, 0}, {2, 2});
    for (const char* input : {"one", "local", "joined", "inner"})
        io.DefineDerivedVariable(std::string("of_") + input, std::string(input) + " * 3", kind);
    auto engine = program.open(io, name, Mode::Write);
    engine.BeginStep();
    const std::vector<double> values{1, 2, 3, 4};
    for (std::size_t i = 0; i < 2; ++i) {
        one.SetSelection({{i}, {1}});
        engine.Put(one, values[i]);
        engine.Put(local, values.data());
        engine.Put(joined, values.data());
    }
    std::vector<double> with_ghosts(16, -1);
    inner.SetMemorySelection({{1, 1}, {4, 4}});
    for (std::size_t i = 0; i < 4; ++i)
        with_ghosts[(1 + i / 2) * 4 + 1 + i % 2] = values[i];
    engine.Put(inner, with_ghosts.data());
    engine.EndStep();
    engine.Close();
    auto reading = program.io();
    auto reader = program.open(reading, name, Mode::Read);
    CHECK(reader.BeginStep() == adios2::StepStatus::OK);
    const auto all_of = [&](const std::string& variable) {
        std::vector<double> read;
        reader.Get(reading.InquireVariable<double>(variable), read, Mode::Sync);
        return read;
    };
    CHECK((all_of("of_one") == std::vector<double>{3, 6}));
    CHECK((all_of("of_inner") == std::vector<double>{3, 6, 9, 12}));
    CHECK((all_of("of_joined") == std::vector<double>{3, 6, 9, 12, 3, 6, 9, 12}));
    auto of_local = reading.InquireVariable<double>("of_local");
    of_local.SetBlockSelection(1);
    of_local.SetSelection({{1}, {2}});
    std::vector<double> read(2);
    reader.Get(of_local, read.data(), Mode::Sync);
    CHECK((read == std::vector<double>{6, 9}));
    // Into the middle of a larger array.
    auto of_inner = reading.InquireVariable<double>("of_inner");
    of_inner.SetMemorySelection({{1, 1}, {4, 4}});
    std::vector<double> around(16, -1);
    reader.Get(of_inner, around.data(), Mode::Sync);
    CHECK(around[5] == 3 && around[6] == 6 && around[9] == 9 && around[10] == 12 && around[0] == -1);
    reader.EndStep();
    reader.Close();
}

// Refused in one sentence, and the engine can be used further.
void mistakes(Program& program, const std::string& name)
{
    if (!program.ours()) return;
    const std::vector<double> values(4, 1);
    auto io = program.io();
    auto a = io.DefineVariable<double>("a", {8}, {0}, {4});
    auto b = io.DefineVariable<double>("b", {8}, {0}, {4});
    io.DefineDerivedVariable("sum", "a + b", Kind::StatsOnly);
    auto engine = program.open(io, name, Mode::Write);
    engine.BeginStep();
    engine.Put(a, values.data());
    engine.Put(a, values.data());
    engine.Put(b, values.data());
    const auto said = refusal([&] { engine.EndStep(); });
    CHECK(says(said, "1 times") && says(said, "2 times"));
    engine.EndStep(); // without it
    engine.BeginStep();
    auto late = io.DefineVariable<double>("late", {4}, {0}, {4});
    engine.Put(late, values.data());
    io.DefineDerivedVariable("too_late", "late * 2", Kind::StatsOnly);
    CHECK(says(refusal([&] { engine.EndStep(); }), "define it before the step's first Put"));
    engine.EndStep();
    engine.Close();
    auto reading = program.io();
    auto reader = program.open(reading, name, Mode::Read);
    CHECK(reader.BeginStep() == adios2::StepStatus::OK);
    CHECK(reading.InquireVariable<double>("a") && !reading.InquireVariable<double>("sum"));
    reader.EndStep();
    reader.Close();
}

// A stream that says of itself what no writer does.
void hostile(Program& program, const std::string& name)
{
    if (!program.ours()) return;
    const std::vector<double> values(4, 1);
    const std::vector<std::pair<std::string, std::string>> expressions = {
        {std::string(5000, '-') + "a", "more than 4096"},
        {std::string(4000, '-') + "a", ""},
        {std::string(1900, '(') + "a" + std::string(1900, ')'), ""},
        {"a +* 2", ""},
        {"", "StoreStatsOnly"},
        {"3 + 4", "names no variable"},
        {"data * 2", "data"},
        {"nothing_like_it", "has no variable 'nothing_like_it'"},
        {"text", "has no variable 'text'"},
        {"cross(a, a, a, a, a, a)", "where the stream says"},
        {"curl(a)", "curl"},
        {"other", "blocks, but"},
        {"a + small", ""},
    };
    for (std::size_t i = 0; i < expressions.size(); ++i) {
        const auto& [expression, why] = expressions[i];
        auto io = program.io();
        auto data = io.DefineVariable<double>("data", {4}, {0}, {4});
        auto a = io.DefineVariable<double>("a", {4}, {0}, {4});
        auto small = io.DefineVariable<double>("small", {2}, {0}, {2});
        auto other = io.DefineVariable<double>("other", {8}, {0}, {4});
        auto text = io.DefineVariable<std::string>("text");
        data.StoreStatsOnly(true);
        io.DefineAttribute<std::string>("data/__expression__", expression);
        auto engine = program.open(io, name + std::to_string(i), Mode::Write);
        engine.BeginStep();
        engine.Put(data, values.data());
        engine.Put(a, values.data());
        engine.Put(small, values.data());
        engine.Put(text, std::string("text"));
        for (std::size_t block = 0; block < 2; ++block) {
            other.SetSelection({{4 * block}, {4}});
            engine.Put(other, values.data());
        }
        engine.EndStep();
        engine.Close();
        auto reading = program.io();
        auto reader = program.open(reading, name + std::to_string(i), Mode::Read);
        CHECK(reader.BeginStep() == adios2::StepStatus::OK);
        std::vector<double> read;
        const auto said =
            refusal([&] { reader.Get(reading.InquireVariable<double>("data"), read, Mode::Sync); });
        std::cerr << "  " << expression.substr(0, 30) << ": " << said.substr(0, 200) << "\n";
        CHECK(why.empty() || says(said, why));
        read.clear(); // what else is there can be read
        reader.Get(reading.InquireVariable<double>("a"), read, Mode::Sync);
        CHECK(read == values);
        reader.EndStep();
        reader.Close();
    }
}

} // namespace

int main(int, char** arguments)
{
    Program program{arguments[1], arguments[2], {}};
    try {
        const std::vector<std::pair<std::string, Kind>> kinds = {{"statistics", Kind::StatsOnly},
                                                                 {"expression", Kind::ExpressionString},
                                                                 {"data", Kind::StoreData}};
        for (const auto& [kind_name, kind] : kinds) {
            const auto name = program.folder + "/" + kind_name;
            write(program, name, kind);
            read_steps(program, name, kind);
            read_at_random(program, name);
            growing(program, name + "-growing", kind);
            shapes(program, name + "-shapes", kind);
        }
        mistakes(program, program.folder + "/mistakes");
        hostile(program, program.folder + "/hostile");
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    std::cout << "as written\n";
}
