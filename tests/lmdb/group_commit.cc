// Calls that are committed together: who leads, who is in a group, and whose error each call gets.
#include "store/lmdb/index/group_commit.h"
#include "base/interrupt.h"
#include "stepstore/error.h"
#include "store/lmdb/index/transactions.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace stepstore::store::lmdb {

namespace {

// A call that asks whether it is to stop waits in the queue.
std::atomic<int> waiting{0};
std::atomic<std::thread::id> stopped;
bool ask()
{
    static thread_local bool asked = false;
    if (!std::exchange(asked, true)) ++waiting;
    return stopped.load() == std::this_thread::get_id();
}

class GroupOfCalls : public ::testing::Test {
protected:
    static constexpr int calls = 4;
    void SetUp() override
    {
        waiting = 0;
        stopped = std::thread::id();
        ask_in_waits(ask);
    }
    void TearDown() override { ask_in_waits(nullptr); }

    static void until(const std::function<bool()>& true_now)
    {
        while (!true_now())
            std::this_thread::yield();
    }
    static void until_others_wait()
    {
        until([] { return waiting == calls - 1; });
    }
    // What one call throws: the code, -1 for the body's own error, 0 for nothing.
    int result_of(const std::function<void()>& take_turn, bool throws)
    {
        try {
            commit_.write(
                [&](WriteTransaction&) {
                    if (throws) throw std::runtime_error("of this body");
                },
                take_turn, [this](const GroupCommit::Group& group) { run(group); });
            return 0;
        } catch (const Error& error) {
            return error.code();
        } catch (const std::runtime_error&) {
            return -1;
        }
    }
    // The results of all of them, of which the first has a body that throws.
    std::vector<int> results_of(const std::function<void()>& take_turn)
    {
        std::vector<int> results(calls, 1);
        {
            std::vector<std::jthread> threads;
            for (int number = 0; number < calls; ++number)
                threads.emplace_back([&, number] { results[number] = result_of(take_turn, number == 0); });
        }
        return results;
    }
    void run(const GroupCommit::Group& group)
    {
        groups_.push_back(group.size());
        for (GroupCommit::Call* call : group) {
            try {
                call->body(unused_);
            } catch (...) {
                call->error = std::current_exception();
            }
        }
    }

    const std::string where_ = "pool /p, target 3";
    const Meta meta_;
    Tree tree_{meta_, nullptr, nullptr, where_};
    LmdbWrite unused_{nullptr, 0, where_, tree_, false}; // the bodies do nothing with it
    GroupCommit commit_{where_};
    std::vector<std::size_t> groups_; // their sizes; written by the leaders, one at a time
};

TEST_F(GroupOfCalls, TheLeaderRunsAllThatWaitAndEachGetsItsOwnError)
{
    EXPECT_EQ(results_of(until_others_wait), (std::vector<int>{-1, 0, 0, 0}));
    EXPECT_EQ(groups_, (std::vector<std::size_t>{calls}));
}

TEST_F(GroupOfCalls, ATurnThatCannotBeHadFailsTheGroup)
{
    const auto results = results_of([] {
        until_others_wait();
        throw Error(-DER_TIMEDOUT, "somebody writes");
    });
    EXPECT_EQ(results, std::vector<int>(calls, -DER_TIMEDOUT));
    EXPECT_TRUE(groups_.empty());
}

TEST_F(GroupOfCalls, AnotherOneLeadsForALeaderThatIsAskedToStop)
{
    std::atomic<int> turns{0};
    auto results = results_of([&] {
        if (turns++ != 0) return;
        until_others_wait();
        throw Error(-DER_CANCELED, "asked to stop");
    });
    EXPECT_EQ(std::ranges::count(results, -DER_CANCELED), 1);
    EXPECT_EQ(std::ranges::count_if(results, [](int one) { return one == 0 || one == -1; }), calls - 1);
    EXPECT_EQ(groups_, (std::vector<std::size_t>{calls - 1}));
    EXPECT_EQ(turns, 2);
}

TEST_F(GroupOfCalls, AWaitingCallThatIsAskedToStopIsNotRun)
{
    std::atomic<int> given_up{1};
    std::atomic<bool> leads{false};
    std::jthread follower([&] {
        until([&] { return leads.load(); });
        stopped = std::this_thread::get_id();
        given_up = result_of([] { ADD_FAILURE() << "it leads"; }, true);
    });
    const int led = result_of(
        [&] {
            leads = true;
            until([&] { return given_up != 1; });
        },
        false);
    EXPECT_EQ(led, 0);
    EXPECT_EQ(given_up, -DER_CANCELED);
    EXPECT_EQ(groups_, std::vector<std::size_t>{1});
}

} // namespace

} // namespace stepstore::store::lmdb
