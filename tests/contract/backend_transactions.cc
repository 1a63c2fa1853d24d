// The contract of store/backend.h for the transactions of one target.
#include "backend_fixture.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

namespace stepstore::store {

namespace {

class Transactions : public BackendContract {};

TEST_P(Transactions, KeepKeysInTheOrderOfUnsignedBytes)
{
    const std::string names[] = {"b",  std::string("\xff", 1), std::string("\0", 1), "a",
                                 "aa", std::string("a\0", 2)};
    target().write([&](WriteTransaction& transaction) {
        for (const std::string& name : names)
            transaction.put(as_bytes(name), as_bytes(name));
    });
    target().read([&](ReadTransaction& transaction) {
        const std::string expected =
            std::string("\0", 1) + " a " + std::string("a\0", 2) + " aa b " + std::string("\xff", 1) + " ";
        EXPECT_EQ(keys(transaction), expected);
    });
}

TEST_P(Transactions, SeekToNeighbours)
{
    target().write([&](WriteTransaction& transaction) {
        for (const char* name : {"b", "d", "f"})
            transaction.put(as_bytes(name), as_bytes(name));
    });
    target().read([&](ReadTransaction& transaction) {
        Entry entry;
        EXPECT_FALSE(transaction.next(entry)) << "no position yet";
        EXPECT_FALSE(transaction.previous(entry)) << "no position yet";
        ASSERT_TRUE(transaction.seek(as_bytes("d"), entry));
        EXPECT_EQ(text_of(entry.key), "d");
        ASSERT_TRUE(transaction.seek(as_bytes("c"), entry));
        EXPECT_EQ(text_of(entry.key), "d");
        EXPECT_EQ(text_of(entry.value), "d");
        ASSERT_TRUE(transaction.seek_last(as_bytes("d"), entry));
        EXPECT_EQ(text_of(entry.key), "b");
        ASSERT_TRUE(transaction.seek_last(as_bytes("zzz"), entry));
        EXPECT_EQ(text_of(entry.key), "f");
        ASSERT_TRUE(transaction.previous(entry));
        EXPECT_EQ(text_of(entry.key), "d");
        ASSERT_TRUE(transaction.next(entry));
        EXPECT_EQ(text_of(entry.key), "f");
        // At either end nothing is given, `entry` stays, and the position too.
        EXPECT_FALSE(transaction.next(entry));
        EXPECT_EQ(text_of(entry.key), "f");
        ASSERT_TRUE(transaction.previous(entry));
        EXPECT_EQ(text_of(entry.key), "d");
        EXPECT_FALSE(transaction.seek_last(as_bytes("b"), entry));
        EXPECT_FALSE(transaction.seek(as_bytes("g"), entry));
        EXPECT_EQ(text_of(entry.key), "d");
        ASSERT_TRUE(transaction.next(entry));
        EXPECT_EQ(text_of(entry.key), "f");
        // A lookup moves nothing.
        Bytes value;
        EXPECT_TRUE(transaction.get(as_bytes("b"), value));
        ASSERT_TRUE(transaction.previous(entry));
        EXPECT_EQ(text_of(entry.key), "d");
    });
}

TEST_P(Transactions, FindNothingInAnEmptyTarget)
{
    target().read([&](ReadTransaction& transaction) {
        Entry entry;
        Bytes value;
        EXPECT_FALSE(transaction.get(as_bytes("a"), value));
        EXPECT_FALSE(transaction.seek(as_bytes("a"), entry));
        EXPECT_FALSE(transaction.seek_last(as_bytes("z"), entry));
        EXPECT_FALSE(transaction.next(entry));
    });
}

TEST_P(Transactions, GoOnAfterTheErasedEntry)
{
    target().write([&](WriteTransaction& transaction) {
        for (int n = 0; n < 1000; ++n)
            transaction.put(as_bytes("key" + std::to_string(10000 + n)), as_bytes(std::string(50, 'v')));
    });
    target().write([&](WriteTransaction& transaction) {
        Entry entry;
        int at = 0;
        for (bool more = transaction.seek({}, entry); more; more = transaction.next(entry), ++at) {
            ASSERT_EQ(text_of(entry.key), "key" + std::to_string(10000 + at));
            if (at % 3 != 0) {
                EXPECT_TRUE(transaction.erase(entry.key));
            }
        }
        EXPECT_EQ(at, 1000);
        EXPECT_FALSE(transaction.erase(as_bytes("key10001")));
    });
    target().read([&](ReadTransaction& transaction) {
        Entry entry;
        int at = 0;
        for (bool more = transaction.seek({}, entry); more; more = transaction.next(entry), at += 3)
            ASSERT_EQ(text_of(entry.key), "key" + std::to_string(10000 + at));
        EXPECT_EQ(at, 1002);
    });
}

TEST_P(Transactions, GoOnWhenEntriesAreAddedMeanwhile)
{
    target().write([&](WriteTransaction& transaction) {
        for (const char* name : {"b", "d"})
            transaction.put(as_bytes(name), as_bytes(name));
        Entry entry;
        ASSERT_TRUE(transaction.seek(as_bytes("b"), entry));
        for (int n = 0; n < 500; ++n) // divides the pages under the position
            transaction.put(as_bytes("c" + std::to_string(1000 + n)), as_bytes(std::string(100, 'v')));
        ASSERT_TRUE(transaction.next(entry));
        EXPECT_EQ(text_of(entry.key), "c1000");
        transaction.put(as_bytes("a"), as_bytes("a"));
        ASSERT_TRUE(transaction.previous(entry));
        EXPECT_EQ(text_of(entry.key), "b");
        ASSERT_TRUE(transaction.previous(entry));
        EXPECT_EQ(text_of(entry.key), "a");
    });
}

TEST_P(Transactions, TakeKeysUpToTheLimitAndNoOthers)
{
    const std::string longest(ReadTransaction::max_key, 'k');
    put(target(), longest, "value");
    put(target(), longest.substr(1) + "l", "other");
    EXPECT_EQ(get(target(), longest), "value");
    EXPECT_EQ(code_of([&] { put(target(), longest + "k", "value"); }), -DER_INVAL);
    EXPECT_EQ(code_of([&] { put(target(), "", "value"); }), -DER_INVAL);
    EXPECT_EQ(get(target(), longest + "k"), "(none)");
    EXPECT_EQ(get(target(), ""), "(none)");
    target().write([&](WriteTransaction& transaction) {
        EXPECT_FALSE(transaction.erase(as_bytes(longest + "k")));
        EXPECT_FALSE(transaction.erase({}));
    });
}

TEST_P(Transactions, KeepValuesOfNoBytesAndOfManyMebibytes)
{
    put(target(), "empty", "");
    EXPECT_EQ(get(target(), "empty"), "");
    const auto large = pattern(std::size_t{256} << 20, 1);
    target().write([&](WriteTransaction& transaction) { transaction.put(as_bytes("large"), large); });
    target().read([&](ReadTransaction& transaction) {
        Bytes value;
        ASSERT_TRUE(transaction.get(as_bytes("large"), value));
        ASSERT_EQ(value.size(), large.size());
        EXPECT_EQ(checksum(value), checksum(large));
    });
    EXPECT_EQ(target().check(), std::vector<std::string>{});
}

TEST_P(Transactions, FillReservedValuesInPlace)
{
    const auto bytes = pattern(100'000, 2);
    target().write([&](WriteTransaction& transaction) {
        std::ranges::copy(as_bytes("abc"), transaction.reserve(as_bytes("small"), 3).begin());
        std::ranges::copy(bytes, transaction.reserve(as_bytes("large"), bytes.size()).begin());
        EXPECT_EQ(transaction.reserve(as_bytes("empty"), 0).size(), 0U);
    });
    EXPECT_EQ(get(target(), "small"), "abc");
    EXPECT_EQ(get(target(), "large"), text_of(bytes));
    EXPECT_EQ(get(target(), "empty"), "");
}

TEST_P(Transactions, SeeTheirOwnUpdates)
{
    put(target(), "key", "old");
    target().write([&](WriteTransaction& transaction) {
        transaction.put(as_bytes("key"), as_bytes("new"));
        Bytes value;
        ASSERT_TRUE(transaction.get(as_bytes("key"), value));
        EXPECT_EQ(text_of(value), "new");
        EXPECT_TRUE(transaction.erase(as_bytes("key")));
        EXPECT_FALSE(transaction.get(as_bytes("key"), value));
        transaction.put(as_bytes("key"), as_bytes("newest"));
    });
    EXPECT_EQ(get(target(), "key"), "newest");
}

TEST_P(Transactions, TellByTheirVersionWhetherAnythingChanged)
{
    const auto version = [&] {
        std::uint64_t seen = 0;
        target().read([&](ReadTransaction& transaction) { seen = transaction.version(); });
        return seen;
    };
    const auto put = [](WriteTransaction& transaction) {
        EXPECT_EQ(transaction.version(), 0U) << "what it sees is nobody else's yet";
        transaction.put(as_bytes("key"), as_bytes("value"));
    };
    target().write(put);
    const std::uint64_t before = version();
    EXPECT_EQ(version(), before);
    try {
        target().write([&](WriteTransaction& transaction) {
            put(transaction);
            throw std::runtime_error("no");
        });
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(version(), before) << "nothing was committed";
    std::uint64_t began = before;
    std::uint64_t during = before;
    target().read([&](ReadTransaction& transaction) {
        began = transaction.version();
        std::thread([&] { target().write(put); }).join();
        during = transaction.version();
    });
    EXPECT_EQ(during, began) << "a transaction stays with what it began with";
    if (before != 0) {
        EXPECT_NE(version(), before);
    }
}

TEST_P(Transactions, LeaveNothingWhenTheBodyThrows)
{
    put(target(), "kept", "before");
    struct Refusal {};
    EXPECT_THROW(target().write([&](WriteTransaction& transaction) {
        transaction.put(as_bytes("kept"), as_bytes("after"));
        transaction.put(as_bytes("added"), as_bytes("value"));
        throw Refusal{};
    }),
                 Refusal);
    EXPECT_THROW(target().read([&](ReadTransaction&) { throw Refusal{}; }), Refusal);
    EXPECT_EQ(get(target(), "kept"), "before");
    EXPECT_EQ(get(target(), "added"), "(none)");
    put(target(), "later", "value");
    EXPECT_EQ(get(target(), "later"), "value");
}

TEST_P(Transactions, ShowReadersOneMomentAndLetThemNotWait)
{
    put(target(), "a", "1");
    put(target(), "b", "1");
    std::string before;
    target().read([&](ReadTransaction& transaction) {
        Bytes a;
        ASSERT_TRUE(transaction.get(as_bytes("a"), a));
        before = text_of(a);
        const std::string all = keys(transaction);
        std::thread([&] { // would hang here if the writer waited for readers
            target().write([&](WriteTransaction& writer) {
                for (const std::string& key : {std::string("a"), std::string("b"), "c" + before})
                    writer.put(as_bytes(key), as_bytes(before + "+"));
                EXPECT_EQ(get(target(), "a"), before)
                    << "a reader waits for the writer, or sees what is not committed";
            });
        })
            .join();
        Bytes b;
        ASSERT_TRUE(transaction.get(as_bytes("b"), b));
        EXPECT_EQ(text_of(b), before);
        EXPECT_EQ(keys(transaction), all);
    });
    EXPECT_EQ(get(target(), "b"), before + "+");
}

TEST_P(Transactions, RunAgainUntilTheyFit)
{
    // More than any map begins with, in one transaction and then in many.
    const auto value = pattern(std::size_t{1} << 20, 3);
    int runs = 0;
    target().write([&](WriteTransaction& transaction) {
        ++runs;
        for (int n = 0; n < 150; ++n)
            transaction.put(as_bytes("key" + std::to_string(1000 + n)), value);
    });
    EXPECT_GE(runs, 1);
    for (int n = 0; n < 40; ++n)
        put(target(), "next" + std::to_string(n), as_text(value));
    int found = 0;
    target().read([&](ReadTransaction& transaction) {
        found = 0;
        Entry entry;
        for (bool more = transaction.seek({}, entry); more; more = transaction.next(entry))
            found += std::ranges::equal(entry.value, value) ? 1 : 0;
    });
    EXPECT_EQ(found, 190);
}

TEST_P(Transactions, NestOverTargetsFromTheMetadataUpwards)
{
    pool().meta().write([&](WriteTransaction& outer) {
        outer.put(as_bytes("outer"), as_bytes("value"));
        target(1).write([&](WriteTransaction& middle) {
            middle.put(as_bytes("middle"), as_bytes("value"));
            target(3).write(
                [&](WriteTransaction& inner) { inner.put(as_bytes("inner"), as_bytes("value")); });
        });
        EXPECT_EQ(get(target(3), "inner"), "value");
        EXPECT_EQ(get(target(1), "middle"), "value");
    });
    EXPECT_EQ(get(pool().meta(), "outer"), "value");
}

// Of two updates that see each other, the one that sees has the greater epoch. Whatever changes what a body
// has read comes before the body, or makes it run again.
TEST_P(Transactions, CommitInTheOrderOfTheirEpochs)
{
    struct Other {
        Epoch epoch = 0;
        bool came_after = false;
        std::atomic<bool> done = false;
        std::thread thread;
    };
    std::deque<Other> others; // one for each run of the body
    Epoch mine = 0;
    target().write([&](WriteTransaction& transaction) {
        mine = pool().next_epoch();
        Bytes seen;
        transaction.get(as_bytes("theirs"), seen);
        transaction.put(as_bytes("mine"), as_bytes("value"));
        Other& other = others.emplace_back();
        other.thread = std::thread([&] {
            target().write([&](WriteTransaction& theirs) {
                other.epoch = pool().next_epoch();
                Bytes seen;
                theirs.get(as_bytes("mine"), seen);
                theirs.put(as_bytes("theirs"), as_bytes("value"));
            });
            other.came_after = get(target(), "mine") == "value";
            other.done = true;
        });
        for (int wait = 0; wait < 50 && !other.done; ++wait) // never, where there is one writer at a time
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
    for (Other& other : others)
        other.thread.join();
    for (const Other& other : others)
        EXPECT_EQ(other.epoch > mine, other.came_after);
}

// A barrier lies ahead of the clock. Who reads what it wrote takes later epochs from then on.
TEST_P(Transactions, TellTheEpochsThatTheyHaveSeen)
{
    bool far = false;
    target().read([&](ReadTransaction& now) { far = now.network() != nullptr; });
    if (!far) GTEST_SKIP() << "what a read sees is not behind the clock";
    Epoch ahead = 0;
    target().write([&](WriteTransaction& transaction) {
        ahead = target().network()->barrier_epoch(0, 3);
        transaction.put(as_bytes("key"), as_bytes("value"));
        EXPECT_TRUE(transaction.take_barrier(ahead));
    });
    Epoch seen = 0;
    target().read([&](ReadTransaction& transaction) {
        Bytes value;
        EXPECT_TRUE(transaction.get(as_bytes("key"), value));
        seen = transaction.network()->seen();
    });
    EXPECT_GE(seen, ahead);
    EXPECT_GT(pool().next_epoch(), seen);
}

TEST_P(Transactions, OfManyThreadsAllCount)
{
    constexpr int threads = 6;
    const int each = GetParam().durability == Durability::power ? 60 : 400;
    std::atomic<int> refused{0};
    std::atomic<bool> writing{true};
    std::thread reader([&] { // the sum and the number of entries are always of one moment
        while (writing) {
            target().read([&](ReadTransaction& transaction) {
                Bytes sum;
                if (!transaction.get(as_bytes("sum"), sum)) return;
                Entry entry;
                int found = 0;
                for (bool more = transaction.seek(as_bytes("t"), entry); more; more = transaction.next(entry))
                    ++found;
                EXPECT_EQ(std::to_string(found), text_of(sum));
            });
        }
    });
    std::vector<std::thread> writers;
    for (int thread = 0; thread < threads; ++thread) {
        writers.emplace_back([&, thread] {
            for (int n = 0; n < each; ++n) {
                try {
                    target().write([&](WriteTransaction& transaction) {
                        Bytes sum;
                        const int old = transaction.get(as_bytes("sum"), sum) ? std::stoi(text_of(sum)) : 0;
                        transaction.put(as_bytes("sum"), as_bytes(std::to_string(old + 1)));
                        transaction.put(as_bytes("t" + std::to_string(thread) + "-" + std::to_string(n)), {});
                        if (n % 10 == 3) throw std::runtime_error("refused");
                    });
                } catch (const std::runtime_error&) {
                    ++refused;
                }
            }
        });
    }
    for (auto& writer : writers)
        writer.join();
    writing = false;
    reader.join();
    EXPECT_EQ(refused, threads * each / 10);
    EXPECT_EQ(get(target(), "sum"), std::to_string(threads * each - refused));
}

TEST_P(Transactions, GiveWhatAMapWouldGive)
{
    // Random updates and moves, the same on a std::map.
    std::mt19937 random(12345);
    std::map<std::string, std::string> model;
    for (int round = 0; round < 30; ++round) {
        const auto dice = random;
        const auto before = model;
        target().write([&](WriteTransaction& transaction) {
            random = dice; // the body may run again
            model = before;
            for (int step = 0; step < 100; ++step) {
                const std::string key = "k" + std::to_string(random() % 300);
                if (random() % 3 == 0) {
                    EXPECT_EQ(transaction.erase(as_bytes(key)), model.erase(key) == 1);
                    continue;
                }
                const std::string value(random() % (random() % 10 == 0 ? 20000 : 200),
                                        static_cast<char>('a' + step % 26));
                transaction.put(as_bytes(key), as_bytes(value));
                model[key] = value;
            }
        });
        target().read([&](ReadTransaction& transaction) {
            for (int step = 0; step < 50; ++step) {
                const std::string key = "k" + std::to_string(random() % 300);
                Entry entry;
                auto expected = model.lower_bound(key);
                ASSERT_EQ(transaction.seek(as_bytes(key), entry), expected != model.end());
                for (int move = 0; move < 4 && expected != model.end(); ++move) {
                    ASSERT_EQ(text_of(entry.key), expected->first);
                    ASSERT_EQ(text_of(entry.value), expected->second);
                    ASSERT_EQ(transaction.next(entry), ++expected != model.end());
                }
                expected = model.lower_bound(key);
                ASSERT_EQ(transaction.seek_last(as_bytes(key), entry), expected != model.begin());
                if (expected == model.begin()) continue;
                ASSERT_EQ(text_of(entry.key), (--expected)->first);
            }
        });
    }
    EXPECT_EQ(target().check(), std::vector<std::string>{});
}

// Also one that a back end keeps elsewhere, and that is gone when the body comes to it.
TEST_P(Transactions, AValueThatIsReplacedWhileABodyReadsIsOneOfBoth)
{
    const auto replace = [&](std::uint64_t seed) {
        target().write([&](WriteTransaction& transaction) {
            Bytes old;
            transaction.get(as_bytes("large"), old);
            transaction.put(as_bytes("large"), pattern(300'000, seed));
        });
    };
    put(target(), "key", "value");
    replace(1);
    int runs = 0;
    std::vector<std::byte> seen;
    target().read([&](ReadTransaction& transaction) {
        const Bytes both[] = {as_bytes("key"), as_bytes("large")};
        transaction.expect(both);
        Bytes value;
        ASSERT_TRUE(transaction.get(both[0], value));
        if (++runs <= 3) {
            std::thread([&] {
                replace(static_cast<std::uint64_t>(1 + runs));
                target().extent_files(); // what was released is gone
            }).join();
        }
        ASSERT_TRUE(transaction.get(both[1], value));
        seen.assign(value.begin(), value.end());
    });
    bool known = false;
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        known = known || seen == pattern(300'000, seed);
    EXPECT_TRUE(known) << seen.size() << " bytes";
}

INSTANTIATE_TEST_SUITE_P(Backends, Transactions, every_kind(), ::testing::PrintToStringParamName());

} // namespace

} // namespace stepstore::store
