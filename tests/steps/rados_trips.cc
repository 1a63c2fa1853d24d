// What a step costs on a Ceph cluster, in round trips of a rank. The first steps of a stream take some more:
// objects are opened, and a process learns what it may suppose.
#include "support/rados_trips.h"
#include "steps/model.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <atomic>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::Counted;
using stepstore::testing::new_stream;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;
using stepstore::testing::trips_of;

constexpr int first_steps = 4, steps = 12;

struct Expected {
    const char* layout;
    std::uint64_t stabilised, acquired;
    double of_four;    // at most, of each of four ranks and each step, in the mean
    int table = steps; // every so many steps a writer goes on in a new table of places, which takes one more
    bool is_usual(int step) const { return step >= first_steps && step % table != 0; }
};

class StepTrips : public ::testing::TestWithParam<Expected> {
protected:
    StepTrips() { options.layout = GetParam().layout; }

    TemporaryDirectory directory;
    const std::string location = new_stream(directory);
    WriterOptions options;
    const std::string metadata = std::string(5000, 'x');
};

TEST_P(StepTrips, OfAStepThatIsWrittenAndOneThatIsAwaited)
{
    Writer writer(location, options, self_communicator());
    const VariableId text = writer.define("text", Type::string, ShapeKind::local_value);
    std::optional<Reader> reader;
    for (int step = 0; step < steps; ++step) {
        writer.begin_step();
        writer.put_string(text, metadata);
        const Counted stabilised = trips_of([&] { writer.end_step(); });
        if (!reader) reader.emplace(location, ReaderOptions(), self_communicator());
        const Counted acquired = trips_of([&] { EXPECT_EQ(reader->begin_step(5), StepStatus::ok); });
        EXPECT_EQ(reader->get_string(reader->find("text").value(), 0), metadata);
        reader->end_step();
        if (!GetParam().is_usual(step)) continue;
        EXPECT_EQ(stabilised, (Counted{0, GetParam().stabilised})) << step;
        EXPECT_EQ(acquired, (Counted{GetParam().acquired, 0})) << step;
    }
    writer.close();
}

// All ranks at once, as threads of this process, so all that the process counts is theirs.
TEST_P(StepTrips, OfEachOfFourRanks)
{
    constexpr int ranks = 4;
    std::atomic<std::uint64_t> before = 0, after = 0;
    run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
        Writer writer(location, options, communicator);
        const VariableId text = writer.define("text", Type::string, ShapeKind::local_value);
        for (int step = 0; step < steps; ++step) {
            communicator->barrier();
            if (step == first_steps && communicator->rank() == 0)
                before = stepstore::testing::rados_trips().writes;
            communicator->barrier();
            writer.begin_step();
            writer.put_string(text, metadata);
            writer.end_step();
        }
        communicator->barrier();
        if (communicator->rank() == 0) after = stepstore::testing::rados_trips().writes;
        communicator->barrier();
        writer.close();
    });
    const double each = static_cast<double>(after - before) / (ranks * (steps - first_steps));
    EXPECT_GE(each, 1);
    EXPECT_LE(each, GetParam().of_four);
}

// Bytes of large arrays go out together before the metadata, whatever the number of their targets.
TEST_P(StepTrips, OfTheDataOfAStep)
{
    const std::vector<double> data((6 << 20) / sizeof(double), 1.5);
    const Dims shape{data.size()};
    Writer writer(location, options, self_communicator());
    const VariableId large = writer.define("large", Type::float64, ShapeKind::global_array);
    std::optional<Reader> reader;
    std::vector<double> got(data.size());
    std::uint64_t least_stored = UINT64_MAX, least_loaded = UINT64_MAX;
    for (int step = 0; step < steps; ++step) {
        writer.begin_step();
        const Counted stored = trips_of([&] {
            writer.put(large, shape, Dims{0}, shape, data.data());
            writer.end_step();
        });
        if (!reader) reader.emplace(location, ReaderOptions(), self_communicator());
        EXPECT_EQ(reader->begin_step(5), StepStatus::ok);
        const Counted loaded = trips_of(
            [&] { reader->get(reader->find("large").value(), Dims{0}, shape, got.data(), Mode::sync); });
        reader->end_step();
        EXPECT_EQ(got, data);
        if (!GetParam().is_usual(step)) continue;
        least_stored = std::min(least_stored, stored.writes);
        least_loaded = std::min(least_loaded, loaded.reads);
    }
    // More where targets get their first bytes of this process, which goes on for many steps.
    EXPECT_GE(least_stored, 2 + GetParam().stabilised);
    EXPECT_LE(least_stored, 3 + GetParam().stabilised);
    // Three parts are under way together, each with two or three trips.
    EXPECT_GE(least_loaded, 6U);
    EXPECT_LE(least_loaded, 9U);
    writer.close();
}

// Steps that are there come together.
TEST_P(StepTrips, OfStepsThatAreThereAlready)
{
    {
        Writer writer(location, options, self_communicator());
        const VariableId text = writer.define("text", Type::string, ShapeKind::local_value);
        for (int step = 0; step < steps; ++step) {
            writer.begin_step();
            writer.put_string(text, metadata);
            writer.end_step();
        }
        writer.close();
    }
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.begin_step(0), StepStatus::ok);
    reader.end_step();
    for (int step = 1; step < steps; ++step) {
        const Counted acquired = trips_of([&] { EXPECT_EQ(reader.begin_step(0), StepStatus::ok); });
        reader.end_step();
        if (!GetParam().is_usual(step)) continue;
        EXPECT_EQ(acquired, Counted{}) << step;
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, StepTrips,
                         ::testing::Values(Expected{"array-aligned", 1, 2, 1.25},
                                           Expected{"array-adaptive", 1, 2, 1.25, 8},
                                           Expected{"array", 2, 2, 3.5}, Expected{"kv", 1, 2, 1.25}),
                         [](const auto& info) {
                             std::string name = info.param.layout;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

} // namespace
} // namespace stepstore::steps::testing
