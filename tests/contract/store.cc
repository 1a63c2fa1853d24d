// The store on every back end: pools, containers, placement, enumeration.
#include "support/store_fixture.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

namespace stepstore::testing {
namespace {

class StoreContract : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, StoreContract, every_store(), backend_name);

TEST_P(StoreContract, APoolTellsWhatItIs)
{
    const PoolInfo info = pool->query();
    EXPECT_EQ(info.label, path.substr(path.rfind('/') + 1));
    EXPECT_EQ(info.backend, GetParam());
    EXPECT_EQ(info.format_version, has_versions() ? 3U : 1U);
    EXPECT_EQ(info.targets.size(), has_versions() ? 4U : 1U);
    EXPECT_EQ(info.containers, 1U);
    EXPECT_NE(info.uuid, Uuid{});
    if (GetParam() != "rados") { // a cluster without a manager does not know
        EXPECT_GT(info.space_total, 0U);
    }
    EXPECT_EQ(Pool::open(path, Access::read_only)->query().uuid, info.uuid);
}

TEST_P(StoreContract, OnePoolPerPath)
{
    PoolOptions options;
    options.backend = GetParam();
    EXPECT_EQ(der_of([&] { Pool::create(path, options); }), DER_EXIST);
    const std::string none = pool_path(directory, GetParam(), "none");
    EXPECT_EQ(der_of([&] { Pool::open(none, Access::read_write); }), DER_NONEXIST);
    EXPECT_FALSE(std::filesystem::exists(directory / "none"));
    options.backend = "tape";
    std::string message;
    EXPECT_EQ(der_of([&] { Pool::create(directory / "other", options); }, &message), DER_INVAL);
    EXPECT_NE(message.find("lmdb"), std::string::npos) << message;
    options.backend = GetParam();
    options.targets = 257;
    EXPECT_EQ(der_of([&] { Pool::create(pool_path(directory, GetParam(), "other"), options); }),
              has_versions() ? DER_INVAL : 0);
}

TEST_P(StoreContract, AsManyTargetsAsProcessorsUnlessToldOtherwise)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no targets";
    PoolOptions options;
    options.backend = GetParam();
    const std::string usual = pool_path(directory, GetParam(), "usual");
    Pool::create(usual, options);
    const std::size_t targets = Pool::open(usual, Access::read_only)->query().targets.size();
    const std::size_t processors = std::thread::hardware_concurrency();
    const std::size_t local = processors < 4 ? 4 : processors > 16 ? 16 : processors;
    EXPECT_EQ(targets, GetParam() == "rados" ? 32 : local);
    Pool::destroy(usual);
}

TEST_P(StoreContract, ADestroyedPoolIsGone)
{
    EXPECT_EQ(der_of([&] { Pool::destroy(path); }), DER_BUSY);
    container.reset();
    pool.reset();
    Pool::destroy(path);
    EXPECT_EQ(der_of([&] { Pool::open(path, Access::read_write); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { Pool::destroy(path); }), DER_NONEXIST);
    path.clear();
}

TEST_P(StoreContract, AReadOnlyPoolRefusesUpdates)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("value"));
    auto reader = Pool::open(path, Access::read_only)->open_container("test");
    EXPECT_TRUE(kv_read(*reader, kv_object(1), as_bytes("key")).has_value());
    EXPECT_EQ(der_of([&] { reader->kv_put(kv_object(1), as_bytes("key"), {}); }), DER_NO_PERM);
    EXPECT_EQ(der_of([&] { reader->kv_remove(kv_object(1), as_bytes("key")); }), DER_NO_PERM);
    EXPECT_EQ(der_of([&] { reader->array_set_size(array_object(1), {}, 1); }), DER_NO_PERM);
    EXPECT_EQ(der_of([&] { reader->create_snapshot(""); }), DER_NO_PERM);
    EXPECT_EQ(der_of([&] { reader->allocate_oids(1); }), DER_NO_PERM);
    EXPECT_EQ(der_of([&] { reader->pool()->create_container(uuid_of(9), "", {}); }), DER_NO_PERM);
    EXPECT_EQ(der_of([&] { reader->pool()->destroy_container("test", true); }), DER_NO_PERM);
}

TEST_P(StoreContract, ContainersAreFoundByLabelAndUuid)
{
    const auto properties = pattern(3000, 1);
    const ContainerInfo made = pool->create_container(uuid_of(0xab), "wave.height_2:x-1", properties);
    EXPECT_GT(made.created, 0U);
    for (const char* name : {"wave.height_2:x-1", "00000000-0000-0000-0000-0000000000ab",
                             "00000000-0000-0000-0000-0000000000AB"}) {
        auto found = pool->open_container(name);
        EXPECT_EQ(found->query().uuid, uuid_of(0xab)) << name;
        EXPECT_EQ(found->query().label, "wave.height_2:x-1");
        EXPECT_EQ(found->query().created, made.created);
        EXPECT_EQ(found->properties(), properties);
    }
    pool->create_container(uuid_of(3), "", {}); // no label
    pool->create_container(uuid_of(4), "", {});
    EXPECT_EQ(pool->containers().size(), 4U);
    EXPECT_EQ(der_of([&] { pool->create_container(uuid_of(0xab), "", {}); }), DER_EXIST);
    EXPECT_EQ(der_of([&] { pool->create_container(uuid_of(5), "test", {}); }), DER_EXIST);
    EXPECT_EQ(der_of([&] { pool->create_container(uuid_of(5), "a/b", {}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { pool->create_container(uuid_of(5), std::string(128, 'a'), {}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { pool->create_container(uuid_of(5), "00000000-0000-0000-0000-0000000000ac", {}); }),
              DER_INVAL);
    EXPECT_EQ(pool->containers().size(), 4U);
    pool->create_container(uuid_of(5), std::string(127, 'a'), {});
    EXPECT_EQ(der_of([&] { pool->open_container("none"); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { pool->open_container(""); }), DER_NONEXIST);
}

TEST_P(StoreContract, ADestroyedContainerIsGoneAndItsHandlesSaySo)
{
    const auto big = pattern(300000, 1);
    for (int i = 0; i < 2500; ++i)
        container->kv_put(kv_object(1, class_sx), as_bytes("key" + std::to_string(i)), as_bytes("value"));
    container->kv_put(kv_object(2), as_bytes("big"), big);
    snapshot_or_latest();
    container->kv_put(kv_object(2), as_bytes("big"), big);
    EXPECT_EQ(der_of([&] { pool->destroy_container("test", false); }), DER_BUSY);
    pool->destroy_container("test", true);
    EXPECT_EQ(pool->containers().size(), 0U);
    EXPECT_EQ(der_of([&] { pool->destroy_container("test", true); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->kv_put(kv_object(1), as_bytes("k"), {}); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->kv_put(kv_object(1), as_bytes("k"), big); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { kv_read(*container, kv_object(1), as_bytes("key1")); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { list_keys(*container, kv_object(1)); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->array_size(array_object(1), {}); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { write_cells(*container, array_object(1), {}, 0, big); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->create_snapshot(""); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->snapshots(); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->query(); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->allocate_oids(1); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->objects(); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { container->punch(kv_object(1)); }), DER_NONEXIST);
    // The name is free again, and nothing of the old one shows.
    pool->create_container(uuid_of(1), "test", {});
    container = pool->open_container("test");
    EXPECT_TRUE(container->objects().empty());
    EXPECT_TRUE(container->snapshots().empty());
    container.reset();
    pool.reset();
    const CheckReport report = Pool::check(path, {true, true});
    EXPECT_TRUE(undamaged(report));
    EXPECT_EQ(report.extents, 0U);
    const PoolInfo info = Pool::open(path, Access::read_only)->query();
    for (const TargetInfo& target : info.targets)
        EXPECT_EQ(target.bulk_bytes, 0U);
}

TEST_P(StoreContract, ObjectIdsAreGivenOnce)
{
    EXPECT_EQ(container->allocate_oids(10), 0U);
    EXPECT_EQ(container->allocate_oids(1), 10U);
    EXPECT_EQ(container->allocate_oids(1ULL << 48), 11U);
    for (const std::uint64_t all : {UINT64_MAX, UINT64_MAX / 2, (UINT64_C(1) << 48) + 1})
        EXPECT_EQ(der_of([&] { container->allocate_oids(all); }), DER_OVERFLOW);
    EXPECT_EQ(der_of([&] { container->allocate_oids(0); }), DER_INVAL);
    EXPECT_EQ(container->allocate_oids(1), 11U + (1ULL << 48));
}

TEST_P(StoreContract, TheObjectClassDecidesWhereDkeysLie)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no targets";
    const auto targets_used = [&](const ObjectId& oid) {
        std::vector<std::uint64_t> before;
        for (const TargetInfo& target : pool->query().targets)
            before.push_back(target.counters.updates);
        for (int i = 0; i < 400; ++i)
            container->kv_put(oid, as_bytes(std::to_string(i)), as_bytes("12345"));
        std::vector<std::uint64_t> added;
        const PoolInfo info = pool->query();
        for (std::size_t i = 0; i < before.size(); ++i) {
            const std::uint64_t more = info.targets[i].counters.updates - before[i];
            if (more != 0) added.push_back(more);
        }
        return added;
    };
    EXPECT_EQ(targets_used(kv_object(1, class_s1)), (std::vector<std::uint64_t>{400}));
    const auto two = targets_used(kv_object(2, class_s2));
    const auto all = targets_used(kv_object(3, class_sx));
    EXPECT_EQ(two.size(), 2U);
    EXPECT_EQ(all.size(), 4U);
    for (const std::uint64_t count : two)
        EXPECT_GT(count, 130U); // of 200
    for (const std::uint64_t count : all)
        EXPECT_GT(count, 50U); // of 100
    // A cluster keeps the copies itself.
    const std::vector<std::uint64_t> copies(GetParam() == "rados" ? 1 : 2, 400);
    EXPECT_EQ(targets_used(kv_object(4, class_rp_2g1)), copies);
    EXPECT_EQ(targets_used(kv_object(5, class_rp_2gx)).size(), 2 * copies.size());
    // Objects of one target each spread over the targets too.
    std::set<unsigned> used;
    for (std::uint64_t lo = 0; lo < 100; ++lo)
        used.insert(Placement(1, kv_object(lo), 4).group(0).targets[0]);
    EXPECT_EQ(used.size(), 4U);
}

TEST_P(StoreContract, CountersCountRequestsAndBytes)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no counters";
    const auto sum = [&] {
        Counters all;
        for (const TargetInfo& target : pool->query().targets) {
            all.updates += target.counters.updates;
            all.fetches += target.counters.fetches;
            all.bytes_written += target.counters.bytes_written;
            all.bytes_read += target.counters.bytes_read;
        }
        return all;
    };
    const Counters before = sum();
    container->kv_put(kv_object(1), as_bytes("key"), pattern(1000, 1));
    std::vector<std::byte> value(1000);
    container->kv_get(kv_object(1), as_bytes("key"), value);
    write_cells(*container, array_object(2, class_s1), {}, 0, pattern(200000, 2));
    read_cells(*container, array_object(2, class_s1), {}, 10, 500);
    const Counters after = sum();
    EXPECT_EQ(after.updates - before.updates, 2U);
    EXPECT_EQ(after.fetches - before.fetches, 2U);
    EXPECT_EQ(after.bytes_written - before.bytes_written, 201000U);
    EXPECT_EQ(after.bytes_read - before.bytes_read, 1500U);
}

TEST_P(StoreContract, AClassThatCannotBeKeptIsRefused)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no targets";
    std::string message;
    EXPECT_EQ(der_of([&] { container->kv_put({type_kv, 1}, as_bytes("k"), {}); }, &message), DER_INVAL);
    EXPECT_NE(message.find("RP_2G1"), std::string::npos) << message;
    const std::uint64_t three_copies = 9ULL << 48 | 1ULL << 32;
    const std::uint64_t erasure_coded = 32ULL << 48 | 1ULL << 32;
    EXPECT_EQ(der_of([&] { container->kv_put({type_kv | three_copies, 1}, as_bytes("k"), {}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { container->array_size({type_kv | erasure_coded, 1}, {}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { Placement(1, kv_object(1, class_rp_2g1), 1); }), DER_INVAL);
    EXPECT_EQ(Placement(1, kv_object(1, 1ULL << 48 | 32ULL << 32), 4).groups(), 4U); // S32 on four targets
    const ReplicaSet set = Placement(1, kv_object(1, class_rp_2g1), 2).group(0);
    EXPECT_NE(set.targets[0], set.targets[1]);
}

TEST_P(StoreContract, ObjectsAreEnumeratedInOrder)
{
    std::vector<ObjectId> made;
    for (std::uint64_t lo = 0; lo < 50; ++lo) {
        const ObjectId oid = lo % 2 == 0 ? kv_object(lo, class_sx) : array_object(lo, class_s1);
        made.push_back(oid);
        if (lo % 2 == 0) {
            for (int i = 0; i < 10; ++i)
                container->kv_put(oid, as_bytes(std::to_string(i)), {});
        } else {
            write_cells(*container, oid, {}, 0, pattern(10, lo));
        }
    }
    std::ranges::sort(made);
    EXPECT_EQ(container->objects(), made);
    const Epoch snapshot = snapshot_or_latest();
    container->punch(made[0]);
    container->punch(made[49]);
    container->kv_put(kv_object(1000), as_bytes("late"), {});
    if (has_versions()) {
        EXPECT_EQ(container->objects(snapshot), made);
    }
    EXPECT_EQ(container->objects().size(), 49U);
    // Another container's objects are not among them.
    pool->create_container(uuid_of(2), "other", {});
    EXPECT_TRUE(pool->open_container("other")->objects().empty());
}

TEST(StorePools, AreListedBelowADirectory)
{
    TemporaryDirectory directory;
    std::filesystem::create_directories(directory / "plain/deeper");
    Pool::create(directory / "first", {});
    Pool::create(directory / "plain/second", {});
    EXPECT_EQ(Pool::list(directory.path().string()),
              (std::vector<std::string>{directory / "first", directory / "plain/second"}));
    EXPECT_EQ(der_of([&] { Pool::list(directory / "missing"); }), DER_NONEXIST);
}

} // namespace
} // namespace stepstore::testing
