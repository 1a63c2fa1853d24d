// A disk fills up in the middle of a step. Every rank gets an error, no rank waits for ever, and all earlier
// steps are whole. A restart goes on behind them once there is space again.
#include "steps/check/check.h"
#include "steps/model.h"
#include "support/processes.h"
#include "support/report.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <sys/resource.h>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_in_child;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

constexpr int ranks = 3;

// Files cannot grow beyond this many bytes from now on: as if the disk were full, without a disk of one's
// own.
void limit_files(rlim_t bytes)
{
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

class FullDiskOfRanks : public ::testing::TestWithParam<std::string> {
protected:
    static Model model() { return {ranks, 16384, true}; } // rows of 128 KiB

    // The number of steps that all ranks ended before the disk was full; -1 when something was not as it must
    // be.
    int write_until_full(rlim_t bytes) const
    {
        std::mutex mutex;
        std::vector<std::uint64_t> ended(ranks);
        int told = 0, no_space = 0;
        const auto note = [&](const Error& error) {
            const std::lock_guard lock(mutex);
            no_space += error.code() == -DER_NOSPACE;
            EXPECT_TRUE(error.code() == -DER_NOSPACE || error.code() == -DER_CANCELED) << error.what();
        };
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            const auto rank = static_cast<std::size_t>(communicator->rank());
            Writer writer(location, options_of(GetParam()), communicator);
            communicator->barrier();
            limit_files(bytes);
            bool failed = false;
            for (int step = 0; step < 2000 && !failed; ++step) {
                try {
                    model().write_step(writer, communicator->rank());
                    ended[rank] = writer.steps();
                } catch (const Error& error) {
                    note(error);
                    ended[rank] = writer.steps(); // less one that was on its way
                    failed = true;
                    EXPECT_THROW(writer.begin_step(), Error) << "only close is left";
                }
            }
            if (failed) {
                const std::lock_guard lock(mutex);
                ++told;
            }
            try { // there may be no space for the record of the end either
                writer.close();
            } catch (const Error& error) {
                note(error);
            }
        });
        EXPECT_EQ(told, ranks) << "every rank is told";
        EXPECT_GE(no_space, 1);
        const auto whole = static_cast<int>(std::ranges::min(ended));
        return ::testing::Test::HasFailure() || whole > 100 ? 255 : whole;
    }

    int verify(std::uint64_t steps, std::uint64_t most) const
    {
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        Reader reader(location, options, self_communicator());
        EXPECT_GE(reader.steps(), steps);
        EXPECT_LE(reader.steps(), most);
        for (std::uint64_t step = 0; step < reader.steps(); ++step)
            model().check_step(reader, step);
        const StreamReport report = check_streams(location, true);
        EXPECT_FALSE(report.damaged()) << report;
        const auto found = static_cast<int>(reader.steps());
        return ::testing::Test::HasFailure() ? 255 : found;
    }

    TemporaryDirectory directory;
    std::string location = directory / "pool";
};

TEST_P(FullDiskOfRanks, EveryRankIsToldAndARestartGoesOn)
{
    const int ended = run_in_child([&] { return write_until_full(10 << 20); });
    ASSERT_GT(ended, 1);
    ASSERT_LT(ended, 255);
    const auto whole = static_cast<std::uint64_t>(ended);
    const int found = run_in_child([&] { return verify(whole, whole + 1); });
    ASSERT_LT(found, 255);
    ASSERT_GE(found, ended);
    ASSERT_EQ(run_in_child([&] {
                  run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
                      WriterOptions options;
                      options.append = true;
                      Writer writer(location, options, communicator);
                      EXPECT_EQ(writer.steps(), static_cast<std::uint64_t>(found));
                      for (int step = 0; step < 3; ++step)
                          model().write_step(writer, communicator->rank());
                      writer.close();
                  });
                  const StreamReport report = check_streams(location, true);
                  EXPECT_TRUE(report.findings.empty()) << report;
                  return ::testing::Test::HasFailure() ? 1 : 0;
              }),
              0);
    EXPECT_EQ(run_in_child([&] { return verify(whole + 3, static_cast<std::uint64_t>(found) + 3); }),
              found + 3);
}

INSTANTIATE_TEST_SUITE_P(Layouts, FullDiskOfRanks, ::testing::ValuesIn(all_designs), name_of_design);
INSTANTIATE_TEST_SUITE_P(BesideTheProgram, FullDiskOfRanks, ::testing::ValuesIn(async_designs),
                         name_of_design);

} // namespace
} // namespace stepstore::steps::testing
