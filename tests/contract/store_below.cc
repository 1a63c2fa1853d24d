// Listings of a part of a key-value object, and updates that tell what they replaced, on every back end.
#include "support/store_fixture.h"

#include <map>
#include <thread>

namespace stepstore::testing {
namespace {

class BelowContract : public StoreTest {
protected:
    std::set<std::string> below(const ObjectId& oid, std::string_view prefix, char delimiter = '\0',
                                Epoch epoch = latest)
    {
        std::set<std::string> found;
        ListPosition position;
        given = 0;
        const KeyFilter filter{as_bytes(prefix), delimiter};
        container->kv_list(
            oid, position,
            [&](Bytes key) {
                ++given;
                found.emplace(as_text(key));
                return true;
            },
            epoch, filter);
        EXPECT_TRUE(position.done);
        return found;
    }
    void put(const ObjectId& oid, std::string_view key) { container->kv_put(oid, as_bytes(key), {}); }

    std::size_t given = 0;
};
INSTANTIATE_TEST_SUITE_P(Backends, BelowContract, every_store(), backend_name);

// What the listing must give, by looking at every key.
std::set<std::string> expected(const std::set<std::string>& keys, const std::string& prefix, char delimiter)
{
    std::set<std::string> found;
    for (const std::string& key : keys) {
        if (!key.starts_with(prefix)) continue;
        const std::size_t at = delimiter ? key.find(delimiter, prefix.size()) : std::string::npos;
        found.insert(at == std::string::npos ? key : key.substr(0, at + 1));
    }
    return found;
}

TEST_P(BelowContract, ListingsOfAnyPartAgreeWithAWalkOverAllKeys)
{
    const ObjectId oid = kv_object(1, class_s2);
    const std::string far(70, 'f');
    std::mt19937 random(7);
    const std::vector<std::string> parts = {"a", "a0", "b", "", std::string(1, '\0'), "\xff", far, "c.d"};
    const auto pick = [&] { return parts[random() % parts.size()]; };
    std::set<std::string> keys, before;
    Epoch snapshot = 0;
    for (int round = 0; round < 900; ++round) {
        std::string key = pick() + "/" + pick();
        if (random() % 2) key += "/" + pick() + std::to_string(random() % 400);
        if (random() % 4 != 0) {
            put(oid, key);
            keys.insert(key);
        } else if (!keys.empty()) {
            const auto gone = std::next(keys.begin(), static_cast<long>(random() % keys.size()));
            container->kv_remove(oid, as_bytes(*gone));
            keys.erase(gone);
        }
        if (round != 500 || !has_versions()) continue;
        before = keys;
        snapshot = container->create_snapshot("");
    }
    if (!has_versions()) {
        before = keys;
        snapshot = latest;
    }
    std::vector<std::string> prefixes = {"",
                                         "a",
                                         "a/",
                                         "a0/",
                                         "/",
                                         "zz",
                                         far + "/",
                                         far + "/" + far,
                                         far + "/" + far + "/",
                                         std::string("\0/", 2),
                                         "\xff/a/"};
    for (const std::string& prefix : prefixes)
        for (const char delimiter : {'\0', '/', '.'}) {
            EXPECT_EQ(below(oid, prefix, delimiter), expected(keys, prefix, delimiter)) << prefix;
            EXPECT_EQ(below(oid, prefix, delimiter, snapshot), expected(before, prefix, delimiter)) << prefix;
        }
}

TEST_P(BelowContract, WhatLiesBelowAPartIsPassedOver)
{
    const ObjectId oid = kv_object(1);
    for (int i = 0; i < 1500; ++i) {
        put(oid, "a/" + std::to_string(i));
        put(oid, "b/c/" + std::to_string(i));
    }
    put(oid, "b/d");
    put(oid, "a0"); // directly behind all of "a/"
    EXPECT_EQ(below(oid, "", '/'), (std::set<std::string>{"a/", "a0", "b/"}));
    EXPECT_EQ(given, 3U);
    EXPECT_EQ(below(oid, "b/", '/'), (std::set<std::string>{"b/c/", "b/d"}));
    EXPECT_EQ(given, 2U);
    EXPECT_EQ(below(oid, "b/c/").size(), 1500U);
    EXPECT_EQ(given, 1500U);
}

TEST_P(BelowContract, AnUpdateTellsWhatItReplaced)
{
    const ObjectId oid = kv_object(1, class_sx);
    std::vector<std::byte> room(10);
    const auto told = [&](auto&& update) {
        Replaced replaced{.into = room, .size = {}};
        std::ranges::fill(room, std::byte{0});
        update(&replaced);
        const auto size = replaced.size;
        std::string text(as_text(room));
        text.erase(text.find_last_not_of('\0') + 1);
        return size ? std::to_string(*size) + text : "none" + text;
    };
    const auto put = [&](std::string_view value) {
        return told([&](Replaced* replaced) {
            container->kv_put(oid, as_bytes("key"), as_bytes(value), Condition::none, replaced);
        });
    };
    const auto remove = [&] {
        return told([&](Replaced* replaced) { container->kv_remove(oid, as_bytes("key"), {}, replaced); });
    };
    EXPECT_EQ(put("first"), "none");
    EXPECT_EQ(put(""), "5first");
    EXPECT_EQ(put(std::string(100000, 'x')), "0");
    EXPECT_EQ(put("a longer one"), "100000");
    EXPECT_EQ(put("last"), "12");
    EXPECT_EQ(remove(), "4last");
    EXPECT_EQ(remove(), "none");
    std::vector<std::byte> too_large(max_replaced + 1);
    Replaced replaced{.into = too_large, .size = {}};
    EXPECT_EQ(der_of([&] { container->kv_remove(oid, as_bytes("key"), {}, &replaced); }), DER_INVAL);
}

TEST_P(BelowContract, OfManyWhoReplaceAtOnceEachIsToldOfAnotherValue)
{
    const ObjectId oid = kv_object(1);
    constexpr int threads = 4, rounds = 200;
    std::array<std::vector<std::string>, threads> told;
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            for (int round = 0; round < rounds; ++round) {
                std::array<std::byte, 16> room{};
                Replaced replaced{.into = room, .size = {}};
                const std::string value = std::to_string(thread) + "." + std::to_string(round);
                container->kv_put(oid, as_bytes("key"), as_bytes(value), Condition::none, &replaced);
                if (replaced.size)
                    told[static_cast<std::size_t>(thread)].emplace_back(
                        as_text(Bytes(room).first(*replaced.size)));
            }
        });
    for (std::thread& one : running)
        one.join();
    std::map<std::string, int> times;
    for (const auto& values : told)
        for (const std::string& value : values)
            ++times[value];
    EXPECT_EQ(times.size(), threads * rounds - 1U); // all but the last value
    for (const auto& [value, count] : times)
        EXPECT_EQ(count, 1) << value;
}

} // namespace
} // namespace stepstore::testing
