// OSDs that do not answer, and processes that do not. What waits goes on, and what fails says so in time. An
// update whose answer did not come is there as a whole or not at all.
#include "support/bare_ceph.h"
#include "support/ceph_cluster.h"
#include "support/store_fixture.h"

#include "store/backend.h"

#include <algorithm>
#include <array>
#include <thread>

namespace stepstore::testing {
namespace {

constexpr char quick[] = "--rados_osd_op_timeout=2";
const ArrayAttributes cells{1, 1 << 20};
const ObjectId keys = kv_object(1, class_sx), array = array_object(2);

class Outage : public ::testing::Test {
protected:
    void pause() const { cluster.tell("osd", "pause all"); }
    void resume() const
    {
        cluster.tell("osd", "resume all");
        cluster.tell("wait"); // they may have taken each other for dead
    }
    std::shared_ptr<Container> make() const
    {
        PoolOptions options;
        options.targets = 2;
        return make_container(Pool::create(path, options));
    }
    static std::shared_ptr<Container> make_container(const std::shared_ptr<Pool>& pool)
    {
        pool->create_container(uuid_of(1), "test", {});
        return pool->open_container("test");
    }
    std::shared_ptr<Container> open() const
    {
        return Pool::open(path, Access::read_write)->open_container("test");
    }
    // Another process, when the one that stops itself has been stopped for so long that it counts as dead.
    static void while_stopped(pid_t stops, const std::function<void()>& other)
    {
        int status = 0;
        EXPECT_EQ(waitpid(stops, &status, WUNTRACED), stops);
        ASSERT_TRUE(WIFSTOPPED(status));
        sleep_for(14);
        run_user("", other);
        kill(stops, SIGCONT);
        EXPECT_EQ(end_of(stops), 0);
    }
    // Nothing is damaged or lost, and nothing is left to be given back once dead processes were cleaned up.
    void expect_clean() const
    {
        run_user("", [&] {
            sleep_for(12); // a dead process counts as such after ten seconds
            open()->kv_put(keys, as_bytes("the next writer"), {});
            const CheckReport report = Pool::check(path, {});
            EXPECT_TRUE(undamaged(report));
            EXPECT_EQ(report.reclaimable_bytes, 0U);
            for (const CheckFinding& one : report.findings)
                ADD_FAILURE() << one.where << ": " << one.what;
        });
    }

    CephCluster cluster{"--osds 2"};
    const std::string path = "rados://test/pool";
};

TEST_F(Outage, EndsAnOperationInTimeAndTheSameHandlesGoOn)
{
    run_user(quick, [&] {
        const auto container = make();
        const auto small = pattern(1000, 1), large = pattern(9 << 20, 2);
        container->kv_put(keys, as_bytes("small"), small);
        container->kv_put(keys, as_bytes("large"), large);
        write_cells(*container, array, cells, 0, large);
        const auto expect_timeout = [](const char* what, const auto& action) {
            std::string message;
            int code = 0;
            const double took = seconds_of([&] { code = der_of(action, &message); });
            EXPECT_EQ(code, DER_TIMEDOUT) << what << ": " << message;
            EXPECT_NE(message.find("does not answer"), std::string::npos) << message;
            EXPECT_GT(took, 1.5) << what;
            EXPECT_LT(took, 7) << what; // what was sent is taken back, which waits once more
        };
        pause();
        expect_timeout("a value", [&] { container->kv_put(keys, as_bytes("small"), pattern(1000, 3)); });
        expect_timeout("a read", [&] { kv_read(*container, keys, as_bytes("large")); });
        expect_timeout("cells", [&] { write_cells(*container, array, cells, 0, pattern(9 << 20, 4)); });
        expect_timeout("a snapshot", [&] { container->create_snapshot("s"); });
        resume();
        const auto now = kv_read(*container, keys, as_bytes("small"));
        EXPECT_TRUE(now == small || now == pattern(1000, 3));
        EXPECT_EQ(kv_read(*container, keys, as_bytes("large")), large);
        const auto got = read_cells(*container, array, cells, 0, large.size());
        EXPECT_TRUE(got == large || got == pattern(9 << 20, 4));
        for (std::uint64_t round = 10; round < 13; ++round) {
            container->kv_put(keys, as_bytes("small"), pattern(1000, round));
            container->kv_put(keys, as_bytes("large"), pattern(5 << 20, round));
            write_cells(*container, array, cells, 0, pattern(9 << 20, round));
            EXPECT_EQ(kv_read(*container, keys, as_bytes("small")), pattern(1000, round));
            EXPECT_EQ(kv_read(*container, keys, as_bytes("large")), pattern(5 << 20, round));
            EXPECT_EQ(read_cells(*container, array, cells, 0, 9 << 20), pattern(9 << 20, round));
        }
        // Marks of the one that got no answer go when a later one is removed.
        container->create_snapshot("t");
        container->destroy_snapshots(std::array{container->create_snapshot("u")});
    });
    expect_clean();
}

TEST_F(Outage, BelowTheTimeOutIsWaitedFor)
{
    const auto use = [&](const std::shared_ptr<Container>& container, std::uint64_t seed) {
        container->kv_put(keys, as_bytes("small"), pattern(1000, seed));
        container->kv_put(keys, as_bytes("large"), pattern(5 << 20, seed));
        write_cells(*container, array, cells, 0, pattern(5 << 20, seed));
    };
    run_user("", [&] {
        const auto container = make();
        use(container, 1);
        pause();
        std::thread later([&] {
            sleep_for(20);
            resume();
        });
        EXPECT_GT(seconds_of([&] { use(container, 2); }), 18);
        later.join();
        // Others that come now do not take this process for a dead one, though the cluster did not hear of
        // it for long.
        run_user("", [&] { use(open(), 3); });
        use(container, 4);
        EXPECT_EQ(kv_read(*container, keys, as_bytes("large")), pattern(5 << 20, 4));
        EXPECT_EQ(read_cells(*container, array, cells, 0, 5 << 20), pattern(5 << 20, 4));
    });
    expect_clean();
}

TEST_F(Outage, AnUpdateInDoubtIsThereAsAWholeOrNotAtAll)
{
    // The index's OSDs stop between an append and the update that publishes it, or within either.
    run_user(quick, [&] {
        const auto container = make();
        container->kv_put(keys, as_bytes("0"), pattern(3 << 20, 0)); // opens the lanes
        container->kv_put(keys, as_bytes("1"), pattern(3 << 20, 1));
        for (int round = 2; round < 6; ++round) {
            const std::string key = std::to_string(round);
            const auto seed = static_cast<std::uint64_t>(round);
            const auto large = pattern(round % 2 == 0 ? 3 << 20 : 40 << 20, seed);
            std::thread stopper([&] {
                sleep_for(0.01 * round);
                pause();
            });
            const int code = der_of([&] { container->kv_put(keys, as_bytes(key), large); });
            stopper.join();
            EXPECT_TRUE(code == 0 || code == DER_TIMEDOUT) << code;
            sleep_for(1);
            resume();
            const auto now = kv_read(*container, keys, as_bytes(key));
            EXPECT_TRUE(now == large || (code != 0 && !now)) << key;
        }
        for (int round = 0; round < 6; ++round) {
            const auto seed = static_cast<std::uint64_t>(round + 10);
            container->kv_put(keys, as_bytes(std::to_string(round)), pattern(2 << 20, seed));
            EXPECT_EQ(kv_read(*container, keys, as_bytes(std::to_string(round))), pattern(2 << 20, seed));
        }
    });
    expect_clean();
}

// A target of a pool without a store in it, one extent, and the update that refers to it.
class OneExtent {
public:
    explicit OneExtent(const std::string& path) : storage_(rados().open(path)) { storage_->claim(); }
    static const Backend& rados() { return *std::ranges::find(backends(), "rados", &Backend::name); }
    void append()
    {
        Payload payload{{&memory_, 1}};
        target().append({&payload, 1});
        extent_ = payload.extent;
    }
    void publish()
    {
        target().write([&](WriteTransaction& transaction) {
            while (!target().holds(extent_))
                append();
            transaction.put(as_bytes("extent"),
                            {reinterpret_cast<const std::byte*>(&extent_), sizeof extent_});
            target().entering(extent_);
        });
    }
    void release() { target().release(extent_); }
    // Whether it is there, and then whole.
    bool published()
    {
        bool there = false;
        target().read([&](ReadTransaction& transaction) {
            Bytes value;
            there = transaction.get(as_bytes("extent"), value);
            if (there) std::memcpy(&extent_, value.data(), sizeof extent_);
        });
        std::vector<std::byte> got(bytes_.size());
        if (there) target().read_extent(extent_, 0, got);
        EXPECT_TRUE(!there || got == bytes_);
        return there;
    }
    void remove()
    {
        target().write([&](WriteTransaction& transaction) {
            if (transaction.erase(as_bytes("extent"))) target().leaving(extent_);
        });
        release();
    }
    std::size_t files() { return target().extent_files().size(); }

private:
    Target& target() { return storage_->target(0); }

    const std::unique_ptr<Storage> storage_;
    const std::vector<std::byte> bytes_ = pattern(5 << 20, 1);
    const Bytes memory_ = bytes_;
    ExtentRef extent_;
};

TEST_F(Outage, AnAnswerThatDoesNotComeLosesNoExtent)
{
    run_user("", [&] { OneExtent::rados().create(path, {1, Durability::process, {}, {}}); });
    for (const bool given_up_meanwhile : {true, false}) {
        run_user(quick, [&] {
            OneExtent one(path);
            one.append();
            pause();
            EXPECT_EQ(der_of([&] { one.publish(); }), DER_TIMEDOUT);
            if (given_up_meanwhile) der_of([&] { one.release(); });
            resume();
            if (!given_up_meanwhile) one.release();
            if (one.published()) one.remove();
        });
        run_user("", [&] {
            sleep_for(12);
            EXPECT_EQ(OneExtent(path).files(), 0U);
        });
    }
}

// The OSDs have the update and do not answer. Then the cluster shuts the process out. It learns of it by an
// answer, or after ten seconds without one.
TEST_F(Outage, AnUpdateOfAProcessThatIsShutOutIsInDoubtAndLosesNoExtent)
{
    run_user("", [&] { OneExtent::rados().create(path, {1, Durability::process, {}, {}}); });
    for (const bool learns_first : {false, true}) {
        const pid_t shut_out = start_user("", [&] {
            OneExtent one(path);
            one.append();
            raise(SIGSTOP);
            const int code = der_of([&] { one.publish(); });
            EXPECT_TRUE(code == DER_NO_PERM || (code == 0 && !learns_first)) << code;
            EXPECT_EQ(der_of([&] { one.publish(); }), DER_NO_PERM);
            der_of([&] { one.release(); });
        });
        int status = 0;
        EXPECT_EQ(waitpid(shut_out, &status, WUNTRACED), shut_out);
        ASSERT_TRUE(WIFSTOPPED(status));
        run_user("", [&] {
            const auto watchers = BareCeph(path).watchers("stepstore");
            ASSERT_EQ(watchers.size(), 1U);
            pause();
            kill(shut_out, SIGCONT);
            sleep_for(0.5);
            cluster.tell("ask", std::string("'osd blocklist' blocklistop=add addr=") + watchers[0].addr);
            if (learns_first) sleep_for(15);
            resume();
        });
        EXPECT_EQ(end_of(shut_out), 0);
        run_user("", [&] {
            sleep_for(12);
            OneExtent next(path);
            if (next.published()) next.remove();
            EXPECT_EQ(next.files(), 0U);
        });
    }
}

// One of the two OSDs has the first copy of the header, and the other one's silence keeps the watch from
// being taken until its process is dead. The cluster then lists it for ever.
TEST_F(Outage, AProcessThatDiesAsItIsRegisteredKeepsNobodyFromRemovingThePool)
{
    run_user("", [&] { OneExtent::rados().create(path, {1, Durability::process, {}, {}}); });
    for (const char* osd : {"0", "1"}) {
        const pid_t dies = start_user("", [&] {
            const auto storage = OneExtent::rados().open(path);
            raise(SIGSTOP);
            storage->claim();
            for (;;)
                sleep_for(1);
        });
        int status = 0;
        EXPECT_EQ(waitpid(dies, &status, WUNTRACED), dies);
        ASSERT_TRUE(WIFSTOPPED(status));
        cluster.tell("osd", std::string("pause ") + osd);
        kill(dies, SIGCONT);
        sleep_for(0.5);
        kill(dies, SIGKILL);
        EXPECT_EQ(end_of(dies), -SIGKILL);
        sleep_for(0.5);
        cluster.tell("osd", std::string("resume ") + osd);
        cluster.tell("wait");
    }
    run_user("", [&] {
        sleep_for(12);
        ASSERT_FALSE(BareCeph(path).watchers("stepstore").empty()) << "nothing is tested";
        OneExtent::rados().destroy(path);
        EXPECT_EQ(OneExtent::rados().look(path), Found::nothing);
        OneExtent::rados().create(path, {1, Durability::process, {}, {}});
    });
    // One that is stopped does not answer, and lives.
    const pid_t stopped = start_user("", [&] {
        const OneExtent one(path);
        raise(SIGSTOP);
    });
    int status = 0;
    EXPECT_EQ(waitpid(stopped, &status, WUNTRACED), stopped);
    run_user("", [&] {
        std::string message;
        EXPECT_EQ(der_of([&] { OneExtent::rados().destroy(path); }, &message), DER_BUSY);
        EXPECT_NE(message.find("1 other processes have it open"), std::string::npos) << message;
    });
    kill(stopped, SIGCONT);
    EXPECT_EQ(end_of(stopped), 0);
    run_user("", [&] { OneExtent::rados().destroy(path); });
}

TEST_F(Outage, AProcessCutOffBetweenAppendAndUpdateAppendsAnew)
{
    run_user("", [&] { OneExtent::rados().create(path, {1, Durability::process, {}, {}}); });
    const pid_t cut_off = start_user("", [&] {
        OneExtent one(path);
        one.append();
        raise(SIGSTOP);
        one.publish();
        EXPECT_TRUE(one.published());
        EXPECT_EQ(one.files(), 1U);
        one.remove();
        EXPECT_EQ(one.files(), 0U);
    });
    while_stopped(cut_off, [&] { EXPECT_EQ(OneExtent(path).files(), 0U); });
}

TEST_F(Outage, AProcessThatWasCutOffGoesOn)
{
    run_user("", [&] { make(); });
    const pid_t cut_off = start_user("", [&] {
        const auto container = open();
        container->kv_put(keys, as_bytes("a"), pattern(2 << 20, 1));
        write_cells(*container, array, cells, 0, pattern(5 << 20, 2));
        raise(SIGSTOP);
        container->kv_put(keys, as_bytes("a"), pattern(3 << 20, 3));
        write_cells(*container, array, cells, 0, pattern(5 << 20, 4));
        container->kv_put(keys, as_bytes("small"), pattern(100, 5));
        EXPECT_EQ(kv_read(*container, keys, as_bytes("a")), pattern(3 << 20, 3));
        EXPECT_EQ(kv_read(*container, keys, as_bytes("b")), pattern(2 << 20, 6));
        EXPECT_EQ(read_cells(*container, array, cells, 0, 5 << 20), pattern(5 << 20, 4));
    });
    while_stopped(cut_off, [&] {
        const auto container = open();
        EXPECT_EQ(kv_read(*container, keys, as_bytes("a")), pattern(2 << 20, 1));
        EXPECT_EQ(read_cells(*container, array, cells, 0, 5 << 20), pattern(5 << 20, 2));
        container->kv_put(keys, as_bytes("b"), pattern(2 << 20, 6));
    });
    expect_clean();
}

} // namespace
} // namespace stepstore::testing
