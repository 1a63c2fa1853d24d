// A cluster that vanishes while processes wait on it: for a step, or for a key to be announced. A wait that
// cannot go on says so in time, and all go on when the cluster is back. Lost watches are made anew.
#include "fields/fixture.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/ceph_cluster.h"
#include "support/rados_trips.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <sys/mman.h>

namespace stepstore::testing {
namespace {

using fields::testing::pattern;

constexpr char quick[] = "--rados_osd_op_timeout=1 --client_mount_timeout=1";
constexpr double in_time = 5; // seconds: some operations follow each other, and the machine may be busy
constexpr std::size_t large = 5 << 20;

constexpr int before_and_after = 2, told_of = 4; // steps

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What the processes tell each other.
struct Told {
    std::array<std::atomic<double>, before_and_after + told_of> ended{}; // a step's time
    std::atomic<int> wait{0}, gave_up{0}, watch_again{0};
    std::atomic<bool> gone{false}, back{false};
};

void until(const std::function<bool()>& ready)
{
    for (int round = 0; !ready(); ++round) {
        if (round == 6000) throw std::runtime_error("another process did not come so far in a minute");
        sleep_for(0.01);
    }
}

template <class Action>
void expect_timeout(const char* what, Action action)
{
    Error error(0, "");
    EXPECT_LT(seconds_of([&] { error = error_of(action); }), in_time) << what;
    EXPECT_EQ(error.code(), -DER_TIMEDOUT) << what << ": " << error.what();
    const std::string message = error.what();
    EXPECT_TRUE(message.find("does not answer") != std::string::npos ||
                message.find("no monitor answers") != std::string::npos)
        << what << ": " << message;
}

// Either the OSDs end, or all daemons stand still for so long that watches are lost: for more than ten
// seconds.
enum class How : std::uint8_t { osds_end, all_stand_still };

class Vanished : public ::testing::TestWithParam<How> {
protected:
    // OSDs in memory write their objects down at their end, but not at a fast one.
    static void SetUpTestSuite()
    {
        cluster = std::make_unique<CephCluster>("--osds 2 --set osd_fast_shutdown=false");
    }
    static void TearDownTestSuite() { cluster.reset(); }
    ~Vanished() override { munmap(memory, sizeof(Told)); }

    static bool stands_still() { return GetParam() == How::all_stand_still; }
    static void vanish()
    {
        cluster->tell("osd", stands_still() ? "pause all" : "stop all");
        if (stands_still()) cluster->tell("monitor", "pause");
    }
    static void come_back()
    {
        if (stands_still()) cluster->tell("monitor", "resume");
        cluster->tell("osd", stands_still() ? "resume all" : "start all");
        cluster->tell("wait");
    }

    // The first step before, the second when the cluster is back, the others when the readers watch again.
    void write()
    {
        steps::Writer writer(stream, {}, self_communicator());
        for (std::size_t step = 0; step < told.ended.size(); ++step) {
            if (step == 1) until([&] { return told.back.load(); });
            if (step == before_and_after) until([&] { return told.watch_again == 2; });
            if (step >= before_and_after) sleep_for(0.37);
            writer.begin_step();
            writer.put_value(writer.define("n", steps::Type::uint64, steps::ShapeKind::global_value), &step);
            writer.end_step();
            told.ended[step] = now();
        }
        writer.close();
    }
    // Gives the seconds from its end to its being seen: 0 if it is seen before the writer is told of its end.
    double expect_step(steps::Reader& reader, std::size_t expected) const
    {
        EXPECT_EQ(reader.begin_step(60), steps::StepStatus::ok);
        const double seen = now();
        std::size_t value = SIZE_MAX;
        reader.get_value(reader.find("n").value(), &value);
        EXPECT_EQ(value, expected);
        reader.end_step();
        const double ended = told.ended[expected];
        return ended > 0 ? seen - ended : 0;
    }
    void read(const std::function<void(steps::Reader&)>& while_it_is_gone)
    {
        steps::ReaderOptions options;
        options.open_timeout = 60;
        steps::Reader reader(stream, options, self_communicator());
        expect_step(reader, 0);
        EXPECT_EQ(reader.begin_step(0.2), steps::StepStatus::not_ready); // it watches from here on
        ++told.wait;
        while_it_is_gone(reader);
        expect_step(reader, 1);
        // One that watches looks twice a second, another one each 50 ms. It tries to watch each ten seconds.
        std::uint64_t trips = UINT64_MAX;
        for (int second = 0; second < 14 && trips > 24; ++second) {
            const Counted counted =
                trips_of([&] { EXPECT_EQ(reader.begin_step(1), steps::StepStatus::not_ready); });
            trips = counted.reads + counted.writes;
        }
        EXPECT_LE(trips, 24U) << "it watches no more";
        ++told.watch_again;
        std::vector<double> delays;
        for (std::size_t step = before_and_after; step < told.ended.size(); ++step)
            delays.push_back(expect_step(reader, step));
        std::ranges::sort(delays);
        // Its own looks would see at most one of them so soon.
        EXPECT_LT(delays[1], 0.1) << "it is not told";
        EXPECT_EQ(reader.begin_step(60), steps::StepStatus::end_of_stream);
    }
    // Another pool: the wait itself, and a process that has to show again that it lives.
    void watch()
    {
        const Container box = Pool::connect_or_create(pool + "-keys").create_container("box");
        KeyValue keys = box.key_value(box.object_id(1, 0, ObjectType::key_value));
        keys.put("large", pattern(large, 1));
        auto watch = keys.watch("key");
        ASSERT_TRUE(watch.has_value());
        ++told.wait;
        EXPECT_LT(
            seconds_of([&] { EXPECT_NE(watch->wait(std::chrono::seconds(3)), KeyWatch::Got::announced); }),
            4);
        until([&] { return told.gone.load(); });
        EXPECT_LT(seconds_of([&] { EXPECT_FALSE(keys.watch("key").has_value()); }), in_time);
        expect_timeout("a large value", [&] { keys.put("large", pattern(large, 2)); });
        ++told.gave_up;
        until([&] { return told.back.load(); });
        EXPECT_EQ(keys.get("large"), pattern(large, 1));
        keys.put("large", pattern(large, 3));
        keys.announce("key");
        EXPECT_NE(watch->wait(std::chrono::seconds(10)), KeyWatch::Got::nothing)
            << "it is lost, and does not say so";
        watch = keys.watch("key");
        ASSERT_TRUE(watch.has_value());
        keys.announce("key");
        EXPECT_EQ(watch->wait(std::chrono::seconds(10)), KeyWatch::Got::announced);
        EXPECT_EQ(keys.get("large"), pattern(large, 3));
    }

    static inline std::unique_ptr<CephCluster> cluster;
    const std::string pool = std::string("rados://test/") + (stands_still() ? "still" : "ended");
    const std::string stream = pool + "/run";
    void* memory = mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Told& told = *new (memory) Told;
};

TEST_P(Vanished, EndsWaitsInTimeAndAllGoOnWhenItIsBack)
{
    std::vector<pid_t> users;
    users.push_back(start_user("", [&] { write(); }));
    users.push_back(start_user("", [&] { read([](steps::Reader&) {}); })); // waits until it is back
    users.push_back(start_user(quick, [&] {
        read([&](steps::Reader& reader) {
            EXPECT_EQ(error_of([&] { reader.begin_step(60); }).code(), -DER_TIMEDOUT);
            until([&] { return told.gone.load(); });
            expect_timeout("a step", [&] { reader.begin_step(60); });
            expect_timeout("a short wait", [&] { reader.begin_step(0.1); });
            ++told.gave_up;
            until([&] { return told.back.load(); });
        });
    }));
    users.push_back(start_user(quick, [&] { watch(); }));
    until([&] { return told.wait == 3; });
    sleep_for(0.5); // all wait
    const double since = now();
    vanish();
    told.gone = true;
    run_user(quick, [&] {
        expect_timeout("another process", [&] { steps::Reader(stream, {}, self_communicator()); });
    });
    EXPECT_LT(seconds_of([&] { until([&] { return told.gave_up == 2; }); }), 3 * in_time);
    until([&] { return !stands_still() || now() - since > 11; });
    come_back();
    told.back = true;
    for (const pid_t user : users)
        EXPECT_EQ(end_of(user), 0);
}

INSTANTIATE_TEST_SUITE_P(How, Vanished, ::testing::Values(How::osds_end, How::all_stand_still),
                         [](const auto& info) {
                             return info.param == How::osds_end ? "OsdsEnd" : "AllStandStill";
                         });

} // namespace
} // namespace stepstore::testing
