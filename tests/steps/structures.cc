// Variables whose elements are structs: what is put comes back, with a definition that says what it is. Ranks
// and writers that define a struct otherwise are told.
#include "base/wire.h"
#include "steps/check/check.h"
#include "steps/metadata/definitions.h"
#include "steps/metadata/encoder.h"
#include "steps/metadata/rank_metadata.h"
#include "steps/model.h"
#include "support/report.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <random>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

struct Particle { // 24 bytes, with a gap behind the first
    std::int8_t charge = 0;
    float place[3] = {};
    double energy = 0;
    bool operator==(const Particle&) const = default;
};

Structure particle()
{
    return {"particle",
            sizeof(Particle),
            {{"charge", offsetof(Particle, charge), Type::int8, 1},
             {"place", offsetof(Particle, place), Type::float32, 3},
             {"energy", offsetof(Particle, energy), Type::float64, 1}}};
}

std::shared_ptr<const Structure> shared(const Structure& structure)
{
    return std::make_shared<const Structure>(structure);
}

std::vector<Particle> particles(std::size_t count, std::uint64_t seed)
{
    std::vector<Particle> all(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto number = static_cast<float>(i + 1000 * seed);
        all[i] = {static_cast<std::int8_t>(i + seed), {number, number + 1, number + 2}, number * 0.5};
    }
    return all;
}

std::string error_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const Error& error) {
        return std::to_string(error.code()) + " " + error.what();
    }
    return "";
}

ReaderOptions at_random()
{
    ReaderOptions options;
    options.mode = ReadMode::random_access;
    return options;
}

TEST(StructureDefinition, SaysWhatCannotBe)
{
    EXPECT_EQ(fault_of(particle()), "");
    EXPECT_EQ(fault_of({"opaque", 7, {}}), "");
    EXPECT_EQ(fault_of({"union", 8, {{"a", 0, Type::int64, 1}, {"b", 4, Type::float32, 1}}}), "");
    const auto with = [](const Structure::Field& field) { return fault_of({"s", 16, {field}}); };
    EXPECT_NE(fault_of({"s", 0, {}}), "");
    EXPECT_NE(fault_of({"s", max_structure_size + 1, {}}), "");
    EXPECT_EQ(with({"a", 8, Type::float64, 1}), "");
    EXPECT_NE(with({"a", 9, Type::float64, 1}), "");
    EXPECT_NE(with({"a", UINT64_MAX, Type::int8, 1}), "");
    EXPECT_NE(with({"a", 0, Type::float64, 3}), "");
    EXPECT_NE(with({"a", 8, Type::float64, UINT64_MAX / 4}), "");
    EXPECT_NE(with({"", 0, Type::float64, 1}), "");
    EXPECT_NE(with({"a", 0, Type::string, 1}).find("'a'"), std::string::npos);
    EXPECT_NE(with({"a", 0, Type::structure, 1}), "");
    EXPECT_NE(fault_of({"s", 16, {{"a", 0, Type::int8, 1}, {"a", 1, Type::int8, 1}}}), "");
}

TEST(StructureDefinition, AnyBytesEndInADefinitionOrAnError)
{
    const Variable put{"particles", Type::structure, ShapeKind::local_array, shared(particle())};
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    write_variable(to, put);
    WireReader good(bytes, "a test");
    const Variable got = read_variable(good);
    EXPECT_TRUE(good.at_end());
    EXPECT_EQ(got.name, put.name);
    EXPECT_TRUE(defined_alike(got, put));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        WireReader cut(Bytes(bytes).first(length), "a test");
        EXPECT_THROW(read_variable(cut), Error) << length;
    }
    std::mt19937_64 random(20261124);
    int refused = 0, accepted = 0;
    for (int round = 0; round < 50000; ++round) {
        std::vector<std::byte> changed = bytes;
        for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
            changed[random() % changed.size()] = std::byte(random() % 4 == 0 ? 0xff : random());
        WireReader from(changed, "a test");
        try {
            const Variable any = read_variable(from);
            EXPECT_TRUE(any.structure == nullptr || fault_of(*any.structure).empty());
            ++accepted;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_DF_INVAL);
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_GT(accepted, 1000);
}

TEST(StructureDefinition, AnAttributeOfThatTypeIsDamage)
{
    DefinitionLog log;
    log.attribute(0, {"a", Type::structure, false, 0, {}, {}});
    std::vector<std::byte> bytes;
    log.write_section(0, bytes);
    EXPECT_THROW(each_definition(
                     parse_definitions(bytes, "a test"), "a test", [](std::uint32_t, Variable&&) {},
                     [](std::uint64_t, Attribute&&) {}),
                 Error);
}

// Readers that do not know structs must say so, and others must go on reading streams without them.
TEST(StructureDefinition, MakesMetadataOfAVersionOfItsOwn)
{
    const auto versions = [](bool structs) {
        Encoder encoder(7, 0, true);
        std::vector<unsigned> found;
        encoder.define("x", Type::int32, ShapeKind::global_value);
        if (structs) encoder.define("p", Type::structure, ShapeKind::global_value, shared(particle()));
        for (std::uint64_t step = 0; step < 2; ++step) {
            encoder.begin_step(0);
            found.push_back(load_little<std::uint16_t>(encoder.finish(step).data() + 4));
            for (const auto& copy : encoder.copies())
                found.push_back(load_little<std::uint16_t>(copy.metadata.data() + 4));
        }
        return found;
    };
    EXPECT_EQ(versions(false), (std::vector{1u, 1u, 1u})); // each step's, and the copy of the first one's
    EXPECT_EQ(versions(true), (std::vector{4u, 4u, 1u}));
}

class Structures : public ::testing::TestWithParam<std::string> {
protected:
    static constexpr int ranks = 3;
    static constexpr std::uint64_t rows = 200;

    // All kinds of shape, put in all ways.
    void write(std::uint64_t steps, const WriterOptions& options) const
    {
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            const auto rank = static_cast<std::uint64_t>(communicator->rank());
            Writer writer(location, options, communicator);
            const auto define = [&](const char* name, ShapeKind kind) {
                return writer.define(name, Type::structure, kind, shared(particle()));
            };
            const auto global = define("global", ShapeKind::global_array);
            const auto local = define("local", ShapeKind::local_array);
            const auto joined = define("joined", ShapeKind::joined_array);
            const auto single = define("single", ShapeKind::global_array);
            const auto value = define("value", ShapeKind::global_value);
            const auto own = define("own", ShapeKind::local_value);
            for (std::uint64_t step = 0; step < steps; ++step) {
                const std::uint64_t now = writer.begin_step();
                const auto data = particles(rows, now * ranks + rank);
                const auto mode = now % 2 == 0 ? Mode::sync : Mode::deferred;
                writer.put(global, Dims{ranks * rows}, Dims{rank * rows}, Dims{rows}, data.data(), mode);
                const auto span = writer.put_span(local, {}, {}, Dims{rows / 2, 2});
                std::memcpy(span.data(), data.data(), span.size());
                writer.put(joined, Dims{joined_dimension}, {}, Dims{rank + 1}, data.data(), mode);
                writer.put(single, Dims{ranks}, Dims{rank}, Dims{1}, data.data(), mode);
                writer.put_value(value, particles(1, now).data());
                writer.put_value(own, data.data());
                writer.end_step();
            }
            writer.close();
        });
    }
    void check(std::uint64_t steps) const
    {
        Reader reader(location, at_random(), self_communicator());
        ASSERT_EQ(reader.steps(), steps);
        for (std::uint64_t step = steps; step-- > 0;) {
            const auto get = [&](const char* name, std::uint64_t start, std::uint64_t count) {
                std::vector<Particle> got(count);
                reader.get(*reader.find(name), Dims{start}, Dims{count}, got.data(), Mode::sync, step);
                return got;
            };
            const auto put = [&](std::uint64_t rank) { return particles(rows, step * ranks + rank); };
            std::vector<Particle> all, first, joined;
            for (std::uint64_t rank = 0; rank < ranks; ++rank) {
                const auto data = put(rank);
                all.insert(all.end(), data.begin(), data.end());
                first.push_back(data.front());
                joined.insert(joined.end(), data.begin(), data.begin() + static_cast<long>(rank) + 1);
            }
            EXPECT_EQ(get("global", 0, ranks * rows), all);
            EXPECT_EQ(get("global", rows - 5, 10),
                      std::vector(all.begin() + rows - 5, all.begin() + rows + 5));
            EXPECT_EQ(get("joined", 0, 6), joined);
            EXPECT_EQ(get("single", 0, ranks), first);
            EXPECT_EQ(get("own", 0, ranks), first);
            std::vector<Particle> got(rows);
            reader.get_block(*reader.find("local"), 2, {}, {}, got.data(), Mode::sync, step);
            EXPECT_EQ(got, put(2));
            got.resize(1);
            reader.get_value(*reader.find("value"), got.data(), 0, step);
            EXPECT_EQ(got, particles(1, step));
            for (const char* name : {"global", "single", "value", "own"}) {
                const auto id = *reader.find(name);
                EXPECT_FALSE(reader.minmax(id, step));
                for (const Block& block : reader.blocks(id, step))
                    EXPECT_FALSE(block.minmax);
            }
        }
        for (const Variable& one : reader.definitions()) {
            ASSERT_NE(one.structure, nullptr);
            EXPECT_EQ(*one.structure, particle());
        }
        const StreamReport report = check_streams(location, true);
        EXPECT_FALSE(report.damaged()) << report;
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_P(Structures, OfEveryShapeComeBack)
{
    write(3, options_of(GetParam()));
    check(3);
}

TEST_P(Structures, AreCompressed)
{
    WriterOptions options = options_of(GetParam());
    options.compression.method = CompressionMethod::zstd;
    write(2, options);
    check(2);
}

TEST_P(Structures, AreAppendedToAndOnlyAlike)
{
    write(2, options_of(GetParam()));
    WriterOptions append;
    append.append = true;
    write(2, append);
    check(4);
    run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, append, communicator);
        Structure other = particle();
        other.fields[1].count = 2;
        const std::string text = error_of(
            [&] { writer.define("global", Type::structure, ShapeKind::global_array, shared(other)); });
        EXPECT_NE(text.find("place: float32[3] at 4"), std::string::npos) << text;
        EXPECT_NE(text.find("place: float32[2] at 4"), std::string::npos) << text;
        EXPECT_NE(error_of([&] { writer.define("value", Type::float64, ShapeKind::global_value); }), "");
        writer.close();
    });
    check(4);
}

TEST_P(Structures, RanksThatDefineThemOtherwiseAreTold)
{
    std::vector<std::string> told(ranks);
    run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options_of(GetParam()), communicator);
        Structure mine = particle();
        if (communicator->rank() == 1) mine.fields[2].name = "mass";
        const auto x = writer.define("x", Type::structure, ShapeKind::local_array, shared(mine));
        writer.begin_step();
        const auto data = particles(2, 1);
        writer.put(x, {}, {}, Dims{2}, data.data(), Mode::sync);
        std::string text = error_of([&] { writer.end_step(); });
        const std::string at_close = error_of([&] { writer.close(); });
        told[static_cast<std::size_t>(communicator->rank())] = text.empty() ? at_close : text;
    });
    for (const std::string& text : told)
        for (const char* part : {"'x'", "mass", "energy", "rank 1"})
            EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in: " << text;
    EXPECT_EQ(Reader(location, at_random(), self_communicator()).steps(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Structures, ::testing::ValuesIn(all_designs), name_of_design);

class Doubling final : public BlockOperator {
public:
    Codec codec() const override { return operator_codec(7); }
    std::optional<Bytes> apply(Bytes, Type, DimsView, DimsView) override { return std::nullopt; }
};

TEST(StructureRefusals, NameTheVariable)
{
    const TemporaryDirectory directory;
    Writer writer(stepstore::testing::new_stream(directory), {}, self_communicator());
    const auto refused = [&](const std::function<void()>& call, const std::string& part) {
        const std::string text = error_of(call);
        EXPECT_NE(text.find("'p'"), std::string::npos) << text;
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    refused([&] { writer.define("p", Type::structure, ShapeKind::global_value); }, "structure");
    refused([&] { writer.define("p", Type::int8, ShapeKind::global_value, shared(particle())); },
            "structure");
    refused(
        [&] {
            writer.define("p", Type::structure, ShapeKind::global_value,
                          shared({"huge", max_structure_size + 1, {}}));
        },
        "1 GiB");
    const auto p = writer.define("p", Type::structure, ShapeKind::local_array, shared(particle()));
    refused([&] { writer.operate(p, std::make_shared<Doubling>()); }, std::to_string(-DER_NOTSUPPORTED));
    writer.operate(p, nullptr);
    writer.close();
}

} // namespace
} // namespace stepstore::steps::testing
