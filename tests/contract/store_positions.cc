// Where listings begin with a key: of every form of key, whether it is there or not, also of snapshots.
#include "support/store_fixture.h"

#include <algorithm>

namespace stepstore::testing {
namespace {

class PositionContract : public StoreTest {
protected:
    using Keys = std::vector<std::string>;

    Keys dkeys(const ObjectId& oid, ListPosition position, Epoch epoch = latest)
    {
        Keys keys;
        const auto each = [&](Bytes key) { return keys.emplace_back(as_text(key)), true; };
        container->dkey_list(oid, position, each, epoch);
        return keys;
    }
    Keys akeys(const ObjectId& oid, const std::string& dkey, ListPosition position, Epoch epoch)
    {
        Keys keys;
        const auto each = [&](Bytes key, AkeyType) { return keys.emplace_back(as_text(key)), true; };
        container->akey_list(oid, as_bytes(dkey), position, each, epoch);
        return keys;
    }
    // From a key on a listing gives what a whole one gives from there on.
    static void expect_from(const Keys& all, const std::string& key, const Keys& from)
    {
        const auto at = std::ranges::find(all, key);
        ASSERT_NE(at, all.end()) << ::testing::PrintToString(key);
        EXPECT_EQ(from, Keys(at, all.end())) << ::testing::PrintToString(key);
    }
    void expect_dkeys(const ObjectId& oid, std::size_t count, Epoch epoch = latest)
    {
        const Keys all = dkeys(oid, {}, epoch);
        EXPECT_EQ(all.size(), count);
        for (const std::string& key : all)
            expect_from(all, key, dkeys(oid, container->dkey_position(oid, as_bytes(key)), epoch));
    }
    void expect_akeys(const ObjectId& oid, const std::string& dkey, std::size_t count, Epoch epoch = latest)
    {
        const Keys all = akeys(oid, dkey, {}, epoch);
        EXPECT_EQ(all.size(), count);
        for (const std::string& key : all) {
            const auto position = container->akey_position(oid, as_bytes(dkey), as_bytes(key), epoch);
            expect_from(all, key, akeys(oid, dkey, position, epoch));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, PositionContract, every_backend(), backend_name);

// Neighbours in the order of the stored forms, zero bytes, bytes that are escaped, keys that are cut.
std::vector<std::string> awkward_keys()
{
    const std::string long_one(80, 'x');
    return {"a",
            "b",
            "a\xff",
            "a" + std::string(70, '\xff'),
            std::string("\0", 1),
            std::string("\0\0", 2),
            std::string("a\0", 2),
            std::string("a\0b", 3),
            "\1",
            "\1\1",
            "\xff",
            long_one,
            long_one + "1",
            long_one + "2",
            long_one + std::string("2\0", 2),
            long_one + std::string(3000, 'y'),
            std::string(78, 'k'),
            std::string(77, 'k'),
            std::string(62, 'k'),
            std::string(63, 'k'),
            std::string(40, '\0')};
}

void update(Container& container, const ObjectId& oid, const std::string& dkey, const std::string& akey,
            AkeyType type)
{
    const Range one{3, 1};
    const Bytes memory = as_bytes("v");
    AkeyUpdate update;
    update.akey = as_bytes(akey);
    update.type = type;
    update.record_size = 1;
    update.ranges = {&one, type == AkeyType::array ? 1U : 0U};
    update.memory = {&memory, 1};
    container.akey_update(oid, as_bytes(dkey), {&update, 1});
}

TEST_P(PositionContract, ListingsOfDkeysAndAkeysBeginWithAnyKey)
{
    const auto keys = awkward_keys();
    const std::string long_dkey(100, 'd');
    for (const auto object_class : {class_sx, class_rp_2g1}) {
        const ObjectId oid{object_class, 1}; // DAOS_OT_MULTI_HASHED
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto type = i % 2 == 0 ? AkeyType::single : AkeyType::array;
            update(*container, oid, keys[i], "0", type);
            update(*container, oid, "many", keys[i], type);
            update(*container, oid, long_dkey, keys[i], type);
        }
        expect_dkeys(oid, keys.size() + 2);
        expect_akeys(oid, "many", keys.size());
        expect_akeys(oid, long_dkey, keys.size());
    }
}

TEST_P(PositionContract, SnapshotsHaveThem)
{
    const auto keys = awkward_keys();
    const ObjectId oid{class_sx, 1};
    for (const std::string& key : keys) {
        update(*container, oid, key, "0", AkeyType::single);
        update(*container, oid, "many", key, AkeyType::single);
    }
    const Epoch snapshot = container->create_snapshot("");
    container->punch(oid);
    expect_dkeys(oid, 0);
    expect_dkeys(oid, keys.size() + 1, snapshot);
    expect_akeys(oid, "many", keys.size(), snapshot);
}

TEST_P(PositionContract, WhatIsNotThereHasAPlace)
{
    const ObjectId oid{class_s1, 1};
    for (const char* key : {"b", "d", "f"}) {
        update(*container, oid, key, "0", AkeyType::single);
        update(*container, oid, "b", key, AkeyType::array);
    }
    const auto from = [&](const char* key) {
        return dkeys(oid, container->dkey_position(oid, as_bytes(key)));
    };
    EXPECT_EQ(from("a"), (Keys{"b", "d", "f"}));
    EXPECT_EQ(from("c"), (Keys{"d", "f"}));
    EXPECT_EQ(from("f\xff"), Keys{});
    const auto within = [&](const std::string& key) {
        return akeys(oid, "b", container->akey_position(oid, as_bytes("b"), as_bytes(key), latest), latest);
    };
    EXPECT_EQ(within("1"), (Keys{"b", "d", "f"}));
    EXPECT_EQ(within("e"), Keys{"f"});
    EXPECT_EQ(within(std::string(100, 'e')), Keys{"f"});
}

TEST_P(PositionContract, KeyValuesAndArraysHaveThem)
{
    const ObjectId values = kv_object(1, class_sx);
    for (const std::string& key : awkward_keys())
        container->kv_put(values, as_bytes(key), as_bytes("value"));
    expect_dkeys(values, awkward_keys().size());
    expect_akeys(values, "a", 1);

    const ObjectId array = array_object(2);
    const ArrayAttributes attributes{1, 10};
    container->array_create(array, attributes);
    for (const std::uint64_t chunk : {0, 1, 2, 7, 300})
        write_cells(*container, array, attributes, chunk * 10, pattern(10, chunk));
    expect_dkeys(array, 6);
    EXPECT_EQ(der_of([&] { container->dkey_position(array, as_bytes("text")); }), DER_INVAL);
}

} // namespace
} // namespace stepstore::testing
