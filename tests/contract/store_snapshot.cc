// Epochs, snapshots and aggregation on every back end.
#include "store/keys.h"
#include "store/object.h"
#include "store/pool_core.h"
#include "store/sealed.h"
#include "store/versioned.h"
#include "support/store_fixture.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace stepstore::testing {
namespace {

class SnapshotContract : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, SnapshotContract, every_backend(), backend_name);

TEST_P(SnapshotContract, ASnapshotFixesAPointInTime)
{
    const ObjectId oid = kv_object(1, class_sx);
    std::vector<Epoch> epochs;
    for (int step = 0; step < 5; ++step) {
        container->kv_put(oid, as_bytes("always"),
                          pattern(step % 2 == 0 ? 100 : 100000, static_cast<unsigned>(step)));
        container->kv_put(oid, as_bytes("only" + std::to_string(step)), {});
        if (step > 0) container->kv_remove(oid, as_bytes("only" + std::to_string(step - 1)));
        epochs.push_back(container->create_snapshot("step " + std::to_string(step)));
    }
    container->punch(oid);
    for (int step = 0; step < 5; ++step) {
        const Epoch epoch = epochs[static_cast<std::size_t>(step)];
        EXPECT_EQ(kv_read(*container, oid, as_bytes("always"), epoch),
                  pattern(step % 2 == 0 ? 100 : 100000, static_cast<unsigned>(step)));
        auto keys = list_keys(*container, oid, epoch);
        std::ranges::sort(keys);
        EXPECT_EQ(keys, (std::vector<std::string>{"always", "only" + std::to_string(step)}));
        EXPECT_TRUE(kv_read(*container, oid, as_bytes("only" + std::to_string(step)), epoch).has_value());
        EXPECT_FALSE(
            kv_read(*container, oid, as_bytes("only" + std::to_string(step + 1)), epoch).has_value());
    }
    EXPECT_TRUE(list_keys(*container, oid).empty());
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("always"), epochs[1] + 1); }), DER_NONEXIST)
        << "an epoch that is no snapshot";
}

// As one whose creator died.
TEST_P(SnapshotContract, ARepairRemovesTheMarksOfOneThatWasNeverFinished)
{
    const ObjectId oid = kv_object(1, class_sx);
    for (int key = 0; key < 20; ++key)
        container->kv_put(oid, as_bytes(std::to_string(key)), pattern(100, 1));
    const Epoch kept = container->create_snapshot("kept");
    constexpr std::uint32_t first_container = 1;
    Storage& storage = std::static_pointer_cast<VersionedPool>(pool)->core().storage();
    const Epoch stray = storage.next_epoch();
    for (unsigned target = 0; target < 2; ++target)
        storage.target(target).write([&](WriteTransaction& transaction) {
            put_sealed(transaction, snapshot_key(first_container, stray).view(), {});
            put_state(transaction, first_container, {stray});
        });
    for (const std::uint64_t seed : {2, 3})
        for (int key = 0; key < 20; ++key)
            container->kv_put(oid, as_bytes(std::to_string(key)), pattern(100, seed));
    EXPECT_FALSE(Pool::check(path, {}).findings.empty());
    EXPECT_TRUE(undamaged(Pool::check(path, {.repair = true})));
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    ASSERT_EQ(container->snapshots().size(), 1U);
    for (int key = 0; key < 20; ++key) {
        EXPECT_EQ(kv_read(*container, oid, as_bytes(std::to_string(key)), kept), pattern(100, 1));
        EXPECT_EQ(kv_read(*container, oid, as_bytes(std::to_string(key))), pattern(100, 3));
    }
}

TEST_P(SnapshotContract, SnapshotsAreListedAndRemoved)
{
    EXPECT_TRUE(container->snapshots().empty());
    const Epoch first = container->create_snapshot("first");
    const Epoch second = container->create_snapshot("");
    EXPECT_LT(first, second);
    const auto all = container->snapshots();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].epoch, first);
    EXPECT_EQ(all[0].name, "first");
    EXPECT_EQ(all[1].name, "");
    EXPECT_EQ(container->query().snapshots, 2U);
    EXPECT_EQ(container->query().latest_snapshot, second);
    EXPECT_TRUE(container->has_snapshot(first));
    EXPECT_FALSE(container->has_snapshot(first + 1));
    container->destroy_snapshot(first);
    EXPECT_FALSE(container->has_snapshot(first));
    EXPECT_EQ(der_of([&] { container->destroy_snapshot(first); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { kv_read(*container, kv_object(1), as_bytes("k"), first); }), DER_NONEXIST);
    EXPECT_EQ(container->query().snapshots, 1U);
    EXPECT_EQ(der_of([&] { container->create_snapshot(std::string(256, 'n')); }), DER_INVAL);
}

TEST_P(SnapshotContract, ANameIsGivenOnce)
{
    const auto other = pool->open_container("test");
    std::string message;
    const Epoch first = container->create_snapshot("name");
    EXPECT_EQ(der_of([&] { container->create_snapshot("name"); }, &message), DER_EXIST);
    EXPECT_NE(message.find("\"name\""), std::string::npos) << message;
    EXPECT_NE(message.find(std::to_string(first)), std::string::npos) << message;
    EXPECT_EQ(der_of([&] { other->create_snapshot("name"); }), DER_EXIST);
    EXPECT_EQ(container->snapshots().size(), 1U);
    // Without a name there may be any number.
    container->create_snapshot("");
    container->create_snapshot("");
    const Epoch longer = other->create_snapshot("name ");
    EXPECT_EQ(der_of([&] { container->create_snapshot("name "); }), DER_EXIST);
    // It is free again when its snapshot is gone, for those who knew it and for others.
    other->destroy_snapshots(std::array{first, longer});
    container->create_snapshot("name");
    other->create_snapshot("name ");
    EXPECT_EQ(der_of([&] { other->create_snapshot("name"); }), DER_EXIST);
    EXPECT_EQ(container->snapshots().size(), 4U);
    // What was refused has left nothing.
    for (const CheckFinding& one : Pool::check(path, {}).findings)
        ADD_FAILURE() << one.where << ": " << one.what;
}

TEST_P(SnapshotContract, OfManyWhoGiveANameAtOnceOneSucceeds)
{
    std::atomic<int> made{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, mine = pool->open_container("test")] {
            for (int i = 0; i < 10; ++i)
                if (der_of([&] { mine->create_snapshot("name " + std::to_string(i)); }) == 0) ++made;
        });
    }
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(made, 10);
    EXPECT_EQ(container->snapshots().size(), 10U);
}

TEST_P(SnapshotContract, VersionsThatNobodyNeedsAreDropped)
{
    const ObjectId oid = kv_object(1, class_sx);
    const ObjectId array = array_object(2);
    const auto count = [&] { return Pool::check(path, {}).records; };
    const auto fill = [&](unsigned seed) {
        for (int i = 0; i < 300; ++i)
            container->kv_put(oid, as_bytes(std::to_string(i)), pattern(20, seed));
        container->kv_put(oid, as_bytes("big"), pattern(100000, seed));
        write_cells(*container, array, {1, 100000}, 0, pattern(500000, seed));
    };
    fill(1);
    const std::uint64_t plain = count();
    fill(2);
    EXPECT_EQ(count(), plain) << "without a snapshot nothing old is kept";
    const Epoch a = container->create_snapshot("a");
    const Epoch b = container->create_snapshot("b");
    fill(3);
    fill(4); // what fill(3) wrote no snapshot needs
    const Epoch c = container->create_snapshot("c");
    fill(5);
    const std::uint64_t with_three = count();
    container->destroy_snapshot(a); // b needs the same versions
    EXPECT_LE(with_three - count(), 6U) << "the snapshot's own records";
    EXPECT_EQ(kv_read(*container, oid, as_bytes("7"), b), pattern(20, 2));
    container->destroy_snapshot(c);
    EXPECT_EQ(kv_read(*container, oid, as_bytes("big"), b), pattern(100000, 2));
    EXPECT_EQ(read_cells(*container, array, {1, 100000}, 0, 500000, b), pattern(500000, 2));
    container->destroy_snapshot(b);
    EXPECT_EQ(count(), plain + 1) << "the record of c stays, as the newest that there was";
    EXPECT_EQ(kv_read(*container, oid, as_bytes("big")), pattern(100000, 5));
    EXPECT_EQ(read_cells(*container, array, {1, 100000}, 0, 500000), pattern(500000, 5));
    std::uint64_t bulk = 0;
    for (const TargetInfo& target : pool->query().targets)
        bulk += target.bulk_bytes;
    EXPECT_LT(bulk, 700000U) << "space of dropped versions was not given back";
}

TEST_P(SnapshotContract, SeveralAreRemovedTogether)
{
    const ObjectId oid = kv_object(1, class_sx);
    const auto count = [&] { return Pool::check(path, {}).records; };
    container->kv_put(oid, as_bytes("k"), pattern(100000, 0));
    const std::uint64_t plain = count();
    std::vector<Epoch> all;
    for (unsigned i = 0; i < 50; ++i) {
        container->kv_put(oid, as_bytes("k"), pattern(100000, i));
        all.push_back(container->create_snapshot(""));
    }
    container->kv_put(oid, as_bytes("k"), pattern(100000, 99));
    const Epoch kept = all[20];
    std::vector<Epoch> gone = all;
    gone.erase(gone.begin() + 20);
    gone.push_back(all.front() - 1); // never was one
    EXPECT_EQ(container->destroy_snapshots(gone), 49U);
    EXPECT_EQ(container->destroy_snapshots(gone), 0U);
    ASSERT_EQ(container->snapshots().size(), 1U);
    EXPECT_EQ(kv_read(*container, oid, as_bytes("k"), kept), pattern(100000, 20));
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("k"), all[21]); }), DER_NONEXIST);
    container->destroy_snapshot(kept);
    EXPECT_EQ(count(), plain + 1) << "the record of the newest stays";
    container->destroy_snapshot(container->create_snapshot(""));
    EXPECT_EQ(count(), plain + 1) << "until there is a newer one";
    EXPECT_EQ(kv_read(*container, oid, as_bytes("k")), pattern(100000, 99));
}

TEST_P(SnapshotContract, LargeHistoriesAreAggregatedInBatches)
{
    const ObjectId oid = kv_object(1, class_s1);
    for (int i = 0; i < 2500; ++i)
        container->kv_put(oid, as_bytes(std::to_string(i)), as_bytes("old"));
    const Epoch kept = container->create_snapshot("kept");
    const Epoch gone = container->create_snapshot("gone");
    for (int i = 0; i < 2500; ++i)
        container->kv_put(oid, as_bytes(std::to_string(i)), as_bytes("new"));
    container->destroy_snapshot(gone);
    EXPECT_EQ(list_keys(*container, oid, kept).size(), 2500U);
    for (int i = 0; i < 2500; i += 50)
        EXPECT_EQ(kv_read(*container, oid, as_bytes(std::to_string(i)), kept), to_bytes("old"));
    container->destroy_snapshot(kept);
    EXPECT_EQ(list_keys(*container, oid).size(), 2500U);
    for (const CheckFinding& one : Pool::check(path, {}).findings)
        ADD_FAILURE() << one.where << ": " << one.what;
}

// What one writer acknowledged before the snapshot is in it, and what it began after is not.
TEST_P(SnapshotContract, ASnapshotIsAConsistentCut)
{
    const ObjectId oid = kv_object(1, class_sx);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> acknowledged{0};
    std::thread writer([&] {
        for (std::uint64_t i = 1; !stop; ++i) {
            // The number goes to every target, one key after the other.
            for (int key = 0; key < 16; ++key)
                container->kv_put(oid, as_bytes(std::to_string(key)), as_bytes(std::to_string(i)));
            acknowledged = i;
        }
    });
    while (acknowledged < 3)
        std::this_thread::yield();
    for (int round = 0; round < 30; ++round) {
        const std::uint64_t before = acknowledged;
        const Epoch epoch = container->create_snapshot("");
        const std::uint64_t after = acknowledged + 1;
        std::uint64_t last = UINT64_MAX;
        for (int key = 0; key < 16; ++key) {
            const auto value = kv_read(*container, oid, as_bytes(std::to_string(key)), epoch);
            ASSERT_TRUE(value.has_value());
            const std::uint64_t number = std::stoull(std::string(as_text(*value)));
            EXPECT_GE(number, before);
            EXPECT_LE(number, after);
            EXPECT_LE(number, last) << "a later put is in the snapshot and an earlier one is not";
            last = number;
        }
        if (round % 3 == 0) container->destroy_snapshot(epoch);
    }
    stop = true;
    writer.join();
}

TEST_P(SnapshotContract, MarkersOfObjectsGoWithTheirSnapshotAndContainer)
{
    const auto sound = [&] { return Pool::check(path, {}).findings.empty(); };
    pool->create_container(uuid_of(2), "marked", {});
    auto marked = pool->open_container("marked");
    std::vector<ObjectId> oids;
    for (std::uint64_t i = 1; i <= 130; ++i) // more than are erased at once
        oids.push_back(kv_object(i));
    const Epoch first = marked->create_snapshot("first"), second = marked->create_snapshot("second");
    for (const ObjectId& oid : oids)
        marked->mark_object(first, oid, as_bytes(std::to_string(oid.lo)));
    marked->mark_object(second, oids[3], as_bytes("of the second"));
    const auto some = marked->object_markers(first, oids[10], oids[19]);
    ASSERT_EQ(some.size(), 10U);
    EXPECT_EQ(some[9].oid, oids[19]);
    EXPECT_EQ(as_text(some[9].marker), "20");
    EXPECT_TRUE(sound());
    EXPECT_THROW(marked->mark_object(second + 1, oids[0], as_bytes("x")), Error);
    EXPECT_THROW(marked->mark_object(first, oids[0], pattern(33, 1)), Error);
    marked->destroy_snapshot(first);
    EXPECT_THROW(marked->object_markers(first, oids[0], oids[9]), Error);
    EXPECT_EQ(marked->object_markers(second, oids[0], oids.back()).size(), 1U);
    EXPECT_TRUE(sound());
    marked.reset();
    pool->destroy_container("marked", false);
    EXPECT_TRUE(sound());
}

} // namespace
} // namespace stepstore::testing
