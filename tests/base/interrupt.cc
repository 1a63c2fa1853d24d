// Calls that a host asks to stop: who asks, under which locks, and what a call that was given up does.
#include "base/interrupt.h"
#include "base/call_threads.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <gtest/gtest.h>

#include <thread>

namespace stepstore {
namespace {

std::atomic<bool> stops{false};
std::atomic<int> questions{0};
std::thread::id caller;

class Interrupt : public ::testing::Test {
protected:
    void SetUp() override
    {
        stops = false;
        questions = 0;
        caller = std::this_thread::get_id();
        ask_in_waits([] {
            EXPECT_EQ(std::this_thread::get_id(), caller) << "only the thread of the program may ask";
            ++questions;
            return stops.load();
        });
    }
    void TearDown() override
    {
        stops = false;
        asked_to_stop(); // the next call
        ask_in_waits(nullptr);
    }
};

TEST_F(Interrupt, ACallStaysGivenUpAsLongAsItsHostSaysSo)
{
    EXPECT_TRUE(may_be_asked());
    EXPECT_FALSE(is_given_up());
    EXPECT_EQ(questions, 0) << "nobody has asked yet, and this is no wait";
    stops = true;
    EXPECT_TRUE(asked_to_stop());
    EXPECT_TRUE(is_given_up());
    stops = false; // another call
    EXPECT_FALSE(is_given_up());
    const int before = questions;
    EXPECT_FALSE(is_given_up());
    EXPECT_EQ(questions, before);
}

TEST_F(Interrupt, WorkUnderALockIsDoneByAnotherThreadThatHearsOfTheEnd)
{
    std::thread later([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        stops = true;
    });
    EXPECT_THROW(ask_during([] {
                     EXPECT_NE(std::this_thread::get_id(), caller);
                     ask_during([] {}); // within it there is nobody to ask
                     for (;;) {
                         std::this_thread::sleep_for(std::chrono::milliseconds(1));
                         stop_if_asked("the work");
                     }
                 }),
                 Error);
    later.join();
    EXPECT_GT(questions, 0);
    {
        const NotAsked not_asked;
        questions = 0;
        EXPECT_FALSE(asked_to_stop());
        ask_during([] { EXPECT_EQ(std::this_thread::get_id(), caller); });
        EXPECT_EQ(questions, 0);
    }
}

TEST_F(Interrupt, AllThreadsOfACallHearOfItsEnd)
{
    std::atomic<int> ended{0};
    CallThreads threads;
    for (int part = 0; part < 3; ++part) {
        ASSERT_TRUE(threads.start([&] {
            while (!asked_to_stop())
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            ++ended;
        }));
    }
    stops = true;
    threads.wait();
    EXPECT_EQ(ended, 3);
}

} // namespace
} // namespace stepstore
