// Ranks whose metadata another one stores for them: rows of any size, a rank of a row that fails, metadata
// beyond a slot, and bundles that are not what they say.
#include "steps/layouts/aggregation.h"
#include "steps/metadata/bundle.h"
#include "steps/model.h"
#include "steps/profile/profile.h"
#include "steps/stream/stream.h"
#include "steps/write/opening.h"
#include "support/errors.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <atomic>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::error_of;
using stepstore::testing::message_of;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

constexpr std::uint64_t steps = 4;

class Aggregation : public ::testing::TestWithParam<std::string> {
protected:
    WriterOptions options(std::uint32_t ranks_per_aggregator) const
    {
        WriterOptions options;
        options.layout = GetParam();
        options.ranks_per_aggregator = ranks_per_aggregator;
        return options;
    }
    void write(int ranks, const WriterOptions& how) const
    {
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(location, how, communicator);
            const Model model{ranks, 16, true};
            for (std::uint64_t step = 0; step < steps; ++step)
                model.write_step(writer, communicator->rank());
            writer.close();
        });
    }
    void check(Reader& reader, int ranks, std::uint64_t first = 0) const
    {
        const Model model{ranks, 16, true};
        for (std::uint64_t step = first; step < first + steps; ++step) {
            ASSERT_EQ(reader.begin_step(0), StepStatus::ok) << step;
            model.check_step(reader, step);
            reader.end_step();
        }
    }

    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
};

TEST_P(Aggregation, RowsOfAnySizeAreReadAsTheyWerePut)
{
    for (const int ranks : {1, 2, 5, 7})
        for (const std::uint32_t together : {2U, 3U, 7U, 100U}) {
            SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(together) + " together");
            write(ranks, options(together));
            Reader reader(location, {}, self_communicator());
            check(reader, ranks);
            EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
        }
}

// So the others make no request to the store in a step in which nothing is new.
TEST_P(Aggregation, OneRankOfARowStoresForAll)
{
    std::atomic<std::uint64_t> of_others = 0, of_aggregators = 0;
    run_ranks(5, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options(2), communicator);
        const auto variable = writer.define("x", Type::float64, ShapeKind::global_value);
        std::uint64_t before = 0;
        for (std::uint64_t step = 0; step < steps; ++step) {
            writer.begin_step();
            const double value = 1;
            writer.put_value(variable, &value);
            if (step + 1 == steps) before = writer.costs().metadata_requests;
            writer.end_step();
        }
        const std::uint64_t made = writer.costs().metadata_requests - before;
        (communicator->rank() % 2 == 0 ? of_aggregators : of_others) += made;
        writer.close();
    });
    EXPECT_EQ(of_others, 0u);
    EXPECT_EQ(of_aggregators, 3u);
}

TEST_P(Aggregation, StaysWithTheStreamWhenItIsAppendedTo)
{
    write(5, options(2));
    WriterOptions more = options(0);
    more.append = true;
    write(3, more);
    Reader reader(location, {}, self_communicator());
    check(reader, 5);
    check(reader, 3, steps);
    more.ranks_per_aggregator = 3;
    const std::string message = message_of([&] { Writer(location, more, self_communicator()); }, -DER_INVAL);
    EXPECT_NE(message.find("RanksPerAggregator 3"), std::string::npos) << message;
    EXPECT_NE(message.find("the stream has 2"), std::string::npos) << message;
}

// The steps before are kept, and the other ranks of the row are told at once.
TEST_P(Aggregation, ARankThatFailsTakesItsRowWithIt)
{
    for (const int failing : {2, 3}) { // the one that stores, and the other one
        std::array<std::string, 5> told;
        run_ranks(5, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(location, options(2), communicator);
            const Model model{5, 16, true};
            model.write_step(writer, communicator->rank());
            const int rank = communicator->rank();
            writer.begin_step();
            if (rank == failing) {
                // A block that lies outside of what the program says when it ends the step.
                const auto late = writer.define("late", Type::int32, ShapeKind::global_array);
                writer.reshapable(late);
                const std::int32_t cells[2] = {1, 2};
                writer.put(late, Dims{2}, Dims{0}, Dims{2}, cells);
                const Dims less{1};
                told[static_cast<std::size_t>(rank)] =
                    error_of([&] { writer.end_step([&](VariableId) { return DimsView(less); }); }).what();
            } else if (rank / 2 == failing / 2) {
                const Error error = error_of([&] { writer.end_step(); });
                EXPECT_EQ(error.code(), -DER_CANCELED);
                told[static_cast<std::size_t>(rank)] = error.what();
            } else {
                try {
                    writer.end_step();
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), -DER_CANCELED) << error.what();
                }
            }
            try {
                writer.close();
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), -DER_CANCELED) << error.what();
            }
        });
        const std::string& other = told[failing == 2 ? 3 : 2];
        EXPECT_NE(other.find("rank " + std::to_string(failing) + " failed"), std::string::npos) << other;
        EXPECT_NE(other.find("none of the ranks 2 to 3 stores step 1"), std::string::npos) << other;
        Reader reader(location, {}, self_communicator());
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        Model{5, 16, true}.check_step(reader, 0);
        reader.end_step();
        EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Aggregation, ::testing::ValuesIn([] {
                             std::vector<std::string> names;
                             for (const Layout* layout : layouts())
                                 if (layout->aggregates) names.emplace_back(layout->name);
                             return names;
                         }()),
                         name_of_design);

// The slots are as large as they can be small: all metadata and all copies lie elsewhere.
TEST(AggregationOf, MetadataBeyondASlotLiesElsewhere)
{
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    WriterOptions options;
    options.layout = "array-aligned";
    options.ranks_per_aggregator = 2;
    options.chunk_size = layout_named("array-aligned").least_chunk_size;
    const Model model{3, 16, true};
    run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options, communicator);
        for (std::uint64_t step = 0; step < steps; ++step)
            model.write_step(writer, communicator->rank());
        writer.close();
    });
    Reader reader(location, {}, self_communicator());
    for (std::uint64_t step = 0; step < steps; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        model.check_step(reader, step);
        reader.end_step();
    }
}

TEST(AggregationOf, LayoutsThatExchangeIsRefused)
{
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    for (const Layout* layout : layouts()) {
        WriterOptions options;
        options.layout = layout->name;
        options.ranks_per_aggregator = 2;
        if (layout->aggregates) options.step_mode = StepMode::snapshot;
        const std::string message =
            message_of([&] { Writer(location, options, self_communicator()); }, -DER_INVAL);
        EXPECT_NE(message.find("RanksPerAggregator=2 does not go with "), std::string::npos) << message;
        EXPECT_NE(message.find(layout->aggregates ? "Steps=snapshot" : std::string(layout->name)),
                  std::string::npos)
            << message;
    }
    WriterOptions options;
    options.ranks_per_aggregator = UINT32_MAX;
    EXPECT_EQ(error_of([&] { Writer(location, options, self_communicator()); }).code(), -DER_INVAL);
}

// Of a machine a part, or some of them.
TEST(AggregationOf, ManyRanksIsTheDefaultInFilesOfSeveralMachines)
{
    EXPECT_EQ(usual_ranks_per_aggregator(1023, 32), 1u);
    for (const auto& [of_a_machine, together] : {std::pair{1U, 16U},
                                                 {3U, 15U},
                                                 {16U, 16U},
                                                 {32U, 16U},
                                                 {36U, 12U},
                                                 {48U, 16U},
                                                 {128U, 16U},
                                                 {47U, 16U}})
        EXPECT_EQ(usual_ranks_per_aggregator(1024, of_a_machine), together) << of_a_machine;
    const TemporaryDirectory directory;
    const auto record_of = [&](const std::string& location, const WriterOptions& options, WriterGroup group) {
        return open_to_write(location, options, group).opened.record;
    };
    const std::string in_files = "shared:" + (directory / "files");
    EXPECT_EQ(record_of(in_files, {}, {1024, 16}).ranks_per_aggregator, 16u);
    EXPECT_EQ(record_of(in_files, {}, {1024, 1024}).ranks_per_aggregator, 0u) << "one machine";
    EXPECT_EQ(record_of(in_files, {}, {512, 16}).ranks_per_aggregator, 0u);
    EXPECT_EQ(record_of(directory / "local", {}, {1024, 16}).ranks_per_aggregator, 0u);
    WriterOptions options;
    options.ranks_per_aggregator = 1;
    EXPECT_EQ(record_of(in_files, options, {1024, 16}).ranks_per_aggregator, 0u);
    options = {};
    options.chunk_size = most_chunk_size / 8;
    EXPECT_EQ(record_of(in_files, options, {1024, 16}).ranks_per_aggregator, 0u) << "no room in a slot";
    options = {};
    options.layout = "array";
    EXPECT_EQ(record_of(in_files, options, {1024, 16}).ranks_per_aggregator, 0u);
}

class Bundles : public ::testing::Test {
protected:
    static std::vector<std::byte> metadata_of_rank(std::uint32_t rank, std::size_t payload)
    {
        std::vector<std::byte> metadata(metadata_header_size + payload, std::byte{7});
        MetadataHeader header;
        header.step = 3;
        header.rank = rank;
        seal_metadata(header, metadata);
        return metadata;
    }
    void SetUp() override
    {
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
            all.push_back(metadata_of_rank(rank, 10 * rank));
            views.emplace_back(all.back());
        }
        bundle = bundle_of(0, 3, 0, views);
    }
    // As it comes out of a place where somebody has changed it, with a checksum that fits.
    Error error_after(const std::function<void(MetadataHeader&, std::vector<std::byte>&)>& change) const
    {
        std::vector<std::byte> bytes = bundle;
        MetadataHeader header;
        EXPECT_EQ(inspect_metadata(bytes, header), MetadataState::whole);
        change(header, bytes);
        seal_metadata(header, bytes);
        EXPECT_EQ(inspect_metadata(bytes, header), MetadataState::whole);
        return error_of(
            [&] { metadata_in(bytes, header, 3, [] { return std::string("step 3, ranks 0 to 2"); }); });
    }

    std::vector<std::vector<std::byte>> all;
    std::vector<Bytes> views;
    std::vector<std::byte> bundle;
};

TEST_F(Bundles, HoldWhatWasPutIntoThem)
{
    MetadataHeader header;
    ASSERT_EQ(inspect_metadata(bundle, header), MetadataState::whole);
    const std::vector<Bytes> found = metadata_in(bundle, header, 3, [] { return std::string(); });
    ASSERT_EQ(found.size(), 3u);
    for (std::size_t rank = 0; rank < 3; ++rank)
        EXPECT_TRUE(std::ranges::equal(found[rank], all[rank]));
}

TEST_F(Bundles, ThatAreNotWhatTheySayAreRefused)
{
    constexpr std::size_t lengths = metadata_header_size;
    for (const std::uint64_t length :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 111}) {
        const Error error = error_after([&](MetadataHeader&, std::vector<std::byte>& bytes) {
            store_little(bytes.data() + lengths, length);
        });
        EXPECT_EQ(error.code(), -DER_DF_INVAL) << length;
        EXPECT_NE(std::string(error.what()).find("step 3, ranks 0 to 2"), std::string::npos) << error.what();
    }
    EXPECT_EQ(error_after([](MetadataHeader& header, auto&) { header.entries = 4; }).code(), -DER_DF_INVAL);
    EXPECT_EQ(error_after([](MetadataHeader& header, auto&) { header.flags = 0; }).code(), -DER_DF_INVAL);
    EXPECT_EQ(error_after([](auto&, std::vector<std::byte>& bytes) { bytes.resize(lengths + 8); }).code(),
              -DER_DF_INVAL);
    EXPECT_EQ(error_after([](auto&, std::vector<std::byte>& bytes) { bytes.push_back({}); }).code(),
              -DER_DF_INVAL);
}

} // namespace
} // namespace stepstore::steps::testing
