// Writers killed at any moment: every step that was ended stays, whole; nothing half is ever seen.
#include "steps/check.h"
#include "steps/model.h"
#include "support/processes.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <atomic>
#include <random>
#include <sys/mman.h>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_in_child;
using stepstore::testing::run_ranks;
using stepstore::testing::start_child;
using stepstore::testing::TemporaryDirectory;

constexpr int ranks = 2;
constexpr int kills = 14; // per layout

// How far each rank of the child got: it outlives the child.
struct Progress {
    std::atomic<std::uint64_t> ended[ranks];
    std::uint64_t whole() const { return std::min(ended[0].load(), ended[1].load()); }
};

class Crash : public ::testing::TestWithParam<Layout> {
protected:
    Crash()
    {
        void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
        progress = new (memory) Progress{};
    }
    ~Crash() override { munmap(progress, sizeof(Progress)); }

    int write_for_ever() const
    {
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(location, options_of(GetParam()), communicator);
            while (true) {
                model.write_step(writer, communicator->rank());
                ++progress->ended[communicator->rank()];
            }
        });
        return 1;
    }

    // In a process of its own: 0 when all is as it must be.
    int verify(std::uint64_t at_least) const
    {
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        Reader reader(location, options, self_communicator());
        const std::uint64_t steps = reader.steps();
        EXPECT_GE(steps, at_least);
        EXPECT_LE(steps, at_least + 1) << "only the step that was being ended may be there as well";
        for (std::uint64_t step = 0; step < steps; ++step)
            model.check_step(reader, step);
        Reader streaming(location, {}, self_communicator());
        for (std::uint64_t step = 0; step < steps; ++step) {
            EXPECT_EQ(streaming.begin_step(0), StepStatus::ok);
            streaming.end_step();
        }
        EXPECT_EQ(streaming.begin_step(0), StepStatus::not_ready);
        const StreamReport report = check_streams(location, true);
        EXPECT_FALSE(report.damaged()) << report.json();
        EXPECT_EQ(report.streams.at(0).whole_steps, steps);
        return ::testing::Test::HasFailure() ? 1 : 0;
    }

    TemporaryDirectory directory;
    std::string location = directory / "pool";
    Model model{ranks, 16, true};
    Progress* progress = nullptr;
};

TEST_P(Crash, KilledWritersLeaveEveryEndedStep)
{
    std::mt19937 random(20261121u + static_cast<unsigned>(GetParam()));
    std::uint64_t most = 0;
    for (int kill_number = 0; kill_number < kills; ++kill_number) {
        for (auto& ended : progress->ended)
            ended = 0;
        const pid_t child = start_child([&] { return write_for_ever(); });
        // From some point of the first steps on, at any moment.
        const std::uint64_t wanted = 1 + random() % 8;
        while (progress->whole() < wanted) {
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "the writer ended by itself";
            usleep(200);
        }
        usleep(static_cast<useconds_t>(random() % 3000));
        ASSERT_EQ(kill(child, SIGKILL), 0);
        ASSERT_EQ(end_of(child), -SIGKILL);
        const std::uint64_t whole = progress->whole();
        ASSERT_EQ(run_in_child([&] { return verify(whole); }), 0)
            << "after kill " << kill_number << " at step " << whole;
        most = std::max(most, whole);
    }
    EXPECT_GT(most, 1u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Crash, ::testing::ValuesIn(all_layouts), name_of_layout);

} // namespace
} // namespace stepstore::steps::testing
