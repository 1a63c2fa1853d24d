// The whole design space: every choice of a writer that it takes, with every choice of a reader. All are
// written by 1 to 8 ranks, with metadata of all sizes; followed while they are written, gone on with, killed,
// and damaged. The points come from the lists of choices: one that is added there is tested here.
#include "steps/altered_metadata.h"
#include "steps/model.h"
#include "support/processes.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_ranks;
using stepstore::testing::start_child;
using stepstore::testing::TemporaryDirectory;

constexpr int most_ranks = 8;

// All combinations of what a reader can choose.
std::vector<ReaderOptions> reader_points()
{
    std::vector<ReaderOptions> points;
    for (const std::string& readers : ReaderOptions::choices("Readers"))
        for (const char* const ahead : {"auto", "0", "20k"}) {
            ReaderOptions point;
            point.set("Readers", readers);
            point.set("ReadAhead", ahead);
            points.push_back(point);
        }
    return points;
}

const std::vector<ReaderOptions> all_reader_points = reader_points();

std::string text_of(const ReaderOptions& point)
{
    return "Readers " + std::to_string(static_cast<int>(point.readers)) + ", ReadAhead " +
           (point.read_ahead ? std::to_string(*point.read_ahead) : "auto");
}

// A design, and "/power" where its pool is to have that durability.
std::vector<std::string> writer_points()
{
    std::vector<std::string> points;
    for (const std::string& design : all_designs)
        for (const char* const durability : {"process", "power"})
            points.push_back(design + "/" + durability);
    return points;
}

std::string name_of_point(const ::testing::TestParamInfo<std::string>& info)
{
    std::string name = info.param;
    std::erase(name, '-');
    std::ranges::replace(name, '/', '_');
    return name;
}

class DesignSpace : public ::testing::TestWithParam<std::string> {
protected:
    // Small metadata, and some that is larger than a chunk or than that before.
    static Model model_of(int ranks) { return {ranks, 8, true}; }

    WriterOptions options() const
    {
        const std::size_t slash = GetParam().find('/');
        WriterOptions options = options_of(GetParam().substr(0, slash));
        options.set("Durability", GetParam().substr(slash + 1));
        return options;
    }

    void write(int ranks, std::uint64_t steps, bool append = false,
               const std::function<void(int)>& after_step = {}) const
    {
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            WriterOptions how = append ? WriterOptions() : options();
            how.append = append;
            Writer writer(location, how, communicator);
            for (std::uint64_t step = 0; step < steps; ++step) {
                model_of(ranks).write_step(writer, communicator->rank());
                if (after_step) after_step(communicator->rank());
            }
            writer.close();
        });
    }

    bool syncs() const { return options().durability == Durability::power; } // which takes long

    // From `least` on; which numbers of ranks a point has follows from its name, and all of them occur.
    int some_ranks(int least) const
    {
        const std::size_t sum = std::accumulate(GetParam().begin(), GetParam().end(), std::size_t{0});
        return least + static_cast<int>(sum % static_cast<std::size_t>(most_ranks - least + 1));
    }

    // ranks_of_step: how many wrote each. lost: steps that are damaged. end: what comes behind all.
    // wait: seconds for a step.
    void read(const ReaderOptions& point, int readers, const std::vector<int>& ranks_of_step,
              const std::set<std::uint64_t>& lost = {}, StepStatus end = StepStatus::end_of_stream,
              double wait = 0) const
    {
        SCOPED_TRACE(text_of(point) + ", " + std::to_string(readers) + " ranks");
        run_ranks(readers, [&](std::shared_ptr<Communicator> communicator) {
            ReaderOptions options = point;
            options.open_timeout = wait;
            Reader reader(location, options, communicator);
            for (std::uint64_t step = 0; step < ranks_of_step.size(); ++step) {
                if (lost.contains(step)) {
                    EXPECT_THROW(reader.begin_step(wait), Error);
                    continue;
                }
                ASSERT_EQ(reader.begin_step(wait), StepStatus::ok);
                ASSERT_EQ(reader.current_step(), step);
                model_of(ranks_of_step[step]).check_step(reader, step);
                reader.end_step();
            }
            EXPECT_EQ(reader.begin_step(wait), end);
        });
    }

    // By every choice of a reader; the number of ranks goes from one to the next.
    void read_by_all(const std::vector<int>& ranks_of_step, const std::set<std::uint64_t>& lost = {},
                     StepStatus end = StepStatus::end_of_stream) const
    {
        int readers = 0;
        for (const ReaderOptions& point : all_reader_points)
            read(point, 1 + readers++ % 3, ranks_of_step, lost, end);
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_P(DesignSpace, OneToEightRanksAreReadAsTheyWrote)
{
    for (int ranks = 1; ranks <= most_ranks; ++ranks) {
        if (syncs() && ranks > 3 && ranks < most_ranks) continue; // so all choices of a reader still come
        SCOPED_TRACE(std::to_string(ranks) + " writers");
        const std::uint64_t steps = syncs() ? 2 : 4;
        write(ranks, steps);
        // Over the eight numbers of ranks each choice of a reader comes several times.
        for (std::size_t i = static_cast<std::size_t>(ranks) % 4; i < all_reader_points.size(); i += 4)
            read(all_reader_points[i], 1 + static_cast<int>(i + ranks) % most_ranks,
                 std::vector<int>(steps, ranks));
    }
}

// More steps than a round reads ahead, and rows of steps of `array-adaptive`; then by others.
TEST_P(DesignSpace, AppendedStepsAreReadWithThoseBefore)
{
    const int first = some_ranks(1), then = most_ranks + 1 - first;
    const std::uint64_t steps = syncs() ? 4 : 10;
    std::vector<int> ranks_of_step(steps, first);
    write(first, steps);
    write(then, 3, true);
    ranks_of_step.insert(ranks_of_step.end(), 3, then);
    read_by_all(ranks_of_step);
}

// Of metadata that lies in a chunk, that is larger, and that the store keeps apart.
TEST_P(DesignSpace, DamagedMetadataCostsItsStepAlone)
{
    const int ranks = some_ranks(2);
    const std::vector<std::pair<std::uint64_t, std::uint32_t>> hits = {{1, 0}, {2, 1}, {4, 0}};
    std::set<std::uint64_t> lost;
    write(ranks, 6);
    for (const auto& [step, rank] : hits) {
        const std::size_t least = step == 1 ? 80000 : step == 4 ? 9000 : 0;
        AlteredMetadata(step, rank).change(location, [&](std::vector<std::byte>& metadata) {
            EXPECT_GT(metadata.size(), least);
            metadata[metadata.size() - 3] ^= std::byte{4};
        });
        lost.insert(step);
    }
    read_by_all(std::vector<int>(6, ranks), lost);
}

// One reader of each kind after the other would take long: each point has some of them, at the same time.
TEST_P(DesignSpace, StepsAreReadWhileTheyAreWritten)
{
    constexpr std::uint64_t steps = 5;
    const int ranks = some_ranks(1);
    std::vector<std::thread> readers;
    for (std::size_t i = 0; i < 3; ++i)
        readers.emplace_back([&, i] {
            const auto point = static_cast<std::size_t>(ranks) + 7 * i;
            read(all_reader_points[point % all_reader_points.size()], 1 + static_cast<int>(i),
                 std::vector<int>(steps, ranks), {}, StepStatus::end_of_stream, 60);
        });
    write(ranks, steps, false, [](int) { usleep(300); });
    for (std::thread& reader : readers)
        reader.join();
}

TEST_P(DesignSpace, AKilledWriterLeavesItsWholeSteps)
{
    const int ranks = some_ranks(1);
    using Ended = std::array<std::atomic<int>, most_ranks>; // steps of each rank; it outlives the writer
    void* const memory =
        mmap(nullptr, sizeof(Ended), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& ended = *new (memory) Ended{};
    const pid_t writer = start_child([&] {
        write(ranks, UINT64_MAX, false, [&](int rank) {
            ++ended[static_cast<std::size_t>(rank)];
            usleep(500);
        });
        return 0;
    });
    while (std::any_of(ended.begin(), ended.begin() + ranks, [](const auto& steps) { return steps < 3; }))
        usleep(200);
    ASSERT_EQ(kill(writer, SIGKILL), 0);
    ASSERT_EQ(end_of(writer), -SIGKILL);
    munmap(memory, sizeof(Ended));
    ReaderOptions at_random;
    at_random.mode = ReadMode::random_access;
    const std::uint64_t steps = Reader(location, at_random, self_communicator()).steps();
    EXPECT_GE(steps, 3u);
    std::vector<int> ranks_of_step(steps, ranks);
    read_by_all(ranks_of_step, {}, StepStatus::writer_died);
    const int then = most_ranks + 1 - ranks;
    write(then, 2, true);
    ranks_of_step.insert(ranks_of_step.end(), 2, then);
    read_by_all(ranks_of_step);
}

INSTANTIATE_TEST_SUITE_P(Points, DesignSpace, ::testing::ValuesIn(writer_points()), name_of_point);

} // namespace
} // namespace stepstore::steps::testing
