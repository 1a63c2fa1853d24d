#include "client/client_fixture.h"
#include "stepstore/administration.h"
#include "support/processes.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace stepstore::testing {
namespace {

using PoolTest = ClientTest;

TEST_F(PoolTest, IsCreatedOnceAndDestroyed)
{
    const std::string other = directory / "other";
    EXPECT_ERROR(-DER_NONEXIST, Pool::connect(other));
    Pool::create(other, {.label = "a-label", .targets = 3, .durability = Durability::power});
    EXPECT_ERROR(-DER_EXIST, Pool::create(other));
    Pool::connect("local:" + other);
    Pool::destroy(other);
    EXPECT_ERROR(-DER_NONEXIST, Pool::connect(other));
    EXPECT_ERROR(-DER_INVAL,
                 Pool::create(other, {.label = {}, .targets = 257, .durability = Durability::process}));
}

TEST_F(PoolTest, IsFoundByLabelUnderTheRootAfterLocalOnly)
{
    const std::string root = directory / "root";
    setenv("STEPSTORE_ROOT", root.c_str(), 1);
    Pool::create("local:by-label");
    Pool::create(root + "/folder", {.label = "other-label", .targets = 2, .durability = Durability::process});
    EXPECT_EQ(Pool::connect("local:by-label").location(), "local:by-label");
    EXPECT_NO_THROW(Pool::connect(root + "/by-label"));
    EXPECT_NO_THROW(Pool::connect("local:other-label"));
    const auto error = error_of([] { Pool::connect("local:no-label"); });
    EXPECT_EQ(error.code(), -DER_NONEXIST);
    EXPECT_NE(std::string(error.what()).find(root), std::string::npos) << error.what();
    // A bare name is a path. One that is a label only is told what it is called.
    const auto bare = error_of([] { Pool::connect("by-label"); });
    EXPECT_EQ(bare.code(), -DER_NONEXIST);
    EXPECT_NE(std::string(bare.what()).find("local:by-label"), std::string::npos) << bare.what();
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory.path());
    Pool::create("by-label");
    EXPECT_TRUE(std::filesystem::exists(directory / "by-label"));
    EXPECT_EQ(pool_path("by-label"), directory / "by-label");
    EXPECT_NO_THROW(Pool::connect("by-label"));
    Pool::destroy("by-label");
    EXPECT_NO_THROW(Pool::connect("local:by-label"));
    std::filesystem::current_path(before);
    Pool::destroy("local:by-label");
    EXPECT_ERROR(-DER_NONEXIST, Pool::connect("local:by-label"));
    for (const char* wrong : {"", "local:", "local:.", "local:..", "local:a b"})
        EXPECT_ERROR(-DER_INVAL, Pool::connect(wrong));
    unsetenv("STEPSTORE_ROOT");
}

TEST_F(PoolTest, IsMadeWithTheDirectoriesAboveItHoweverItsPathIsSpelled)
{
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory.path());
    const std::string fresh = directory / "new/directory/";
    for (const std::string& spelling : {fresh + "plain", "local:" + fresh + "local",
                                        "stepstore://" + fresh + "url", std::string("near/by")})
        EXPECT_NO_THROW(Pool::connect_or_create(spelling, {})) << spelling;
    for (const char* made : {"new/directory/plain", "new/directory/local", "new/directory/url", "near/by"})
        EXPECT_TRUE(std::filesystem::is_directory(directory / made)) << made;
    EXPECT_FALSE(std::filesystem::exists("local:") || std::filesystem::exists("stepstore:"));
    std::filesystem::current_path(before);
}

TEST_F(PoolTest, HoldsContainers)
{
    EXPECT_ERROR(-DER_EXIST, pool->create_container("container"));
    EXPECT_ERROR(-DER_NONEXIST, pool->open_container("missing"));
    EXPECT_ERROR(-DER_INVAL, pool->create_container("no label"));
    pool->create_container("second");
    for (int i = 0; i < 20; ++i)
        pool->create_container("c" + std::to_string(i));
    auto entries = pool->containers();
    EXPECT_EQ(entries.size(), 22U);
    EXPECT_TRUE(std::ranges::any_of(entries, [](const auto& each) { return each.label == "second"; }));
    const auto found = std::ranges::find(entries, std::string("second"), &ContainerEntry::label);
    ASSERT_NE(found, entries.end());
    EXPECT_NO_THROW(pool->open_container(found->uuid));
    pool->destroy_container("second");
    EXPECT_ERROR(-DER_NONEXIST, pool->open_container("second"));
    EXPECT_ERROR(-DER_BUSY, pool->destroy_container("container"));
}

TEST_F(PoolTest, MakesAContainerForWhoeverComesFirst)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            auto shared = pool->open_or_create_container("shared");
            auto kv = shared.key_value(shared.object_id(1, 0, ObjectType::key_value));
            kv.put("thread " + std::to_string(i), {});
        });
    for (auto& thread : threads)
        thread.join();
    auto shared = pool->open_container("shared", Access::read_only);
    EXPECT_EQ(shared.key_value(shared.object_id(1, 0, ObjectType::key_value)).list().size(), 8U);
}

TEST_F(PoolTest, CanBeConnectedReadOnly)
{
    key_value().put("key", bytes("value"));
    const auto reader = Pool::connect(location, Access::read_only);
    EXPECT_ERROR(-DER_NO_PERM, reader.create_container("x"));
    auto written = reader.open_container("container"); // as in libdaos; the first update tells
    auto object = written.key_value(key_value().id());
    EXPECT_ERROR(-DER_NO_PERM, object.put("key", bytes("other")));
    EXPECT_ERROR(-DER_NO_PERM, written.create_snapshot());
    EXPECT_EQ(text(object.get("key").value()), "value");
    const auto opened = reader.open_container("container", Access::read_only);
    EXPECT_TRUE(
        opened.key_value(opened.object_id(1, 0, ObjectType::key_value, spread("S2"))).get("key").has_value());
}

TEST_F(PoolTest, GivesOutObjectNumbersOnce)
{
    const auto first = container->allocate_oids(100);
    const auto second = container->allocate_oids(1);
    EXPECT_TRUE(second >= first + 100 || second < first);
    EXPECT_NO_THROW(pool->sync());
}

TEST_F(PoolTest, KeepsSnapshots)
{
    auto kv = key_value();
    auto array = container->create_array(container->object_id(2, 0, ObjectType::array), {});
    kv.put("key", bytes("old"));
    array.write(0, bytes("old"));
    const auto epoch = container->create_snapshot("named");
    kv.put("key", bytes("new"));
    array.write(0, bytes("new!"));

    auto past = container->at_snapshot(epoch);
    auto past_kv = past.key_value(kv.id());
    EXPECT_EQ(text(past_kv.get("key").value()), "old");
    EXPECT_ERROR(-DER_NO_PERM, past_kv.put("key", bytes("x")));
    auto past_array = past.open_array(array.id());
    ASSERT_TRUE(past_array.has_value());
    EXPECT_EQ(past_array->size(), 3U);
    EXPECT_ERROR(-DER_NO_PERM, past_array->write(0, bytes("x")));
    EXPECT_EQ(text(kv.get("key").value()), "new");

    const auto second = container->create_snapshot();
    const auto entries = container->snapshots();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].epoch, epoch);
    EXPECT_EQ(entries[0].name, "named");
    EXPECT_EQ(entries[1].epoch, second);
    EXPECT_EQ(entries[1].name, "");
    container->destroy_snapshot(epoch);
    EXPECT_ERROR(-DER_EP_OLD, (void)past_kv.get("key"));
    EXPECT_ERROR(-DER_NONEXIST, container->at_snapshot(epoch));
    EXPECT_ERROR(-DER_NONEXIST, container->destroy_snapshot(epoch));
    for (int i = 0; i < 40; ++i)
        container->create_snapshot("n" + std::to_string(i));
    EXPECT_EQ(container->snapshots().size(), 41U);
}

// One rank of a job connects; the others get its handles.
TEST_F(PoolTest, GoesToAnotherProcessAsBytes)
{
    const std::vector<std::byte> whole = pool->to_global();
    const std::vector<std::byte> part = container->to_global();
    const auto write_there = [&] {
        const Pool other = Pool::from_global(location, whole);
        const Container there = other.container_from_global("container", part);
        there.key_value(there.object_id(1, 0, ObjectType::key_value, spread("S2")))
            .put("key", bytes("value"));
        return there.label() == "container" && other.location() == location ? 0 : 1;
    };
    EXPECT_EQ(run_in_child(write_there), 0);
    EXPECT_EQ(text(key_value().get("key").value()), "value");
    EXPECT_ERROR(-DER_INVAL, Pool::from_global(location, part));
    EXPECT_ERROR(-DER_INVAL, (void)pool->container_from_global("container", Bytes(part).first(20)));
}

TEST_F(PoolTest, LeavesPoolsOfADaosSystemToItsAdministrator)
{
    for (const auto& body : {+[] { Pool::create("daos://pool"); }, +[] { Pool::destroy("daos://pool"); }}) {
        const auto error = error_of(body);
        EXPECT_EQ(error.code(), -DER_NOSYS);
        EXPECT_NE(std::string(error.what()).find("dmg"), std::string::npos);
    }
}

} // namespace
} // namespace stepstore::testing
