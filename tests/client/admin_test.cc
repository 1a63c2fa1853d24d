// The administrator's calls (stepstore/admin.h) and the JSON they give.
#include "stepstore/admin.h"

#include "client/client_fixture.h"

#include <nlohmann/json.hpp>

#include <array>

namespace stepstore::testing {
namespace {

using Json = nlohmann::json;

int collect(const char* json, void* arg)
{
    static_cast<std::vector<Json>*>(arg)->push_back(Json::parse(json));
    return 0;
}

int stop_at_once(const char*, void* arg)
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
    std::vector<Json> found;
};

TEST_F(AdminTest, DescribesAPool)
{
    key_value().put("key", bytes("value"));
    ASSERT_EQ(stepstore_pool_describe(location.c_str(), collect, &found), 0) << stepstore_last_message();
    ASSERT_EQ(found.size(), 1U);
    const Json& pool_ = found[0];
    EXPECT_EQ(pool_["path"], location);
    EXPECT_EQ(pool_["label"], "pool");
    EXPECT_EQ(pool_["backend"], "lmdb");
    EXPECT_EQ(pool_["durability"], "process");
    EXPECT_EQ(pool_["containers"], 1);
    EXPECT_EQ(pool_["uuid"].get<std::string>().size(), 36U);
    ASSERT_EQ(pool_["targets"].size(), 8U);
    std::uint64_t updates = 0;
    for (const auto& target : pool_["targets"])
        updates += target["updates"].get<std::uint64_t>();
    EXPECT_GE(updates, 1U);
}

TEST_F(AdminTest, ListsPoolsAndPassesOverOtherThings)
{
    ASSERT_EQ(stepstore_pool_create((directory / "second").c_str(), nullptr), 0);
    std::filesystem::create_directory(directory / "no-pool");
    ASSERT_EQ(stepstore_pool_list(directory.path().c_str(), collect, &found), 0) << stepstore_last_message();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_NE(found[0]["path"], found[1]["path"]);
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

    ASSERT_EQ(stepstore_cont_objects(coh, DAOS_TX_NONE, true, collect, &found), 0)
        << stepstore_last_message();
    ASSERT_EQ(found.size(), 2U);
    const Json& first = found[found[0]["lo"] == 7 ? 0 : 1];
    const Json& second = found[found[0]["lo"] == 7 ? 1 : 0];
    EXPECT_EQ(first["type"], "key_value");
    EXPECT_EQ(first["class"], "S2");
    EXPECT_EQ(first["keys"], 2);
    EXPECT_EQ(second["type"], "array");
    EXPECT_EQ(second["class"], "S4");
    EXPECT_EQ(second["size"], 12);
    EXPECT_EQ(second["cell_size"], 2);
    EXPECT_EQ(second["chunk_size"], 50);

    for (const Json& object : {first, second}) {
        std::vector<Json> one;
        const daos_obj_id_t oid{.lo = object["lo"], .hi = object["hi"]};
        ASSERT_EQ(stepstore_cont_object(coh, DAOS_TX_NONE, oid, collect, &one), 0)
            << stepstore_last_message();
        EXPECT_EQ(one, std::vector<Json>{object});
    }
    const daos_obj_id_t second_id{.lo = second["lo"], .hi = second["hi"]};
    std::vector<Json> named;
    ASSERT_EQ(stepstore_cont_objects(coh, DAOS_TX_NONE, false, collect, &named), 0);
    ASSERT_EQ(named.size(), 2U);
    for (const Json& object : named) {
        EXPECT_EQ(object.size(), 4U) << object;
        EXPECT_TRUE(object["lo"] == 7 || object["lo"] == 8);
    }

    found.clear();
    ASSERT_EQ(stepstore_cont_snapshots(coh, collect, &found), 0);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0]["epoch"], epoch);
    EXPECT_EQ(found[0]["name"], "before");

    found.clear();
    daos_handle_t th;
    ASSERT_EQ(daos_tx_open_snap(coh, epoch, &th, nullptr), 0);
    ASSERT_EQ(stepstore_cont_objects(coh, th, true, collect, &found), 0);
    EXPECT_EQ(found.size(), 1U);
    EXPECT_EQ(stepstore_cont_object(coh, th, second_id, collect, &found), -DER_NONEXIST)
        << "made after the snapshot";
    daos_tx_close(th, nullptr);
    array.destroy();
    EXPECT_EQ(stepstore_cont_object(coh, DAOS_TX_NONE, second_id, collect, &found), -DER_NONEXIST);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(AdminTest, ChecksAPool)
{
    key_value().put("key", bytes("value"));
    ASSERT_EQ(stepstore_pool_check(location.c_str(), true, false, collect, &found), 0)
        << stepstore_last_message();
    ASSERT_FALSE(found.empty());
    const Json& summary = found.back()["summary"];
    EXPECT_EQ(summary["damaged"], false);
    EXPECT_EQ(summary["containers"], 1);
    EXPECT_EQ(summary["objects"], 1);
    EXPECT_EQ(stepstore_pool_sync(poh), 0);
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
    EXPECT_EQ(stepstore_pool_path("a b", path.data(), &size), -DER_INVAL);
    EXPECT_EQ(stepstore_pool_path(location.c_str(), path.data(), nullptr), -DER_INVAL);

    const std::string missing = directory / "missing";
    EXPECT_EQ(stepstore_pool_describe(missing.c_str(), collect, &found), -DER_NONEXIST);
    EXPECT_NE(std::string(stepstore_last_message()).find(missing), std::string::npos)
        << stepstore_last_message();
    EXPECT_EQ(stepstore_pool_destroy(missing.c_str(), 0), -DER_NONEXIST);
    EXPECT_EQ(stepstore_pool_describe(location.c_str(), nullptr, nullptr), -DER_INVAL);
    EXPECT_EQ(stepstore_pool_create(location.c_str(), nullptr), -DER_EXIST);
    stepstore_pool_options options{};
    options.backend = "no-such-backend";
    EXPECT_EQ(stepstore_pool_create(missing.c_str(), &options), -DER_INVAL);
    EXPECT_EQ(stepstore_cont_objects(poh, DAOS_TX_NONE, true, collect, &found), -DER_NO_HDL);
    EXPECT_TRUE(found.empty());
}

} // namespace
} // namespace stepstore::testing
