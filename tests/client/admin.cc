// The administrator's calls, in C (stepstore/admin.h) and in C++ (stepstore/administration.h).
#include "stepstore/administration.h"

#include "client/client_fixture.h"
#include "stepstore/admin.h"

#include <algorithm>
#include <array>

namespace stepstore::testing {
namespace {

int stop_at_once(const stepstore_pool_info*, void* arg)
{
    ++*static_cast<int*>(arg);
    return 42;
}

class AdminTest : public ClientTest {
protected:
    // A handle of the C API on the same pool and container.
    AdminTest()
    {
        daos_init();
        EXPECT_EQ(daos_pool_connect(location.c_str(), nullptr, DAOS_PC_RW, &poh, nullptr, nullptr), 0);
        EXPECT_EQ(daos_cont_open(poh, "container", DAOS_COO_RW, &coh, nullptr, nullptr), 0);
    }
    ~AdminTest() override
    {
        daos_cont_close(coh, nullptr);
        daos_pool_disconnect(poh, nullptr);
        daos_fini();
    }

    daos_handle_t poh{};
    daos_handle_t coh{};
};

TEST_F(AdminTest, DescribesAPool)
{
    key_value().put("key", bytes("value"));
    const PoolInfo info = describe_pool(location);
    EXPECT_EQ(info.path, location);
    EXPECT_EQ(info.label, "pool");
    EXPECT_EQ(info.backend, "lmdb");
    EXPECT_EQ(info.durability, Durability::process);
    EXPECT_EQ(info.containers, 1U);
    EXPECT_EQ(info.uuid.size(), 36U);
    EXPECT_GT(info.space_total, info.space_free);
    ASSERT_EQ(info.targets.size(), 8U);
    std::uint64_t updates = 0;
    for (const TargetInfo& target : info.targets)
        updates += target.updates;
    EXPECT_GE(updates, 1U);
    const ContainerInfo inside = describe_container(*container);
    EXPECT_EQ(inside.uuid.size(), 36U);
    EXPECT_EQ(inside.snapshots, 0U);
}

TEST_F(AdminTest, ListsPoolsAndPassesOverOtherThings)
{
    ASSERT_EQ(stepstore_pool_create((directory / "second").c_str(), nullptr), 0);
    std::filesystem::create_directory(directory / "no-pool");
    const std::vector<PoolInfo> found = list_pools(directory.path());
    ASSERT_EQ(found.size(), 2U);
    EXPECT_NE(found[0].path, found[1].path);
    int calls = 0;
    EXPECT_EQ(stepstore_pool_list(directory.path().c_str(), stop_at_once, &calls), 42);
    EXPECT_EQ(calls, 1);
}

TEST_F(AdminTest, ListsObjectsNowAndAtASnapshot)
{
    auto kv = key_value(7);
    kv.put("a", bytes("1"));
    kv.put("b", bytes("2"));
    const auto epoch = container->create_snapshot("before");
    auto array = container->create_array(container->object_id(8, 0, ObjectType::array, "S4"),
                                         {.cell_size = 2, .chunk_size = 50});
    array.write(10, bytes("1234"));

    std::vector<ObjectInfo> found = list_objects(*container, true);
    ASSERT_EQ(found.size(), 2U);
    std::ranges::sort(found, {}, [](const ObjectInfo& object) { return object.id.lo; });
    EXPECT_EQ(found[0].id.lo, 7U);
    EXPECT_TRUE(found[0].key_value && !found[0].array);
    EXPECT_EQ(found[0].object_class, "S2");
    EXPECT_EQ(found[0].keys, 2U);
    EXPECT_FALSE(found[0].size);
    EXPECT_TRUE(found[1].array && !found[1].key_value);
    EXPECT_EQ(found[1].object_class, "S4");
    EXPECT_EQ(found[1].size, 12U);
    ASSERT_TRUE(found[1].attributes);
    EXPECT_EQ(found[1].attributes->cell_size, 2U);
    EXPECT_EQ(found[1].attributes->chunk_size, 50U);
    EXPECT_EQ(describe_object(*container, found[0].id).keys, 2U);
    EXPECT_EQ(describe_object(*container, found[1].id).size, 12U);
    for (const ObjectInfo& object : list_objects(*container, false))
        EXPECT_TRUE(!object.keys && !object.size && !object.attributes);

    const Container before = container->at_snapshot(epoch);
    EXPECT_EQ(list_objects(before, true).size(), 1U);
    const auto code_of = [](const Container& of, const ObjectId& id) {
        try {
            describe_object(of, id);
            return 0;
        } catch (const Error& error) {
            return error.code();
        }
    };
    EXPECT_EQ(code_of(before, found[1].id), -DER_NONEXIST) << "made after the snapshot";
    array.destroy();
    EXPECT_EQ(code_of(*container, found[1].id), -DER_NONEXIST);
    EXPECT_EQ(describe_container(*container).latest_snapshot, epoch);
}

TEST_F(AdminTest, ChecksAPool)
{
    key_value().put("key", bytes("value"));
    std::vector<Finding> findings;
    const CheckSummary summary =
        check_pool(location, true, false, [&](const Finding& finding) { findings.push_back(finding); });
    EXPECT_TRUE(findings.empty());
    EXPECT_FALSE(summary.damaged);
    EXPECT_EQ(summary.containers, 1U);
    EXPECT_EQ(summary.objects, 1U);
    EXPECT_EQ(stepstore_pool_check(location.c_str(), false, false, nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(stepstore_pool_sync(poh), 0);
}

TEST_F(AdminTest, PoolsOfADaosSystemHaveToolsOfTheirOwn)
{
    for (const auto& look :
         {+[] { describe_pool("daos://pool"); }, +[] { pool_path("daos://pool"); },
          +[] { check_pool("daos://pool", false, false); }, +[] { compact_pool("daos://pool"); }}) {
        try {
            look();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_NOSYS);
            EXPECT_NE(std::string(error.what()).find("dmg"), std::string::npos) << error.what();
        }
    }
}

TEST_F(AdminTest, TellsPathsAndNamesWhatIsWrong)
{
    std::array<char, 512> path{};
    std::size_t size = 0;
    ASSERT_EQ(stepstore_pool_path(location.c_str(), nullptr, &size), 0);
    EXPECT_EQ(size, location.size() + 1);
    size = 3;
    EXPECT_EQ(stepstore_pool_path(location.c_str(), path.data(), &size), -DER_TRUNC);
    EXPECT_EQ(size, location.size() + 1);
    size = path.size();
    ASSERT_EQ(stepstore_pool_path(("local:" + location + "/").c_str(), path.data(), &size), 0);
    EXPECT_EQ(path.data(), location);
    EXPECT_EQ(stepstore_pool_path(nullptr, path.data(), &size), -DER_INVAL);
    EXPECT_EQ(stepstore_pool_path("local:a b", path.data(), &size), -DER_INVAL);
    EXPECT_EQ(stepstore_pool_path(location.c_str(), path.data(), nullptr), -DER_INVAL);

    const std::string missing = directory / "missing";
    const auto ignore = [](const stepstore_pool_info*, void*) { return 0; };
    EXPECT_EQ(stepstore_pool_describe(missing.c_str(), ignore, nullptr), -DER_NONEXIST);
    EXPECT_NE(std::string(stepstore_last_message()).find(missing), std::string::npos)
        << stepstore_last_message();
    EXPECT_EQ(stepstore_pool_destroy(missing.c_str()), -DER_NONEXIST);
    EXPECT_EQ(stepstore_pool_describe(location.c_str(), nullptr, nullptr), -DER_INVAL);
    EXPECT_EQ(stepstore_pool_create(location.c_str(), nullptr), -DER_EXIST);
    stepstore_pool_options options{};
    options.backend = "no-such-backend";
    EXPECT_EQ(stepstore_pool_create(missing.c_str(), &options), -DER_INVAL);
    const auto none = [](const stepstore_object_info*, void*) { return 0; };
    EXPECT_EQ(stepstore_cont_objects(poh, DAOS_TX_NONE, true, none, nullptr), -DER_NO_HDL);
    EXPECT_EQ(stepstore_cont_objects(coh, DAOS_TX_NONE, true, nullptr, nullptr), -DER_INVAL);
    const daos_epoch_t never = 7;
    EXPECT_EQ(stepstore_cont_destroy_snaps(coh, &never, 1), 0);
    EXPECT_EQ(stepstore_cont_destroy_snaps(coh, nullptr, 0), 0);
    EXPECT_EQ(stepstore_cont_destroy_snaps(coh, nullptr, 1), -DER_INVAL);
    EXPECT_EQ(stepstore_cont_destroy_snaps(poh, &never, 1), -DER_NO_HDL);
}

} // namespace
} // namespace stepstore::testing
