// While a call into a file system takes long, a file there is changed and synced.
#include "base/nudge.h"
#include "base/files.h"
#include "support/processes.h"
#include "support/temporary.h"

#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <utility>
#include <vector>

namespace stepstore::testing {
namespace {

using namespace std::chrono_literals;

class Nudges : public ::testing::Test {
protected:
    using Changed = std::pair<time_t, long>;
    Changed changed() const
    {
        struct stat status {};
        if (stat(file.c_str(), &status) != 0) return {};
        return {status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
    }
    void make() const { open_file(file, O_WRONLY | O_CREAT); }
    // Whether the file changes within a minute, or as long as `enough` lasts.
    bool changes(std::chrono::milliseconds enough = 60s) const
    {
        const Changed before = changed();
        const auto end = std::chrono::steady_clock::now() + enough;
        while (std::chrono::steady_clock::now() < end) {
            if (changed() != before) return true;
            std::this_thread::sleep_for(2ms);
        }
        return false;
    }

    TemporaryDirectory directory;
    const std::string file = directory / "file";
};

TEST_F(Nudges, AreGivenWhileACallRuns)
{
    make();
    const Nudger nudger(file);
    EXPECT_FALSE(changes(300ms));
    {
        const FileCallRuns runs;
        EXPECT_TRUE(changes());
        EXPECT_TRUE(changes()); // again and again
    }
    changes(100ms); // one may be under way
    EXPECT_FALSE(changes(300ms));
    std::this_thread::sleep_for(1s); // it sleeps now, until there is a call
    const FileCallRuns runs;
    EXPECT_TRUE(changes());
}

TEST_F(Nudges, WaitForAFileThatIsNotThereYet)
{
    const Nudger nudger(file);
    const FileCallRuns runs;
    std::this_thread::sleep_for(100ms);
    make();
    EXPECT_TRUE(changes());
}

TEST_F(Nudges, OfADirectory)
{
    const std::string below = directory / "below";
    ASSERT_EQ(mkdir(below.c_str(), 0777), 0);
    const Nudger nudger(below);
    const FileCallRuns runs;
    struct stat before {};
    ASSERT_EQ(stat(below.c_str(), &before), 0);
    for (int look = 0; look < 6000; ++look) {
        struct stat now {};
        ASSERT_EQ(stat(below.c_str(), &now), 0);
        if (now.st_mtim.tv_nsec != before.st_mtim.tv_nsec) return;
        std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "not nudged in a minute";
}

// More calls at once than are watched; and no call waits for the end of another.
TEST_F(Nudges, OfManyCallsAtOnce)
{
    make();
    const Nudger nudger(file);
    std::vector<std::unique_ptr<FileCallRuns>> calls;
    for (int call = 0; call < 200; ++call)
        calls.push_back(std::make_unique<FileCallRuns>());
    EXPECT_TRUE(changes());
    while (calls.size() > 100)
        calls.pop_back();
    EXPECT_TRUE(changes());
    calls.clear();
    changes(200ms);
    EXPECT_FALSE(changes(300ms));
}

TEST_F(Nudges, EndWithTheirNudger)
{
    make();
    auto nudger = std::make_unique<Nudger>(file);
    const FileCallRuns runs;
    EXPECT_TRUE(changes());
    nudger.reset();
    EXPECT_FALSE(changes(300ms));
}

TEST_F(Nudges, OfAChildAreItsOwn)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer knows no threads of forked children";
#endif
    make();
    auto nudger = std::make_unique<Nudger>(directory / "parents");
    const FileCallRuns parents;
    const int end = run_in_child([&] {
        (void)nudger.release();
        const Nudger own(file);
        {
            const FileCallRuns runs;
            if (!changes()) return 1;
        }
        changes(200ms);                // one may be under way
        return changes(300ms) ? 2 : 0; // what of the parent runs is no call of the child
    });
    EXPECT_EQ(end, 0);
}

} // namespace
} // namespace stepstore::testing
