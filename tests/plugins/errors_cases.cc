// What the plugin refuses, and what its messages say.
#include "harness.h"

#include <filesystem>
#include <fstream>

namespace {

using namespace plugin_test;

// The error of opening with these parameters on top of the good ones.
std::string opening_error(const adios2::Params& more, adios2::Mode mode = adios2::Mode::Write)
{
    static int number = 0;
    auto adios = make_adios();
    auto io = make_io(adios, "io-" + std::to_string(number++), "errors", more);
    return error_of([&] { open(io, "errors", mode); });
}

CASE(parameters)
{
    auto unknown = opening_error({{"Chunksize", "1M"}, {"Layuot", "kv"}});
    EXPECT(contains(unknown, "Layuot"));
    for (const char* valid :
         {"Layout", "ChunkSize", "ObjectClass", "Communicator", "GroupTimeoutSecs", "Readers", "Location"})
        EXPECT(contains(unknown, valid));
    auto layout = opening_error({{"Layout", "columns"}});
    for (const char* valid : {"columns", "kv", "array-aligned", "posix"})
        EXPECT(contains(layout, valid));
    EXPECT(contains(opening_error({{"Communicator", "some"}}), "auto, world, self"));
    EXPECT(contains(opening_error({{"Readers", "nobody"}}), "delegate"));
    for (const char* valid : {"Compression", "gzip", "none, zstd, blosc2-lz4, blosc2-zstd"})
        EXPECT(contains(opening_error({{"Compression", "gzip"}}), valid));
    EXPECT(contains(opening_error({{"Compression", "zstd"}, {"CompressionLevel", "77"}}), "1 to 19"));
    // Of BP5's and SST's, and unknown ones: test_native.py goes through all.
    EXPECT_EQ(opening_error({{"NumAggregators", "2"}, {"BufferChunkSize", "16Mb"}, {"asyncwrite", "Guided"}}),
              "");
    EXPECT_EQ(opening_error({{"QueueLimit", "3"}, {"RendezvousReaderCount", "0"}}), "");
    EXPECT(contains(opening_error({{"GroupTimeoutSecs", "soon"}}), "GroupTimeoutSecs"));
    EXPECT(!opening_error({{"ChunkSize", "0x"}}).empty());
    EXPECT(contains(opening_error({{"Location", ""}}), "Location=out/gs"));
    EXPECT(contains(opening_error({{"AppendAfterSteps", "two"}}), "AppendAfterSteps"));
    EXPECT(contains(opening_error({{"WriterTimeoutSecs", "-1"}}), "WriterTimeoutSecs"));
    // Names and values without regard to case; a reader's parameters do no harm to a writer.
    EXPECT_EQ(opening_error({{"layout", "KV"}, {"COMMUNICATOR", "World"}, {"openTimeoutSecs", "1"}}), "");
    // Every layout works, and the reader is told none.
    for (const char* layout_name : {"posix", "kv", "array", "array-aligned"}) {
        auto adios = make_adios();
        auto out = make_io(adios, "out", std::string("layout-") + layout_name, {{"Layout", layout_name}});
        auto x = out.DefineVariable<int>("x");
        auto writer = open(out, std::string("layout-") + layout_name, adios2::Mode::Write);
        writer.BeginStep();
        writer.Put(x, 3);
        writer.EndStep();
        writer.Close();
        auto in = make_io(adios, "in", std::string("layout-") + layout_name);
        auto reader = open(in, std::string("layout-") + layout_name, adios2::Mode::Read);
        EXPECT(reader.BeginStep() == adios2::StepStatus::OK);
        int value = 0;
        reader.Get("x", value);
        reader.EndStep();
        reader.Close();
        EXPECT_EQ(value, 3);
    }
}

CASE(places)
{
    EXPECT(contains(opening_error({{"Location", location_of("missing")}}, adios2::Mode::Read), "missing"));
    if (run.rank == 0) std::ofstream(run.directory + "/file") << "no directory";
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(contains(opening_error({{"Location", run.directory + "/file/pool"}}), "file"));
    // Where nobody may write, root included.
    EXPECT(contains(opening_error({{"Location", "/proc/stepstore/pool"}}), "/proc/stepstore"));
}

CASE(refused_features)
{
    auto adios = make_adios();
    auto io = make_io(adios, "out", "refused");
    auto x = io.DefineVariable<double>("x", {4}, {0}, {2});
    auto squeezed = io.DefineVariable<double>("squeezed", {4}, {0}, {2});
    // Every ADIOS2 has an operator for plugins, and one that changes nothing.
    for (int twice = 0; twice < 2; ++twice)
        squeezed.AddOperation("plugin", {{"PluginName", "turn"}, {"PluginLibrary", "test_operator_probe"}});
    auto unchanged = io.DefineVariable<double>("unchanged", {4}, {0}, {4});
    unchanged.AddOperation("null", {});
    auto particle = io.DefineStruct("particle", 8);
    particle.AddField("id", 0, adios2::DataType::Int32);
    particle.AddField("mass", 4, adios2::DataType::Float);
    auto particles = io.DefineStructVariable("particles", particle, {4}, {0}, {4});
    EXPECT(!error_of([&] { io.DefineVariable<std::string>("names", {4}, {0}, {4}); }).empty());
    auto engine = open(io, "refused", adios2::Mode::Write);
    engine.BeginStep();
    const std::vector<double> data(16, 1.5);
    const auto refused = error_of([&] { engine.Put(squeezed, data.data(), adios2::Mode::Sync); });
    // One operator is applied (feature_operators), or refused in a build that cannot.
    for (const char* part : {"'squeezed'", "operator", "remove"})
        EXPECT(contains(refused, part));
    engine.Put(unchanged, data.data(), adios2::Mode::Sync);
    EXPECT(!error_of([&] { engine.Put(particles, data.data(), adios2::Mode::Sync); }).empty());
    if (!run.has_core()) EXPECT(contains(error_of([&] { engine.Put(x); }), "Span"));
    // A block outside of a constant shape names variable and step; the writer goes on after all of these.
    auto fixed = io.DefineVariable<double>("fixed", {4}, {3}, {2}, adios2::ConstantDims);
    EXPECT(contains(error_of([&] { engine.Put(fixed, data.data(), adios2::Mode::Sync); }), "'fixed'"));
    x.SetSelection({{0}, {4}});
    engine.Put(x, data.data(), adios2::Mode::Sync);
    EXPECT(!error_of([&] { engine.BeginStep(); }).empty());
    engine.EndStep();
    EXPECT(contains(error_of([&] { engine.EndStep(); }), "EndStep"));
    EXPECT(contains(error_of([&] { engine.Put(x, data.data(), adios2::Mode::Sync); }), "BeginStep"));
    engine.Close();

    auto in = make_io(adios, "in", "refused");
    auto reader = open(in, "refused", adios2::Mode::Read);
    EXPECT(reader.BeginStep() == adios2::StepStatus::OK);
    auto y = in.InquireVariable<double>("x");
    std::vector<double> to(16);
    y.SetSelection({{2}, {4}});
    EXPECT(contains(error_of([&] { reader.Get(y, to.data(), adios2::Mode::Sync); }), "x"));
    y.SetBlockSelection(99);
    EXPECT(contains(error_of([&] { reader.Get(y, to.data(), adios2::Mode::Sync); }), "x"));
    EXPECT(contains(error_of([&] { reader.Get("nothing", to.data(), adios2::Mode::Sync); }), "nothing"));
    reader.EndStep();
    reader.Close();
}

// Why a span is made one of another engine: a plugin is asked for no memory, and the program gets a null
// pointer. When this fails, ADIOS2 has begun to ask, and spans can be served by the public interface.
CASE(spans_have_no_memory)
{
    auto adios = make_adios();
    auto io = adios.DeclareIO("probe");
    io.SetEngine("Plugin");
    io.SetParameters({{"PluginName", "probe"}, {"PluginLibrary", "test_span_probe"}});
    auto x = io.DefineVariable<double>("x", {4}, {0}, {4});
    auto engine = io.Open("probe", adios2::Mode::Write);
    engine.BeginStep();
    auto span = engine.Put(x);
    EXPECT_EQ(span.size(), 4U);
    EXPECT(span.data() == nullptr);
    engine.EndStep();
    engine.Close();
}

} // namespace
