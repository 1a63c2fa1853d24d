// What it costs on Ceph to wait for a step, how soon it is there, and what becomes of a reader who may not
// watch the stream. Each reader and writer is a process, since a process has one connection and one user.
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/location.h"
#include "support/processes.h"
#include "support/rados_trips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <sys/mman.h>
#include <thread>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::new_pool;
using stepstore::testing::start_child;
using stepstore::testing::TemporaryDirectory;

constexpr int steps = 8, long_wait = 4; // of two seconds, before that step

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What the processes tell.
struct Told {
    std::atomic<double> ended[steps + 1] = {}; // the last one: the stream
    std::atomic<double> got[steps + 1] = {};
    std::atomic<std::uint64_t> trips{0}; // during the long wait
};

class Waiting : public ::testing::Test {
protected:
    Waiting()
    {
        void* memory = mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
        told = new (memory) Told;
    }
    ~Waiting() override { munmap(told, sizeof(Told)); }

    int write() const
    {
        WriterOptions options;
        Writer writer(stream, options, self_communicator());
        for (int step = 0; step < steps; ++step) {
            // At ever other times between two looks of who is not told.
            std::this_thread::sleep_for(
                std::chrono::milliseconds(step == long_wait ? 2000 : 310 + 70 * step));
            writer.begin_step();
            writer.put_value(writer.define("n", Type::int32, ShapeKind::global_value), &step);
            writer.end_step();
            told->ended[step] = now();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(330));
        writer.close();
        told->ended[steps] = now();
        return 0;
    }
    int read() const
    {
        ReaderOptions options;
        options.open_timeout = 60;
        Reader reader(stream, options, self_communicator());
        for (int step = 0; step < steps; ++step) {
            const auto before = stepstore::testing::rados_trips();
            if (reader.begin_step(60) != StepStatus::ok) return 1;
            const auto after = stepstore::testing::rados_trips();
            told->got[step] = now();
            if (step == long_wait) told->trips = after.reads + after.writes - before.reads - before.writes;
            int value = -1;
            reader.get_value(reader.find("n").value(), &value);
            if (value != step) return 2;
            reader.end_step();
        }
        if (reader.begin_step(60) != StepStatus::end_of_stream) return 3;
        told->got[steps] = now();
        return 0;
    }
    // With a reader who has these rights.
    void run(const std::string& user, const std::string& rights)
    {
        const std::string cluster = std::filesystem::path(std::getenv("CEPH_CONF")).parent_path();
        const std::string make = std::string(CEPH_SCRIPT) + " user " + cluster + " " + user +
                                 " mon 'allow r' osd '" + rights + "'";
        ASSERT_EQ(std::system(make.c_str()), 0) << make;
        const pid_t writer = start_child([&] { return write(); });
        const pid_t reader = start_child([&] {
            setenv("CEPH_ARGS", ("--id=" + user).c_str(), 1);
            return read();
        });
        EXPECT_EQ(end_of(reader), 0);
        EXPECT_EQ(end_of(writer), 0);
    }
    // Seconds from the end of a step, or of the stream, to its being seen; of half of them less.
    double usual_delay() const
    {
        std::vector<double> delays;
        for (int step = 1; step <= steps; ++step)
            delays.push_back(told->got[step] - told->ended[step]);
        std::ranges::sort(delays);
        return delays[delays.size() / 2];
    }

    TemporaryDirectory directory;
    const std::string stream = new_pool(directory);
    Told* told = nullptr;
};

TEST_F(Waiting, IsToldByTheWriter)
{
    run("waits", "allow rw pool=test");
    EXPECT_LT(usual_delay(), 0.1) << "looks are half a second apart";
    EXPECT_LT(told->trips, 40U);
    RecordProperty("delay_us", static_cast<int>(usual_delay() * 1e6));
    RecordProperty("trips", static_cast<int>(told->trips));
}

TEST_F(Waiting, IsLookingAgainForWhoMayNotWatch)
{
    run("looks", "allow r pool=test");
    EXPECT_LT(usual_delay(), 0.2);
    EXPECT_GT(told->trips, 40U) << "did it watch? then the documented capability is wrong";
    EXPECT_LT(told->trips, 400U);
    RecordProperty("delay_us", static_cast<int>(usual_delay() * 1e6));
    RecordProperty("trips", static_cast<int>(told->trips));
}

TEST_F(Waiting, EndsInTime)
{
    Writer writer(stream, {}, self_communicator());
    Reader reader(stream, {}, self_communicator());
    for (const double timeout : {0.0, 0.05, 0.3, 1.2, 0.3}) {
        const double begin = now();
        EXPECT_EQ(reader.begin_step(timeout), StepStatus::not_ready);
        EXPECT_GE(now() - begin, timeout);
        EXPECT_LT(now() - begin, timeout + 0.3);
    }
    writer.close();
    EXPECT_EQ(reader.begin_step(10), StepStatus::end_of_stream);
}

TEST_F(Waiting, EndsWithTheWriter)
{
    const pid_t writer = start_child([&] {
        Writer open(stream, {}, self_communicator());
        told->ended[0] = now();
        std::this_thread::sleep_for(std::chrono::seconds(60));
        return 0;
    });
    ReaderOptions options;
    options.open_timeout = 60;
    Reader reader(stream, options, self_communicator());
    EXPECT_EQ(reader.begin_step(1), StepStatus::not_ready);
    kill(writer, SIGKILL);
    end_of(writer);
    const double begin = now();
    EXPECT_EQ(reader.begin_step(30), StepStatus::writer_died);
    EXPECT_LT(now() - begin, 3);
}

// In a process that waited before its fork, and in its child.
TEST_F(Waiting, GoesOnAfterAFork)
{
    Writer writer(stream, {}, self_communicator());
    Reader reader(stream, {}, self_communicator());
    EXPECT_EQ(reader.begin_step(0.6), StepStatus::not_ready);
    const pid_t child = start_child([&] {
        Reader own(stream, {}, self_communicator());
        if (own.begin_step(0.6) != StepStatus::not_ready) return 1;
        return own.begin_step(30) == StepStatus::ok ? 0 : 2;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    writer.begin_step();
    writer.end_step();
    EXPECT_EQ(reader.begin_step(30), StepStatus::ok);
    EXPECT_EQ(end_of(child), 0);
    writer.close();
}

} // namespace
} // namespace stepstore::steps::testing
