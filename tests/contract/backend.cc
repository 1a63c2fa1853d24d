// The contract of store/backend.h for pools: creation, opening, destruction, epochs, counters.
#include "backend_fixture.h"

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

namespace stepstore::store {

namespace {

using Pools = BackendContract;

TEST(Registry, HoldsTheDefaultFirstAndEachNameOnce)
{
    ASSERT_GE(backends().size(), 2U);
    EXPECT_EQ(backends()[0].name, "lmdb");
    std::set<std::string> names;
    for (const Backend& one : backends())
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
}

TEST_P(Pools, RememberTheirTargets)
{
    EXPECT_EQ(pool().targets(), 4U);
    EXPECT_EQ(pool().path(), path("pool"));
    const auto again = factory().open(path("pool"));
    EXPECT_EQ(again->targets(), 4U);
}

TEST_P(Pools, AreNotCreatedTwice)
{
    put(target(), "key", "value");
    std::string text;
    EXPECT_EQ(code_of([&] { make("pool"); }, &text), -DER_EXIST);
    EXPECT_NE(text.find(path("pool")), std::string::npos) << text;
    EXPECT_EQ(get(target(), "key"), "value");
}

TEST_P(Pools, NeedATarget)
{
    EXPECT_EQ(code_of([&] { make("other", 0); }), -DER_INVAL);
    EXPECT_FALSE(factory().look(path("other")) == Found::pool);
}

TEST_P(Pools, AreNotOpenedWhereThereIsNone)
{
    std::string text;
    EXPECT_EQ(code_of([&] { open_claimed(factory(), path("nothing")); }, &text), -DER_NONEXIST);
    EXPECT_NE(text.find(path("nothing")), std::string::npos) << text;
    EXPECT_FALSE(factory().look(path("nothing")) == Found::pool);
    EXPECT_EQ(code_of([&] { factory().destroy(path("nothing")); }), -DER_NONEXIST);
}

TEST_P(Pools, AreMadeByExactlyOneOfManyCreators)
{
    for (int round = 0; round < 5; ++round) {
        const std::string name = "raced" + std::to_string(round);
        made_.push_back(path(name));
        std::atomic<int> made{0}, refused{0}, other{0};
        std::vector<std::thread> threads;
        for (int each = 0; each < 6; ++each) {
            threads.emplace_back([&] {
                const int code = code_of([&] { factory().create(path(name), {2, GetParam().durability}); });
                ++(code == 0 ? made : code == -DER_EXIST ? refused : other);
            });
        }
        for (auto& thread : threads)
            thread.join();
        EXPECT_EQ(made, 1);
        EXPECT_EQ(refused, 5);
        EXPECT_EQ(other, 0);
        EXPECT_EQ(open_claimed(factory(), path(name))->targets(), 2U);
    }
}

TEST_P(Pools, ShareWhatIsWrittenBetweenTheirOpeners)
{
    const auto second = open_claimed(factory(), path("pool"));
    put(target(1), "key", "one");
    EXPECT_EQ(get(second->target(1), "key"), "one");
    put(second->meta(), "key", "two");
    EXPECT_EQ(get(pool().meta(), "key"), "two");
    EXPECT_EQ(get(target(0), "key"), "(none)");
}

TEST_P(Pools, AreGoneOnceDestroyed)
{
    put(target(), "key", "value");
    pool_.reset();
    EXPECT_TRUE(factory().look(path("pool")) == Found::pool);
    factory().destroy(path("pool"));
    EXPECT_FALSE(factory().look(path("pool")) == Found::pool);
    EXPECT_EQ(code_of([&] { open_claimed(factory(), path("pool")); }), -DER_NONEXIST);
    pool_ = make("pool");
    EXPECT_EQ(get(target(), "key"), "(none)");
}

TEST_P(Pools, CanBeDestroyedAndMadeAnewWhileThisProcessHasThemOpen)
{
    put(target(), "key", "old");
    factory().destroy(path("pool"));
    const auto anew = make("pool");
    EXPECT_EQ(get(anew->target(0), "key"), "(none)");
    put(anew->target(0), "key", "new");
    EXPECT_EQ(get(factory().open(path("pool"))->target(0), "key"), "new");
}

TEST_P(Pools, GiveEachEpochOnceAndOnlyUpwards)
{
    constexpr int threads = 4;
    constexpr int each = 5000;
    std::vector<std::vector<Epoch>> given(threads);
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            for (int n = 0; n < each; ++n)
                given[static_cast<std::size_t>(thread)].push_back(pool().next_epoch());
        });
    }
    for (auto& thread : running)
        thread.join();
    std::vector<Epoch> all;
    for (const auto& list : given) {
        EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
        all.insert(all.end(), list.begin(), list.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    EXPECT_GT(pool().next_epoch(), all.back());
    EXPECT_GT(all.front(), 1'600'000'000'000'000'000U) << "not nanoseconds of the real-time clock";
}

TEST_P(Pools, CountPerTarget)
{
    const auto second = open_claimed(factory(), path("pool"));
    target(1).count({1, 2, 300, 400});
    second->target(1).count({10, 0, 5, 0});
    pool().meta().count({7, 0, 0, 0});
    const Counters counted = target(1).counters();
    EXPECT_EQ(counted.updates, 11U);
    EXPECT_EQ(counted.fetches, 2U);
    EXPECT_EQ(counted.bytes_written, 305U);
    EXPECT_EQ(counted.bytes_read, 400U);
    EXPECT_EQ(target(0).counters().updates, 0U);
    EXPECT_EQ(second->meta().counters().updates, 7U);
}

TEST_P(Pools, HaveTheCapabilitiesOfTheirFormAndItsNetwork)
{
    const Capabilities& declared = capabilities_of(pool().path());
    // By value: a module has a table of forms of its own.
    const auto are_declared = [&](const Capabilities& given) {
        return std::memcmp(&given, &declared, sizeof declared) == 0;
    };
    EXPECT_TRUE(are_declared(pool().capabilities()));
    const bool far = target().network() != nullptr;
    EXPECT_TRUE(far || !declared.network) << "round trips, and nothing that makes fewer of them";
    EXPECT_EQ(pool().has_barriers(), far);
    const auto look = [&](ReadTransaction& transaction) {
        EXPECT_TRUE(are_declared(transaction.capabilities()));
        EXPECT_TRUE(transaction.network() != nullptr || !declared.network);
    };
    target().read(look);
    target().write([&](WriteTransaction& transaction) {
        look(transaction);
        EXPECT_EQ(transaction.network() != nullptr, far) << "an update must be able to take a barrier";
    });
    EXPECT_GT(target().most_at_once(), 0U);
    EXPECT_GT(target().read_at_once(), 0U);
}

TEST_P(Pools, TellTheirSpace)
{
    const auto space = pool().space();
    if (GetParam().backend != "rados") { // a cluster without a manager does not know
        EXPECT_GT(space.total, 0U);
    }
    EXPECT_LE(space.free, space.total);
}

INSTANTIATE_TEST_SUITE_P(Backends, Pools, every_kind(), ::testing::PrintToStringParamName());

} // namespace

} // namespace stepstore::store
