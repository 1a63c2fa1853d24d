// Large values of the index, which Ceph's back end keeps in extents of its own (spilled): what becomes of
// those that are lost, and of those that are replaced while they are read.
#include "support/bare_ceph.h"
#include "support/processes.h"
#include "support/rados_trips.h"
#include "support/store_fixture.h"

#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

namespace stepstore::testing {
namespace {

const ObjectId keys = kv_object(1), array = array_object(2);
const ArrayAttributes attributes{1, 1 << 20};

std::string large_key(unsigned number)
{
    return std::string(300'000, 'k') + std::to_string(number);
}

class RadosSpilled : public ::testing::Test {
protected:
    void SetUp() override
    {
        PoolOptions options;
        options.targets = 1;
        Pool::create(path, options)->create_container(uuid_of(1), "test", {});
    }
    void TearDown() override { Pool::destroy(path); }
    std::shared_ptr<Container> open() const
    {
        return Pool::open(path, Access::read_write)->open_container("test");
    }
    std::unique_ptr<Storage> storage() const
    {
        auto opened = std::ranges::find(backends(), "rados", &Backend::name)->open(path);
        opened->claim();
        return opened;
    }
    // Removes the extents, as a cluster that has lost them.
    void lose_extents() const
    {
        BareCeph ceph(path);
        int lost = 0;
        for (const std::string& object : ceph.objects())
            if (object.find(".x.") != std::string::npos) lost += ceph.io.remove(object) == 0 ? 1 : 0;
        EXPECT_GT(lost, 0);
    }

    TemporaryDirectory directory;
    const std::string path = pool_path(directory, "rados", "pool");
};

TEST_F(RadosSpilled, ALostValueIsDamageOfItsRecordAlone)
{
    const auto container = open();
    const auto lose = [&] {
        container->kv_put(keys, as_bytes(large_key(1)), as_bytes("lost"));
        lose_extents();
    };
    container->kv_put(keys, as_bytes("other"), as_bytes("there"));
    lose();
    std::string message;
    EXPECT_EQ(der_of([&] { kv_read(*container, keys, as_bytes(large_key(1))); }, &message), DER_CSUM);
    EXPECT_NE(message.find("key \"kkk"), std::string::npos) << message;
    EXPECT_EQ(kv_read(*container, keys, as_bytes("other")), to_bytes("there"));
    const CheckReport report = Pool::check(path, {});
    ASSERT_EQ(report.findings.size(), 1U) << undamaged(report).message();
    EXPECT_EQ(report.findings[0].severity, CheckFinding::Severity::damage);

    container->kv_put(keys, as_bytes(large_key(1)), as_bytes("again"));
    EXPECT_EQ(kv_read(*container, keys, as_bytes(large_key(1))), to_bytes("again"));
    lose();
    EXPECT_TRUE(container->kv_remove(keys, as_bytes(large_key(1))));
    EXPECT_EQ(list_keys(*container, keys), std::vector<std::string>{"other"});
    lose();
    container->punch(keys);
    EXPECT_TRUE(container->objects().empty());
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
}

TEST_F(RadosSpilled, ALostValueDoesNotKeepItsContainer)
{
    auto container = open();
    container->kv_put(keys, as_bytes(large_key(1)), as_bytes("lost"));
    const Epoch epoch = container->create_snapshot("");
    container->kv_put(keys, as_bytes(large_key(1)), as_bytes("lost too"));
    lose_extents();
    EXPECT_EQ(der_of([&] { kv_read(*container, keys, as_bytes(large_key(1)), epoch); }), DER_CSUM);
    container->destroy_snapshot(epoch);
    const auto pool = container->pool();
    container.reset();
    pool->destroy_container("test", false);
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
}

// So many that each of them could not be an append of its own.
TEST_F(RadosSpilled, OneUpdateTakesThousandsOfThem)
{
    const auto container = open();
    constexpr std::uint64_t piece = 8 << 10, pieces = 4500;
    const ArrayAttributes chunked{1, piece}; // each chunk is a record
    container->array_create(array, chunked);
    auto content = pattern(piece * pieces, 1);
    write_cells(*container, array, chunked, 0, content);
    constexpr std::uint64_t from = 700 * piece, replaced = 600 * piece; // parts of two pieces of the extent
    const auto second = pattern(replaced, 2);
    write_cells(*container, array, chunked, from, second);
    std::ranges::copy(second, content.begin() + from);
    EXPECT_TRUE(read_cells(*container, array, chunked, 0, piece * pieces) == content);
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    container->punch(array);
    EXPECT_TRUE(container->objects().empty());
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    EXPECT_TRUE(storage()->target(0).extent_files().empty());
}

// More than one operation of the cluster could hold, although each of them is small.
TEST_F(RadosSpilled, OneUpdateTakesMoreThanOneOperation)
{
    const auto pool = storage();
    Target& target = pool->target(0);
    constexpr unsigned values = 34'000;
    const auto key = [](unsigned number) { return "key" + std::to_string(number); };
    const auto value = [](unsigned number) { return pattern(3000, number); };
    target.write([&](WriteTransaction& open) {
        for (unsigned number = 0; number < values; ++number)
            open.put(as_bytes(key(number)), value(number));
    });
    target.read([&](ReadTransaction& open) {
        for (unsigned number = 0; number < values; number += 1000) {
            Bytes found;
            ASSERT_TRUE(open.get(as_bytes(key(number)), found));
            EXPECT_TRUE(std::ranges::equal(found, value(number)));
        }
    });
    std::vector<std::string> keys;
    for (unsigned number = 0; number < values; ++number)
        keys.push_back(key(number));
    std::vector<Bytes> all;
    for (const std::string& one : keys)
        all.push_back(as_bytes(one));
    target.write([&](WriteTransaction& open) {
        open.expect(all);
        for (const Bytes one : all)
            open.erase(one);
    });
    EXPECT_TRUE(target.extent_files().empty());
}

// The value is replaced, and its extent removed, between the look-up and the read of the extent.
TEST_F(RadosSpilled, AReplacedValueIsNoDamage)
{
    const auto pool = storage();
    Target& target = pool->target(0);
    const auto first = as_bytes("a"), second = as_bytes("b");
    const Bytes both[] = {first, second};
    int versions = 0;
    const auto replace = [&] {
        target.write([&](WriteTransaction& open) {
            Bytes old;
            open.get(second, old);
            open.put(second, pattern(300'000, static_cast<std::uint64_t>(versions + 1)));
        });
        ++versions;
        target.extent_files(); // what was released is gone
    };
    target.write([&](WriteTransaction& open) { open.put(first, as_bytes("small")); });
    replace();
    for (const bool updates : {false, true}) {
        int runs = 0;
        std::vector<std::byte> seen;
        const auto body = [&](ReadTransaction& open) {
            Bytes value;
            open.expect(both);
            ASSERT_TRUE(open.get(first, value));
            if (++runs <= 5) std::thread(replace).join();
            ASSERT_TRUE(open.get(second, value));
            seen.assign(value.begin(), value.end());
        };
        if (updates) {
            target.write([&](WriteTransaction& open) {
                body(open);
                open.put(first, as_bytes("changed"));
            });
        } else {
            target.read(body);
        }
        EXPECT_TRUE(seen == pattern(300'000, static_cast<std::uint64_t>(versions)));
    }
    target.write([&](WriteTransaction& open) {
        open.erase(first);
        open.erase(second);
    });
}

std::string key_of(unsigned number)
{
    std::string text = std::to_string(number);
    return "key" + text.insert(0, 5 - text.size(), '0');
}

TEST_F(RadosSpilled, ManyThatAreReadAreInFlightTogether)
{
    constexpr unsigned values = 700; // of 50 kB: 35 MB, more than an update has inline
    const auto pool = storage();
    Target& target = pool->target(0);
    target.write([&](WriteTransaction& open) {
        for (unsigned number = 0; number < values; ++number)
            open.put(as_bytes(key_of(number)), pattern(50'000, number));
    });
    std::vector<std::string> names;
    for (unsigned number = 0; number < values; ++number)
        names.push_back(key_of(number * 331 % values)); // not in their order
    std::vector<Bytes> wanted;
    for (const std::string& name : names)
        wanted.push_back(as_bytes(name));
    const Counted of_gets = trips_of([&] {
        target.read([&](ReadTransaction& open) {
            open.expect(wanted);
            for (unsigned number = 0; number < values; ++number) {
                Bytes value;
                ASSERT_TRUE(open.get(wanted[number], value));
                EXPECT_TRUE(std::ranges::equal(value, pattern(50'000, number * 331 % values)));
            }
        });
    });
    EXPECT_LE(of_gets.reads, 10U);
    const Counted of_walk = trips_of([&] {
        target.read([&](ReadTransaction& open) {
            Entry entry;
            unsigned number = 0;
            for (bool there = open.seek(as_bytes("key"), entry); there; there = open.next(entry), ++number) {
                EXPECT_EQ(as_text(entry.key), key_of(number));
                EXPECT_TRUE(std::ranges::equal(entry.value, pattern(50'000, number)));
            }
            EXPECT_EQ(number, values);
        });
    });
    EXPECT_LE(of_walk.reads, 40U);
    const Counted of_one = trips_of([&] { // of which nothing is known that follows
        target.read([&](ReadTransaction& open) {
            Entry entry;
            ASSERT_TRUE(open.seek(as_bytes(key_of(7)), entry));
            EXPECT_TRUE(std::ranges::equal(entry.value, pattern(50'000, 7)));
        });
    });
    EXPECT_EQ(of_one.reads, 2U);
}

// Values that are read ahead are replaced, and their extents removed, before or after the body asks for them.
TEST_F(RadosSpilled, ValuesThatAreReadAheadAndReplacedAreOfOneMoment)
{
    constexpr unsigned values = 40;
    const auto pool = storage();
    Target& target = pool->target(0);
    std::vector<std::string> names;
    for (unsigned number = 0; number < values; ++number)
        names.push_back(key_of(number));
    std::vector<Bytes> wanted;
    for (const std::string& name : names)
        wanted.push_back(as_bytes(name));
    std::uint64_t version = 0;
    const auto replace = [&] {
        ++version;
        target.write([&](WriteTransaction& open) {
            open.expect(wanted);
            for (const Bytes name : wanted) {
                open.erase(name);
                open.put(name, pattern(300'000, version));
            }
        });
        target.extent_files(); // what was released is gone
    };
    replace();
    for (const bool walks : {false, true})
        for (const unsigned at : {0U, 1U, 5U, values - 1}) {
            int runs = 0;
            std::set<std::uint64_t> seen;
            target.read([&](ReadTransaction& open) {
                seen.clear();
                ++runs;
                Entry entry;
                open.expect(wanted);
                if (walks) {
                    ASSERT_TRUE(open.seek(wanted[0], entry));
                }
                for (unsigned number = 0; number < values; ++number) {
                    if (number == at && runs <= 4) std::thread(replace).join();
                    if (!walks) {
                        ASSERT_TRUE(open.get(wanted[number], entry.value));
                    } else if (number != 0) {
                        ASSERT_TRUE(open.next(entry));
                    }
                    ASSERT_EQ(entry.value.size(), 300'000U);
                    for (std::uint64_t one = 1; one <= version; ++one)
                        if (std::ranges::equal(entry.value, pattern(300'000, one))) seen.insert(one);
                }
            });
            EXPECT_EQ(seen.size(), 1U) << "of several moments, or none";
            EXPECT_LE(runs, 6);
        }
}

// One that is lost for good is found so by the body that asks for it, and harms no other.
TEST_F(RadosSpilled, ALostValueAmongThoseThatAreReadAheadIsItsOwnAlone)
{
    const auto pool = storage();
    Target& target = pool->target(0);
    const auto put = [&](unsigned number) {
        target.write(
            [&](WriteTransaction& open) { open.put(as_bytes(key_of(number)), pattern(300'000, number)); });
    };
    put(1);
    lose_extents();
    put(0);
    put(2);
    const std::string names[] = {key_of(0), key_of(1), key_of(2)};
    const Bytes wanted[] = {as_bytes(names[0]), as_bytes(names[1]), as_bytes(names[2])};
    int runs = 0;
    target.read([&](ReadTransaction& open) {
        ++runs;
        open.expect(wanted);
        Bytes value;
        for (const unsigned number : {0U, 2U}) {
            ASSERT_TRUE(open.get(wanted[number], value));
            EXPECT_TRUE(std::ranges::equal(value, pattern(300'000, number)));
        }
    });
    EXPECT_EQ(runs, 1);
    target.read([&](ReadTransaction& open) {
        open.expect(wanted);
        Bytes value;
        ASSERT_TRUE(open.get(wanted[1], value));
        EXPECT_TRUE(value.empty());
        ASSERT_TRUE(open.get(wanted[2], value));
        EXPECT_TRUE(std::ranges::equal(value, pattern(300'000, 2)));
    });
}

// Keys whose values are spilled, and extents of which parts are kept, by processes that replace, read, list
// and cut them. STEPSTORE_PROPERTY_SECONDS: how long, instead of a number of rounds.
TEST_F(RadosSpilled, ValuesThatAreReplacedAllTheTimeNeverGiveAnError)
{
    const char* seconds = std::getenv("STEPSTORE_PROPERTY_SECONDS");
    const auto work = [&](unsigned process) {
        const auto container = open();
        std::mt19937_64 random(process);
        const auto end = std::chrono::steady_clock::now() +
                         std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
        const auto all_same = [](const std::vector<std::byte>& bytes) {
            return std::ranges::all_of(bytes, [&](std::byte one) { return one == bytes[0]; });
        };
        int calls = 0;
        while (seconds == nullptr ? calls < 120 : std::chrono::steady_clock::now() < end) {
            ++calls;
            const std::string key = large_key(static_cast<unsigned>(random() % 3));
            const auto filled = [&](std::size_t size) {
                return std::vector<std::byte>(size, static_cast<std::byte>(random()));
            };
            switch (random() % 8) {
            case 0:
            case 1: container->kv_put(keys, as_bytes(key), filled(random() % 2 == 0 ? 100 : 100'000)); break;
            case 2: container->kv_remove(keys, as_bytes(key)); break;
            case 3: list_keys(*container, keys); break;
            case 4: write_cells(*container, array, attributes, 0, filled(200'000)); break;
            case 5: // a part of what is there has to be kept
                write_cells(*container, array, attributes, 50'000 + random() % 50'000, filled(30'000));
                break;
            case 6: read_cells(*container, array, attributes, 0, 200'000); break;
            default:
                if (const auto value = kv_read(*container, keys, as_bytes(key)); value && !all_same(*value))
                    ADD_FAILURE() << "a value is a mixture";
            }
        }
        std::printf("%d calls\n", calls);
        return ::testing::Test::HasFailure() ? 1 : 0;
    };
    std::vector<pid_t> children;
    for (unsigned process = 0; process < 4; ++process)
        children.push_back(start_child([&, process] { return work(process); }));
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    EXPECT_TRUE(undamaged(Pool::check(path, {})));
}

} // namespace
} // namespace stepstore::testing
