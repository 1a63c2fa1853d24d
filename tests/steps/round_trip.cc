// Streams of several ranks, written and read in every layout, compared with a model.
#include "steps/layouts/layout.h"
#include "steps/metadata/encoder.h"
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "steps/write/opening.h"
#include "steps/write/snapshot_writer.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::on_cluster;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

class RoundTrip : public ::testing::TestWithParam<std::string> {
protected:
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);

    void write(const Model& model, std::uint64_t steps, bool close = true)
    {
        run_ranks(model.ranks, [&](std::shared_ptr<Communicator> communicator) {
            const int rank = communicator->rank();
            Writer writer(location, options_of(GetParam()), communicator);
            for (std::uint64_t step = 0; step < steps; ++step)
                model.write_step(writer, rank);
            if (close) writer.close();
        });
    }
    void read(const Model& model, std::uint64_t steps, int readers, Readers how)
    {
        run_ranks(readers, [&](std::shared_ptr<Communicator> communicator) {
            ReaderOptions options;
            options.readers = how;
            options.read_ahead = how == Readers::delegate ? 8192 : 0;
            Reader reader(location, options, communicator);
            for (std::uint64_t step = 0; step < steps; ++step) {
                ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
                ASSERT_EQ(reader.current_step(), step);
                model.check_step(reader, step);
                reader.end_step();
            }
            EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
            EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
        });
    }
};

TEST_P(RoundTrip, AnyNumberOfWritersAndReaders)
{
    for (const int ranks : {1, 2, 3, 8}) {
        SCOPED_TRACE(std::to_string(ranks) + " writers");
        const Model model{ranks};
        write(model, 9);
        read(model, 9, 1, Readers::delegate);
        read(model, 9, 3, Readers::delegate);
        read(model, 9, 2, Readers::everyone);
    }
}

// Every way to read, over every way to lie: all steps come, whatever is read ahead and where a round ends.
TEST_P(RoundTrip, EveryWayToReadSeesTheSame)
{
    const Model model{4, 16, true};
    constexpr std::uint64_t steps = 14;
    write(model, steps);
    const std::optional<std::uint64_t> budgets[] = {std::nullopt, 0, 3000, 40000, 8 << 20};
    for (const auto& read_ahead : budgets)
        for (const Readers readers : {Readers::delegate, Readers::everyone}) {
            SCOPED_TRACE(read_ahead ? std::to_string(*read_ahead) : "auto");
            run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
                ReaderOptions options;
                options.read_ahead = read_ahead;
                options.readers = readers;
                Reader reader(location, options, communicator);
                for (std::uint64_t step = 0; step < steps; ++step) {
                    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
                    model.check_step(reader, step);
                    reader.end_step();
                }
                EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
            });
        }
}

// Rounds of requests do not grow with the number of steps that are read ahead.
TEST_P(RoundTrip, StepsAheadComeInFewReads)
{
    const Design& design = designs.at(GetParam());
    if (design.layout == "posix") GTEST_SKIP() << "its file system reads ahead";
    const Model model{3};
    constexpr std::uint64_t steps = 60;
    write(model, steps);
    ReaderOptions ahead;
    ahead.read_ahead = 1 << 20;
    Reader reader(location, ahead, self_communicator());
    for (std::uint64_t step = 0; step < steps; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        model.check_step(reader, step);
        reader.end_step();
    }
    const std::string profile = reader.profile_json();
    constexpr std::string_view name = "\"metadata_requests\":";
    const std::uint64_t requests = std::stoull(profile.substr(profile.find(name) + name.size()));
    // One for each rank (kv), step (sizes, or per-step) or writer at most; and few for all the rest.
    const bool by_rank = layout_named(design.layout).places == MetadataPlaces::values;
    const std::uint64_t metadata = by_rank ? steps * 3 : 0;
    const std::uint64_t of_steps = design.objects == Objects::per_step && metadata == 0 ? steps : 0;
    const std::uint64_t sizes = design.layout == "array" ? steps : 0;
    // Of a step at its snapshot: what it needs by itself, and the epoch.
    const bool by_snapshot = design.step_mode == StepMode::snapshot;
    const std::uint64_t slots = by_snapshot && design.layout == "array-adaptive" ? steps : 0;
    const std::uint64_t writers = design.objects == Objects::per_writer    ? 3
                                  : design.objects == Objects::per_machine ? 2
                                                                           : 1;
    // A round ends where the slots change.
    const std::uint64_t rows = design.layout == "array-adaptive" ? 3 * writers : 0;
    const std::uint64_t of_snapshots = by_snapshot ? (metadata == 0 ? 1 + writers : 1) * steps : 0;
    EXPECT_LE(requests, metadata + of_steps + sizes + of_snapshots + slots + rows + 24) << profile;
}

TEST_P(RoundTrip, MetadataLargerThanAChunk)
{
    const Model model{3, 16, true};
    write(model, 12);
    read(model, 12, 2, Readers::delegate);
    read(model, 12, 1, Readers::everyone);
}

TEST_P(RoundTrip, RandomAccessSeesWhatStreamingSees)
{
    const Model model{4, 16, true};
    write(model, 10);
    ReaderOptions options;
    options.mode = ReadMode::random_access;
    Reader reader(location, options, self_communicator());
    ASSERT_EQ(reader.steps(), 10u);
    EXPECT_TRUE(reader.find("rare"));
    for (const std::uint64_t step : {9u, 0u, 5u, 8u, 2u, 2u, 7u})
        model.check_step(reader, step);
    EXPECT_EQ(reader.available_steps(*reader.find("rare")), (std::vector<std::uint64_t>{2, 5, 8}));
    EXPECT_EQ(reader.available_steps(*reader.find("field")).size(), 10u);
    EXPECT_THROW(reader.variables(10), Error);
    EXPECT_THROW(reader.begin_step(0), Error);
}

TEST_P(RoundTrip, AStreamThatNobodyClosedIsReadToItsEnd)
{
    const Model model{2};
    // Where ranks wait for each other, the step that nobody waited for is not published.
    const bool waits = under_way(GetParam()) > 0 && ranks_wait(GetParam());
    write(model, waits ? 6 : 5, false);
    ReaderOptions options;
    Reader reader(location, options, self_communicator());
    for (std::uint64_t step = 0; step < 5; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        model.check_step(reader, step);
        reader.end_step();
    }
    EXPECT_EQ(reader.begin_step(0.05), StepStatus::end_of_stream);
    options.mode = ReadMode::random_access;
    Reader random(location, options, self_communicator());
    EXPECT_EQ(random.steps(), 5u);
    EXPECT_FALSE(random.closed());
    model.check_step(random, 3);
}

TEST_P(RoundTrip, AStepIsThereBeforeTheNextOneBegins)
{
    if (under_way(GetParam()) > 0) GTEST_SKIP() << "steps.async_write has it";
    const Model model{1};
    Writer writer(location, options_of(GetParam()), self_communicator());
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.begin_step(0), StepStatus::not_ready);
    for (std::uint64_t step = 0; step < 6; ++step) {
        model.write_step(writer, 0);
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        model.check_step(reader, step);
        reader.end_step();
        EXPECT_EQ(reader.begin_step(0), StepStatus::not_ready);
    }
    writer.close();
    EXPECT_EQ(reader.begin_step(10), StepStatus::end_of_stream);
}

TEST_P(RoundTrip, AReaderThatFollowsSeesWholeStepsInOrder)
{
    const Model model{3};
    constexpr std::uint64_t steps = 40;
    run_ranks(5, [&](std::shared_ptr<Communicator> all) {
        // Ranks 0 to 2 write, 3 and 4 read: two groups of their own, made by threads again.
        if (all->rank() == 0) write(model, steps);
        if (all->rank() != 3) return;
        run_ranks(2, [&](std::shared_ptr<Communicator> readers) {
            ReaderOptions options;
            options.open_timeout = 30;
            Reader reader(location, options, readers);
            for (std::uint64_t step = 0; step < steps; ++step) {
                ASSERT_EQ(reader.begin_step(30), StepStatus::ok);
                ASSERT_EQ(reader.current_step(), step);
                model.check_step(reader, step);
                reader.end_step();
            }
            EXPECT_EQ(reader.begin_step(30), StepStatus::end_of_stream);
        });
    });
}

TEST_P(RoundTrip, TheProfileOfAllWritersIsKept)
{
    const Model model{3};
    write(model, 4);
    Reader reader(location, {}, self_communicator());
    const std::string profile = reader.writer_profile_json();
    for (const char* part :
         {"\"rank\":0", "\"rank\":2", "\"steps\":4", "\"stabilisation_seconds\"", "\"metadata_bytes\""})
        EXPECT_NE(profile.find(part), std::string::npos) << profile;
    EXPECT_EQ(reader.describe().layout, designs.at(GetParam()).layout);
    EXPECT_EQ(reader.describe().objects, name_of(designs.at(GetParam()).objects));
}

// What docs/design/speed.md has measured, for any number of ranks; a program's own choice goes before it.
TEST_P(RoundTrip, ObjectsFollowTheRuleUnlessTheProgramChooses)
{
    const auto described = [&] { return Reader(location, {}, self_communicator()).describe(); };
    const auto keeps = [&](std::uint64_t chunk_size, const char* object_class) {
        const StreamDescription stream = described();
        EXPECT_EQ(stream.data_chunk_size, chunk_size);
        EXPECT_EQ(stream.data_object_class, object_class);
    };
    WriterOptions options = options_of(GetParam());
    for (const int ranks : {1, 20}) {
        run_ranks(ranks, [&](auto communicator) { Writer(location, options, communicator).close(); });
        keeps(1 << 20, "SX");
        EXPECT_EQ(described().object_class, ranks == 1 && !on_cluster() ? "S1" : "SX");
    }
    options.data_chunk_size = 4096;
    options.data_object_class = "S1"; // which every pool has targets for
    Writer(location, options, self_communicator()).close();
    keeps(4096, "S1");
}

TEST_P(RoundTrip, LargeBlocksAndColumnMajorOrder)
{
    constexpr std::uint64_t rows = 300, columns = 500;
    WriterOptions options = options_of(GetParam());
    options.order = Order::column_major;
    options.data_chunk_size = 64 << 10;
    std::vector<double> cells(rows * columns);
    std::iota(cells.begin(), cells.end(), 0.0); // column-major: element (r, c) at r + c * rows
    Writer writer(location, options, self_communicator());
    const auto field = writer.define("field", Type::float64, ShapeKind::global_array);
    for (int step = 0; step < 3; ++step) {
        writer.begin_step();
        writer.put(field, Dims{rows, columns}, Dims{0, 0}, Dims{rows, columns}, cells.data(),
                   step == 1 ? Mode::sync : Mode::deferred);
        const std::span<std::byte> span =
            writer.put_span(writer.define("span", Type::uint8, ShapeKind::local_array), {}, {}, Dims{100000});
        writer.perform_puts();
        std::fill(span.begin(), span.end(),
                  std::byte(step + 1)); // after perform_puts: spans are the program's until end_step
        writer.end_step();
    }
    writer.close();
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.order(), Order::column_major);
    for (int step = 0; step < 3; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        const auto id = *reader.find("field");
        std::vector<double> all(cells.size()), part(20 * 7);
        reader.get(id, Dims{0, 0}, Dims{rows, columns}, all.data());
        reader.get(id, Dims{100, 33}, Dims{20, 7}, part.data());
        std::vector<std::uint8_t> filled(100000);
        reader.get_block(*reader.find("span"), 0, {}, {}, filled.data());
        reader.perform_gets();
        EXPECT_EQ(all, cells);
        for (std::uint64_t c = 0; c < 7; ++c)
            for (std::uint64_t r = 0; r < 20; ++r)
                ASSERT_EQ(part[r + 20 * c], cells[100 + r + (33 + c) * rows]);
        EXPECT_TRUE(std::ranges::all_of(filled, [&](std::uint8_t v) { return v == step + 1; }));
        EXPECT_EQ(reader.blocks(*reader.find("span"))[0].minmax->max.as<std::uint8_t>(), step + 1);
        reader.end_step();
    }
}

TEST_P(RoundTrip, AHalfStepIsNotSeen)
{
    if (ranks_wait(GetParam())) GTEST_SKIP() << "the ranks of a step wait for each other";
    const Model model{3};
    std::atomic<int> ended{0};
    run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options_of(GetParam()), communicator);
        for (int step = 0; step < 2; ++step)
            model.write_step(writer, communicator->rank());
        if (communicator->rank() == 1) {
            writer.begin_step(); // and never ends it
            // A rank that leaves earlier is told to those that are still at it.
            for (int turn = 0; ended < 2 && turn < 60'000; ++turn)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } else {
            model.write_step(writer, communicator->rank());
            ++ended;
        }
    });
    Reader reader(location, {}, self_communicator());
    for (std::uint64_t step = 0; step < 2; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        model.check_step(reader, step);
        reader.end_step();
    }
    EXPECT_EQ(reader.begin_step(0.02), StepStatus::end_of_stream);
}

// Ranks that ended different numbers of steps: the stream ends after the steps that all have.
TEST_P(RoundTrip, CloseCountsTheStepsThatAllRanksEnded)
{
    if (ranks_wait(GetParam())) GTEST_SKIP() << "the ranks of a step wait for each other";
    const Model model{3};
    run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options_of(GetParam()), communicator);
        const std::uint64_t steps = communicator->rank() == 1 ? 2 : 4;
        for (std::uint64_t step = 0; step < steps; ++step)
            model.write_step(writer, communicator->rank());
        if (communicator->rank() == 1)
            EXPECT_NO_THROW(writer.close());
        else
            EXPECT_THROW(writer.close(), Error);
    });
    read(model, 2, 1, Readers::delegate);
}

// A rank that has failed before it could store takes part in the exchange without metadata, so that nobody
// waits for it.
TEST_P(RoundTrip, ARankThatFailsLetsNobodyHang)
{
    const StreamToWrite stream = open_to_write(location, options_of(GetParam()), {3, 3});
    const OpenedStream& opened = stream.opened;
    run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
        const Pool pool = Pool::connect(opened.location.pool);
        Container container = pool.open_container(opened.location.container);
        const LayoutContext context{pool, container, opened.record};
        auto layout = open_layout_to_write(context, *communicator);
        Profile profile;
        if (opened.record.in_place())
            layout = std::make_unique<SnapshotWriter>(std::move(layout), container, context, *communicator,
                                                      nullptr, profile);
        const auto rank = static_cast<std::uint32_t>(communicator->rank());
        Encoder encoder(opened.record.generation, rank, true);
        for (std::uint64_t step = 0; step < 2; ++step) {
            encoder.begin_step(0);
            const Bytes metadata = encoder.finish(step);
            if (step == 0) {
                layout->store(step, metadata);
                continue;
            }
            const bool told = layout->meets(step);
            if (rank == 1)
                layout->abandon(step);
            else if (told)
                EXPECT_THROW(layout->store(step, metadata), Error);
            else
                EXPECT_NO_THROW(layout->store(step, metadata));
        }
    });
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.begin_step(0), StepStatus::ok);
    reader.end_step();
    EXPECT_EQ(reader.begin_step(0.02), StepStatus::not_ready);
}

INSTANTIATE_TEST_SUITE_P(Layouts, RoundTrip, ::testing::ValuesIn(all_designs), name_of_design);
INSTANTIATE_TEST_SUITE_P(BesideTheProgram, RoundTrip, ::testing::ValuesIn(async_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing
