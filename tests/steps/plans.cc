// Steps that refer to plans of steps before, blocks that lie in the metadata, and how a reader tells that
// nothing but values is new.
#include "metadata_fixture.h"
#include "steps/read/step_metadata.h"
#include "stepstore/error.h"

#include <complex>

namespace stepstore::steps {
namespace {

TEST_F(MetadataOfRanks, ASingleElementLiesInTheMetadataAlone)
{
    const std::uint64_t one[] = {1, 1}, ten[] = {10};
    const double value = 4.5;
    const std::complex<double> number(1, -2);
    for (const bool statistics : {true, false}) {
        Encoder of(generation, 0, statistics);
        const auto x = of.define("x", Type::float64, ShapeKind::local_array);
        const auto c = of.define("c", Type::complex128, ShapeKind::local_array);
        of.begin_step(1000);
        of.set_element(of.add_block(x, {}, {}, one, 8), reinterpret_cast<const std::byte*>(&value));
        of.add_block(x, {}, {}, ten, 80, true); // placed, and so are all behind it that have data
        of.place(1, 80, Codec::none, 0);
        of.set_element(of.add_block(c, {}, {}, one, 16, true), reinterpret_cast<const std::byte*>(&number));
        EXPECT_EQ(of.data_length(), 80u);
        const Bytes metadata = of.finish(0);
        Decoder decoder(generation, 1);
        const auto none = [](std::uint64_t, std::uint32_t, MetadataPart) { return std::vector<std::byte>(); };
        const auto step = decoder.install(step_of(0, {metadata.begin(), metadata.end()}), none);
        const RankStep& part = step->ranks[0];
        EXPECT_EQ(part.header.flags & metadata_inline, metadata_inline);
        EXPECT_TRUE(part.is_inline(0) && !part.is_inline(1) && part.is_inline(2));
        EXPECT_EQ(std::memcmp(part.value(0).data(), &value, 8), 0);
        ASSERT_EQ(part.value(2).size(), 16u);
        EXPECT_EQ(std::memcmp(part.value(2).data(), &number, 16), 0);
        EXPECT_EQ(part.place(0).length, 0u);
        EXPECT_EQ(part.place(1).at, 1000u);
        EXPECT_EQ(part.minmax(0).has_value(), statistics);
    }
}

// As metadata of version 2 has them.
TEST(Plan, ASingleElementThatIsNotInlineHasDataAsAnyBlock)
{
    std::vector<PlanEntry> entries(2);
    entries[0].flags = entries[1].flags = entry_is_single;
    entries[0].dimensions = entries[1].dimensions = 1;
    const std::uint64_t dims[] = {1};
    const LocalType types[] = {{Type::float64, ShapeKind::local_array, 8},
                               {Type::float32, ShapeKind::local_array, 4}};
    entries[1].variable = 1;
    std::vector<std::byte> bytes;
    encode_plan(entries, dims, true, bytes);
    const Plan plan = decode_plan(bytes, types, "a plan");
    EXPECT_EQ(plan.data_at, (std::vector<std::uint64_t>{0, 8, 12}));
    EXPECT_EQ(plan.fixed_bytes, 12u);
    entries[0].flags |= entry_is_inline;
    bytes.clear();
    encode_plan(entries, dims, true, bytes);
    EXPECT_EQ(decode_plan(bytes, types, "a plan").data_at, (std::vector<std::uint64_t>{0, 0, 4}));
    const int impossible[] = {entry_is_inline, entry_is_inline | entry_is_single | entry_is_placed};
    for (const int flags : impossible) {
        entries[0].flags = static_cast<std::uint8_t>(flags);
        bytes.clear();
        encode_plan(entries, dims, true, bytes);
        EXPECT_THROW(decode_plan(bytes, types, "a plan"), Error);
    }
}

// Which puts a step shares with the step before, from its first on, makes no difference to what it says.
TEST_F(MetadataOfRanks, AStepMayLeaveThePlanOfTheStepBeforeAnywhere)
{
    const auto x = encoder.define("x", Type::float64, ShapeKind::global_array);
    const auto n = encoder.define("n", Type::int32, ShapeKind::global_value);
    const auto s = encoder.define("s", Type::string, ShapeKind::local_value);
    struct Put {
        char variable;
        std::uint64_t start, count;
    };
    const std::vector<std::vector<Put>> steps = {
        {{'x', 0, 5}, {'n', 0, 0}, {'x', 5, 5}, {'s', 0, 0}, {'x', 10, 1}}, // a plan
        {{'x', 0, 5}, {'n', 0, 0}, {'x', 5, 5}, {'s', 0, 0}, {'x', 10, 1}}, // the same
        {{'x', 0, 5}, {'n', 0, 0}, {'x', 6, 4}, {'s', 0, 0}, {'x', 10, 1}}, // one block differs: an override
        {{'x', 0, 5}, {'n', 0, 0}, {'x', 5, 5}},                            // ends early
        {{'x', 0, 5}, {'n', 0, 0}, {'x', 5, 5}, {'s', 0, 0}},               // goes on
        {},                                                                 // nothing
        {{'s', 0, 0}, {'x', 0, 5}},                                         // differs from the first
        {{'x', 0, 5}, {'n', 0, 0}, {'x', 5, 5}, {'s', 0, 0}, {'x', 10, 1}}, // the first again
        {{'x', 0, 5}, {'n', 0, 0}, {'x', 5, 5}, {'s', 0, 0}, {'x', 10, 2}}, // other flags in the last
    };
    Decoder decoder(generation, 1);
    for (std::uint64_t step = 0; step < steps.size(); ++step) {
        encoder.begin_step(1000 * step);
        std::uint64_t length = 0;
        for (const Put& one : steps[step]) {
            const auto value = static_cast<std::int32_t>(100 + step);
            if (one.variable == 'x') put(x, one.start, one.count, static_cast<double>(step), 99);
            if (one.variable == 'n') encoder.add_value(n, &value);
            if (one.variable == 's') encoder.add_string(s, "step " + std::to_string(step));
            if (one.variable == 'x' && one.count > 1) length += one.count * 8;
        }
        EXPECT_EQ(encoder.entries(), steps[step].size());
        EXPECT_EQ(encoder.data_length(), length);
        finish(step);
        const auto installed = install(decoder, step);
        const RankStep& part = installed->ranks[0];
        ASSERT_EQ(part.header.entries, steps[step].size());
        std::uint64_t at = 1000 * step;
        for (std::uint32_t entry = 0; entry < part.header.entries; ++entry) {
            const Put& one = steps[step][entry];
            if (one.variable == 'n') {
                EXPECT_EQ(load_little<std::uint32_t>(part.value(entry).data()), 100 + step);
                continue;
            }
            if (one.variable == 's') {
                EXPECT_EQ(as_text(part.value(entry)), "step " + std::to_string(step));
                continue;
            }
            EXPECT_EQ(part.geometry(entry).start[0], one.start);
            EXPECT_EQ(part.geometry(entry).count[0], one.count);
            EXPECT_EQ(part.minmax(entry)->min.as<double>(), static_cast<double>(step));
            EXPECT_EQ(part.is_inline(entry), one.count == 1);
            if (one.count == 1) continue;
            EXPECT_EQ(part.minmax(entry)->max.as<double>(), 99);
            EXPECT_EQ(part.place(entry).at, at);
            at += one.count * 8;
        }
    }
    EXPECT_EQ(stored[1].size(), stored[7].size()); // no plan in either
    EXPECT_LT(stored[2].size(), stored[1].size() + 12);
}

TEST_F(MetadataOfRanks, AGeometryIsTheSameAsLongAsThePlanIs)
{
    const auto x = encoder.define("x", Type::float64, ShapeKind::global_array);
    GeometryWatch watch;
    Decoder decoder(generation, 1);
    const std::uint64_t counts[] = {5, 5, 6, 6, 5, 5}; // 6: overrides of the plan of 5
    const bool changes[] = {true, false, true, true, true, false};
    for (std::uint64_t step = 0; step < 6; ++step) {
        encoder.begin_step(0);
        put(x, 0, counts[step], static_cast<double>(step), 7);
        for (std::uint64_t i = 0; i < 4; ++i)
            put(x, 10 * i, 10, 0, 1);
        if (step == 5) encoder.attribute(step, {"a", Type::int8, false, 1, std::vector<std::byte>(1), {}});
        finish(step);
        const auto installed = install(decoder, step);
        const std::uint64_t before = watch.changes();
        watch.look(*installed);
        // An attribute makes new definitions, which may be variables: then it is looked at.
        EXPECT_EQ(watch.changes() > before, changes[step] || step == 5) << "step " << step;
        EXPECT_EQ(largest_block(*installed, 0), (Dims{10}));
    }
}

} // namespace
} // namespace stepstore::steps
