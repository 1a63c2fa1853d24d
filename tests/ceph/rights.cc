// Rights that are taken away while a pool is open.
#include "support/ceph_cluster.h"
#include "support/store_fixture.h"

namespace stepstore::testing {
namespace {

constexpr char alice[] = "--id=alice";
const ObjectId keys = kv_object(1, class_sx);

// Rights are in a ticket, which a client has anew from time to time: here every few seconds, by default every
// hour. An OSD looks at it when the client connects.
class Rights : public ::testing::Test {
protected:
    void SetUp() override
    {
        allow("rw");
        run_user(alice, [&] {
            Pool::create(path, {})->create_container(uuid_of(1), "test", {});
            put(*open(), "before");
        });
    }
    void allow(const std::string& what) const
    {
        cluster.tell("user", "alice mon 'allow r' osd '" +
                                 (what.empty() ? "allow r pool=other" : "allow " + what + " pool=test") +
                                 "'");
    }
    void reconnect() const
    {
        cluster.tell("osd", "kill all");
        cluster.tell("osd", "start all");
        cluster.tell("wait");
    }
    std::shared_ptr<Container> open(Access access = Access::read_write) const
    {
        return Pool::open(path, access)->open_container("test");
    }
    static void put(Container& container, const std::string& key)
    {
        container.kv_put(keys, as_bytes(key), as_bytes(key));
    }
    static void expect_value(Container& container, const std::string& key)
    {
        EXPECT_EQ(kv_read(container, keys, as_bytes(key)), to_bytes(key));
    }
    template <class Action>
    static void expect_refused(Action action)
    {
        std::string message;
        int code = 0;
        EXPECT_LT(seconds_of([&] { code = der_of(action, &message); }), 2);
        EXPECT_EQ(code, DER_NO_PERM) << message;
        EXPECT_NE(message.find("ask for a Ceph user"), std::string::npos) << message;
    }

    CephCluster cluster{"--store bluestore --size 1G --set auth_service_ticket_ttl=6"};
    const std::string path = "rados://test/pool";
};

TEST_F(Rights, ToWriteEndWithTheNextConnectionAndReadingGoesOn)
{
    run_user(alice, [&] {
        const auto container = open();
        allow("r");
        put(*container, "still"); // this connection keeps its rights
        run_user(alice, [&] { expect_refused([&] { open(); }); });
        sleep_for(8); // the ticket is renewed
        reconnect();
        for (int round = 0; round < 3; ++round) {
            expect_refused([&] { put(*container, "refused"); });
            expect_refused([&] { container->kv_put(keys, as_bytes("refused"), pattern(5 << 20, 1)); });
            expect_value(*container, "still");
        }
        EXPECT_EQ(kv_read(*container, keys, as_bytes("refused")), std::nullopt);
        allow("rw");
        sleep_for(8);
        reconnect();
        put(*container, "again");
        expect_value(*container, "again");
    });
}

TEST_F(Rights, ToNothingAreAnErrorOfEveryOperation)
{
    run_user(alice, [&] {
        const auto container = open();
        allow("");
        expect_value(*container, "before");
        run_user(alice, [&] { expect_refused([&] { open(Access::read_only); }); });
        sleep_for(8);
        reconnect();
        expect_refused([&] { put(*container, "refused"); });
        expect_refused([&] { kv_read(*container, keys, as_bytes("before")); });
    });
    allow("r");
    run_user(alice, [&] {
        expect_refused([&] { open(); });
        expect_value(*open(Access::read_only), "before");
    });
}

} // namespace
} // namespace stepstore::testing
