// The end of a process that used a cluster. librados' threads must have ended before its static objects
// do. They read the configuration every few seconds, and a process that takes long to exit would crash.
#include "stepstore/administration.h"
#include "support/ceph_cluster.h"

#include <cstdlib>
#include <memory>
#include <optional>

namespace stepstore::testing {
namespace {

constexpr char location[] = "rados://test/exit";
constexpr double longer_than_a_tick = 4; // seconds, of librados' timers

struct Open {
    void put(int key) { keys.put(std::to_string(key), std::as_bytes(std::span("value"))); }

    Pool pool = Pool::connect_or_create(location);
    Container box = pool.open_or_create_container("box");
    KeyValue keys = box.key_value(box.object_id(1, 0, ObjectType::key_value));
    Array cells = box.open_array(box.object_id(2, 0, ObjectType::array_bytes), {1, 1 << 20});
};

std::optional<Open> left_open; // made before librados is loaded, so it is destroyed after its static objects

// Handlers run in the opposite order: this one, which is there first, runs last.
void exit_slowly()
{
    std::atexit([] {
        sleep_for(longer_than_a_tick);
        std::fputs("the last handler\n", stderr);
    });
}

class Exit : public ::testing::Test {
protected:
    static void SetUpTestSuite()
    {
        GTEST_FLAG_SET(death_test_style, "threadsafe"); // the child begins anew
        if (std::getenv("STEPSTORE_TEST_INSIDE") != nullptr) return;
        cluster = std::make_unique<CephCluster>("--osds 1");
        setenv("STEPSTORE_TEST_INSIDE", "1", 1);
    }
    static void TearDownTestSuite() { cluster.reset(); }
    static inline std::unique_ptr<CephCluster> cluster;
};

// Ends the process, which is a child of the test.
template <class Body>
void end_after(Body body)
{
    exit_slowly();
    body();
    std::exit(0);
}
void expect_end(const std::function<void()>& body)
{
    EXPECT_EXIT(end_after(body), ::testing::ExitedWithCode(0), "the last handler");
}

TEST_F(Exit, WithAllClosed)
{
    expect_end([] { Open().put(1); });
}

TEST_F(Exit, WithAPoolThatIsNeverClosed)
{
    expect_end([] { (new Open)->put(2); });
}

TEST_F(Exit, WithAPoolThatIsClosedAfterwards)
{
    expect_end([] {
        left_open.emplace();
        left_open->put(3);
        left_open->cells.write(0, std::vector<std::byte>(5 << 20));
    });
}

TEST_F(Exit, WhileAThreadPuts)
{
    expect_end([] {
        auto* open = new Open;
        open->put(4);
        std::thread([open] {
            try {
                for (int key = 0;; ++key) {
                    open->put(key);
                    open->cells.write(0, std::vector<std::byte>(1 << 20));
                }
            } catch (const Error& error) {
                std::fputs(error.what(), stderr);
            }
        }).detach();
        sleep_for(0.3);
    });
}

} // namespace
} // namespace stepstore::testing
