// A process that the cluster shuts out (osd blocklist add): every operation tells it so at once, nothing that
// was acknowledged is lost, and another process goes on.
#include "fields/fixture.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "stepstore/administration.h"
#include "support/bare_ceph.h"
#include "support/ceph_cluster.h"

#include <atomic>
#include <new>
#include <sys/mman.h>

namespace stepstore::testing {
namespace {

using fields::testing::pattern;

constexpr double at_once = 2; // seconds
constexpr std::size_t large_size = 9 << 20;

enum class Who : std::uint8_t { updates, waits };

// What is used of a pool.
struct Open {
    explicit Open(const std::string& location)
        : pool(Pool::connect_or_create(location)), box(pool.open_or_create_container("box")),
          keys(box.key_value(box.object_id(1, 0, ObjectType::key_value, "SX"))),
          cells(box.open_array(box.object_id(2, 0, ObjectType::array_bytes), {1, 1 << 20}))
    {
    }
    std::vector<std::byte> read_cells() const
    {
        std::vector<std::byte> bytes(large_size);
        cells.read(0, bytes);
        return bytes;
    }

    Pool pool;
    Container box;
    KeyValue keys;
    Array cells;
};

class Blocklist : public ::testing::Test {
protected:
    static void SetUpTestSuite() { cluster = std::make_unique<CephCluster>("--osds 1"); }
    static void TearDownTestSuite() { cluster.reset(); }

    // The process that updates the pool, which watches its header, or the one that waits for something new,
    // which watches another object. As an administrator would, by another connection. Then the process
    // watches no more.
    static void shut_out(const std::string& location, Who who)
    {
        run_user("", [&] {
            BareCeph ceph(location);
            std::vector<std::string> addresses;
            const auto look = [&] {
                addresses.clear();
                for (const std::string& object : ceph.objects())
                    if ((object == "stepstore") == (who == Who::updates))
                        for (const obj_watch_t& one : ceph.watchers(object))
                            addresses.emplace_back(one.addr);
                return addresses.size();
            };
            ASSERT_EQ(look(), 1U);
            cluster->tell("ask", "'osd blocklist' blocklistop=add addr=" + addresses.front());
            for (int round = 0; look() != 0 && round < 100; ++round)
                sleep_for(0.02);
            EXPECT_TRUE(addresses.empty()) << "it counts as alive";
        });
    }
    template <class Action>
    static void expect_shut_out(const char* what, const std::string& location, Action action)
    {
        Error error(0, "");
        EXPECT_LT(seconds_of([&] { error = error_of(action); }), at_once) << what;
        EXPECT_EQ(error.code(), -DER_NO_PERM) << what << ": " << error.what();
        const std::string message = error.what();
        for (const std::string& word : {location, std::string("shut out"), std::string("blocklist")})
            EXPECT_NE(message.find(word), std::string::npos) << what << ": " << message;
    }
    // Nothing is damaged or left behind.
    static void expect_clean(const std::string& location)
    {
        run_user("", [&] {
            Open(location).keys.put("the next", pattern(1000, 0)); // cleans up
            const CheckSummary found = check_pool(location, true, false, [](const Finding& one) {
                ADD_FAILURE() << one.where << ": " << one.what;
            });
            EXPECT_EQ(found.reclaimable_bytes, 0U);
        });
    }

    static inline std::unique_ptr<CephCluster> cluster;
};

TEST_F(Blocklist, IsTheErrorOfEveryOperationAndAnotherProcessGoesOn)
{
    const std::string location = "rados://test/all";
    const auto small = pattern(1000, 1), large = pattern(large_size, 2);
    run_user("", [&] {
        std::optional<Open> open(location);
        open->keys.put("small", small);
        open->keys.put("large", large);
        open->cells.write(0, large);
        shut_out(location, Who::updates);
        const auto other_small = pattern(1000, 3), other_large = pattern(large_size, 4);
        for (int round = 0; round < 2; ++round) {
            const auto refused = [&](const char* what, const auto& action) {
                expect_shut_out(what, location, action);
            };
            refused("a value", [&] { open->keys.put("small", other_small); });
            refused("a large value", [&] { open->keys.put("large", other_large); });
            refused("a removal", [&] { open->keys.remove("small"); });
            refused("a read", [&] { open->keys.get("large"); });
            refused("cells", [&] { open->cells.write(0, other_large); });
            refused("a read of cells", [&] { open->read_cells(); });
            refused("a snapshot", [&] { open->box.create_snapshot("s"); });
            refused("a container", [&] { open->pool.create_container("other"); });
            refused("another pool", [] { Pool::create("rados://test/all2"); });
            EXPECT_FALSE(open->keys.watch("small").has_value());
        }
        EXPECT_LT(seconds_of([&] { open.reset(); }), at_once);
    });
    run_user("", [&] {
        Open open(location);
        EXPECT_EQ(open.keys.get("small"), small);
        EXPECT_EQ(open.keys.get("large"), large);
        EXPECT_EQ(open.read_cells(), large);
        open.keys.put("large", pattern(large_size, 5));
        EXPECT_EQ(open.keys.get("large"), pattern(large_size, 5));
        open.box.create_snapshot("s");
    });
    expect_clean(location);
}

TEST_F(Blocklist, InTheMiddleOfUpdatesTearsAndLosesNone)
{
    const std::string location = "rados://test/updates";
    void* memory =
        mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& acknowledged = *new (memory) std::atomic<int>(0);
    const auto value = [](int number) {
        return pattern(number % 3 == 0 ? 1000 : 3 << 20, static_cast<std::uint64_t>(number));
    };
    const pid_t updates = start_user("", [&] {
        Open open(location);
        for (;; ++acknowledged) {
            const int number = acknowledged;
            const Error error = error_of([&] { open.keys.put(std::to_string(number), value(number)); });
            if (error.code() == 0) continue;
            EXPECT_EQ(error.code(), -DER_NO_PERM) << error.what();
            return;
        }
    });
    while (acknowledged < 20)
        sleep_for(0.01);
    shut_out(location, Who::updates);
    EXPECT_EQ(end_of(updates), 0);
    run_user("", [&] {
        const Open open(location);
        for (int number = 0; number < acknowledged; ++number)
            EXPECT_EQ(open.keys.get(std::to_string(number)), value(number)) << number;
        const auto last = open.keys.get(std::to_string(acknowledged));
        EXPECT_TRUE(!last || *last == value(acknowledged));
    });
    expect_clean(location);
    munmap(memory, sizeof(std::atomic<int>));
}

TEST_F(Blocklist, EndsAWaitForAStepAndAnotherReaderGetsIt)
{
    const std::string location = "rados://test/steps", stream = location + "/run";
    run_user("", [&] {
        const pid_t reader = start_user("", [&] {
            steps::ReaderOptions options;
            options.open_timeout = 60;
            steps::Reader waits(stream, options, self_communicator());
            EXPECT_EQ(error_of([&] { waits.begin_step(60); }).code(), -DER_NO_PERM);
            for (int round = 0; round < 2; ++round)
                expect_shut_out("a wait", location, [&] { waits.begin_step(60); });
        });
        steps::Writer writer(stream, {}, self_communicator());
        sleep_for(2); // the reader waits
        shut_out(location, Who::waits);
        EXPECT_LT(seconds_of([&] { EXPECT_EQ(end_of(reader), 0); }), 3);
        steps::Reader other(stream, {}, self_communicator());
        for (int step = 0; step < 2; ++step) {
            writer.begin_step();
            writer.end_step();
            EXPECT_EQ(other.begin_step(10), steps::StepStatus::ok);
            other.end_step();
        }
        writer.close();
    });
}

} // namespace
} // namespace stepstore::testing
