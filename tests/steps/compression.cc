// Compression is a matter of the writer alone: whatever it chooses, every reader gets the same bytes.
#include "steps/compression.h"
#include "steps/check/check.h"
#include "steps/layouts/layout.h"
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "support/report.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <nlohmann/json.hpp>

#include <random>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

std::vector<std::byte> random_bytes(std::size_t size)
{
    std::mt19937_64 random(size);
    std::vector<std::byte> bytes(size);
    for (std::byte& one : bytes)
        one = static_cast<std::byte>(random());
    return bytes;
}

std::vector<double> smooth(std::size_t size)
{
    std::vector<double> values(size);
    for (std::size_t i = 0; i < size; ++i)
        values[i] = 1000.0 + 0.5 * static_cast<double>(i);
    return values;
}

class EveryMethod : public ::testing::TestWithParam<std::string> {
protected:
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
    CompressionMethod method = compression_method_named(GetParam());
};

TEST_P(EveryMethod, GivesBackTheSameBytes)
{
    Compressor compressor;
    const std::vector<double> values = smooth(40000);
    const Bytes raw = std::as_bytes(std::span(values));
    for (int level : {0, 1, 9}) {
        if (method == CompressionMethod::none) break;
        const auto packed = compressor.compress(raw, 8, {method, level});
        ASSERT_TRUE(packed);
        EXPECT_LT(packed->size(), raw.size() / 2);
        std::vector<std::byte> back(raw.size());
        decompress(codec_of(method), *packed, back, "the block");
        EXPECT_TRUE(std::ranges::equal(back, raw));
        // Damage of any kind is an Error that begins with the block's name, or bytes of the right number.
        std::vector<std::byte> bad(packed->begin(), packed->end());
        for (std::size_t at = 0; at < bad.size(); at += 1 + bad.size() / 97) {
            bad[at] ^= std::byte{0x41};
            try {
                decompress(codec_of(method), bad, back, "the block");
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), -DER_CSUM);
                EXPECT_TRUE(std::string(error.what()).starts_with("the block")) << error.what();
            }
            bad[at] ^= std::byte{0x41};
        }
        EXPECT_THROW(decompress(codec_of(method), packed->first(packed->size() / 2), back, "the block"),
                     Error);
        EXPECT_THROW(decompress(codec_of(method), *packed, MutableBytes(back).first(8), "the block"), Error);
    }
    EXPECT_FALSE(compressor.compress(random_bytes(5000), 1, {method, 0}));
    EXPECT_FALSE(compressor.compress(random_bytes(8), 1, {method, 0}));
}

// No method may shrink further than most_shrinking: a reader would take such a block for damaged.
TEST_P(EveryMethod, ShrinksEqualBytesNoFurtherThanAReaderBelieves)
{
    Writer writer(location, options_of("array-aligned"), self_communicator());
    const std::vector<double> zeros((5 << 20) + 7);
    const Dims count{zeros.size()};
    const auto id = writer.define("zeros", Type::float64, ShapeKind::local_array);
    writer.compress(id, {method, 0});
    writer.begin_step();
    writer.put(id, {}, {}, count, zeros.data());
    writer.end_step();
    writer.close();
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    std::vector<double> back(zeros.size(), -1);
    reader.get_block(*reader.find("zeros"), 0, {}, {}, back.data(), Mode::sync);
    EXPECT_TRUE(back == zeros);
}

TEST_P(EveryMethod, EveryLayoutAndEveryRankReadsWhatWasPut)
{
    for (const std::string& layout : all_designs) {
        SCOPED_TRACE(layout);
        const Model model{3};
        WriterOptions options = options_of(layout);
        options.compression.method = method;
        if (method == CompressionMethod::zstd) options.metadata_compression = method;
        const std::string where = location + "/" + layout;
        constexpr std::uint64_t steps = 6;
        run_ranks(model.ranks, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(where, options, communicator);
            for (std::uint64_t step = 0; step < steps; ++step)
                model.write_step(writer, communicator->rank());
            writer.close();
        });
        run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
            Reader reader(where, {}, communicator);
            for (std::uint64_t step = 0; step < steps; ++step) {
                ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
                model.check_step(reader, step);
                reader.end_step();
            }
        });
        ReaderOptions random;
        random.mode = ReadMode::random_access;
        Reader reader(where, random, self_communicator());
        for (std::uint64_t step = steps; step-- > 0;)
            model.check_step(reader, step);
        const StreamReport report = check_streams(where, true);
        EXPECT_FALSE(report.damaged()) << report;
        EXPECT_EQ(report.streams.at(0).whole_steps, steps);
    }
}

// Large and small blocks, all ways of putting, some variables with a method of their own.
TEST_P(EveryMethod, BlocksOfEverySizePutInEveryWay)
{
    const std::size_t sizes[] = {0, 1, 7, 100, 5000, 300000};
    const std::vector<double> values = smooth(300000);
    const std::vector<std::byte> noise = random_bytes(300000 * 8);
    WriterOptions options;
    options.compression.method = method;
    Writer writer(location, options, self_communicator());
    for (int step = 0; step < 3; ++step) {
        writer.begin_step();
        for (const std::size_t size : sizes) {
            const auto id = [&](const std::string& name) {
                return writer.define(name + std::to_string(size), Type::float64, ShapeKind::local_array);
            };
            const Dims count{size};
            const auto plain = id("plain");
            writer.compress(plain, {});
            writer.put(plain, {}, {}, count, values.data(), Mode::sync);
            writer.put(id("deferred"), {}, {}, count, values.data(), Mode::deferred);
            if (size == 100) writer.perform_puts();
            writer.put(id("sync"), {}, {}, count, values.data(), Mode::sync);
            writer.put(id("noise"), {}, {}, count, noise.data(), step == 1 ? Mode::sync : Mode::deferred);
            const std::span<std::byte> span = writer.put_span(id("span"), {}, {}, count);
            ASSERT_EQ(span.size(), size * 8);
            std::ranges::copy(std::as_bytes(std::span(values)).first(span.size()), span.begin());
        }
        writer.end_step();
    }
    writer.close();
    Reader reader(location, {}, self_communicator());
    for (int step = 0; step < 3; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        for (const std::size_t size : sizes)
            for (const char* name : {"plain", "deferred", "sync", "noise", "span"}) {
                SCOPED_TRACE(name + std::to_string(size));
                std::vector<double> got(size + 1, -1);
                reader.get_block(reader.find(name + std::to_string(size)).value(), 0, {}, {}, got.data(),
                                 Mode::sync);
                const void* expected =
                    std::string(name) == "noise" ? static_cast<const void*>(noise.data()) : values.data();
                EXPECT_EQ(std::memcmp(got.data(), expected, size * 8), 0);
                EXPECT_EQ(got.back(), -1);
                if (size > 10) { // a part of it
                    double part[3] = {};
                    reader.get_block(reader.find(name + std::to_string(size)).value(), 0, Dims{5}, Dims{3},
                                     part, Mode::sync);
                    EXPECT_EQ(std::memcmp(part, static_cast<const double*>(expected) + 5, sizeof part), 0);
                }
            }
        reader.end_step();
    }
    EXPECT_FALSE(check_streams(location, true).damaged());
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, ::testing::ValuesIn(compression_method_names()),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::erase(name, '-');
                             return name;
                         });

// The doubles 0 to 63, as c-blosc 1.21 stored them with lz4 and with zstd.
TEST(OldBlocks, OfCBlosc1AreRead)
{
    constexpr std::uint8_t lz4[] = {
        0x02, 0x01, 0x31, 0x08, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x74, 0x00, 0x00, 0x00, 0x14,
        0x00, 0x00, 0x00, 0x5c, 0x00, 0x00, 0x00, 0x1f, 0x00, 0x01, 0x00, 0xff, 0x4e, 0x1f, 0x80, 0x02, 0x00,
        0x0c, 0xff, 0x37, 0xf0, 0x00, 0x08, 0x10, 0x14, 0x18, 0x1c, 0x20, 0x22, 0x24, 0x26, 0x28, 0x2a, 0x2c,
        0x2e, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
        0x40, 0x40, 0x41, 0x41, 0x42, 0x42, 0x43, 0x43, 0x44, 0x44, 0x45, 0x45, 0x46, 0x46, 0x47, 0x47, 0x48,
        0x48, 0x49, 0x49, 0x4a, 0x4a, 0x4b, 0x4b, 0x4c, 0x4c, 0x4d, 0x4d, 0x4e, 0x4e, 0x4f, 0x4f, 0x00, 0x3f,
        0x40, 0x40, 0x40, 0x40, 0x40, 0x05, 0x00, 0x21, 0x50, 0x40, 0x40, 0x40, 0x40, 0x40,
    };
    constexpr std::uint8_t zstd[] = {
        0x02, 0x01, 0x91, 0x08, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x74, 0x00, 0x00, 0x00, 0x14,
        0x00, 0x00, 0x00, 0x5c, 0x00, 0x00, 0x00, 0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x00, 0x01, 0x95, 0x02, 0x00,
        0x54, 0x04, 0x00, 0x00, 0x80, 0xf0, 0x00, 0x08, 0x10, 0x14, 0x18, 0x1c, 0x20, 0x22, 0x24, 0x26, 0x28,
        0x2a, 0x2c, 0x2e, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d,
        0x3e, 0x3f, 0x40, 0x40, 0x41, 0x41, 0x42, 0x42, 0x43, 0x43, 0x44, 0x44, 0x45, 0x45, 0x46, 0x46, 0x47,
        0x47, 0x48, 0x48, 0x49, 0x49, 0x4a, 0x4a, 0x4b, 0x4b, 0x4c, 0x4c, 0x4d, 0x4d, 0x4e, 0x4e, 0x4f, 0x4f,
        0x00, 0x3f, 0x40, 0x03, 0x00, 0x82, 0x70, 0x52, 0xe4, 0x1a, 0xc6, 0xa5, 0x82, 0x36,
    };
    for (const std::span<const std::uint8_t> stored : {std::span<const std::uint8_t>(lz4), {zstd}}) {
        std::vector<double> values(64, -1);
        const MutableBytes raw = std::as_writable_bytes(std::span(values));
        decompress(Codec::blosc, std::as_bytes(stored), raw, "the block");
        for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_EQ(values[i], static_cast<double>(i));
        EXPECT_THROW(decompress(Codec::blosc, std::as_bytes(stored.first(100)), raw, "the block"), Error);
    }
}

class CompressedStream : public ::testing::Test {
protected:
    static constexpr std::uint64_t rows = 256, columns = 512;
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);

    void write(CompressionMethod method)
    {
        WriterOptions options;
        options.compression.method = method;
        run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(location, options, communicator);
            const auto rank = static_cast<std::uint64_t>(communicator->rank());
            for (int step = 0; step < 2; ++step) {
                writer.begin_step();
                const std::vector<double> values = smooth(rows * columns);
                const auto field = writer.define("field", Type::float64, ShapeKind::global_array);
                const Dims shape{2 * rows, columns}, start{rank * rows, 0}, count{rows, columns};
                writer.put(field, shape, start, count, values.data(), Mode::sync);
                writer.end_step();
            }
            writer.close();
        });
    }
    static std::uint64_t number(const Reader& reader, const char* name)
    {
        return nlohmann::json::parse(reader.profile_json()).at(name).get<std::uint64_t>();
    }
};

TEST_F(CompressedStream, ABlockIsFetchedOnceForAllThatIsWantedOfIt)
{
    write(CompressionMethod::blosc2_lz4);
    const StreamReport report = check_streams(location, true);
    const std::uint64_t stored = report.streams.at(0).data_bytes;
    EXPECT_LT(stored, 4 * rows * columns * 8 / 3);
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    const auto field = reader.find("field").value();
    std::vector<std::vector<double>> parts(20, std::vector<double>(2 * rows * 2));
    for (std::uint64_t i = 0; i < parts.size(); ++i)
        reader.get(field, Dims{0, 3 * i}, Dims{2 * rows, 2}, parts[i].data());
    reader.perform_gets();
    EXPECT_LE(number(reader, "data_bytes"), stored / 2 + 1);
    EXPECT_EQ(number(reader, "data_requests"), 2u); // one per writer rank
    for (std::uint64_t i = 0; i < parts.size(); ++i)
        for (std::uint64_t row = 0; row < 2 * rows; ++row)
            for (std::uint64_t column = 0; column < 2; ++column)
                ASSERT_EQ(parts[i][row * 2 + column],
                          1000.0 + 0.5 * static_cast<double>(row % rows * columns + 3 * i + column));
}

TEST_F(CompressedStream, DamageInABlockNamesVariableStepAndRankAndCostsNothingElse)
{
    write(CompressionMethod::zstd);
    {
        const OpenedStream opened = find_stream(location);
        const Pool pool = Pool::connect(opened.location.pool);
        const Container container = pool.open_container(opened.location.container);
        Array data = container.open_array(opened.record.data_of(1), {1, opened.record.data_chunk_size});
        std::vector<std::byte> byte(
            1); // in the middle of the last step's block, with a good checksum of the store
        const std::uint64_t at = data.size() - 100;
        data.read(at, byte);
        byte[0] ^= std::byte{8};
        data.write(at, byte);
    }
    ReaderOptions random;
    random.mode = ReadMode::random_access;
    Reader reader(location, random, self_communicator());
    const auto field = reader.find("field").value();
    std::vector<double> values(2 * rows * columns);
    try {
        reader.get(field, Dims{0, 0}, Dims{2 * rows, columns}, values.data(), Mode::sync, 1);
        FAIL() << "the damage was not seen";
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(error.code(), -DER_CSUM) << text;
        for (const char* part : {"'field'", "step 1", "rank 1"})
            EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    reader.get(field, Dims{0, 0}, Dims{rows, columns}, values.data(), Mode::sync, 1);
    EXPECT_EQ(values[10], 1005.0);
    reader.get(field, Dims{0, 0}, Dims{2 * rows, columns}, values.data(), Mode::sync, 0);
    EXPECT_EQ(values[rows * columns + 10], 1005.0);
    const StreamReport report = check_streams(location, true);
    EXPECT_TRUE(report.damaged());
    ASSERT_FALSE(report.findings.empty());
    EXPECT_NE(report.findings[0].where.find("step 1 rank 1"), std::string::npos) << report;
    EXPECT_NE(report.findings[0].what.find("'field'"), std::string::npos) << report;
}

TEST_F(CompressedStream, MetadataThatIsCompressedTakesLessAndReadsTheSame)
{
    std::map<CompressionMethod, std::uint64_t> bytes;
    for (const CompressionMethod method : {CompressionMethod::none, CompressionMethod::zstd}) {
        WriterOptions options;
        options.metadata_compression = method;
        Writer writer(location, options, self_communicator());
        const float zero = 0;
        for (std::uint64_t step = 0; step < 4; ++step) {
            writer.begin_step();
            for (int i = 0; i < 200; ++i) {
                const auto id = writer.define("component/variable_" + std::to_string(i), Type::float32,
                                              ShapeKind::local_value);
                writer.put_value(id, &zero);
            }
            const std::uint64_t number = step;
            writer.attribute("a", Type::uint64, &number, 1);
            writer.end_step();
        }
        writer.close();
        bytes[method] = writer.metadata_bytes();
        ReaderOptions random;
        random.mode = ReadMode::random_access; // asks for definitions of earlier steps
        Reader reader(location, random, self_communicator());
        EXPECT_EQ(reader.variables(3).size(), 200u);
        EXPECT_EQ(load_little<std::uint64_t>(reader.attribute("a", 2)->data.data()), 2u);
    }
    EXPECT_LT(bytes[CompressionMethod::zstd] * 2, bytes[CompressionMethod::none]);
}

TEST_F(CompressedStream, WrongChoicesAreRefusedWithTheValidOnes)
{
    WriterOptions options;
    const auto refused = [&](const std::string& name, const std::string& value) -> std::string {
        try {
            WriterOptions tried = options;
            EXPECT_TRUE(tried.set(name, value));
            check_options(tried);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_INVAL) << error.what();
            return error.what();
        }
        return "accepted";
    };
    EXPECT_NE(refused("Compression", "gzip").find("none, zstd, blosc2-lz4, blosc2-zstd"), std::string::npos);
    EXPECT_NE(refused("CompressionLevel", "5").find("'none'"), std::string::npos);
    EXPECT_NE(refused("CompressionLevel", "x").find("CompressionLevel='x'"), std::string::npos);
    EXPECT_NE(refused("MetadataCompression", "blosc2-lz4").find("none, zstd"), std::string::npos);
    EXPECT_TRUE(options.set("Compression", "ZSTD"));
    EXPECT_NE(refused("CompressionLevel", "20").find("1 to 19"), std::string::npos);
    EXPECT_EQ(refused("CompressionLevel", "19"), "accepted");
    Writer writer(location, options, self_communicator());
    const auto id = writer.define("x", Type::int8, ShapeKind::local_array);
    EXPECT_THROW(writer.compress(id, {CompressionMethod::blosc2_lz4, 10}), Error);
    EXPECT_THROW(writer.compress(id + 1, {}), Error);
}

} // namespace
} // namespace stepstore::steps::testing
