// Blocks that go through an operator of the program: what it made is stored, and given back to the operator
// of the reader. Without one Stepstore undoes what it knows, and names the rest.
#include "steps/block_operator.h"
#include "steps/check/check.h"
#include "steps/model.h"
#include "support/report.h"
#include "support/temporary.h"

#if STEPSTORE_HAVE_BLOSC2
#include <blosc2.h>
#endif

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::TemporaryDirectory;

constexpr Codec zfp = operator_codec(7);

// Drops all but the first `kept` bytes of a block: no method could give it back.
class Truncate final : public BlockOperator {
public:
    explicit Truncate(std::size_t kept, Codec codec = zfp) : kept_(kept), codec_(codec) {}
    Codec codec() const override { return codec_; }
    std::optional<Bytes> apply(Bytes raw, Type type, DimsView start, DimsView count) override
    {
        types.push_back(type);
        boxes.push_back({Dims(start.begin(), start.end()), Dims(count.begin(), count.end())});
        if (kept_ == 0) return std::nullopt;
        memory_.assign(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(kept_));
        return memory_;
    }
    std::vector<Type> types;
    std::vector<std::pair<Dims, Dims>> boxes;

private:
    std::size_t kept_;
    Codec codec_;
    std::vector<std::byte> memory_;
};

class OperatedStream : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
    std::vector<float> values = std::vector<float>(600, 1.5F);

    // Two blocks of {2, 300} of a shape {4, 300}, the second in memory of the library; and a plain one.
    void write(const std::shared_ptr<BlockOperator>& through)
    {
        Writer writer(location, {}, self_communicator());
        const auto field = writer.define("field", Type::float32, ShapeKind::global_array);
        const auto plain = writer.define("plain", Type::float32, ShapeKind::local_array);
        writer.operate(field, through);
        for (int step = 0; step < 2; ++step) {
            writer.begin_step();
            writer.put(field, Dims{4, 300}, Dims{0, 0}, Dims{2, 300}, values.data(), Mode::sync);
            const auto span = writer.put_span(field, Dims{4, 300}, Dims{2, 0}, Dims{2, 300});
            std::ranges::copy(std::as_bytes(std::span(values)), span.begin());
            writer.put(plain, {}, {}, Dims{600}, values.data());
            writer.end_step();
            writer.operate(field, nullptr); // the second step goes through none
        }
        writer.close();
    }
    Reader reader() const
    {
        ReaderOptions random;
        random.mode = ReadMode::random_access;
        return {location, random, self_communicator()};
    }
    std::string error_of_get(Reader& from, std::uint64_t step) const
    {
        std::vector<float> got(1200);
        try {
            from.get(from.find("field").value(), Dims{0, 0}, Dims{4, 300}, got.data(), Mode::sync, step);
        } catch (const Error& error) {
            return std::to_string(error.code()) + " " + error.what();
        }
        return "";
    }
};

TEST_F(OperatedStream, TheOperatorSeesBlocksAndTheReadersOperatorWhatItMade)
{
    const auto truncate = std::make_shared<Truncate>(40);
    write(truncate);
    EXPECT_EQ(truncate->types, (std::vector{Type::float32, Type::float32}));
    ASSERT_EQ(truncate->boxes.size(), 2U);
    EXPECT_EQ(truncate->boxes[0], (std::pair{Dims{0, 0}, Dims{2, 300}}));
    EXPECT_EQ(truncate->boxes[1], (std::pair{Dims{2, 0}, Dims{2, 300}}));
    EXPECT_EQ(check_streams(location, true).streams.at(0).data_bytes, 2 * 40 + 4 * 2400U);

    Reader from = reader();
    std::size_t undone = 0;
    from.undo_operators(
        [&](VariableId id, Codec codec, Bytes stored, MutableBytes raw, const std::string& what) {
            EXPECT_EQ(from.definitions()[id].name, "field");
            EXPECT_EQ(codec, zfp);
            EXPECT_EQ(stored.size(), 40U);
            EXPECT_EQ(raw.size(), 2400U);
            EXPECT_NE(what.find("'field' in step 0"), std::string::npos) << what;
            for (std::size_t at = 0; at < raw.size(); at += stored.size())
                std::ranges::copy(stored, raw.begin() + static_cast<std::ptrdiff_t>(at));
            ++undone;
        });
    std::vector<float> got(1200);
    for (const std::uint64_t step : {0, 1}) {
        std::ranges::fill(got, 0.0F);
        from.get(from.find("field").value(), Dims{0, 0}, Dims{4, 300}, got.data(), Mode::sync, step);
        EXPECT_TRUE(std::ranges::all_of(got, [](float one) { return one == 1.5F; }));
    }
    EXPECT_EQ(undone, 2U);
    from.get(from.find("field").value(), Dims{1, 7}, Dims{2, 5}, got.data(), Mode::sync, 0);
    EXPECT_EQ(undone, 4U);
    // Of the values that were put, not of what the operator made of them.
    EXPECT_EQ(from.minmax(from.find("field").value(), 0)->max.as<float>(), 1.5F);
}

TEST_F(OperatedStream, WithoutTheOperatorItIsNamed)
{
    write(std::make_shared<Truncate>(40));
    Reader from = reader();
    const std::string refused = error_of_get(from, 0);
    for (const char* part : {"'field'", "step 0", "operator zfp", "ADIOS2"})
        EXPECT_NE(refused.find(part), std::string::npos) << refused;
    EXPECT_TRUE(refused.starts_with(std::to_string(-DER_NOSYS))) << refused;
    EXPECT_EQ(error_of_get(from, 1), "");
    std::vector<float> got(600);
    from.get_block(from.find("plain").value(), 0, {}, {}, got.data(), Mode::sync, 0);
    EXPECT_EQ(got, values);
    EXPECT_EQ(name_of(operator_codec(99)), "ADIOS2's operator 99");
}

TEST_F(OperatedStream, AnOperatorThatDoesNothingLeavesTheBlockAsItIs)
{
    write(std::make_shared<Truncate>(0));
    Reader from = reader();
    EXPECT_EQ(error_of_get(from, 0), "");
}

TEST_F(OperatedStream, DataThatIsLeftOutIsNamedAndMinimumAndMaximumStay)
{
    write(leaving_data_out());
    const auto report = check_streams(location, true);
    EXPECT_FALSE(report.damaged());
    EXPECT_EQ(report.streams.at(0).data_bytes, 4 * 2400U);
    Reader from = reader();
    const std::string refused = error_of_get(from, 0);
    for (const char* part : {"'field'", "step 0", "block 0", "only minimum and maximum"})
        EXPECT_NE(refused.find(part), std::string::npos) << refused;
    EXPECT_TRUE(refused.starts_with(std::to_string(-DER_ENOENT))) << refused;
    EXPECT_EQ(error_of_get(from, 1), "");
    EXPECT_EQ(from.minmax(from.find("field").value(), 0)->max.as<float>(), 1.5F);
    EXPECT_EQ(from.shape(from.find("field").value(), 0), (Dims{4, 300}));
}

TEST_F(OperatedStream, BesideDataThatIsLeftOutTheRestIsRead)
{
    {
        Writer writer(location, {}, self_communicator());
        const auto field = writer.define("field", Type::float32, ShapeKind::global_array);
        writer.begin_step();
        writer.operate(field, leaving_data_out());
        writer.put(field, Dims{4, 300}, Dims{0, 0}, Dims{2, 300}, values.data());
        writer.operate(field, nullptr);
        writer.put(field, Dims{4, 300}, Dims{2, 0}, Dims{2, 300}, values.data());
        writer.end_step();
        writer.close();
    }
    Reader from = reader();
    std::vector<float> got(600);
    from.get(from.find("field").value(), Dims{2, 0}, Dims{2, 300}, got.data(), Mode::sync, 0);
    EXPECT_EQ(got, values);
    EXPECT_THROW(from.get(from.find("field").value(), Dims{1, 0}, Dims{2, 300}, got.data(), Mode::sync, 0),
                 Error);
}

// A get that is refused at its third block leaves nothing that goes into its memory later, beside others that
// wait: whole blocks, parts of them, and compressed ones.
TEST_F(OperatedStream, AGetThatIsRefusedLeavesNoReadOfItsMemory)
{
    {
        Writer writer(location, {}, self_communicator());
        const auto field = writer.define("field", Type::float32, ShapeKind::global_array);
        writer.begin_step();
        const auto put = [&](std::uint64_t row) {
            writer.put(field, Dims{6, 300}, Dims{row, 0}, Dims{2, 300}, values.data());
        };
        put(0);
        writer.compress(field, {CompressionMethod::zstd, 1});
        put(2);
        writer.operate(field, leaving_data_out());
        put(4);
        writer.end_step();
        writer.close();
    }
    for (const Dims& start : {Dims{0, 0}, Dims{0, 100}}) {
        Reader from = reader();
        const auto field = from.find("field").value();
        const Dims rows{2, 300 - start[1]};
        std::vector<float> got(2 * rows[1]), refused(3 * got.size(), -7), untouched = refused;
        from.get(field, start, rows, got.data(), Mode::deferred, 0);
        EXPECT_THROW(from.get(field, start, Dims{6, rows[1]}, refused.data(), Mode::deferred, 0), Error);
        from.perform_gets();
        EXPECT_EQ(refused, untouched);
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(got[i], values[i / rows[1] * 300 + start[1] + i % rows[1]]) << i;
    }
}

// Of each type, and beside an element that lies in the metadata. Their memory is never looked at.
TEST_F(OperatedStream, ExtremesAreLeftOutTooWhereTheMemoryIsNotLookedAt)
{
    const std::vector types{Type::int8,     Type::int16,     Type::int32,    Type::int64,   Type::uint8,
                            Type::uint16,   Type::uint32,    Type::uint64,   Type::float32, Type::float64,
                            Type::float128, Type::complex64, Type::character};
    const void* nothing = reinterpret_cast<const void*>(8);
    {
        Writer writer(location, {}, self_communicator());
        writer.begin_step();
        for (const Type type : types) {
            const auto id = writer.define(name_of(type), type, ShapeKind::local_array);
            writer.operate(id, leaving_all_out());
            for (const Mode mode : {Mode::sync, Mode::deferred})
                writer.put(id, {}, {}, Dims{100000}, nothing, mode);
            writer.put(id, {}, {}, Dims{7}, nothing);
            writer.put(id, {}, {}, Dims{1}, values.data(), Mode::sync);
        }
        writer.end_step();
        writer.close();
    }
    EXPECT_FALSE(check_streams(location, true).damaged());
    Reader from = reader();
    for (const Type type : types) {
        const auto blocks = from.blocks(from.find(name_of(type)).value(), 0);
        ASSERT_EQ(blocks.size(), 4U) << name_of(type);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_FALSE(blocks[i].minmax) << name_of(type);
            EXPECT_TRUE(blocks[i].left_out) << name_of(type);
        }
        EXPECT_FALSE(blocks[3].left_out) << name_of(type);
        EXPECT_EQ(blocks[3].minmax.has_value(), has_minmax(type)) << name_of(type);
    }
}

TEST_F(OperatedStream, WhatADerivedVariableIsMadeOfIsNamed)
{
    {
        Writer writer(location, {}, self_communicator());
        const auto field = writer.define("field", Type::float32, ShapeKind::global_array);
        writer.operate(field, leaving_data_out());
        const std::vector<std::string> expression{"sqrt(plain)"};
        writer.attribute(expression_attribute("field"), expression);
        writer.begin_step();
        writer.put(field, Dims{4, 300}, Dims{0, 0}, Dims{2, 300}, values.data());
        writer.end_step();
        writer.close();
    }
    Reader from = reader();
    EXPECT_TRUE(from.blocks(from.find("field").value(), 0).at(0).left_out);
    const std::string refused = error_of_get(from, 0);
    EXPECT_NE(refused.find("derives it from other variables (sqrt(plain))"), std::string::npos) << refused;
}

// The memory is filled later, so they are believed.
TEST_F(OperatedStream, ExtremesThatTheProgramKnowsAreStored)
{
    const MinMax known{Scalar::of(-3.0F), Scalar::of(4.0F)};
    {
        Writer writer(location, {}, self_communicator());
        const auto field = writer.define("field", Type::float32, ShapeKind::local_array);
        writer.begin_step();
        for (const std::uint64_t elements : {600, 1, 0}) {
            const auto span = writer.put_span(field, {}, {}, Dims{elements}, &known);
            std::ranges::copy(std::as_bytes(std::span(values)).first(span.size()), span.begin());
        }
        writer.end_step();
        writer.close();
    }
    Reader from = reader();
    const auto blocks = from.blocks(from.find("field").value(), 0);
    EXPECT_EQ(blocks.at(0).minmax->min.as<float>(), -3.0F);
    EXPECT_EQ(blocks.at(0).minmax->max.as<float>(), 4.0F);
    EXPECT_EQ(blocks.at(1).minmax->max.as<float>(), 1.5F); // its element
    EXPECT_FALSE(blocks.at(2).minmax);
}

// The null operator of ADIOS2: its header, then the bytes. One byte of it is too short here.
TEST_F(OperatedStream, NullIsUndoneAndCheckedForItsLength)
{
    std::vector<std::byte> made(12 + values.size() * sizeof(float));
    made[0] = std::byte{127};
    std::memcpy(made.data() + 12, values.data(), made.size() - 12);
    std::vector<float> got(600);
    decompress(Codec::adios2_null, made, std::as_writable_bytes(std::span(got)), "the block");
    EXPECT_EQ(got, values);
    made.pop_back();
    EXPECT_THROW(decompress(Codec::adios2_null, made, std::as_writable_bytes(std::span(got)), "the block"),
                 Error);
}

#if STEPSTORE_HAVE_BLOSC2
// As ADIOS2's blosc writes it: number 0, version 1, 2 bytes of nothing; length; C-Blosc2's version in 3
// bytes; 4 bytes of nothing, the number of chunks; the chunks.
TEST_F(OperatedStream, BloscIsUndone)
{
    const Bytes raw = std::as_bytes(std::span(values));
    std::vector<std::byte> made(23 + raw.size() + BLOSC2_MAX_OVERHEAD);
    made[1] = std::byte{1};
    made[19] = std::byte{1};
    blosc2_init();
    const int length =
        blosc2_compress(5, BLOSC_SHUFFLE, sizeof(float), raw.data(), static_cast<std::int32_t>(raw.size()),
                        made.data() + 23, static_cast<std::int32_t>(made.size() - 23));
    ASSERT_GT(length, 0);
    made.resize(23 + static_cast<std::size_t>(length));
    std::vector<float> got(600);
    const MutableBytes to = std::as_writable_bytes(std::span(got));
    decompress(Codec::adios2_blosc, made, to, "the block");
    EXPECT_EQ(got, values);
    for (const std::size_t kept : {std::size_t{0}, std::size_t{22}, std::size_t{30}, made.size() - 1})
        EXPECT_THROW(decompress(Codec::adios2_blosc, Bytes(made).first(kept), to, "the block"), Error);
}
#endif

} // namespace
} // namespace stepstore::steps::testing
