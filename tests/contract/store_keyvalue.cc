// Key-value objects on every back end.
#include "support/store_fixture.h"

#include <algorithm>
#include <thread>

namespace stepstore::testing {
namespace {

class KeyValueContract : public StoreTest {
protected:
    std::string value_of(const ObjectId& oid, std::string_view key, Epoch epoch = latest)
    {
        const auto value = kv_read(*container, oid, as_bytes(key), epoch);
        return value ? std::string(as_text(*value)) : "(none)";
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, KeyValueContract, every_store(), backend_name);

TEST_P(KeyValueContract, ValuesOfEverySizeComeBack)
{
    const ObjectId oid = kv_object(1, class_sx);
    for (const std::size_t size :
         {0UL, 1UL, 4095UL, 4096UL, 65535UL, 65536UL, 65537UL, 131072UL, 1000001UL}) {
        const std::string key = "size" + std::to_string(size);
        const auto value = pattern(size, size);
        container->kv_put(oid, as_bytes(key), value);
        EXPECT_EQ(kv_read(*container, oid, as_bytes(key)), value) << size;
        std::vector<std::byte> into(size + 10, std::byte{0x55});
        EXPECT_EQ(container->kv_get(oid, as_bytes(key), into), size);
        EXPECT_TRUE(std::equal(value.begin(), value.end(), into.begin()));
        EXPECT_EQ(into[size], std::byte{0x55}) << "written behind the value";
        EXPECT_EQ(container->kv_get(oid, as_bytes(key), {}), size); // only the size
        if (size == 0) continue;
        std::vector<std::byte> small(size - 1, std::byte{0x55});
        EXPECT_EQ(container->kv_get(oid, as_bytes(key), small), size);
        EXPECT_EQ(std::ranges::count(small, std::byte{0x55}), static_cast<long>(size - 1))
            << "a value that does not fit";
    }
    EXPECT_EQ(container->kv_get(oid, as_bytes("missing"), {}), std::nullopt);
    EXPECT_EQ(kv_read(*container, oid, as_bytes("missing")), std::nullopt);
}

TEST_P(KeyValueContract, SeveralValuesComeBackTogether)
{
    const std::string long_key(100, 'k');
    for (const auto object_class : {class_s1, class_sx, class_rp_2gx}) {
        const ObjectId oid = kv_object(2, object_class);
        std::vector<std::string> keys = {long_key + "1", long_key + "2", "empty", "missing", "1"};
        for (int i = 0; i < 40; ++i)
            keys.push_back(std::to_string(i));
        const auto value_then = [&](std::size_t key) {
            return pattern(keys[key] == "empty" ? 0 : 1 + 7919 * key % 200000, key);
        };
        for (std::size_t key = 0; key < keys.size(); ++key)
            if (keys[key] != "missing") container->kv_put(oid, as_bytes(keys[key]), value_then(key));
        const Epoch snapshot = snapshot_or_latest();
        for (std::size_t key = 0; key < keys.size(); key += 2)
            container->kv_put(oid, as_bytes(keys[key]), pattern(100, 1000 + key));
        container->kv_remove(oid, as_bytes("3"));
        for (const Epoch epoch : {latest, snapshot}) {
            std::vector<std::vector<std::byte>> rooms(keys.size(), std::vector<std::byte>(30000));
            std::vector<KeyRead> reads;
            for (std::size_t key = 0; key < keys.size(); ++key)
                reads.push_back({as_bytes(keys[key]), rooms[key], {}});
            container->kv_get_many(oid, reads, epoch);
            for (std::size_t key = 0; key < keys.size(); ++key) {
                const auto value = kv_read(*container, oid, as_bytes(keys[key]), epoch);
                ASSERT_EQ(reads[key].size.has_value(), value.has_value()) << keys[key];
                if (!value) continue;
                EXPECT_EQ(*reads[key].size, value->size()) << keys[key];
                if (value->size() > rooms[key].size()) continue;
                rooms[key].resize(value->size());
                EXPECT_EQ(rooms[key], *value) << keys[key];
            }
        }
        if (has_versions()) container->destroy_snapshot(snapshot);
    }
    container->kv_get_many(kv_object(2), {});
    KeyRead none{{}, {}, {}};
    EXPECT_EQ(der_of([&] { container->kv_get_many(kv_object(2), {&none, 1}); }), DER_INVAL);
    KeyRead one{as_bytes("1"), {}, {}};
    EXPECT_EQ(der_of([&] { container->kv_get_many(kv_object(2), {&one, 1}, 12345); }), DER_NONEXIST);
}

TEST_P(KeyValueContract, OverwritingTakesThePlaceOfTheOldValue)
{
    const ObjectId oid = kv_object(1);
    for (const std::size_t size : {10UL, 100000UL, 0UL, 200000UL, 70000UL, 5UL}) {
        container->kv_put(oid, as_bytes("key"), pattern(size, size));
        EXPECT_EQ(kv_read(*container, oid, as_bytes("key")), pattern(size, size));
    }
    std::uint64_t bulk = 0;
    for (const TargetInfo& target : pool->query().targets)
        bulk += target.bulk_bytes;
    EXPECT_EQ(bulk, 0U) << "space of replaced extents was not given back";
    EXPECT_EQ(list_keys(*container, oid), std::vector<std::string>{"key"});
}

TEST_P(KeyValueContract, ConditionsHold)
{
    const ObjectId oid = kv_object(1, class_s2);
    const auto big = pattern(100000, 3);
    std::string message;
    EXPECT_EQ(der_of([&] { container->kv_put(oid, as_bytes("k"), as_bytes("a"), Condition::must_exist); },
                     &message),
              DER_NONEXIST);
    EXPECT_NE(message.find("\"k\""), std::string::npos) << message;
    EXPECT_EQ(value_of(oid, "k"), "(none)");
    container->kv_put(oid, as_bytes("k"), as_bytes("a"), Condition::must_not_exist);
    EXPECT_EQ(der_of([&] { container->kv_put(oid, as_bytes("k"), big, Condition::must_not_exist); }),
              DER_EXIST);
    EXPECT_EQ(value_of(oid, "k"), "a");
    container->kv_put(oid, as_bytes("k"), as_bytes("b"), Condition::must_exist);
    EXPECT_EQ(value_of(oid, "k"), "b");
    EXPECT_TRUE(container->kv_remove(oid, as_bytes("k")));
    EXPECT_FALSE(container->kv_remove(oid, as_bytes("k")));
    container->kv_put(oid, as_bytes("k"), as_bytes("c"), Condition::must_not_exist);
    EXPECT_EQ(value_of(oid, "k"), "c");
}

TEST_P(KeyValueContract, OfManyWhoInsertAtOnceOneSucceeds)
{
    std::atomic<int> inserted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                const std::string key = "key" + std::to_string(i);
                if (der_of([&] {
                        container->kv_put(kv_object(1, class_sx), as_bytes(key), {},
                                          Condition::must_not_exist);
                    }) == 0) {
                    ++inserted;
                }
            }
        });
    }
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(inserted, 50);
}

TEST_P(KeyValueContract, KeysMayHoldAnyByte)
{
    const ObjectId oid = kv_object(1);
    std::vector<std::string> keys;
    for (int c = 0; c < 256; ++c) {
        keys.push_back(std::string(1, static_cast<char>(c)));
        keys.push_back(std::string("a") + static_cast<char>(c));
        keys.push_back(std::string(2, static_cast<char>(c)) + "tail");
    }
    keys.push_back(std::string("a\0", 2) + std::string("\0\0", 2));
    keys.push_back(std::string(80, '\0'));
    keys.push_back(std::string(80, '\xff'));
    keys.push_back(std::string(500, '\0'));
    keys.push_back(std::string(500, '\xff'));
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const auto& key : keys)
        container->kv_put(oid, as_bytes(key), as_bytes("1" + key));
    const Epoch snapshot = snapshot_or_latest();
    for (const auto& key : keys)
        container->kv_put(oid, as_bytes(key), as_bytes("2" + key));
    for (const auto& key : keys) {
        ASSERT_EQ(value_of(oid, key), "2" + key);
        ASSERT_EQ(value_of(oid, key, snapshot), (has_versions() ? "1" : "2") + key);
    }
    const auto unsigned_order = [](const std::string& a, const std::string& b) {
        return std::ranges::lexicographical_compare(a, b, [](char x, char y) {
            return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
        });
    };
    std::ranges::sort(keys, unsigned_order);
    for (const Epoch epoch : {latest, snapshot}) {
        auto listed = list_keys(*container, oid, epoch);
        if (!has_versions()) std::ranges::sort(listed, unsigned_order); // files come in another order
        EXPECT_EQ(listed, keys);
    }
}

TEST_P(KeyValueContract, LongKeysAreToldApart)
{
    const ObjectId oid = kv_object(1, class_s2);
    std::vector<std::string> keys;
    const std::string stem(80, 's');
    for (const std::size_t length : {79UL, 80UL, 81UL, 95UL, 96UL, 97UL, 1000UL, 65537UL, 1UL << 20})
        keys.push_back(std::string(length, 's'));
    for (int i = 0; i < 100; ++i)
        keys.push_back(stem + std::to_string(i));
    for (const auto& key : keys)
        container->kv_put(oid, as_bytes(key),
                          as_bytes("v" + std::to_string(key.size()) + key.substr(key.size() - 3)));
    for (const auto& key : keys)
        EXPECT_EQ(value_of(oid, key), "v" + std::to_string(key.size()) + key.substr(key.size() - 3));
    auto listed = list_keys(*container, oid);
    std::ranges::sort(listed);
    std::ranges::sort(keys);
    EXPECT_EQ(listed, keys);
    EXPECT_TRUE(container->kv_remove(oid, as_bytes(stem + "7")));
    EXPECT_EQ(value_of(oid, stem + "7"), "(none)");
    EXPECT_EQ(value_of(oid, stem + "8"), "v81ss8");
    EXPECT_EQ(der_of([&] { container->kv_put(oid, as_bytes(std::string((1 << 20) + 1, 'x')), {}); }),
              DER_KEY2BIG);
    EXPECT_EQ(der_of([&] { container->kv_put(oid, {}, {}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, {}); }), DER_INVAL);
}

TEST_P(KeyValueContract, AListingGoesOnWhereItStopped)
{
    const ObjectId oid = kv_object(1, class_sx);
    std::set<std::string> keys;
    for (int i = 0; i < 1000; ++i)
        keys.insert((i % 3 == 0 ? std::string(200, 'k') : "k") + std::to_string(i));
    for (const auto& key : keys)
        container->kv_put(oid, as_bytes(key), as_bytes(key));
    for (const int step : {1, 7, 256, 1000}) {
        std::multiset<std::string> seen;
        ListPosition position;
        int calls = 0;
        while (!position.done) {
            int given = 0;
            ListPosition copy = position; // as it travels in a caller's anchor
            container->kv_list(oid, copy, [&](Bytes key) {
                if (given == step) return false;
                seen.emplace(as_text(key));
                ++given;
                return true;
            });
            position = copy;
            ASSERT_LT(++calls, 3000);
        }
        EXPECT_EQ(std::vector<std::string>(seen.begin(), seen.end()),
                  std::vector<std::string>(keys.begin(), keys.end()));
        int again = 0;
        container->kv_list(oid, position, [&](Bytes) { return ++again > 0; });
        EXPECT_EQ(again, 0) << "a listing that is done gives nothing more";
    }
    EXPECT_TRUE(list_keys(*container, kv_object(99)).empty());
    ListPosition nonsense;
    nonsense.length = 200;
    EXPECT_EQ(der_of([&] { container->kv_list(oid, nonsense, [](Bytes) { return true; }); }), DER_INVAL);
}

TEST_P(KeyValueContract, AListingSurvivesInsertsAndRemoves)
{
    const ObjectId oid = kv_object(1, class_s2);
    for (int i = 0; i < 500; ++i)
        container->kv_put(oid, as_bytes("stay" + std::to_string(i)), {});
    for (const bool at_snapshot : {false, has_versions()}) {
        const Epoch epoch = at_snapshot ? container->create_snapshot("") : latest;
        std::multiset<std::string> seen;
        ListPosition position;
        int round = 0;
        while (!position.done) {
            int given = 0;
            container->kv_list(
                oid, position,
                [&](Bytes key) {
                    if (given++ == 9) return false;
                    seen.emplace(as_text(key));
                    return true;
                },
                epoch);
            // In between: new keys everywhere, and all that were added before go, the last one given among
            // them.
            for (int i = 0; i < 5; ++i) {
                container->kv_put(oid, as_bytes("come" + std::to_string(round * 5 + i)), {});
                container->kv_put(oid, as_bytes("stay" + std::to_string((round * 5 + i) % 500) + "x"), {});
                container->kv_remove(oid, as_bytes("come" + std::to_string(round * 5 + i - 5)));
                container->kv_put(oid, as_bytes("stay" + std::to_string((round * 7 + i) % 500)),
                                  as_bytes("new"));
            }
            ++round;
        }
        for (int i = 0; i < 500; ++i)
            EXPECT_EQ(seen.count("stay" + std::to_string(i)), 1U)
                << i << (at_snapshot ? " at a snapshot" : "");
        for (const auto& key : seen)
            EXPECT_EQ(seen.count(key), 1U) << key;
        if (at_snapshot) container->destroy_snapshot(epoch);
    }
}

TEST_P(KeyValueContract, TheCallerOfAListingMayUseTheStore)
{
    const ObjectId oid = kv_object(1);
    for (int i = 0; i < 300; ++i)
        container->kv_put(oid, as_bytes("key" + std::to_string(i)), as_bytes(std::to_string(i)));
    int count = 0;
    ListPosition position;
    container->kv_list(oid, position, [&](Bytes key) {
        const std::vector<std::byte> kept(key.begin(), key.end());
        EXPECT_TRUE(kv_read(*container, oid, kept).has_value());
        EXPECT_TRUE(container->kv_remove(oid, kept));
        ++count;
        return true;
    });
    EXPECT_EQ(count, 300);
    EXPECT_TRUE(list_keys(*container, oid).empty());
}

TEST_P(KeyValueContract, PunchTakesAllAndLastUpdateTellsWhen)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no epochs";
    const ObjectId oid = kv_object(1, class_sx);
    EXPECT_EQ(container->last_update(oid), 0U);
    for (int i = 0; i < 3000; ++i)
        container->kv_put(oid, as_bytes(std::to_string(i)), as_bytes("x"));
    container->kv_put(oid, as_bytes("big"), pattern(100000, 1));
    const Epoch first = container->last_update(oid);
    const Epoch snapshot = container->create_snapshot("");
    EXPECT_GT(first, 0U);
    EXPECT_LT(first, snapshot);
    container->kv_put(oid, as_bytes("0"), as_bytes("y"));
    EXPECT_GT(container->last_update(oid), snapshot);
    EXPECT_EQ(container->last_update(oid, snapshot), first);
    const Epoch second = container->last_update(oid);
    EXPECT_TRUE(container->kv_remove(oid, as_bytes("0")));
    const Epoch third = container->last_update(oid);
    EXPECT_GT(third, second); // a removal is an update, and takes nothing from the epoch
    EXPECT_FALSE(container->kv_remove(oid, as_bytes("0")));
    EXPECT_EQ(container->last_update(oid), third);
    EXPECT_EQ(container->last_update(oid, snapshot), first);
    container->punch(oid);
    EXPECT_GT(container->last_update(oid), third);
    EXPECT_EQ(container->last_update(oid, snapshot), first);
    EXPECT_TRUE(container->objects().empty()); // what remembers the removal is no object
    EXPECT_EQ(container->objects(snapshot), std::vector<ObjectId>{oid});
    EXPECT_TRUE(list_keys(*container, oid).empty());
    EXPECT_EQ(value_of(oid, "1"), "(none)");
    EXPECT_EQ(list_keys(*container, oid, snapshot).size(), 3001U);
    EXPECT_EQ(kv_read(*container, oid, as_bytes("big"), snapshot), pattern(100000, 1));
    EXPECT_EQ(value_of(oid, "0", snapshot), "x");
    container->kv_put(oid, as_bytes("1"), as_bytes("again"));
    EXPECT_EQ(list_keys(*container, oid), std::vector<std::string>{"1"});
    EXPECT_EQ(container->objects(), std::vector<ObjectId>{oid});
}

TEST_P(KeyValueContract, TwoCopiesAreKept)
{
    for (const auto object_class : {class_rp_2g1, class_rp_2gx}) {
        const ObjectId oid = kv_object(7, object_class);
        for (int i = 0; i < 50; ++i)
            container->kv_put(oid, as_bytes("key" + std::to_string(i)), pattern(i % 2 == 0 ? 100 : 70000, 1));
        for (int i = 0; i < 50; i += 5)
            EXPECT_TRUE(container->kv_remove(oid, as_bytes("key" + std::to_string(i))));
        EXPECT_EQ(der_of([&] { container->kv_put(oid, as_bytes("key1"), {}, Condition::must_not_exist); }),
                  DER_EXIST);
        EXPECT_EQ(list_keys(*container, oid).size(), 40U);
        EXPECT_EQ(kv_read(*container, oid, as_bytes("key1")), pattern(70000, 1));
        EXPECT_EQ(kv_read(*container, oid, as_bytes("key2")), pattern(100, 1));
    }
    const CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(undamaged(report));
    for (const CheckFinding& one : report.findings)
        EXPECT_EQ(one.what.find("copy"), std::string::npos) << one.what;
}

} // namespace
} // namespace stepstore::testing
