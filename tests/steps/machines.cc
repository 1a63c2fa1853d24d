// Ranks on several machines: all of them are told so before anything of a local pool is touched.
#include "steps/model.h"
#include "support/process_group.h"
#include "support/temporary.h"

#include <cstdlib>
#include <filesystem>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_in_child;
using stepstore::testing::run_processes;
using stepstore::testing::TemporaryDirectory;

constexpr int ranks = 4;

class StepsMachines : public ::testing::Test {
protected:
    static Model model() { return {ranks, 16, false}; }
    // 0: written and closed; 1: refused as it should be; 2: otherwise.
    int write(const std::shared_ptr<Communicator>& communicator, const char* machine) const
    {
        setenv("STEPSTORE_TEST_MACHINE", machine, 1);
        try {
            Writer writer(location, options_of("array"), communicator);
            model().write_step(writer, communicator->rank());
            writer.close();
            return 0;
        } catch (const Error& error) {
            const std::string message = error.what();
            const bool told = error.code() == -DER_BUSY &&
                              message.find("rank 0 runs on first") != std::string::npos &&
                              message.find("rank 2 on second") != std::string::npos;
            return told ? 1 : 2;
        }
    }

    TemporaryDirectory directory;
    const std::string location = directory / "pool/container/stream";
};

TEST_F(StepsMachines, AreToldOnEveryRankAndNothingIsMade)
{
    const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
        return write(communicator, communicator->rank() < 2 ? "first" : "second");
    });
    EXPECT_EQ(ends, std::vector<int>(ranks, 1));
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST_F(StepsMachines, LeaveTheStreamThatWasThere)
{
    const auto first = run_processes(
        ranks, [&](std::shared_ptr<Communicator> communicator) { return write(communicator, "first"); });
    ASSERT_EQ(first, std::vector<int>(ranks, 0));
    const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
        return write(communicator, communicator->rank() < 2 ? "first" : "second");
    });
    EXPECT_EQ(ends, std::vector<int>(ranks, 1));
    EXPECT_EQ(run_in_child([&] {
                  Reader reader(location, ReaderOptions(), self_communicator());
                  return reader.begin_step(0) == StepStatus::ok ? 0 : 1;
              }),
              0);
}

} // namespace
} // namespace stepstore::steps::testing
