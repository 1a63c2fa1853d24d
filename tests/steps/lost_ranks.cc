// A rank leaves in the middle, or is killed. The others are told which one, in bounded time, whatever they
// do. The steps before stay, and a writer can go on with the stream.
#include "steps/check/check.h"
#include "steps/model.h"
#include "support/process_group.h"
#include "support/report.h"
#include "support/temporary.h"
#include "support/thread_group.h"

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_in_child;
using stepstore::testing::run_processes;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

constexpr int ranks = 3;
constexpr std::uint64_t steps_before = 3;

enum class When : std::uint8_t { in_a_step, between_steps, instead_of_close };

class LostRanks : public ::testing::TestWithParam<std::string> {
protected:
    static Model model() { return {ranks, 16, false}; }

    // A rank that is not lost: ends `steps` steps, or as many as it can, and closes. What it was told.
    static std::string write(Writer& writer, int rank, std::uint64_t steps)
    {
        try {
            while (writer.steps() < steps)
                model().write_step(writer, rank);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_CANCELED) << error.what();
            const std::string told = error.what();
            try { // ends too
                writer.close();
                ADD_FAILURE() << "closed without a rank";
            } catch (const Error& again) {
                EXPECT_EQ(again.code(), -DER_CANCELED) << again.what();
            }
            return told;
        }
        try {
            writer.close();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_CANCELED) << error.what();
            return error.what();
        }
        return {};
    }

    // Where a rank is lost after so many steps, and how.
    template <class Lose>
    std::string run_rank(const std::shared_ptr<Communicator>& communicator, int victim, When when,
                         Lose lose) const
    {
        const int rank = communicator->rank();
        Writer writer(location, options_of(GetParam()), communicator);
        while (writer.steps() < steps_before)
            model().write_step(writer, rank);
        communicator->barrier(); // a slow rank would be told before it has ended them
        if (rank != victim)
            return write(writer, rank, when == When::instead_of_close ? steps_before : 1000000);
        if (when == When::in_a_step) {
            writer.begin_step();
            const double value = 1;
            writer.put_value(writer.define("rare", Type::float64, ShapeKind::local_value), &value);
        }
        lose();
        return {};
    }

    void expect_gone_on_from() const
    {
        ASSERT_EQ(run_in_child([&] {
                      std::uint64_t whole = 0;
                      {
                          ReaderOptions options;
                          options.mode = ReadMode::random_access;
                          Reader reader(location, options, self_communicator());
                          whole = reader.steps();
                          EXPECT_GE(whole, steps_before - under_way(GetParam()));
                          EXPECT_LE(whole, steps_before);
                          for (std::uint64_t step = 0; step < whole; ++step)
                              model().check_step(reader, step);
                      }
                      run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
                          WriterOptions options;
                          options.append = true;
                          Writer writer(location, options, communicator);
                          EXPECT_EQ(writer.steps(), whole);
                          model().write_step(writer, communicator->rank());
                          writer.close();
                      });
                      const StreamReport report = check_streams(location, true);
                      EXPECT_TRUE(report.findings.empty()) << report;
                      EXPECT_EQ(report.streams.at(0).whole_steps, whole + 1);
                      return ::testing::Test::HasFailure() ? 1 : 0;
                  }),
                  0);
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_P(LostRanks, ThatAreDestroyedWithoutCloseAreNamed)
{
    int victim = 0;
    for (const When when : {When::in_a_step, When::between_steps, When::instead_of_close}) {
        SCOPED_TRACE(static_cast<int>(when));
        std::vector<std::string> told(ranks);
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            struct Mistake {};
            try {
                told[static_cast<std::size_t>(communicator->rank())] =
                    run_rank(communicator, victim, when, [] { throw Mistake(); });
            } catch (const Mistake&) {
            }
        });
        for (int rank = 0; rank < ranks; ++rank) {
            const std::string& text = told[static_cast<std::size_t>(rank)];
            if (rank == victim) continue;
            EXPECT_NE(text.find("rank " + std::to_string(victim) + " left"), std::string::npos) << text;
            const bool earlier = // the ended step, that nobody had published
                under_way(GetParam()) > 0 &&
                text.find("step " + std::to_string(steps_before - 1)) != std::string::npos;
            EXPECT_TRUE(earlier || text.find("step " + std::to_string(steps_before)) != std::string::npos)
                << text;
        }
        expect_gone_on_from();
        victim = (victim + 1) % ranks;
    }
}

TEST_P(LostRanks, ThatAreKilledAreNamed)
{
    int victim = 0;
    for (const When when : {When::in_a_step, When::between_steps, When::instead_of_close}) {
        SCOPED_TRACE(static_cast<int>(when));
        const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
            const std::string told = run_rank(communicator, victim, when, [] { kill(getpid(), SIGKILL); });
            EXPECT_NE(told.find("rank " + std::to_string(victim) + " (process "), std::string::npos) << told;
            EXPECT_NE(told.find("died"), std::string::npos) << told;
            return ::testing::Test::HasFailure() ? 1 : 0;
        });
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_EQ(ends[static_cast<std::size_t>(rank)], rank == victim ? -SIGKILL : 0) << "rank " << rank;
        expect_gone_on_from();
        victim = (victim + 1) % ranks;
    }
}

// Where all ranks leave without close, each at its own time, every step that all have ended is there.
TEST_P(LostRanks, HarmNoStepThatTheyHaveEnded)
{
    if (under_way(GetParam()) > 0) GTEST_SKIP() << "others may be told while they publish the last one";
    run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options_of(GetParam()), communicator);
        for (std::uint64_t step = 0; step < steps_before; ++step) {
            model().write_step(writer, communicator->rank());
            if (communicator->rank() == 2) usleep(120000); // then it looks what became of the others
        }
    });
    expect_gone_on_from();
}

INSTANTIATE_TEST_SUITE_P(Layouts, LostRanks, ::testing::ValuesIn(few_designs), name_of_design);
INSTANTIATE_TEST_SUITE_P(BesideTheProgram, LostRanks, ::testing::ValuesIn(async_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing
