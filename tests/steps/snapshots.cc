// Steps kept by snapshots: what the container holds of them, how old ones are removed, and what a reader is
// told of those. round_trip.cc, append.cc, crash.cc and damage.cc test them with all others.
#include "steps/check/check.h"
#include "steps/layouts/data_store.h"
#include "steps/layouts/reference/step_snapshots.h"
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "stepstore/administration.h"
#include "support/report.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <filesystem>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

class StepSnapshots : public ::testing::TestWithParam<std::string> {
protected:
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
    Model model{3, 16, true};

    void write(std::uint64_t steps, bool append = false, bool close = true)
    {
        run_ranks(model.ranks, [&](std::shared_ptr<Communicator> communicator) {
            WriterOptions options = options_of(GetParam());
            options.append = append;
            Writer writer(location, options, communicator);
            for (std::uint64_t step = 0; step < steps; ++step)
                model.write_step(writer, communicator->rank());
            if (close) writer.close();
        });
    }
    Container container() const
    {
        const OpenedStream opened = find_stream(location);
        return Pool::connect(opened.location.pool).open_container(opened.location.container);
    }
    std::size_t snapshots() const { return container().snapshots().size(); }
    static ReaderOptions at_random(std::uint64_t snapshot = 0)
    {
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        options.snapshot = snapshot;
        return options;
    }
    static void expect_gone(Reader& reader, std::uint64_t step)
    {
        try {
            reader.variables(step);
            FAIL() << "step " << step << " is still there";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_EP_OLD);
            EXPECT_NE(std::string(error.what()).find("step " + std::to_string(step) + " is gone"),
                      std::string::npos)
                << error.what();
        }
    }
    // The steps from `first` on, of `steps`, by every way to read; nothing else.
    void expect_steps(std::uint64_t first, std::uint64_t steps) const
    {
        Reader random(location, at_random(), self_communicator());
        EXPECT_EQ(random.steps(), steps);
        EXPECT_EQ(random.first_step(), first);
        std::vector<std::uint64_t> available(steps - first);
        std::iota(available.begin(), available.end(), first);
        EXPECT_EQ(random.available_steps(*random.find("field")), available);
        for (std::uint64_t step = 0; step < steps; ++step) {
            if (step < first)
                expect_gone(random, step);
            else
                model.check_step(random, step);
        }
        for (const Readers readers : {Readers::delegate, Readers::everyone})
            run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
                ReaderOptions options;
                options.readers = readers;
                Reader reader(location, options, communicator);
                for (std::uint64_t step = first; step < steps; ++step) {
                    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
                    ASSERT_EQ(reader.current_step(), step);
                    model.check_step(reader, step);
                    reader.end_step();
                }
                EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
            });
        const StreamReport report = check_streams(location, true);
        EXPECT_TRUE(report.findings.empty()) << report;
        EXPECT_EQ(report.streams.at(0).whole_steps, steps - first);
        EXPECT_EQ(report.streams.at(0).gone_steps, first);
    }
};

TEST_P(StepSnapshots, OldOnesAreRemovedOnRequest)
{
    write(9);
    EXPECT_EQ(snapshots(), 9u);
    AggregatedSteps done = aggregate_steps(location, 4);
    EXPECT_EQ(done.removed, 5u);
    EXPECT_EQ(done.first_kept, 5u);
    EXPECT_EQ(done.steps, 9u);
    EXPECT_EQ(snapshots(), 4u);
    expect_steps(5, 9);
    EXPECT_EQ(aggregate_steps(location, 4).removed, 0u);

    // Appending goes on behind all steps; what is gone stays so, in every segment.
    write(2, true);
    EXPECT_EQ(snapshots(), 6u);
    expect_steps(5, 11);
    EXPECT_EQ(aggregate_steps(location, 1).removed, 5u);
    EXPECT_EQ(snapshots(), 1u);
    expect_steps(10, 11);
    write(2, true);
    expect_steps(10, 13);
}

// As when a job aggregates from time to time: what it has on the disk does not grow with the steps.
TEST_P(StepSnapshots, BlocksOfRemovedStepsComeBackWhenTheNextAreRemoved)
{
    constexpr std::uint64_t cells = 1 << 17; // 1 MiB a step
    const std::vector<double> data(cells, 2.5);
    const auto blocks = [&] {
        std::uint64_t bytes = 0;
        for (const TargetInfo& target : describe_pool(location).targets)
            bytes += target.bulk_bytes;
        return bytes / (cells * sizeof(double));
    };
    Writer writer(location, options_of(GetParam()), self_communicator());
    const auto id = writer.define("x", Type::float64, ShapeKind::global_array);
    for (int round = 0; round < 4; ++round) {
        for (int step = 0; step < 5; ++step) {
            writer.begin_step();
            writer.put(id, Dims{cells}, Dims{0}, Dims{cells}, data.data());
            writer.end_step();
        }
        EXPECT_EQ(aggregate_steps(location, 2).first_kept, static_cast<std::uint64_t>(round) * 5 + 3);
        // Those of this round, and what the two steps kept of the round before hold.
        EXPECT_LE(blocks(), 5u + 2 + 1);
    }
    writer.close();
    Reader reader(location, at_random(), self_communicator());
    std::vector<double> read(cells);
    reader.get(*reader.find("x"), Dims{0}, Dims{cells}, read.data(), Mode::sync, 18);
    EXPECT_EQ(read, data);
    const StreamReport report = check_streams(location, true);
    EXPECT_TRUE(report.findings.empty()) << report;
}

TEST_P(StepSnapshots, GoWithTheirStream)
{
    write(4);
    write(3);
    EXPECT_EQ(snapshots(), 3u);
    const std::uint64_t own = container().create_snapshot("of a user");
    remove_stream(location);
    const Container left = Pool::connect(location).open_container("default");
    const std::vector<SnapshotEntry> all = left.snapshots();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].epoch, own);
}

// A user's snapshot has the steps that were there, as long as their own snapshots are.
TEST_P(StepSnapshots, AreReadAtASnapshotOfTheUser)
{
    write(5, false, false);
    const std::uint64_t own = container().create_snapshot("of a user");
    write(3, true);
    Reader reader(location, at_random(own), self_communicator());
    EXPECT_EQ(reader.steps(), 5u);
    for (std::uint64_t step = 0; step < 5; ++step)
        model.check_step(reader, step);
    aggregate_steps(location, 4);
    Reader later(location, at_random(own), self_communicator());
    EXPECT_EQ(later.steps(), 5u);
    for (std::uint64_t step = 0; step < 4; ++step)
        expect_gone(later, step);
    model.check_step(later, 4);
}

TEST_P(StepSnapshots, AReaderThatWasOvertakenGoesOnBehindTheGap)
{
    write(3, false, false);
    ReaderOptions options;
    options.read_ahead = 0;
    Reader reader(location, options, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    model.check_step(reader, 0);
    reader.end_step();
    write(5, true);
    aggregate_steps(location, 3);
    try {
        reader.begin_step(0);
        FAIL() << "the gap was not told";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_EP_OLD);
        EXPECT_NE(std::string(error.what()).find("steps 1 to 4"), std::string::npos) << error.what();
    }
    for (std::uint64_t step = 5; step < 8; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        ASSERT_EQ(reader.current_step(), step);
        model.check_step(reader, step);
        reader.end_step();
    }
    EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
}

TEST_P(StepSnapshots, OfAWriterThatDiedAreRemovedByTheNext)
{
    write(3, false, false);
    {
        const OpenedStream opened = find_stream(location);
        const Pool pool = Pool::connect(opened.location.pool);
        Container all = container(); // as when it dies between the snapshot and the epoch
        all.create_snapshot(snapshot_name(pool, segment_record_of(opened.record, 3), 3));
    }
    EXPECT_EQ(snapshots(), 4u);
    expect_steps(0, 3);
    write(2, true);
    EXPECT_EQ(snapshots(), 5u);
    expect_steps(0, 5);
}

TEST_P(StepSnapshots, ThatAnInterruptedRemovalLeftAreRemovedByTheNext)
{
    write(4);
    {
        const OpenedStream opened = find_stream(location);
        const Container all = container();
        KeyValue side = all.key_value(opened.record.side);
        StepSnapshot first = decode_snapshot(*side.get(snapshot_key(0)), 0);
        first.gone = true;
        side.put(snapshot_key(0), encode_snapshot(0, first));
    }
    expect_steps(1, 4);
    EXPECT_EQ(snapshots(), 4u);
    EXPECT_EQ(aggregate_steps(location, 3).removed, 0u);
    EXPECT_EQ(snapshots(), 3u);
    expect_steps(1, 4);
}

TEST_P(StepSnapshots, OneThatSomebodyDestroyedIsAStepThatIsGone)
{
    write(4);
    {
        Container all = container();
        all.destroy_snapshot(all.snapshots().at(2).epoch);
    }
    Reader random(location, at_random(), self_communicator());
    expect_gone(random, 2);
    model.check_step(random, 3);
    Reader reader(location, {}, self_communicator());
    for (std::uint64_t step = 0; step < 4; ++step) {
        if (step == 2) {
            EXPECT_THROW(reader.begin_step(0), Error);
            continue;
        }
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        model.check_step(reader, step);
        reader.end_step();
    }
}

TEST_P(StepSnapshots, CostIsInTheProfile)
{
    write(4);
    const std::string profile = Reader(location, {}, self_communicator()).writer_profile_json();
    constexpr std::string_view name = "\"snapshot_seconds\":";
    EXPECT_GT(std::stod(profile.substr(profile.find(name) + name.size())), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, StepSnapshots, ::testing::ValuesIn([] {
                             std::vector<std::string> names;
                             // Beside the program a step is there after the next call (async_write.cc).
                             for (const auto& [name, design] : designs)
                                 if (design.step_mode == StepMode::snapshot && !design.async)
                                     names.push_back(name);
                             return names;
                         }()),
                         name_of_design);

TEST(Choices, ThatCannotWorkAreRefusedAtOpeningWithTheReason)
{
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    std::vector<std::string> refused;
    each_design([&](const Design& design) {
        if (design.aggregated || is_accepted(design)) return;
        refused.push_back(name_of(design));
        try {
            const Writer writer(location, options_of(design), self_communicator());
            ADD_FAILURE() << name_of(design) << " was taken";
        } catch (const Error& error) {
            const std::string text = error.what();
            EXPECT_EQ(error.code(), -DER_INVAL) << text;
            EXPECT_NE(text.find(" does not go with "), std::string::npos) << text;
            EXPECT_LT(text.find(": ") + 20, text.size()) << "no reason: " << text;
        }
    });
    EXPECT_FALSE(std::filesystem::exists(location));
    // What a layout cannot have, by what it says of itself.
    std::vector<std::string> known;
    each_design([&](const Design& design) {
        const Layout& layout = layout_named(design.layout);
        const bool by_snapshot = design.step_mode == StepMode::snapshot;
        const bool cannot =
            (design.objects != Objects::single && !layout.one_object_because.empty()) ||
            (design.objects == Objects::per_machine && !layout.objects_of_machines) ||
            (by_snapshot && (design.objects == Objects::per_step || !layout.data->in_snapshots));
        if (cannot && !design.aggregated) known.push_back(name_of(design));
    });
    EXPECT_GE(known.size(), 17u); // of the five layouts that Stepstore began with
    EXPECT_TRUE(std::ranges::is_permutation(refused, known)) << ::testing::PrintToString(refused);
}

TEST(Choices, AggregatingAStreamWithoutSnapshotsIsRefused)
{
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    Writer(location, options_of("array-aligned"), self_communicator()).close();
    try {
        aggregate_steps(location, 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_INVAL);
        EXPECT_NE(std::string(error.what()).find("Steps=extend"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace stepstore::steps::testing
