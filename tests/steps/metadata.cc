// Encoder and decoder alone: what goes in comes out, in few bytes, and whatever bytes are given end in a
// value or in an Error.
#include "base/checksum.h"
#include "base/wire.h"
#include "metadata_fixture.h"
#include "steps/metadata/decoder.h"
#include "steps/metadata/encoder.h"

#include <gtest/gtest.h>

#include <random>

namespace stepstore::steps {
namespace {

TEST_F(MetadataOfRanks, GivesBackValuesBlocksAndPlaces)
{
    const auto x = encoder.define("x", Type::float64, ShapeKind::global_array);
    const auto n = encoder.define("n", Type::int32, ShapeKind::global_value);
    const auto s = encoder.define("s", Type::string, ShapeKind::local_value);
    encoder.begin_step(4096);
    put(x, 10, 5, -1.5, 2.5);
    const int value = 42, replaced = 41;
    encoder.add_value(n, &replaced);
    encoder.add_value(n, &value);
    encoder.add_string(s, "ångström");
    put(x, 20, 3, 0, 1);
    finish(0);

    Decoder decoder(generation, 1);
    const auto step = install(decoder, 0);
    const RankStep& part = step->ranks[0];
    ASSERT_EQ(decoder.dictionary().variables().size(), 3u);
    const auto id = decoder.dictionary().find("x");
    const std::uint32_t first = part.first_of(id), second = part.next(first);
    EXPECT_EQ(part.place(first).at, 4096u);
    EXPECT_EQ(part.place(second).at, 4096u + 40);
    EXPECT_EQ(part.geometry(second).start[0], 20u);
    EXPECT_EQ(part.geometry(second).count[0], 3u);
    EXPECT_EQ(part.geometry(first).shape[0], 100u);
    EXPECT_EQ(part.minmax(first)->min.as<double>(), -1.5);
    EXPECT_EQ(part.minmax(first)->max.as<double>(), 2.5);
    EXPECT_EQ(part.next(second), Plan::none);
    EXPECT_EQ(load_little<std::uint32_t>(part.value(part.first_of(decoder.dictionary().find("n"))).data()),
              42u);
    EXPECT_EQ(as_text(part.value(part.first_of(decoder.dictionary().find("s")))), "ångström");
}

TEST_F(MetadataOfRanks, StoresOnlyWhatChanged)
{
    constexpr int variables = 640;
    for (int i = 0; i < variables; ++i)
        encoder.define("component/variable_" + std::to_string(i), Type::float32, ShapeKind::global_array);
    for (std::uint64_t step = 0; step < 3; ++step) {
        encoder.begin_step(step * 1000);
        const std::uint64_t shape[] = {4096}, start[] = {64}, count[] = {64};
        for (VariableId id = 0; id < variables; ++id)
            encoder.add_block(id, shape, start, count, 256);
        finish(step);
    }
    EXPECT_GT(stored[0].size(), 15000u); // names and geometry
    EXPECT_EQ(stored[1].size(),
              metadata_header_size + variables * 2 * 4); // min and max alone: 5 KB, where BP5 needs 58
    EXPECT_EQ(stored[2].size(), stored[1].size());
}

TEST_F(MetadataOfRanks, ASingleElementIsItsOwnMinimumAndMaximum)
{
    const auto x = encoder.define("x", Type::float64, ShapeKind::global_array);
    const std::uint64_t counts[] = {1, 1, 2, 1, 0};
    for (std::uint64_t step = 0; step < 5; ++step) {
        encoder.begin_step(0);
        put(x, 3, counts[step], static_cast<double>(step), counts[step] == 2 ? 9 : static_cast<double>(step));
        finish(step);
    }
    EXPECT_EQ(stored[1].size(), metadata_header_size + 8);  // the plan of step 0
    EXPECT_GT(stored[2].size(), metadata_header_size + 16); // another: with two places
    EXPECT_EQ(stored[3].size(), metadata_header_size + 8);  // the plan of step 0 again
    Decoder decoder(generation, 1);
    for (std::uint64_t step = 0; step < 5; ++step) {
        const auto installed = install(decoder, step);
        const RankStep& part = installed->ranks[0];
        const auto minmax = part.minmax(part.first_of(decoder.dictionary().find("x")));
        EXPECT_EQ((part.header.flags & metadata_singles) != 0, counts[step] == 1);
        ASSERT_EQ(minmax.has_value(), counts[step] > 0);
        if (!minmax) continue;
        EXPECT_EQ(minmax->min.as<double>(), static_cast<double>(step));
        EXPECT_EQ(minmax->max.as<double>(), step == 2 ? 9 : static_cast<double>(step));
    }
}

TEST_F(MetadataOfRanks, PlacedBlocksLieWhereTheStepSaysBehindThoseThatAreNot)
{
    const auto x = encoder.define("x", Type::float64, ShapeKind::global_array);
    const std::uint64_t shape[] = {100}, start[] = {0}, count[] = {100}, none[] = {0};
    for (std::uint64_t step = 0; step < 2; ++step) {
        encoder.begin_step(1000 * step);
        put(x, 0, 10, 0, 1);
        const auto first = encoder.add_block(x, shape, start, count, 800, true);
        // all are placed from the first on
        const auto second = encoder.add_block(x, shape, start, count, 800);
        const auto empty = encoder.add_block(x, shape, start, none, 0);
        EXPECT_EQ(encoder.place(second, 800, Codec::none, 0), 1000 * step + 80);
        EXPECT_EQ(encoder.place(first, 300 + step, Codec::zstd, 77), 1000 * step + 880);
        EXPECT_EQ(encoder.place(empty, 0, Codec::none, 0), 1000 * step + 1180 + step);
        finish(step);
    }
    MetadataHeader header;
    inspect_metadata(stored[1], header);
    EXPECT_EQ(header.plan_step, 0u); // lengths change, the plan does not
    EXPECT_NE(header.flags & metadata_placed, 0);
    EXPECT_EQ(stored[1][4], std::byte{2}); // what reads version 1 alone refuses it
    Decoder decoder(generation, 1);
    for (std::uint64_t step = 0; step < 2; ++step) {
        const auto installed = install(decoder, step);
        const RankStep& part = installed->ranks[0];
        EXPECT_EQ(part.place(0).at, 1000 * step);
        EXPECT_EQ(part.place(0).length, 80u);
        EXPECT_EQ(part.place(1).at, 1000 * step + 880);
        EXPECT_EQ(part.place(1).length, 300 + step);
        EXPECT_EQ(part.place(1).codec, Codec::zstd);
        EXPECT_EQ(part.place(1).checksum, 77u);
        EXPECT_EQ(part.raw_bytes(1), 800u);
        EXPECT_EQ(part.place(2).codec, Codec::none);
        EXPECT_EQ(part.place(2).at, 1000 * step + 80);
        EXPECT_EQ(part.place(3).length, 0u);
    }
}

TEST_F(MetadataOfRanks, APlaceThatCannotHoldItsBlockIsDamage)
{
    const auto x = encoder.define("x", Type::float64, ShapeKind::local_array);
    const std::uint64_t count[] = {std::uint64_t{1} << 40};
    Decoder decoder(generation, 1);
    for (std::uint64_t step = 0; step < 2; ++step) {
        encoder.begin_step(0);
        const auto entry = encoder.add_block(x, {}, {}, count, 8 * count[0], true);
        encoder.place(entry, 100, step == 0 ? Codec::zstd : Codec::none, 0);
        finish(step);
        EXPECT_THROW(install(decoder, step)->ranks[0].place(0), Error);
    }
}

TEST_F(MetadataOfRanks, AChangedBlockCostsFewBytesAndMovesTheDataBehindIt)
{
    std::vector<VariableId> ids;
    for (int i = 0; i < 100; ++i)
        ids.push_back(encoder.define("v" + std::to_string(i), Type::float64, ShapeKind::global_array));
    for (std::uint64_t step = 0; step < 4; ++step) {
        encoder.begin_step(0);
        for (const VariableId id : ids)
            put(id, 0, id == 50 ? 10 + step : 10, 0, 1);
        finish(step);
    }
    EXPECT_LE(stored[3].size(), metadata_header_size + 100 * 16 + 8);
    Decoder decoder(generation, 1);
    for (std::uint64_t step = 0; step < 4; ++step) {
        const auto installed = install(decoder, step);
        const RankStep& part = installed->ranks[0];
        const auto at = [&](const char* name) { return part.first_of(decoder.dictionary().find(name)); };
        EXPECT_EQ(part.geometry(at("v50")).count[0], 10 + step);
        EXPECT_EQ(part.geometry(at("v51")).count[0], 10u);
        EXPECT_EQ(part.place(at("v50")).at, 50u * 80);
        EXPECT_EQ(part.place(at("v51")).at, 50u * 80 + 80 + 8 * step);
    }
    EXPECT_EQ(fetched, 0);
}

TEST_F(MetadataOfRanks, AlternatingSequencesKeepTheirPlans)
{
    const auto a = encoder.define("a", Type::float64, ShapeKind::global_array);
    const auto b = encoder.define("b", Type::float64, ShapeKind::global_array);
    for (std::uint64_t step = 0; step < 10; ++step) {
        encoder.begin_step(0);
        put(a, 0, 1, 0, 0);
        if (step % 2 == 0) put(b, 0, 1, 0, 0);
        finish(step);
    }
    EXPECT_EQ(stored[9].size(), metadata_header_size + 8);
    EXPECT_EQ(stored[8].size(), metadata_header_size + 16);
}

// A reader that starts at any step finds all definitions and the plan in the metadata of few steps.
TEST_F(MetadataOfRanks, AReaderMayStartAnywhere)
{
    constexpr std::uint64_t steps = 200;
    for (std::uint64_t step = 0; step < steps; ++step) {
        const auto id = encoder.define("v" + std::to_string(step), Type::float64, ShapeKind::global_array);
        encoder.attribute(
            step, {"newest", Type::uint64, false, 1, {std::vector<std::byte>(8, std::byte(step))}, {}});
        encoder.begin_step(0);
        put(id, 0, 1, 0, 0);
        finish(step);
    }
    for (const std::uint64_t step : {0u, 1u, 63u, 64u, 127u, 150u, 199u}) {
        fetched = 0;
        Decoder decoder(generation, 1);
        const auto installed = install(decoder, step);
        EXPECT_EQ(decoder.dictionary().variables().size(), step + 1) << "from step " << step;
        EXPECT_LE(fetched, 8) << "from step " << step;
        for (std::uint64_t v = 0; v <= step; ++v)
            EXPECT_EQ(decoder.dictionary().variables()[v].name, "v" + std::to_string(v));
        EXPECT_EQ(decoder.dictionary().attribute("newest", step)->data[0], std::byte(step));
        EXPECT_EQ(decoder.dictionary().attribute("newest", step / 2)->data[0], std::byte(step / 2));
    }
}

TEST_F(MetadataOfRanks, TheSameAttributeAgainCostsNothing)
{
    for (std::uint64_t step = 0; step < 3; ++step) {
        encoder.attribute(step, {"units", Type::string, false, 1, {}, {step == 2 ? "km" : "m"}});
        encoder.begin_step(0);
        finish(step);
    }
    EXPECT_GT(stored[0].size(), metadata_header_size);
    EXPECT_EQ(stored[1].size(), metadata_header_size);
    Decoder decoder(generation, 1);
    for (std::uint64_t step = 0; step < 3; ++step)
        install(decoder, step);
    EXPECT_EQ(decoder.dictionary().attribute("units", 1)->strings, std::vector<std::string>{"m"});
    EXPECT_EQ(decoder.dictionary().attribute("units", 2)->strings, std::vector<std::string>{"km"});
    EXPECT_EQ(decoder.dictionary().attribute("unit", 2), nullptr);
}

TEST_F(MetadataOfRanks, RefusesAnotherDefinitionOfTheSameName)
{
    const auto id = encoder.define("x", Type::float64, ShapeKind::global_array);
    EXPECT_EQ(encoder.define("x", Type::float64, ShapeKind::global_array), id);
    try {
        encoder.define("x", Type::float32, ShapeKind::global_array);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_INVAL);
        EXPECT_NE(std::string(error.what()).find("'x'"), std::string::npos);
    }
    EXPECT_THROW(encoder.define("", Type::float64, ShapeKind::global_array), Error);
    EXPECT_THROW(encoder.define("s", Type::string, ShapeKind::global_array), Error);
    EXPECT_THROW(encoder.variable(9), Error);
}

TEST_F(MetadataOfRanks, RanksThatDefineDifferentlyAreNamedWhenTheVariableIsUsed)
{
    Encoder other(generation, 1, true);
    encoder.define("x", Type::float64, ShapeKind::global_value);
    other.define("x", Type::int32, ShapeKind::global_value);
    other.define("y", Type::int32, ShapeKind::global_value);
    encoder.begin_step(0);
    other.begin_step(0);
    const Bytes a = encoder.finish(0), b = other.finish(0);
    StepMetadata both;
    both.bytes.assign(a.begin(), a.end());
    both.bytes.insert(both.bytes.end(), b.begin(), b.end());
    both.divide(std::vector<std::uint64_t>{a.size(), b.size()});
    Decoder decoder(generation, 2);
    decoder.install(std::move(both),
                    [](std::uint64_t, std::uint32_t, MetadataPart) { return std::vector<std::byte>(); });
    EXPECT_NO_THROW(decoder.dictionary().check(decoder.dictionary().find("y")));
    try {
        decoder.dictionary().check(decoder.dictionary().find("x"));
        FAIL();
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("'x'"), std::string::npos);
        EXPECT_NE(text.find("rank 1"), std::string::npos);
    }
}

TEST_F(MetadataOfRanks, EveryFlippedBitIsFound)
{
    const auto id = encoder.define("x", Type::float64, ShapeKind::global_array);
    encoder.begin_step(0);
    put(id, 0, 10, 1, 2);
    finish(0);
    for (std::size_t bit = 0; bit < stored[0].size() * 8; ++bit) {
        std::vector<std::byte> damaged = stored[0];
        damaged[bit / 8] ^= std::byte{1} << (bit % 8);
        Decoder decoder(generation, 1);
        EXPECT_THROW(
            decoder.install(step_of(0, damaged), [](std::uint64_t, std::uint32_t,
                                                    MetadataPart) { return std::vector<std::byte>(); }),
            Error)
            << "bit " << bit;
    }
}

// Asks everything there is to ask.
void walk(const InstalledStep& step)
{
    for (const RankStep& part : step.ranks)
        for (std::uint32_t entry = 0; entry < part.header.entries; ++entry) {
            if (part.entry(entry).flags & entry_is_value)
                part.value(entry);
            else
                part.minmax(entry), part.place(entry);
            if (part.is_inline(entry)) part.value(entry);
        }
}

// Damage that the checksums do not show (they are made anew): any result but a crash, checked by the
// sanitizers.
TEST_F(MetadataOfRanks, SurvivesLiesUnderGoodChecksums)
{
    const auto x = encoder.define("x", Type::float64, ShapeKind::global_array);
    const auto s = encoder.define("s", Type::string, ShapeKind::global_value);
    const Structure pair{"pair", 24, {{"a", 0, Type::int32, 2}, {"b", 16, Type::float64, 1}}};
    const auto p =
        encoder.define("p", Type::structure, ShapeKind::local_value, std::make_shared<const Structure>(pair));
    const auto q =
        encoder.define("q", Type::structure, ShapeKind::local_array, std::make_shared<const Structure>(pair));
    for (std::uint64_t step = 0; step < 3; ++step) {
        encoder.attribute(step,
                          {"a", Type::float64, true, 2, std::vector<std::byte>(16, std::byte(step)), {}});
        encoder.begin_step(0);
        for (std::uint64_t i = 0; i < 8; ++i)
            put(x, i, i == 3 ? 5 + step : i == 6 ? 1 : 5, 1, 2);
        const std::uint64_t shape[] = {100}, start[] = {0}, count[] = {100};
        encoder.place(encoder.add_block(x, shape, start, count, 800, true), 300, Codec::zstd, 7);
        encoder.add_string(s, "text");
        encoder.add_value(p, std::vector<std::byte>(24).data());
        const std::uint64_t bytes = 24 * (3 + step);
        encoder.place(encoder.add_block(q, {}, {}, Dims{3 + step}, bytes, true), bytes, Codec::none, 0);
        finish(step);
    }
    std::mt19937_64 random(20261121);
    int refused = 0, accepted = 0;
    for (int round = 0; round < 60000; ++round) {
        const std::uint64_t step = random() % 3;
        std::vector<std::byte> metadata = stored[step];
        MetadataHeader header;
        ASSERT_EQ(inspect_metadata(metadata, header), MetadataState::whole);
        for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
            metadata[metadata_header_size + random() % (metadata.size() - metadata_header_size)] =
                std::byte(random() % 4 == 0 ? 0xff : random());
        if (random() % 4 == 0) {
            std::uint32_t* fields[] = {&header.batches,          &header.plan_bytes, &header.override_bytes,
                                       &header.fixed_bytes,      &header.tail_bytes, &header.entries,
                                       &header.definitions_bytes};
            *fields[random() % std::size(fields)] =
                static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % 64);
            if (random() % 4 == 0) header.plan_step = random() % 5;
            if (random() % 4 == 0) header.definitions_step = random() % 5;
        }
        seal_metadata(header, metadata);
        Decoder decoder(generation, 1);
        try {
            const auto installed = decoder.install(
                step_of(step, metadata), [&](std::uint64_t other, std::uint32_t, MetadataPart) {
                    const auto found = stored.find(other);
                    return found == stored.end() ? std::vector<std::byte>() : found->second;
                });
            walk(*installed);
            ++accepted;
        } catch (const Error&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_GT(accepted, 1000);
}

TEST(MetadataOfRank, ANewerVersionIsSaidToBeNewer)
{
    Encoder encoder(generation, 0, true);
    encoder.begin_step(0);
    const Bytes metadata = encoder.finish(0);
    std::vector<std::byte> newer(metadata.begin(), metadata.end());
    MetadataHeader header;
    ASSERT_EQ(inspect_metadata(newer, header), MetadataState::whole);
    store_little<std::uint16_t>(newer.data() + 4, metadata_version + 1);
    store_little(newer.data() + 104, checksum(Bytes(newer).first(104)));
    try {
        inspect_metadata(newer, header);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_DF_INCOMPT);
    }
}

TEST(Wire, ReadsWhatItWroteAndNothingBeyond)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    const std::uint64_t numbers[] = {0, 127, 128, 300, UINT64_MAX, 1ull << 63};
    for (const std::uint64_t number : numbers)
        to.varint(number);
    to.text("text");
    WireReader from(bytes, "a test");
    for (const std::uint64_t number : numbers)
        EXPECT_EQ(from.varint(), number);
    EXPECT_EQ(from.text(), "text");
    EXPECT_TRUE(from.at_end());
    EXPECT_THROW(from.fixed<std::uint8_t>(), Error);
    const std::vector<std::byte> endless(20, std::byte{0xff});
    EXPECT_THROW(WireReader(endless, "a test").varint(), Error);
}

} // namespace
} // namespace stepstore::steps
