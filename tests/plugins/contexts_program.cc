// Gets of several threads (Engine::NewGetContext), in a program that test_contexts.py builds against an
// ADIOS2 that has them. It does with BP5 and with Stepstore what both engines do alike, and prints what it
// read.
//   contexts_program ENGINE FOLDER
#include "program_checks.h"

#include <adios2.h>

#if __has_include(<adios2/core/GetContext.h>)
#include <adios2/core/GetContext.h>
#else // not every installation has it, but the public header uses the class
namespace adios2::core {
class GetContext {
public:
    virtual ~GetContext() = default;
};
} // namespace adios2::core
#endif

#include <algorithm>
#include <iostream>
#include <random>
#include <thread>

namespace {

using adios2::Mode;
using adios2::Selection;

constexpr std::size_t steps = 5, rows = 60, columns = 400, blocks = 3, threads = 4;
constexpr double untouched = -1;

double value_at(std::size_t variable, std::size_t step, std::size_t row, std::size_t column)
{
    return static_cast<double>(variable * 1'000'000 + step * 100'000 + row * columns + column);
}

std::string name_of(std::size_t variable)
{
    return "field" + std::to_string(variable);
}

struct Program {
    std::string engine, folder;
    adios2::ADIOS adios;
    int ios = 0;

    adios2::IO io()
    {
        auto made = adios.DeclareIO("io" + std::to_string(ios++));
        made.SetEngine(engine);
        return made;
    }
    std::string stream() const { return folder + "/stream"; }
};

// Two fields of three blocks, single values, texts, and an array of each rank.
void write(Program& program)
{
    auto io = program.io();
    std::vector<adios2::Variable<double>> fields;
    for (std::size_t variable = 0; variable < 2; ++variable)
        fields.push_back(
            io.DefineVariable<double>(name_of(variable), {rows, columns}, {0, 0}, {rows / blocks, columns}));
    auto number = io.DefineVariable<int>("number");
    auto text = io.DefineVariable<std::string>("text");
    auto local = io.DefineVariable<float>("local", {}, {}, {7});
    auto engine = io.Open(program.stream(), Mode::Write);
    CHECK(engine.NewGetContext() == nullptr);
    for (std::size_t step = 0; step < steps; ++step) {
        engine.BeginStep();
        for (std::size_t variable = 0; variable < 2; ++variable)
            for (std::size_t block = 0; block < blocks; ++block) {
                std::vector<double> values;
                const std::size_t first = block * rows / blocks;
                for (std::size_t row = first; row < first + rows / blocks; ++row)
                    for (std::size_t column = 0; column < columns; ++column)
                        values.push_back(value_at(variable, step, row, column));
                fields[variable].SetSelection({{first, 0}, {rows / blocks, columns}});
                engine.Put(fields[variable], values.data(), Mode::Sync);
            }
        engine.Put(number, static_cast<int>(step), Mode::Sync);
        engine.Put(text, "step " + std::to_string(step), Mode::Sync);
        for (std::size_t block = 0; block < 2; ++block) {
            const std::vector<float> values(7, static_cast<float>(10 * step + block));
            engine.Put(local, values.data(), Mode::Sync);
        }
        engine.EndStep();
    }
    engine.Close();
}

// Memory for a box, with some around it that no get may touch.
struct Wanted {
    std::size_t variable, step;
    adios2::Dims start, count;
    std::vector<double> memory;

    Wanted(std::size_t variable, std::size_t step, adios2::Dims start, adios2::Dims count)
        : variable(variable), step(step), start(start), count(count),
          memory(count[0] * count[1] + 2, untouched)
    {
    }
    Selection selection() const { return Selection::BoundingBox(start, count).WithSteps(step, 1); }
    double* data() { return memory.data() + 1; }
    bool is_untouched() const
    {
        return std::all_of(memory.begin(), memory.end(), [](double one) { return one == untouched; });
    }
    bool is_right() const
    {
        auto at = memory.begin();
        if (*at++ != untouched) return false;
        for (std::size_t row = start[0]; row < start[0] + count[0]; ++row)
            for (std::size_t column = start[1]; column < start[1] + count[1]; ++column)
                if (*at++ != value_at(variable, step, row, column)) return false;
        return *at == untouched;
    }
};

void contexts_are_apart(Program& program)
{
    auto io = program.io();
    auto engine = io.Open(program.stream(), Mode::ReadRandomAccess);
    auto field = io.InquireVariable<double>(name_of(0));
    auto first = engine.NewGetContext();
    auto second = engine.NewGetContext();
    CHECK(first && second && first != second);
    Wanted of_first(0, 1, {2, 3}, {30, 50}), of_second(0, 4, {0, 0}, {rows, columns});
    Wanted of_engine(0, 0, {19, 1}, {2, 2});
    engine.Get(*first, field, of_first.data(), of_first.selection());
    engine.Get(*second, field, of_second.data(), of_second.selection());
    engine.Get(field, of_engine.data(), of_engine.selection(), Mode::Deferred);
    engine.PerformGets(*first);
    CHECK(of_first.is_right() && of_second.is_untouched() && of_engine.is_untouched());
    engine.PerformGets();
    CHECK(of_engine.is_right() && of_second.is_untouched());
    // A get that is refused leaves what the others have queued.
    Wanted beyond(0, steps, {0, 0}, {1, 1});
    CHECK(!refusal([&] { engine.Get(*first, field, beyond.data(), beyond.selection()); }).empty());
    engine.PerformGets(*second);
    CHECK(of_second.is_right() && beyond.is_untouched());
    // They can be used again, and without anything to get.
    Wanted again(0, 2, {rows - 1, 0}, {1, columns});
    engine.Get(*first, field, again.data(), again.selection());
    engine.PerformGets(*first);
    engine.PerformGets(*first);
    CHECK(again.is_right());
    Wanted last(0, 2, {0, 0}, {1, 1});
    engine.Get(*first, field, last.data(), last.selection());
    engine.Close(); // before the contexts end, and with a get in one
    first.reset();
    CHECK(last.is_untouched());
}

void gets_of_every_kind(Program& program)
{
    auto io = program.io();
    auto engine = io.Open(program.stream(), Mode::ReadRandomAccess);
    auto context = engine.NewGetContext();
    auto number = io.InquireVariable<int>("number");
    auto text = io.InquireVariable<std::string>("text");
    auto local = io.InquireVariable<float>("local");
    auto field = io.InquireVariable<double>(name_of(1));
    int one = 0;
    std::string of_text;
    std::vector<float> of_block(7);
    std::vector<double> whole(rows * columns), block(rows / blocks * columns), inside(6 * 8, untouched);
    std::vector<double> all(steps * rows * columns);
    engine.Get(*context, number, &one, Selection::All().WithSteps(3, 1));
    engine.Get(*context, text, &of_text, Selection::All().WithSteps(3, 1));
    engine.Get(*context, local, of_block.data(), Selection::Block(1).WithSteps(2, 1));
    engine.Get(*context, field, whole.data(), Selection::All().WithSteps(1, 1));
    engine.Get(*context, field, block.data(), Selection::Block(2).WithSteps(0, 1));
    engine.Get(*context, field, inside.data(),
               Selection::BoundingBox({10, 10}, {4, 5}).WithMemory({1, 2}, {6, 8}));
    engine.Get(*context, field, all.data(), Selection::All().WithSteps(0, steps));
    engine.PerformGets(*context);
    CHECK(one == 3);
    CHECK(of_text == "step 3");
    CHECK(of_block == std::vector<float>(7, 21));
    CHECK(whole[columns + 1] == value_at(1, 1, 1, 1) &&
          whole.back() == value_at(1, 1, rows - 1, columns - 1));
    CHECK(block.front() == value_at(1, 0, 40, 0) && block.back() == value_at(1, 0, rows - 1, columns - 1));
    for (std::size_t row = 0; row < 6; ++row)
        for (std::size_t column = 0; column < 8; ++column) {
            const bool in = row >= 1 && row < 5 && column >= 2 && column < 7;
            CHECK(inside[row * 8 + column] == (in ? value_at(1, 0, row + 9, column + 8) : untouched));
        }
    for (std::size_t step = 0; step < steps; ++step)
        CHECK(all[step * rows * columns + 5] == value_at(1, step, 0, 5));
    double sum = 0;
    for (const double value : all)
        sum += value;
    std::cout << "sum of all: " << std::to_string(sum) << "\n";
    engine.Close();
}

void several_threads(Program& program)
{
    auto io = program.io();
    auto engine = io.Open(program.stream(), Mode::ReadRandomAccess);
    std::vector<std::string> failures(threads);
    std::vector<double> sums(threads);
    const auto work = [&](std::size_t thread) {
        std::mt19937_64 random(thread);
        const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
        auto context = engine.NewGetContext();
        for (int round = 0; round < 60; ++round) {
            std::vector<Wanted> wanted;
            for (std::size_t i = below(6); i < 6; ++i) {
                const adios2::Dims start{below(rows), below(columns)};
                wanted.emplace_back(below(2), below(steps), start,
                                    adios2::Dims{1 + below(rows - start[0]), 1 + below(columns - start[1])});
            }
            std::string text;
            const auto step = below(steps);
            for (auto& one : wanted)
                engine.Get(*context, io.InquireVariable<double>(name_of(one.variable)), one.data(),
                           one.selection());
            engine.Get(*context, io.InquireVariable<std::string>("text"), &text,
                       Selection::All().WithSteps(step, 1));
            engine.PerformGets(*context);
            CHECK(text == "step " + std::to_string(step));
            for (const auto& one : wanted) {
                CHECK(one.is_right());
                for (const double value : one.memory)
                    sums[thread] += value;
            }
        }
    };
    std::vector<std::thread> running;
    for (std::size_t thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] { failures[thread] = refusal([&] { work(thread); }); });
    for (auto& one : running)
        one.join();
    for (std::size_t thread = 0; thread < threads; ++thread) {
        if (!failures[thread].empty()) throw std::runtime_error(failures[thread]);
        std::cout << "thread " << thread << ": " << std::to_string(sums[thread]) << "\n";
    }
    engine.Close();
}

void not_step_by_step(Program& program)
{
    auto io = program.io();
    auto engine = io.Open(program.stream(), Mode::Read);
    engine.BeginStep();
    CHECK(engine.NewGetContext() == nullptr);
    engine.EndStep();
    engine.Close();
}

// Beyond what BP5 looks at.
void bad_calls(Program& program)
{
    auto io = program.io();
    auto others = program.io();
    auto engine = io.Open(program.stream(), Mode::ReadRandomAccess);
    auto other = others.Open(program.stream(), Mode::ReadRandomAccess);
    auto field = io.InquireVariable<double>(name_of(0));
    Wanted wanted(0, 0, {0, 0}, {1, 1});
    auto of_other = other.NewGetContext();
    adios2::core::GetContext of_nobody;
    for (auto* context : {of_other.get(), &of_nobody}) {
        const auto get = refusal([&] { engine.Get(*context, field, wanted.data(), wanted.selection()); });
        const auto perform = refusal([&] { engine.PerformGets(*context); });
        for (const auto& said : {get, perform})
            if (said.find("a GetContext of another engine") == std::string::npos)
                throw std::runtime_error("not refused: " + said);
    }
    auto context = engine.NewGetContext();
    // A box beyond the array, after one that is queued, and several steps of which the last is not there.
    engine.Get(*context, field, wanted.data(), wanted.selection());
    Wanted outside(0, 0, {rows - 1, 0}, {2, 1});
    CHECK(!refusal([&] { engine.Get(*context, field, outside.data(), outside.selection()); }).empty());
    std::vector<double> several(rows * columns * steps, untouched);
    CHECK(!refusal([&] {
               engine.Get(*context, field, several.data(), Selection::All().WithSteps(1, steps));
           }).empty());
    engine.PerformGets(*context);
    CHECK(wanted.is_right() && outside.is_untouched());
    CHECK(std::all_of(several.begin(), several.end(), [](double one) { return one == untouched; }));
    other.Close();
    engine.Close();
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 3) return 2;
    try {
        Program program{argv[1], argv[2], {}};
        write(program);
        contexts_are_apart(program);
        gets_of_every_kind(program);
        several_threads(program);
        not_step_by_step(program);
        if (program.engine != "BP5") bad_calls(program);
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
