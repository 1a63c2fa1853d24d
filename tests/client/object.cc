#include "client/client_fixture.h"

#include "stepstore/administration.h"

#include <algorithm>
#include <array>

namespace stepstore::testing {
namespace {

class ObjectTest : public ClientTest {
protected:
    ObjectId id(std::uint64_t lo, ObjectType type = ObjectType::akeys) const
    {
        return container->object_id(lo, 0, type, "SX");
    }
    static Bytes key(std::string_view text) { return std::as_bytes(std::span(text)); }
    static std::string text_of(Bytes bytes)
    {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    static std::vector<std::string> akeys(const Object& object, std::string_view dkey)
    {
        std::vector<std::string> found;
        object.list_akeys(key(dkey), [&](Bytes akey) {
            found.push_back(text_of(akey));
            return true;
        });
        return found;
    }
};

TEST_F(ObjectTest, KeepsValuesUnderDkeysAndAkeys)
{
    Object object = container->object(id(1));
    EXPECT_EQ(object.id(), id(1));
    EXPECT_FALSE(object.fetch(key("d"), key("a")));
    object.update(key("d"), key("a"), key("value"));
    const auto large = bytes(std::string(100000, 'x'));
    object.update(key("d"), key("b"), large, Condition::must_not_exist);
    EXPECT_EQ(object.fetch(key("d"), key("a")), bytes("value"));
    EXPECT_EQ(object.fetch(key("d"), key("b")), large);
    EXPECT_ERROR(-DER_EXIST, object.update(key("d"), key("a"), key("x"), Condition::must_not_exist));
    EXPECT_ERROR(-DER_NONEXIST, object.update(key("d"), key("c"), key("x"), Condition::must_exist));
    EXPECT_ERROR(-DER_INVAL, object.update({}, key("c"), key("x")));
    const Bytes names[] = {key("a")};
    object.punch(key("d"), names);
    EXPECT_FALSE(object.fetch(key("d"), key("a")));
    EXPECT_EQ(akeys(object, "d"), std::vector<std::string>{"b"});
    object.punch(key("d"));
    EXPECT_TRUE(akeys(object, "d").empty());
}

TEST_F(ObjectTest, UpdatesAndFetchesSeveralAkeysAtOnce)
{
    Object object = container->object(id(1));
    const auto records = bytes("aabbcc");
    const auto value = bytes("value");
    const std::array<Bytes, 2> pieces = {Bytes(records).first(1), Bytes(records).subspan(1)};
    const std::array<Range, 2> ranges = {Range{10, 2}, Range{5, 1}};
    const Bytes whole = value;
    std::array<AkeyUpdate, 2> updates;
    updates[0] = {key("array"), AkeyType::array, 2, ranges, pieces, Condition::none};
    updates[1] = {key("single"), AkeyType::single, 5, {}, {&whole, 1}, Condition::must_exist};
    EXPECT_ERROR(-DER_NONEXIST, object.update(key("d"), updates));
    EXPECT_FALSE(object.describe(key("d"), key("array")));
    updates[1].condition = Condition::must_not_exist;
    object.update(key("d"), updates, Condition::must_not_exist);
    EXPECT_ERROR(-DER_EXIST, object.update(key("d"), updates, Condition::must_not_exist));

    std::vector<std::byte> read(10, std::byte{9}), single(4), none(3, std::byte{9});
    const MutableBytes memory[] = {read, single, none};
    const std::array<Range, 2> wanted = {Range{4, 2}, Range{9, 3}};
    std::array<AkeyFetch, 3> fetches;
    fetches[0] = {key("array"), AkeyType::array, 0, wanted, {&memory[0], 1}};
    fetches[1] = {key("single"), AkeyType::single, 0, {}, {&memory[1], 1}};
    fetches[2] = {key("none"), AkeyType::single, 0, {}, {&memory[2], 1}};
    EXPECT_ERROR(-DER_REC2BIG, object.fetch(key("d"), fetches));
    EXPECT_EQ(fetches[1].record_size, 5U);
    single.resize(5);
    const MutableBytes enough = single;
    fetches[1].memory = {&enough, 1};
    object.fetch(key("d"), fetches);
    EXPECT_EQ(text(read), std::string("\0\0cc\0\0aabb", 10));
    EXPECT_EQ(text(single), "value");
    EXPECT_EQ(text(none), std::string(3, '\0'));
    EXPECT_EQ(fetches[0].record_size, 2U);
    EXPECT_EQ(fetches[2].record_size, 0U);
}

TEST_F(ObjectTest, TellsWhatIsInIt)
{
    Object object = container->object(id(1));
    std::vector<std::string> expected;
    for (int i = 0; i < 3000; ++i) { // more than one page
        expected.push_back("dkey " + std::to_string(10000 + i));
        object.update(key(expected.back()), key("a"), key("x"));
    }
    std::vector<std::string> found;
    object.list_dkeys([&](Bytes dkey) {
        found.push_back(text_of(dkey));
        return true;
    });
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
    int calls = 0;
    object.list_dkeys([&](Bytes) { return ++calls < 5; });
    EXPECT_EQ(calls, 5);

    const Bytes memory = key("xxyy");
    const std::array<Range, 2> ranges = {Range{3, 1}, Range{7, 1}};
    const AkeyUpdate update{key("array"), AkeyType::array, 2, ranges, {&memory, 1}, Condition::none};
    object.update(key("d"), {&update, 1});
    object.update(key("d"), key("single"), key("value"));
    EXPECT_EQ(akeys(object, "d"), (std::vector<std::string>{"array", "single"}));
    const auto array = object.describe(key("d"), key("array"));
    ASSERT_TRUE(array);
    EXPECT_EQ(array->type, AkeyType::array);
    EXPECT_EQ(array->size, 2U);
    const auto single = object.describe(key("d"), key("single"));
    ASSERT_TRUE(single);
    EXPECT_EQ(single->type, AkeyType::single);
    EXPECT_EQ(single->size, 5U);
    EXPECT_FALSE(object.describe(key("d"), key("none")));
    std::string records;
    object.list_records(key("d"), key("array"), [&](const Range& range) {
        records += std::to_string(range.index) + "+" + std::to_string(range.length) + " ";
        return true;
    });
    EXPECT_EQ(records, "3+1 7+1 ");
    EXPECT_EQ(describe_object(*container, id(1)).keys, expected.size() + 1);
    object.destroy();
    EXPECT_TRUE(akeys(object, "d").empty());
}

TEST_F(ObjectTest, ReadsSnapshotsAndOtherKindsOfObjects)
{
    Object object = container->object(id(1));
    object.update(key("d"), key("a"), key("old"));
    const Container old = container->at_snapshot(container->create_snapshot());
    object.update(key("d"), key("a"), key("new"));
    Object before = old.object(id(1));
    EXPECT_EQ(before.fetch(key("d"), key("a")), bytes("old"));
    EXPECT_ERROR(-DER_NO_PERM, before.update(key("d"), key("a"), key("x")));

    const ObjectId kv = id(2, ObjectType::key_value);
    container->key_value(kv).put("key", key("value"));
    EXPECT_EQ(container->object(kv).fetch(key("key"), key("0")), bytes("value"));
    const ObjectId made = id(3, ObjectType::array);
    container->create_array(made, {.cell_size = 4, .chunk_size = 8}).write(0, key("12345678"));
    const std::uint64_t first = 1;
    const auto cells = container->object(made).describe(std::as_bytes(std::span(&first, 1)), key("0"));
    ASSERT_TRUE(cells);
    EXPECT_EQ(cells->type, AkeyType::array);
    EXPECT_EQ(cells->size, 4U);
}

} // namespace
} // namespace stepstore::testing
