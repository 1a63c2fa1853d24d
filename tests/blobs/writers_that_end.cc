// Writers of blobs that die, fork, or get no answer.
#include "fixture.h"

#include "support/faulty_library.h"

#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace stepstore::blobs::testing {
namespace {

using stepstore::testing::code_of;
using stepstore::testing::Late;

class WritersThatEnd : public BlobsTest {
protected:
    WritersThatEnd() { stepstore::testing::use_faulty_library(); }
    ~WritersThatEnd() override
    {
        late.disarm();
        late.kept.clear();
        Library::restore_ours();
    }
    // In a process that has opened nothing before. It ends by itself, without ends of objects.
    static void in_child(const std::function<void()>& body)
    {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            try {
                body();
                ::_exit(::testing::Test::HasFailure() ? 1 : 0);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "child: %s\n", error.what());
                ::_exit(2);
            }
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    Late& late = Late::one();
};

constexpr std::size_t large = 100000;

TEST_F(WritersThatEnd, AnUpdateThatComesLateNamesWhatIsThere)
{
    const Blobs blobs = open();
    const auto by_writer = [&] {
        Writer writer(blobs, "k");
        writer.write(value(large, 2));
        writer.close();
    };
    const std::vector<std::function<void()>> ways = {[&] { blobs.write("k", value(large, 2)); }, by_writer,
                                                     [&] { blobs.append("k", value(large, 2)); },
                                                     [&] {
                                                         blobs.remove("k");
                                                         blobs.write("k", value(large, 2), Put::only_new);
                                                     }};
    for (std::size_t way = 0; way < ways.size(); ++way) {
        blobs.write("k", way == 2 ? std::vector<std::byte>() : value(large, 1));
        late.puts = "k";
        EXPECT_EQ(code_of(ways[way]), -DER_TIMEDOUT) << way;
        late.disarm();
        blobs.leave();
        EXPECT_EQ(blobs.take_back(), 0U) << way; // not while this process may still name it
        ASSERT_EQ(late.kept.size(), 1U) << way;
        late.carry_out();
        EXPECT_EQ(blobs.read("k"), value(large, 2)) << way;
        blobs.write("k", value(large, 3));
        EXPECT_EQ(blobs.read("k"), value(large, 3)) << way;
    }
}

TEST_F(WritersThatEnd, AnUpdateThatNeverComesGivesItsSpaceBackAfterItsProcess)
{
    in_child([&] {
        const Blobs blobs = open();
        blobs.write("other", value(large, 1));
        late.puts = "k";
        EXPECT_EQ(code_of([&] { blobs.write("k", value(large, 2)); }), -DER_TIMEDOUT);
        EXPECT_EQ(arrays_in(blobs).size(), 2U);
        blobs.leave();
    });
    const Blobs blobs = open();
    EXPECT_EQ(arrays_in(blobs).size(), 2U);
    blobs.write("mine", value(large, 3)); // the first array of this process: it looks for dead ones
    EXPECT_EQ(arrays_in(blobs),
              (std::set<std::uint64_t>{blobs.info("other")->number, blobs.info("mine")->number}));
    EXPECT_FALSE(blobs.exists("k"));
    EXPECT_EQ(marks_in(blobs).size(), 1U);
}

TEST_F(WritersThatEnd, ARefusedUpdateGivesItsSpaceBackAtOnce)
{
    Library refusing = Library::ours();
    refusing.kv_exchange = [](daos_handle_t, daos_handle_t, const char*, daos_size_t, const void*, void*,
                              daos_size_t*) { return -DER_NOSPACE; };
    Library::replace_ours(refusing);
    const Blobs blobs = open();
    EXPECT_EQ(code_of([&] { blobs.write("k", value(large)); }), -DER_NOSPACE);
    EXPECT_TRUE(arrays_in(blobs).empty());
}

TEST_F(WritersThatEnd, KilledAtAnyCallTheOldValueOrTheNewOneStaysAndItsSpaceIsTakenBack)
{
    in_child([&] { open().write("k", value(large, 1)); });
    bool ended = false;
    int call = 0;
    for (; !ended; ++call) {
        ASSERT_LT(call, 60);
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            const Blobs blobs = open();
            std::thread([call] { // it stops there, and the process ends with it
                stepstore::testing::Stop::one().wait_for_stop();
                std::raise(SIGKILL);
            })
                .detach();
            stepstore::testing::Stop::one().arm(call);
            blobs.write("k", value(large, 2 + static_cast<unsigned>(call)));
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        ASSERT_TRUE(ended || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) << status;
        in_child([&] {
            const Blobs blobs = open();
            const auto there = blobs.read("k");
            const bool is_new = there == value(large, 2 + static_cast<unsigned>(call));
            const bool is_old = there == value(large, 1);
            EXPECT_TRUE(is_old || is_new) << call;
            blobs.write("other", value(large, 7));
            EXPECT_EQ(arrays_in(blobs),
                      (std::set<std::uint64_t>{blobs.info("k")->number, blobs.info("other")->number}))
                << call;
            EXPECT_EQ(marks_in(blobs).size(), 1U) << call;
            blobs.write("k", value(large, 1));
            blobs.leave();
            EXPECT_TRUE(is_new || !ended) << call;
        });
        if (HasFailure()) return;
    }
    EXPECT_GT(call, 10); // times that it was killed, and once more
}

TEST_F(WritersThatEnd, AChildGoesOnWithNumbersOfItsOwnAndIsRefusedAWriter)
{
    const Blobs blobs = open();
    blobs.write("parent", value(large, 1));
    Writer writer(blobs, "begun");
    writer.write(value(large, 4));
    in_child([&] {
        EXPECT_EQ(blobs.read("parent"), value(large, 1));
        blobs.write("child", value(large, 9));
        EXPECT_EQ(code_of([&] { writer.write(value(1)); }), -DER_NO_HDL);
        EXPECT_EQ(code_of([&] { writer.close(); }), -DER_NO_HDL);
        writer.discard(); // nothing happens
        blobs.leave();
    });
    blobs.write("parent 2", value(large, 2));
    EXPECT_TRUE(writer.close());
    EXPECT_EQ(blobs.read("begun"), value(large, 4));
    EXPECT_EQ(blobs.read("child"), value(large, 9));
    std::set<std::uint64_t> numbers;
    for (const char* key : {"parent", "parent 2", "child", "begun"})
        numbers.insert(blobs.info(key)->number);
    EXPECT_EQ(numbers.size(), 4U);
    EXPECT_EQ(arrays_in(blobs), numbers);
}

TEST_F(WritersThatEnd, WhatALivingWriterHasNotPublishedStays)
{
    const Blobs blobs = open();
    auto writer = std::make_unique<Writer>(blobs, "k");
    writer->write(value(large));
    in_child([&] {
        const Blobs other = open();
        EXPECT_EQ(other.take_back(), 0U);
        EXPECT_EQ(arrays_in(other).size(), 1U);
    });
    EXPECT_TRUE(writer->close());
    EXPECT_EQ(blobs.read("k"), value(large));
    writer.reset();
    blobs.leave();
    EXPECT_TRUE(marks_in(blobs).empty()); // one that ended leaves nothing
}

} // namespace
} // namespace stepstore::blobs::testing
