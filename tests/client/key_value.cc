#include "client/client_fixture.h"

#include <algorithm>
#include <array>

namespace stepstore::testing {
namespace {

using KeyValueTest = ClientTest;

TEST_F(KeyValueTest, GivesBackWhatWasPut)
{
    auto kv = key_value();
    for (const std::size_t size : {0, 1, 100, 4095, 4096, 4097, 60'000, 1 << 20}) {
        std::vector<std::byte> value(size);
        for (std::size_t i = 0; i < size; ++i)
            value[i] = static_cast<std::byte>(i * 7 + size);
        kv.put("key", value);
        EXPECT_EQ(kv.get("key"), value) << size;
    }
    EXPECT_EQ(kv.get("absent"), std::nullopt);
}

TEST_F(KeyValueTest, TellsAnEmptyValueFromNone)
{
    auto kv = key_value();
    kv.put("empty", {});
    ASSERT_TRUE(kv.get("empty").has_value());
    EXPECT_TRUE(kv.get("empty")->empty());
    EXPECT_EQ(kv.get_into("empty", {}), std::optional<std::size_t>(0));
    EXPECT_EQ(kv.get_into("absent", {}), std::nullopt);
}

TEST_F(KeyValueTest, CopiesIntoMemoryOnlyWhatFits)
{
    auto kv = key_value();
    kv.put("key", bytes("0123456789"));
    std::array<std::byte, 12> room{};
    EXPECT_EQ(kv.get_into("key", room), std::optional<std::size_t>(10));
    EXPECT_EQ(room[9], std::byte{'9'});
    room.fill(std::byte{'x'});
    EXPECT_EQ(kv.get_into("key", MutableBytes(room).first(9)), std::optional<std::size_t>(10));
    EXPECT_TRUE(std::ranges::all_of(room, [](std::byte each) { return each == std::byte{'x'}; }));
    EXPECT_EQ(kv.get_into("key", {}), std::optional<std::size_t>(10));
}

TEST_F(KeyValueTest, ChecksConditions)
{
    auto kv = key_value();
    EXPECT_ERROR(-DER_NONEXIST, kv.put("key", bytes("a"), Condition::must_exist));
    kv.put("key", bytes("a"), Condition::must_not_exist);
    EXPECT_ERROR(-DER_EXIST, kv.put("key", bytes("b"), Condition::must_not_exist));
    EXPECT_TRUE(kv.remove("key", Condition::must_exist));
    EXPECT_FALSE(kv.remove("key", Condition::must_exist));
    EXPECT_TRUE(kv.remove("key"));
    EXPECT_ERROR(-DER_INVAL, kv.remove("key", Condition::must_not_exist));
}

TEST_F(KeyValueTest, RefusesKeysThatDaosCannotHave)
{
    auto kv = key_value();
    EXPECT_ERROR(-DER_INVAL, kv.put("", bytes("a")));
    EXPECT_ERROR(-DER_INVAL, kv.put(std::string_view("a\0b", 3), bytes("a")));
    EXPECT_ERROR(-DER_INVAL, (void)kv.get(std::string_view("a\0b", 3)));
}

TEST_F(KeyValueTest, ListsEveryKeyOnce)
{
    auto kv = key_value();
    std::vector<std::string> expected;
    for (int i = 0; i < 3000; ++i) {
        expected.push_back("key " + std::to_string(i));
        kv.put(expected.back(), {});
    }
    auto keys = kv.list();
    std::ranges::sort(keys);
    std::ranges::sort(expected);
    EXPECT_EQ(keys, expected);

    std::size_t seen = 0;
    kv.list([&](std::string_view) { return ++seen < 1500; });
    EXPECT_EQ(seen, 1500U);
    kv.destroy();
    EXPECT_TRUE(kv.list().empty());
}

TEST_F(KeyValueTest, ListsKeysOfAnyLength)
{
    auto kv = key_value();
    std::vector<std::string> expected;
    for (const std::size_t length : {1, 200, 500, 5000, 30'000, 65'000}) {
        expected.emplace_back(length, 'k');
        kv.put(expected.back(), bytes("value"));
        EXPECT_EQ(kv.get(expected.back()), bytes("value"));
    }
    auto keys = kv.list();
    std::ranges::sort(keys);
    EXPECT_EQ(keys, expected);
}

TEST_F(KeyValueTest, RefusesToWriteWhatWasOpenedReadOnly)
{
    const auto id = key_value().id();
    auto reader = container->key_value(id, Access::read_only);
    EXPECT_ERROR(-DER_NO_PERM, reader.put("key", bytes("a")));
    EXPECT_ERROR(-DER_NO_PERM, reader.remove("key"));
    EXPECT_ERROR(-DER_NO_PERM, reader.destroy());
    EXPECT_EQ(reader.get("key"), std::nullopt);
}

TEST_F(KeyValueTest, OutlivesWhatItWasOpenedFrom)
{
    auto kv = key_value();
    container.reset();
    pool.reset();
    kv.put("key", bytes("value"));
    EXPECT_EQ(text(kv.get("key").value()), "value");
}

TEST_F(KeyValueTest, NamesEverythingInItsErrors)
{
    auto kv = key_value(77);
    const auto error = error_of([&] { kv.put("the key", bytes("a"), Condition::must_exist); });
    const std::string message = error.what();
    for (const char* part :
         {"put 'the key'", ".77 of container", "'container'", location.c_str(), "DER_NONEXIST(-1005)"})
        EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

TEST_F(KeyValueTest, ANonemptyGetFindsWhatIsThereAndNoEmptyValues)
{
    auto kv = key_value(77);
    EXPECT_EQ(kv.get_nonempty("missing"), std::nullopt);
    kv.put("empty", {});
    EXPECT_EQ(kv.get("empty"), std::vector<std::byte>());
    EXPECT_EQ(kv.get_nonempty("empty"), std::nullopt);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, std::size_t{200000}}) {
        const auto value = bytes(std::string(size, 'v'));
        kv.put("value", value);
        EXPECT_EQ(kv.get_nonempty("value"), value);
    }
}

TEST_F(KeyValueTest, PutsOnTheConditionOfTheOldValue)
{
    auto kv = key_value(79);
    const auto first = bytes("first"), second = bytes("second");
    EXPECT_FALSE(kv.put_if("key", first, second));
    EXPECT_FALSE(kv.put_if("key", Bytes(), second)) << "an empty value is not the same as none";
    EXPECT_FALSE(kv.remove_if("key", first));
    EXPECT_TRUE(kv.put_if("key", std::nullopt, {}));
    EXPECT_FALSE(kv.put_if("key", std::nullopt, first));
    EXPECT_TRUE(kv.put_if("key", Bytes(), first));
    EXPECT_FALSE(kv.put_if("key", second, second));
    EXPECT_EQ(kv.get("key"), first);
    EXPECT_TRUE(kv.put_if("key", first, second));
    EXPECT_FALSE(kv.put_if("key", first, first));
    EXPECT_FALSE(kv.remove_if("key", first));
    EXPECT_EQ(kv.get("key"), second);
    EXPECT_TRUE(kv.remove_if("key", second));
    EXPECT_EQ(kv.get("key"), std::nullopt);
    auto reader = container->key_value(kv.id(), Access::read_only);
    EXPECT_ERROR(-DER_NO_PERM, reader.put_if("key", std::nullopt, first));
    container.reset();
    pool->destroy_container("container", true);
    EXPECT_ERROR(-DER_NO_HDL, kv.put_if("key", first, second)); // not a condition that does not hold
}

TEST_F(KeyValueTest, TellsWhatItReplacedAndListsPartsWithAnyLibrary)
{
    Library plain = Library::ours();
    plain.kv_exchange = nullptr; // as a DAOS system's
    plain.kv_list_below = nullptr;
    plain.kv_get_many = nullptr;
    const Pool other = Pool::connect(plain, pool->location());
    const Container same = other.open_container(container->label());
    const auto id = key_value(78).id();
    std::array<KeyValue, 2> both = {key_value(78), same.key_value(id)};
    for (KeyValue& kv : both) {
        std::array<std::byte, 8> room{};
        EXPECT_EQ(kv.exchange("a/1", bytes("value"), room), std::nullopt);
        EXPECT_EQ(kv.exchange("a/1", {}, room), std::optional<std::size_t>(5));
        EXPECT_EQ(text(std::vector(room.begin(), room.begin() + 5)), "value");
        EXPECT_EQ(kv.exchange("a/1", bytes("longer than room"), room), std::optional<std::size_t>(0));
        EXPECT_EQ(kv.take("a/1", room), std::optional<std::size_t>(16));
        EXPECT_EQ(kv.take("a/1", room), std::nullopt);
        for (const char* key : {"b/2", "b/1", "b", "c/1/x", "c/2"})
            kv.put(key, {});
        EXPECT_EQ(kv.list_below("b/"), (std::vector<std::string>{"b/1", "b/2"}));
        EXPECT_EQ(kv.list_below("", '/'), (std::vector<std::string>{"b", "b/", "c/"}));
        EXPECT_EQ(kv.list_below("c/", '/'), (std::vector<std::string>{"c/1/", "c/2"}));
        kv.put("b/1", bytes("small"));
        kv.put("b/2", bytes(std::string(5000, 'x')));
        const std::array<std::string_view, 4> names = {"b/2", "none", "b/1", "b"};
        const auto values = kv.get_many(names);
        ASSERT_EQ(values.size(), 4U);
        EXPECT_EQ(values[0], bytes(std::string(5000, 'x')));
        EXPECT_EQ(values[1], std::nullopt);
        EXPECT_EQ(values[2], bytes("small"));
        EXPECT_EQ(values[3], std::vector<std::byte>());
        EXPECT_EQ(kv.get_many(names, 5000).size(), 1U);
        EXPECT_TRUE(kv.get_many({}).empty());
        kv.destroy();
    }
}

} // namespace
} // namespace stepstore::testing
