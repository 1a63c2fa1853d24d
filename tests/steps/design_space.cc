// The whole design space: every choice of a writer that it takes, with every choice of a reader. All are
// written by 1 to 8 ranks, with blobs of all sizes; gone on with, killed, and damaged. The points come from
// the lists of choices: one that is added there is tested here.
#include "steps/altered_blob.h"
#include "steps/model.h"
#include "support/processes.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>

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
        for (const std::string& gets : ReaderOptions::choices("Gets"))
            for (const char* const ahead : {"auto", "0", "20k"}) {
                ReaderOptions point;
                point.set("Readers", readers);
                point.set("Gets", gets);
                point.set("ReadAhead", ahead);
                points.push_back(point);
            }
    return points;
}

const std::vector<ReaderOptions> all_reader_points = reader_points();

std::string text_of(const ReaderOptions& point)
{
    return "Readers " + std::to_string(static_cast<int>(point.readers)) + ", Gets " +
           std::to_string(static_cast<int>(point.gets)) + ", ReadAhead " +
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
    // Small blobs, and some that are larger than a chunk or than those before.
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

    // ranks_of_step: how many wrote each. lost: a step that is damaged. end: what comes behind all.
    void read(const ReaderOptions& point, int readers, const std::vector<int>& ranks_of_step,
              std::uint64_t lost = no_step, StepStatus end = StepStatus::end_of_stream) const
    {
        SCOPED_TRACE(text_of(point) + ", " + std::to_string(readers) + " ranks");
        run_ranks(readers, [&](std::shared_ptr<Communicator> communicator) {
            Reader reader(location, point, communicator);
            for (std::uint64_t step = 0; step < ranks_of_step.size(); ++step) {
                if (step == lost) {
                    EXPECT_THROW(reader.begin_step(0), Error);
                    continue;
                }
                ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
                ASSERT_EQ(reader.current_step(), step);
                model_of(ranks_of_step[step]).check_step(reader, step);
                reader.end_step();
            }
            EXPECT_EQ(reader.begin_step(0), end);
        });
    }

    // By every choice of a reader; the number of ranks goes from one to the next.
    void read_by_all(const std::vector<int>& ranks_of_step, std::uint64_t lost = no_step,
                     StepStatus end = StepStatus::end_of_stream) const
    {
        int readers = 0;
        for (const ReaderOptions& point : all_reader_points)
            read(point, 1 + readers++ % 3, ranks_of_step, lost, end);
    }

    TemporaryDirectory directory;
    std::string location = directory / "pool";
};

TEST_P(DesignSpace, OneToEightRanksAreReadAsTheyWrote)
{
    for (int ranks = 1; ranks <= most_ranks; ++ranks) {
        SCOPED_TRACE(std::to_string(ranks) + " writers");
        const std::uint64_t steps = options().durability == Durability::power ? 2 : 4; // syncs take long
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
    std::vector<int> ranks_of_step(10, 3);
    write(3, 10);
    write(5, 3, true);
    ranks_of_step.insert(ranks_of_step.end(), 3, 5);
    read_by_all(ranks_of_step);
}

TEST_P(DesignSpace, ADamagedBlobCostsItsStepAlone)
{
    constexpr std::uint64_t steps = 6, hit = 2;
    write(3, steps);
    AlteredBlob(hit, 1).change(location,
                               [](std::vector<std::byte>& blob) { blob[blob.size() - 3] ^= std::byte{4}; });
    read_by_all(std::vector<int>(steps, 3), hit);
}

TEST_P(DesignSpace, AKilledWriterLeavesItsWholeSteps)
{
    constexpr int ranks = 3;
    using Ended = std::array<std::atomic<int>, ranks>; // steps of each rank; it outlives the writer
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
    while (std::ranges::any_of(ended, [](const auto& steps) { return steps < 3; }))
        usleep(200);
    ASSERT_EQ(kill(writer, SIGKILL), 0);
    ASSERT_EQ(end_of(writer), -SIGKILL);
    munmap(memory, sizeof(Ended));
    ReaderOptions at_random;
    at_random.mode = ReadMode::random_access;
    const std::uint64_t steps = Reader(location, at_random, self_communicator()).steps();
    EXPECT_GE(steps, 3u);
    std::vector<int> ranks_of_step(steps, ranks);
    read_by_all(ranks_of_step, no_step, StepStatus::writer_died);
    write(2, 2, true);
    ranks_of_step.insert(ranks_of_step.end(), 2, 2);
    read_by_all(ranks_of_step);
}

INSTANTIATE_TEST_SUITE_P(Points, DesignSpace, ::testing::ValuesIn(writer_points()), name_of_point);

} // namespace
} // namespace stepstore::steps::testing
