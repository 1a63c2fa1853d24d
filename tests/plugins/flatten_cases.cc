// FlattenSteps: a writer's steps that readers see as one. By hand it also runs with BP5: that of ADIOS2 2.12
// crashes in some runs, when it reads step by step.
#include "harness.h"

namespace {

using namespace plugin_test;
using adios2::Dims;

constexpr std::size_t steps = 3;

std::size_t ranks()
{
    return static_cast<std::size_t>(run.ranks);
}

void write_flattened(const adios2::Params& more = {})
{
    const auto rank = static_cast<std::size_t>(run.rank);
    adios2::Params parameters = more;
    parameters["FlattenSteps"] = "on";
    auto adios = make_adios();
    auto io = make_io(adios, "out", "flat", parameters);
    auto rows = io.DefineVariable<int>("rows", {steps, ranks(), 2}, {0, rank, 0}, {1, 1, 2});
    auto again = io.DefineVariable<double>("again", {4 * ranks()}, {4 * rank}, {4});
    auto grows = io.DefineVariable<int>("grows", {ranks()}, {rank}, {1});
    auto spanned = io.DefineVariable<float>("spanned", {steps * ranks()}, {rank}, {1});
    auto late = io.DefineVariable<int>("late", {2}, {0}, {2});
    auto value = io.DefineVariable<int>("value");
    auto text = io.DefineVariable<std::string>("text");
    auto writer = open(io, "flat", adios2::Mode::Write);
    int values[2];
    for (std::size_t step = 0; step < steps; ++step) {
        EXPECT_EQ(writer.CurrentStep(), step);
        writer.BeginStep();
        // The memory is the program's again at each EndStep.
        values[0] = static_cast<int>(100 * step + rank);
        values[1] = -1;
        rows.SetSelection({{step, rank, 0}, {1, 1, 2}});
        writer.Put(rows, values);
        const std::vector<double> all(4, static_cast<double>(step) + 0.5);
        writer.Put(again, all.data(), adios2::Mode::Sync);
        grows.SetShape({(step + 1) * ranks()});
        grows.SetSelection({{step * ranks() + rank}, {1}});
        const int one = static_cast<int>(step * ranks() + rank);
        writer.Put(grows, one);
        if (run.has_core()) {
            spanned.SetSelection({{step * ranks() + rank}, {1}});
            auto span = writer.Put(spanned);
            span[0] = static_cast<float>(step * ranks() + rank);
        }
        const int two[] = {7, 8};
        if (step == 1 && rank == 0) writer.Put(late, two, adios2::Mode::Sync);
        if (rank == 0) writer.Put(value, static_cast<int>(step));
        if (rank == 0) writer.Put(text, "step " + std::to_string(step));
        io.DefineAttribute<int>("last", static_cast<int>(step), "", "/", true);
        writer.EndStep();
    }
    writer.Close();
}

void look(adios2::IO& io, adios2::Engine& reader)
{
    EXPECT_EQ(io.InquireAttribute<int>("last").Data().front(), static_cast<int>(steps) - 1);
    std::vector<int> rows;
    reader.Get(io.InquireVariable<int>("rows"), rows, adios2::Mode::Sync);
    std::vector<double> again;
    reader.Get(io.InquireVariable<double>("again"), again, adios2::Mode::Sync);
    EXPECT(again == std::vector<double>(4 * ranks(), steps - 0.5)); // what was put last
    std::vector<int> late;
    reader.Get(io.InquireVariable<int>("late"), late, adios2::Mode::Sync);
    EXPECT(late == (std::vector<int>{7, 8}));
    auto grown = io.InquireVariable<int>("grows");
    if (run.has_core() && run.engine != "BP5") { // which gives that of the first step
        EXPECT(grown.Shape() == Dims{steps * ranks()});
    }
    std::vector<int> grows(steps * ranks());
    grown.SetSelection({{0}, {grows.size()}});
    reader.Get(grown, grows.data(), adios2::Mode::Sync);
    std::vector<float> spanned(steps * ranks());
    if (run.has_core()) reader.Get("spanned", spanned.data(), adios2::Mode::Sync);
    for (std::size_t step = 0; step < steps; ++step)
        for (std::size_t rank = 0; rank < ranks(); ++rank) {
            const auto at = step * ranks() + rank;
            EXPECT_EQ(rows[2 * at], static_cast<int>(100 * step + rank));
            EXPECT_EQ(rows[2 * at + 1], -1);
            EXPECT_EQ(grows[at], static_cast<int>(at));
            if (run.has_core()) EXPECT_EQ(spanned[at], static_cast<float>(at));
        }
    int value = -1;
    reader.Get("value", value, adios2::Mode::Sync);
    EXPECT_EQ(value, 0); // of single values what was put first
    std::string text;
    reader.Get("text", text, adios2::Mode::Sync);
    EXPECT_EQ(text, "step 0");
}

void read_flattened()
{
    auto adios = make_adios();
    auto at_random = make_io(adios, "random", "flat", {{"Reading", "random"}});
    auto reader = open(at_random, "flat", adios2::Mode::ReadRandomAccess);
    EXPECT_EQ(reader.Steps(), 1U);
    if (run.has_core()) EXPECT_EQ(at_random.InquireVariable<int>("rows").Steps(), 1U);
    look(at_random, reader);
    reader.Close();
    auto by_step = make_io(adios, "stream", "flat", {{"Reading", "stream"}});
    reader = open(by_step, "flat", adios2::Mode::Read);
    EXPECT(reader.BeginStep() == adios2::StepStatus::OK);
    look(by_step, reader);
    reader.EndStep();
    EXPECT(reader.BeginStep() == adios2::StepStatus::EndOfStream);
    reader.Close();
}

CASE(flattened_steps)
{
    write_flattened();
    read_flattened();
    if (run.engine == "BP5") return;
    for (const char* layout : {"posix", "array", "kv"}) {
        write_flattened({{"Layout", layout}, {"Compression", "zstd"}});
        read_flattened();
    }
    write_flattened({{"AsyncWrite", "on"}});
    read_flattened();
}

} // namespace
