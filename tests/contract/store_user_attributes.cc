// User attributes of pools and containers, on every back end that has versions.
#include "store/user_attributes.h"
#include "support/store_fixture.h"

#include <thread>

namespace stepstore::testing {
namespace {

class UserAttributesContract : public StoreTest {
protected:
    std::string value(UserAttributes& of, const std::string& name)
    {
        std::vector<std::byte> room(longest_user_attribute);
        UserAttributeRead read{name, room, {}};
        of.get({&read, 1});
        return read.size ? std::string(as_text(Bytes(room).first(*read.size))) : "absent";
    }
    static void set(UserAttributes& of, const std::string& name, const std::string& text)
    {
        const NewUserAttribute one{name, as_bytes(text)};
        of.set({&one, 1});
    }
    void sound()
    {
        for (const CheckFinding& one : Pool::check(path, {}).findings)
            ADD_FAILURE() << one.where << ": " << one.what;
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, UserAttributesContract, every_backend(), backend_name);

TEST_P(UserAttributesContract, ManyOfAllSizesAreFoundAndGoWithTheirContainer)
{
    pool->create_container(uuid_of(2), "owner", {});
    auto owner = pool->open_container("owner");
    const auto attributes = owner->user_attributes();
    const auto of_pool = pool->user_attributes();
    set(*of_pool, "a", "of the pool");
    constexpr int many = 300; // more than are erased at once
    std::vector<std::string> names, texts;
    for (int i = 0; i < many; ++i) {
        names.push_back(std::to_string(i) + std::string(static_cast<std::size_t>(i * 7 % 500), 'n'));
        texts.push_back(std::string(static_cast<std::size_t>(i * 29), 'v') + std::to_string(i));
    }
    for (int begin = 0; begin < many; begin += 100) {
        std::vector<NewUserAttribute> some;
        for (int i = begin; i < begin + 100; ++i)
            some.push_back(
                {names[static_cast<std::size_t>(i)], as_bytes(texts[static_cast<std::size_t>(i)])});
        attributes->set(some);
    }
    for (std::size_t i = 0; i < names.size(); i += 7)
        EXPECT_EQ(value(*attributes, names[i]), texts[i]) << names[i];
    EXPECT_EQ(attributes->names().size(), names.size());
    EXPECT_EQ(of_pool->names(), std::vector<std::string>{"a"});
    sound();
    pool->destroy_container("owner", true);
    EXPECT_THROW(attributes->names(), Error);
    EXPECT_THROW(set(*attributes, "late", "text"), Error);
    EXPECT_EQ(value(*of_pool, "a"), "of the pool");
    sound();
}

TEST_P(UserAttributesContract, SeveralAreSetWhole)
{
    const auto attributes = container->user_attributes();
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 4; ++writer)
        writers.emplace_back([&, writer] {
            for (int round = 0; round < 20; ++round) {
                const std::string text = std::to_string(writer) + "/" + std::to_string(round);
                const NewUserAttribute both[] = {{"left", as_bytes(text)}, {"right", as_bytes(text)}};
                attributes->set(both);
            }
        });
    for (int round = 0; round < 100; ++round) {
        std::vector<std::byte> left(20), right(20);
        UserAttributeRead both[] = {{"left", left, {}}, {"right", right, {}}};
        attributes->get(both);
        EXPECT_EQ(both[0].size, both[1].size);
        EXPECT_EQ(left, right);
    }
    for (std::thread& one : writers)
        one.join();
}

TEST_P(UserAttributesContract, AreRemovedAndHaveLimits)
{
    const auto attributes = container->user_attributes();
    set(*attributes, "name", "value");
    sound();
    const std::string names[] = {"name", "absent"};
    EXPECT_EQ(attributes->remove(names), 1U);
    EXPECT_EQ(attributes->remove(names), 0U);
    EXPECT_EQ(value(*attributes, "name"), "absent");
    EXPECT_THROW(set(*attributes, "", "text"), Error);
    EXPECT_THROW(set(*attributes, std::string(longest_user_attribute_name + 1, 'n'), "text"), Error);
    EXPECT_THROW(set(*attributes, "big", std::string(longest_user_attribute + 1, 'v')), Error);
    sound();
}

TEST_P(UserAttributesContract, TheCheckFindsThoseOfNoContainer)
{
    std::unique_ptr<Storage> below;
    for (const Backend& backend : backends())
        if (backend.name == GetParam()) below = backend.open(path);
    BodyWriter body;
    body.bytes(as_bytes("name")).bytes(as_bytes("value"));
    const auto put = [&](std::uint64_t owner, std::string_view name) {
        below->meta().write([&](WriteTransaction& meta) {
            put_sealed(meta, user_attribute_key(owner, name).view(), body.view());
        });
    };
    put(no_container, "name");
    sound();
    put(77, "name");
    EXPECT_TRUE(Pool::check(path, {}).damaged());
    erase_in_meta(*PoolCore::acquire(path, Access::read_write), user_attributes_of(77));
    sound();
    put(no_container, "other name"); // the record says another one
    EXPECT_TRUE(Pool::check(path, {}).damaged());
    EXPECT_THROW(value(*pool->user_attributes(), "other name"), Error);
    const std::string other[] = {"other name"};
    EXPECT_EQ(pool->user_attributes()->remove(other), 1U);
    sound();
}

} // namespace
} // namespace stepstore::testing
