// Writers are killed at any moment, while they open and while they write, and restarted behind the steps that
// are there. Every step that was ended stays, whole. Half a step is never seen, and its space is freed.
#include "steps/check/check.h"
#include "steps/model.h"
#include "stepstore/administration.h"
#include "support/processes.h"
#include "support/report.h"
#include "support/space.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <atomic>
#include <filesystem>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_in_child;
using stepstore::testing::run_ranks;
using stepstore::testing::start_child;
using stepstore::testing::TemporaryDirectory;

constexpr int most_ranks = 3;
// Per design. Those by snapshots differ in how a step is published, not in how a writer opens. On Ceph each
// takes a second.
int kills_of(const std::string& design)
{
    if (stepstore::testing::on_rados()) return 25;
    return designs.at(design).step_mode == StepMode::extend ? 80 : 20;
}

// How far the child got: it outlives the child.
struct Progress {
    std::atomic<bool> opened;
    std::atomic<std::uint64_t> first; // the number of its first step
    std::atomic<std::uint64_t> ended[most_ranks];
};

struct Attempt {
    int ranks;
    bool append;
    std::int64_t after;
};

class Crash : public ::testing::TestWithParam<std::string> {
protected:
    Crash()
    {
        void* memory =
            mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
        progress = new (memory) Progress{};
    }
    ~Crash() override { munmap(progress, sizeof(Progress)); }

    // Rows of 16 KiB: blocks small enough to be copied together, and large ones.
    static Model model_of(int ranks) { return {ranks, 2048, true}; }

    // steps: how many to write before closing; negative: for ever.
    int write(const Attempt& attempt, int steps, useconds_t pause = 0) const
    {
        run_ranks(attempt.ranks, [&](std::shared_ptr<Communicator> communicator) {
            WriterOptions options = options_of(GetParam());
            if (attempt.append) options = WriterOptions();
            options.async_write = under_way(GetParam()) > 0;
            options.append = attempt.append;
            options.append_after = attempt.after;
            Writer writer(location, options, communicator);
            if (communicator->rank() == 0) {
                progress->first = writer.steps();
                progress->opened = true;
            }
            for (int step = 0; step != steps; ++step) {
                model_of(attempt.ranks).write_step(writer, communicator->rank());
                progress->ended[communicator->rank()] =
                    static_cast<std::uint64_t>(step) + 1 - under_way(GetParam());
                if (pause > 0) usleep(pause);
            }
            writer.close();
        });
        return 0;
    }

    // Lets a writer run until it has ended `wanted` steps and a little longer, or is just about to open; then
    // kills it.
    void kill_one(const Attempt& attempt, std::uint64_t wanted, useconds_t longer)
    {
        progress->opened = false;
        for (auto& ended : progress->ended)
            ended = 0;
        const pid_t child = start_child([&] { return write(attempt, -1); });
        while (ended(attempt.ranks) < wanted) {
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "the writer ended by itself";
            usleep(100);
        }
        usleep(longer);
        ASSERT_EQ(kill(child, SIGKILL), 0);
        ASSERT_EQ(end_of(child), -SIGKILL);
    }
    std::uint64_t ended(int ranks) const
    {
        std::uint64_t least = UINT64_MAX;
        for (int rank = 0; rank < ranks; ++rank)
            least = std::min(least, progress->ended[rank].load());
        return least;
    }

    // In a process of its own, before and after somebody appended. Returns how many steps there are, or -1.
    int verify(const std::vector<int>& ranks_of_step, std::uint64_t at_least) const
    {
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        Reader reader(location, options, self_communicator());
        const std::uint64_t steps = reader.steps();
        EXPECT_GE(steps, at_least);
        EXPECT_LE(steps, ranks_of_step.size());
        if (::testing::Test::HasFailure()) return 255;
        for (std::uint64_t step = 0; step < steps; ++step)
            model_of(ranks_of_step[step]).check_step(reader, step);
        Reader streaming(location, {}, self_communicator());
        for (std::uint64_t step = 0; step < steps; ++step) {
            EXPECT_EQ(streaming.begin_step(0), StepStatus::ok);
            streaming.end_step();
        }
        EXPECT_EQ(streaming.begin_step(0), StepStatus::writer_died);
        const StreamReport report = check_streams(location, true);
        EXPECT_FALSE(report.damaged()) << report;
        EXPECT_EQ(report.streams.at(0).whole_steps, steps);
        return ::testing::Test::HasFailure() ? 255 : static_cast<int>(steps);
    }

    bool pool_is_whole() const
    {
        std::string damage;
        check_pool(location, true, false, [&](const Finding& finding) {
            if (finding.severity == Finding::Severity::damage)
                damage += finding.where + ": " + finding.what + "\n";
        });
        EXPECT_EQ(damage, "");
        return damage.empty();
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
    Progress* progress = nullptr;
};

TEST_P(Crash, KilledWritersLeaveEveryEndedStepAndAreGoneOnFrom)
{
    std::mt19937 random(20261121u + static_cast<unsigned>(GetParam().size()));
    std::vector<int> ranks_of_step; // that are there
    std::uint64_t most = 0, while_opening = 0;
    for (int number = 0; number < kills_of(GetParam()); ++number) {
        SCOPED_TRACE("kill " + std::to_string(number));
        // Mostly behind all steps; from time to time fewer, so that they stay few, and anew.
        const bool cut = ranks_of_step.size() > 8;
        Attempt attempt{1 + static_cast<int>(random() % most_ranks), number % 20 != 0, cut ? 2 : -1};
        const bool in_open = attempt.append && random() % 4 == 0;
        kill_one(attempt, in_open ? 0 : 1 + random() % 4,
                 static_cast<useconds_t>(random() % (in_open ? 12000 : 3000)));

        // What may be there now: what was, or what the writer made of it.
        std::uint64_t at_least = ranks_of_step.size();
        const std::uint64_t kept = !attempt.append ? 0 : cut ? 2 : ranks_of_step.size();
        std::vector<int> expected = ranks_of_step;
        if (progress->opened) {
            ASSERT_EQ(progress->first, kept);
            at_least = kept + ended(attempt.ranks);
            expected.resize(kept);
            // The step that was being ended may be there as well.
            expected.resize(at_least + 1 + under_way(GetParam()), attempt.ranks);
        } else {
            at_least = kept; // it may have cut them off, or not yet
            ++while_opening;
        }
        const int steps = run_in_child([&] { return verify(expected, at_least); });
        ASSERT_GE(steps, 0);
        ASSERT_NE(steps, 255);
        ASSERT_TRUE(progress->opened || static_cast<std::size_t>(steps) == ranks_of_step.size() ||
                    static_cast<std::uint64_t>(steps) == kept);
        expected.resize(static_cast<std::size_t>(steps));
        ranks_of_step = expected;
        most = std::max<std::uint64_t>(most, ranks_of_step.size());
    }
    EXPECT_GT(most, 4u);
    EXPECT_TRUE(while_opening > 0 || kills_of(GetParam()) < 80);

    // The last restart lives. Nothing of what the dead left is there any more.
    ASSERT_EQ(run_in_child([&] { return write({2, true, 1}, 2); }), 0);
    ASSERT_EQ(run_in_child([&] {
                  const StreamReport report = check_streams(location, true);
                  EXPECT_TRUE(report.findings.empty()) << report;
                  EXPECT_EQ(report.streams.at(0).whole_steps, 3u);
                  EXPECT_TRUE(pool_is_whole());
                  return ::testing::Test::HasFailure() ? 1 : 0;
              }),
              0);
    EXPECT_LT(stepstore::testing::space_taken(location), std::uint64_t{24} << 20);
}

// Readers killed while a writer writes: neither it nor other readers notice.
TEST_P(Crash, KilledReadersHarmNobody)
{
    constexpr int readers = 45;
    std::mt19937 random(20261122u + static_cast<unsigned>(GetParam().size()));
    progress->opened = false;
    const pid_t writer = start_child([&] { return write({2, false, -1}, -1, 5000); });
    while (ended(2) < 1)
        usleep(200);
    for (int number = 0; number < readers; ++number) {
        auto& reading = progress->ended[2];
        reading = 0;
        const pid_t reader = start_child([&] {
            while (true) {
                run_ranks(1 + number % 2, [&](std::shared_ptr<Communicator> communicator) {
                    Reader one(location, {}, communicator);
                    for (std::uint64_t step = 0; step < 6 && one.begin_step(-1) == StepStatus::ok; ++step) {
                        model_of(2).check_step(one, step);
                        one.end_step();
                        ++reading;
                    }
                });
                if (::testing::Test::HasFailure()) return 1;
            }
        });
        while (reading < 1) {
            int status = 0;
            ASSERT_EQ(waitpid(reader, &status, WNOHANG), 0) << "the reader ended by itself";
            usleep(100);
        }
        usleep(static_cast<useconds_t>(random() % 3000));
        ASSERT_EQ(kill(reader, SIGKILL), 0);
        ASSERT_EQ(end_of(reader), -SIGKILL);
        int status = 0;
        ASSERT_EQ(waitpid(writer, &status, WNOHANG), 0) << "the writer ended";
    }
    const std::uint64_t before = ended(2);
    while (ended(2) < before + 2)
        usleep(200); // the writer goes on
    ASSERT_EQ(kill(writer, SIGKILL), 0);
    ASSERT_EQ(end_of(writer), -SIGKILL);
    const std::uint64_t whole = ended(2);
    ASSERT_EQ(run_in_child([&] {
                  Reader reader(location, {}, self_communicator());
                  for (std::uint64_t step = 0; step < whole; ++step) {
                      EXPECT_EQ(reader.begin_step(0), StepStatus::ok);
                      if (step % 16 == 0) model_of(2).check_step(reader, step);
                      reader.end_step();
                  }
                  EXPECT_TRUE(pool_is_whole());
                  return ::testing::Test::HasFailure() ? 1 : 0;
              }),
              0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Crash, ::testing::ValuesIn(all_designs), name_of_design);
INSTANTIATE_TEST_SUITE_P(BesideTheProgram, Crash, ::testing::ValuesIn(async_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing
