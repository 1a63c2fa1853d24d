// What operations cost on a Ceph cluster, in round trips.
#include "support/rados_trips.h"
#include "support/store_fixture.h"

namespace stepstore::testing {
namespace {

// A read begins again where the index has just changed.
template <class Read>
Counted least_of_three(Read read)
{
    Counted least{UINT64_MAX, UINT64_MAX};
    for (int round = 0; round < 3; ++round)
        if (const Counted now = trips_of(read); now.reads < least.reads) least = now;
    return least;
}

class Trips : public StoreTest {
protected:
    // The process has used each target once: it knows the container, and that the target is the pool's.
    void warm_up()
    {
        for (int key = 0; key < 64; ++key)
            container->kv_put(kv_object(99, class_sx), as_bytes(std::to_string(key)), as_bytes("x"));
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, Trips, every_backend(), backend_name);

TEST_P(Trips, ANewKeyIsOneWrite)
{
    warm_up();
    const ObjectId oid = kv_object(1, class_sx);
    for (int key = 0; key < 20; ++key) {
        const auto put = [&] { container->kv_put(oid, as_bytes(std::to_string(key)), pattern(5000, 1)); };
        EXPECT_EQ(trips_of(put), (Counted{0, 1})) << key;
    }
}

TEST_P(Trips, AKeyThatThisProcessWroteIsReplacedByOneWrite)
{
    warm_up();
    const ObjectId oid = kv_object(1);
    for (int round = 0; round < 10; ++round)
        EXPECT_EQ(trips_of([&] { container->kv_put(oid, as_bytes("key"), pattern(500, 1)); }),
                  (Counted{0, 1}));
}

TEST_P(Trips, AKeyOfAnotherIsReplacedByOneReadAndOneWrite)
{
    warm_up();
    const ObjectId oid = kv_object(1);
    // More than the process remembers.
    for (int key = 0; key < 400; ++key)
        container->kv_put(oid, as_bytes(std::to_string(key)), pattern(30000, 1));
    const auto put = [&](int key) {
        return trips_of([&] { container->kv_put(oid, as_bytes(std::to_string(key)), pattern(500, 1)); });
    };
    put(0); // finds out that guesses are wrong here
    for (int key = 1; key < 10; ++key)
        EXPECT_EQ(put(key), (Counted{1, 1})) << key;
}

TEST_P(Trips, AValueIsReadAtOnce)
{
    const ObjectId oid = kv_object(1);
    container->kv_put(oid, as_bytes("key"), pattern(56000, 1));
    std::vector<std::byte> room(56000);
    EXPECT_EQ(trips_of([&] { container->kv_get(oid, as_bytes("key"), room); }), (Counted{1, 0}));
    EXPECT_EQ(trips_of([&] { container->kv_get(oid, as_bytes("none"), room); }), (Counted{1, 0}));
}

TEST_P(Trips, KeysOfAllTargetsAreListedAndReadAtOnce)
{
    const ObjectId oid = kv_object(1, class_sx);
    for (int key = 0; key < 100; ++key)
        container->kv_put(oid, as_bytes(std::to_string(key)), pattern(5000, 1));
    const Epoch snapshot = container->create_snapshot("");
    container->kv_put(oid, as_bytes("1"), pattern(10, 1));
    std::vector<std::byte> room(5000);
    for (const Epoch epoch : {latest, snapshot}) {
        std::vector<std::string> keys;
        EXPECT_EQ(least_of_three([&] { keys = list_keys(*container, oid, epoch); }), (Counted{1, 0}));
        EXPECT_EQ(keys.size(), 100U);
        std::vector<KeyRead> reads;
        for (const std::string& key : keys)
            reads.push_back({as_bytes(key), room, {}});
        EXPECT_EQ(least_of_three([&] { container->kv_get_many(oid, reads, epoch); }), (Counted{1, 0}));
        EXPECT_EQ(least_of_three([&] { container->kv_get(oid, as_bytes("2"), room, epoch); }),
                  (Counted{1, 0}));
    }
}

TEST_P(Trips, AnArrayAtASnapshotIsReadAtOnce)
{
    const ObjectId oid = array_object(1);
    const ArrayAttributes attributes{1, 1 << 15};
    const auto blob = pattern(200000, 1);
    write_cells(*container, oid, attributes, 0, blob);
    const Epoch snapshot = container->create_snapshot("");
    write_cells(*container, oid, attributes, 0, pattern(blob.size(), 2));
    std::uint64_t size = 0;
    const auto look = [&] { size = container->array_size(oid, attributes, snapshot); };
    EXPECT_EQ(least_of_three(look), (Counted{1, 0}));
    EXPECT_EQ(size, blob.size());
    ArrayStatus status;
    const auto ask = [&] { status = container->array_status(oid, attributes, snapshot); };
    EXPECT_EQ(least_of_three(ask), (Counted{1, 0}));
    EXPECT_EQ(status.cells, blob.size());
    std::vector<std::byte> got;
    const auto read = [&] { got = read_cells(*container, oid, attributes, 0, blob.size(), snapshot); };
    EXPECT_EQ(least_of_three(read), (Counted{1, 0}));
    EXPECT_EQ(got, blob);
}

TEST_P(Trips, ABlobInAFreshChunkIsOneWrite)
{
    warm_up();
    const ObjectId oid = array_object(1);
    const ArrayAttributes attributes{1, 1 << 20};
    const auto blob = pattern(56000, 1);
    for (std::uint64_t chunk = 0; chunk < 20; ++chunk) {
        const auto write = [&] { write_cells(*container, oid, attributes, chunk << 20, blob); };
        EXPECT_EQ(trips_of(write), (Counted{0, 1})) << chunk;
    }
    // And behind one that it wrote.
    EXPECT_EQ(trips_of([&] { write_cells(*container, oid, attributes, 56000, blob); }), (Counted{0, 1}));
    // And in the place of one.
    EXPECT_EQ(trips_of([&] { write_cells(*container, oid, attributes, 0, blob); }), (Counted{0, 1}));
}

TEST_P(Trips, AnArrayIsReadWithTwo)
{
    const ObjectId oid = array_object(1, class_s1);
    const ArrayAttributes attributes{1, 64 << 20};
    const auto small = pattern(56000, 1);
    const auto large = pattern(9 << 20, 2);
    write_cells(*container, oid, attributes, 0, small);
    write_cells(*container, oid, attributes, 56000, large);
    std::vector<std::byte> got;
    EXPECT_EQ(trips_of([&] { got = read_cells(*container, oid, attributes, 0, small.size()); }),
              (Counted{1, 0}));
    EXPECT_EQ(got, small);
    EXPECT_EQ(trips_of([&] { got = read_cells(*container, oid, attributes, 56000, large.size()); }),
              (Counted{2, 0}));
    EXPECT_EQ(got, large);
}

TEST_P(Trips, AnArrayOnSeveralTargetsIsWrittenAndReadAtOnce)
{
    warm_up();
    const ObjectId oid = array_object(1);
    const ArrayAttributes attributes{1, 1 << 20};
    const auto blob = pattern(11 << 20, 1);
    write_cells(*container, oid, attributes, 0, blob); // opens the lanes
    EXPECT_EQ(trips_of([&] { write_cells(*container, oid, attributes, blob.size(), blob); }),
              (Counted{0, 2}));
    std::vector<std::byte> got;
    const auto read = [&] { got = read_cells(*container, oid, attributes, blob.size(), blob.size()); };
    EXPECT_EQ(least_of_three(read), (Counted{2, 0}));
    EXPECT_EQ(got, blob);
}

TEST_P(Trips, ALargeValueIsItsDataAndOneWrite)
{
    warm_up();
    const ObjectId oid = kv_object(1);
    container->kv_put(oid, as_bytes("first"), pattern(1 << 20, 1)); // opens the lane
    EXPECT_EQ(trips_of([&] { container->kv_put(oid, as_bytes("second"), pattern(9 << 20, 1)); }),
              (Counted{0, 2}));
}

// What concerns all targets goes to all of them at once.
TEST_P(Trips, ASnapshotAndAContainerTakeTheSameWhateverTheTargets)
{
    warm_up();
    Epoch epoch = 0;
    const auto make = [&] { epoch = container->create_snapshot(""); };
    const auto create = [&] { pool->create_container(uuid_of(9), "more", {}); };
    std::uint64_t made = UINT64_MAX, removed = made, created = made, destroyed = made;
    for (int round = 0; round < 3; ++round) { // another one may have updated a target just before
        made = std::min(made, trips_of(make).sum());
        removed = std::min(removed, trips_of([&] { container->destroy_snapshot(epoch); }).sum());
        created = std::min(created, trips_of(create).sum());
        destroyed = std::min(destroyed, trips_of([&] { pool->destroy_container("more", false); }).sum());
    }
    EXPECT_EQ(made, 2U);
    EXPECT_LE(removed, 12U);
    EXPECT_LE(created, 5U);
    EXPECT_LE(destroyed, 10U); // two look for user attributes, and for notes in tables of objects
}

} // namespace
} // namespace stepstore::testing
