// The contract of store/backend.h for waiters and what they are told.
#include "backend_fixture.h"

#include "support/processes.h"

#include <chrono>
#include <thread>

namespace stepstore::store {

namespace {

using namespace std::chrono_literals;
using Got = Waiter::Got;

constexpr auto patience = 20s; // a busy machine; what is announced comes in milliseconds
constexpr auto moment = 200ms; // for what does not come

class Announcements : public BackendContract {
protected:
    void SetUp() override
    {
        BackendContract::SetUp();
        if (target().watch(as_bytes("key")) == nullptr) GTEST_SKIP() << "this back end has none";
    }
    std::unique_ptr<Waiter> watch(std::string_view key) { return target().watch(as_bytes(key)); }
    void announce(std::string_view key) { target().announce(as_bytes(key)); }
};
INSTANTIATE_TEST_SUITE_P(Backends, Announcements, every_kind());

TEST_P(Announcements, ReachEveryWaiterOfTheKeyAndNoOther)
{
    const auto one = watch("key"), other = watch("key"), stranger = watch("key 2");
    announce("key");
    EXPECT_EQ(one->wait(patience), Got::announced);
    EXPECT_EQ(other->wait(patience), Got::announced);
    EXPECT_EQ(stranger->wait(moment), Got::nothing);
    EXPECT_EQ(one->wait(moment), Got::nothing) << "it was told of that one";
}

TEST_P(Announcements, EndAWaitAndAreKeptForTheNext)
{
    const auto waiter = watch("key");
    EXPECT_EQ(waiter->wait(0s), Got::nothing);
    std::thread later([&] {
        std::this_thread::sleep_for(moment);
        announce("key");
    });
    EXPECT_EQ(waiter->wait(patience), Got::announced);
    later.join();
    announce("key");
    std::this_thread::sleep_for(moment);
    EXPECT_EQ(waiter->wait(patience), Got::announced);
}

TEST_P(Announcements, TellWhatWasCommittedBefore)
{
    const auto waiter = watch("key");
    for (int round = 0; round < 20; ++round) {
        std::thread writer([&] {
            put(target(), "key", std::to_string(round));
            announce("key");
        });
        EXPECT_EQ(waiter->wait(patience), Got::announced);
        EXPECT_EQ(get(target(), "key"), std::to_string(round));
        writer.join();
    }
}

TEST_P(Announcements, ComeFromOtherProcessesWhichMayEndAtOnce)
{
    const auto waiter = watch("key");
    const int status = testing::run_in_child([&] {
        factory().open(pool_->path())->target(0).announce(as_bytes("key"));
        return 0;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(waiter->wait(patience), Got::announced);
}

TEST_P(Announcements, AreNotForAWaiterOfTheParent)
{
    auto waiter = watch("key");
    const int status = testing::run_in_child([&] {
        const bool lost = waiter->wait(patience) == Got::lost;
        const auto own = factory().open(pool_->path());
        waiter = own->target(0).watch(as_bytes("key"));
        own->target(0).announce(as_bytes("key"));
        const bool told = waiter->wait(patience) == Got::announced;
        waiter.reset();
        return lost && told ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(waiter->wait(patience), Got::announced) << "the child's end does not end it";
}

// Nobody waits for a waiter that is killed: it does not answer for seconds.
TEST_P(Announcements, DoNotWaitForTheDead)
{
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t dead = testing::start_child([&] {
        const auto own = factory().open(pool_->path());
        const auto waiter = own->target(0).watch(as_bytes("key"));
        if (write(ready[1], "x", 1) != 1) return 1;
        waiter->wait(patience);
        waiter->wait(patience);
        return 0;
    });
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    kill(dead, SIGKILL);
    testing::end_of(dead);
    const auto waiter = watch("key");
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < 200; ++round)
        announce("key");
    EXPECT_EQ(waiter->wait(patience), Got::announced);
    pool_.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    pool_ = factory().open(path("pool"));
    pool_->claim();
}

TEST_P(Announcements, MayComeFromManyThreads)
{
    const auto waiter = watch("key");
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                announce("key");
                watch("key"); // and is given up at once
            }
        });
    EXPECT_EQ(waiter->wait(patience), Got::announced);
    for (std::thread& thread : threads)
        thread.join();
    while (waiter->wait(moment) == Got::announced) {
    }
    announce("key");
    EXPECT_EQ(waiter->wait(patience), Got::announced);
}

} // namespace

} // namespace stepstore::store
