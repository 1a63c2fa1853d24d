// Updates on the condition of the value that is there, by many processes at once. The same tests run on a
// DAOS system (support/location.h), where such an update is a transaction. libdaos does not survive a fork:
// so all that uses the pool is a child, and each child connects by itself.
#include "stepstore/client.h"
#include "support/errors.h"
#include "support/location.h"
#include "support/processes.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <sys/mman.h>
#include <thread>

namespace stepstore::testing {
namespace {

constexpr unsigned processes = 4;

Bytes as_bytes(const std::string& text)
{
    return std::as_bytes(std::span(text));
}

// What children tell: in memory that they share.
struct Told {
    std::array<std::atomic<unsigned>, 256> begun{}, done{};
};

class Conditional : public ::testing::Test {
protected:
    void SetUp() override
    {
        void* memory = mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        told = new (memory) Told;
        ASSERT_EQ(run_in_child([&] {
                      if (daos() == nullptr) Pool::create(pool());
                      Pool::connect(pool()).create_container(label());
                      return 0;
                  }),
                  0);
    }
    void TearDown() override
    {
        EXPECT_EQ(run_in_child([&] { return Pool::connect(pool()).destroy_container(label(), true), 0; }), 0);
        munmap(told, sizeof(Told));
    }
    std::string pool() const
    {
        return daos() != nullptr ? "daos://" + std::string(daos()) : new_pool(directory);
    }
    static const char* daos() { return on_rados() ? nullptr : std::getenv("STEPSTORE_TEST_DAOS_POOL"); }
    std::string label() const { return directory.path().filename().string(); }

    // What `work` gives with a key-value object, in a child.
    pid_t start(const std::function<int(KeyValue&)>& work) const
    {
        return start_child([&] {
            const Pool connected = Pool::connect(pool());
            const Container container = connected.open_container(label());
            KeyValue values = container.key_value(container.object_id(1, 0, ObjectType::key_value, "S1"));
            return work(values);
        });
    }
    static std::optional<std::string> value_of(const KeyValue& values, const std::string& key)
    {
        const auto found = values.get(key);
        if (!found) return std::nullopt;
        return std::string(reinterpret_cast<const char*>(found->data()), found->size());
    }
    // Adds one to the number under the key, as often as it takes to be the one who does.
    static void add_one(KeyValue& values, const std::string& key)
    {
        for (;;) {
            const auto before = value_of(values, key);
            const std::string after = std::to_string(before ? std::stoul(*before) + 1 : 1);
            if (before ? values.put_if(key, as_bytes(*before), as_bytes(after))
                       : values.put_if(key, std::nullopt, as_bytes(after)))
                return;
        }
    }

    TemporaryDirectory directory;
    Told* told = nullptr;
};

TEST_F(Conditional, NothingIsChangedUnlessTheValueIsTheExpectedOne)
{
    EXPECT_EQ(end_of(start([](KeyValue& values) {
                  for (const std::size_t size : {1UL, 4096UL, 70'000UL, 300'000UL}) {
                      const std::string value(size, 'v'), longer = value + "w", other(size, 'o');
                      EXPECT_FALSE(values.put_if("key", as_bytes(value), as_bytes(other))) << size;
                      EXPECT_FALSE(values.remove_if("key", as_bytes(value)));
                      EXPECT_EQ(value_of(values, "key"), std::nullopt);
                      EXPECT_TRUE(values.put_if("key", std::nullopt, as_bytes(value)));
                      EXPECT_FALSE(values.put_if("key", std::nullopt, as_bytes(other)));
                      EXPECT_FALSE(values.put_if("key", as_bytes(other), as_bytes(other)));
                      EXPECT_FALSE(values.put_if("key", as_bytes(longer), as_bytes(other))) << size;
                      EXPECT_FALSE(values.remove_if("key", as_bytes(other)));
                      EXPECT_EQ(value_of(values, "key"), value);
                      EXPECT_TRUE(values.put_if("key", as_bytes(value), as_bytes(longer)));
                      EXPECT_FALSE(values.put_if("key", as_bytes(value), as_bytes(other))) << "shorter";
                      EXPECT_EQ(value_of(values, "key"), longer);
                      EXPECT_TRUE(values.remove_if("key", as_bytes(longer)));
                      EXPECT_EQ(value_of(values, "key"), std::nullopt);
                  }
                  return ::testing::Test::HasFailure() ? 1 : 0;
              })),
              0);
}

TEST_F(Conditional, OfManyProcessesOneWinsEachRound)
{
    constexpr unsigned rounds = 100;
    std::vector<pid_t> children;
    for (unsigned process = 0; process < processes; ++process)
        children.push_back(start([&, process](KeyValue& values) {
            const std::string mine = "of process " + std::to_string(process);
            for (unsigned round = 0; round < rounds; ++round) {
                ++told->begun[round];
                while (told->begun[round] < processes)
                    std::this_thread::yield();
                const std::string key = "round " + std::to_string(round / 2);
                // Odd rounds replace what the even ones have put; all expect the same.
                bool won = false;
                if (round % 2 == 0) {
                    won = values.put_if(key, std::nullopt, as_bytes(mine));
                } else {
                    while (told->done[round - 1] == 0)
                        std::this_thread::yield();
                    const std::string first = "of process " + std::to_string(told->done[round - 1] - 1);
                    won = values.put_if(key, as_bytes(first), as_bytes("again " + mine));
                }
                if (won && told->done[round].exchange(process + 1) != 0) return 1; // two have won
            }
            return 0;
        }));
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    EXPECT_EQ(end_of(start([&](KeyValue& values) {
                  for (unsigned round = 0; round < rounds; round += 2) {
                      const unsigned winner = told->done[round + 1];
                      EXPECT_NE(told->done[round], 0U) << "nobody has won round " << round;
                      EXPECT_NE(winner, 0U) << "nobody has won round " << round + 1;
                      EXPECT_EQ(value_of(values, "round " + std::to_string(round / 2)),
                                "again of process " + std::to_string(winner - 1));
                  }
                  return ::testing::Test::HasFailure() ? 1 : 0;
              })),
              0);
}

// Each addition that was acknowledged is there once. One that was cut off by a kill is there once, or not.
TEST_F(Conditional, KilledProcessesLeaveWhatIsThereOrIsNot)
{
    constexpr unsigned kills = 12, additions = 60;
    std::vector<pid_t> children;
    const auto counting = [&](unsigned number, unsigned count) {
        return start([&, number, count](KeyValue& values) {
            for (unsigned i = 0; i < count; ++i) {
                ++told->begun[number];
                add_one(values, "counter");
                ++told->done[number];
            }
            return 0;
        });
    };
    for (unsigned process = 0; process < processes; ++process)
        children.push_back(counting(process, additions));
    std::minstd_rand random(1);
    for (unsigned kill = 0; kill < kills; ++kill) {
        const unsigned number = processes + kill;
        const pid_t child = counting(number, UINT_MAX);
        const auto after = 1 + random() % 5;
        while (told->done[number] < after)
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        ::kill(child, SIGKILL);
        EXPECT_EQ(end_of(child), -SIGKILL);
    }
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    unsigned begun = 0, done = 0;
    for (unsigned number = 0; number < processes + kills; ++number) {
        begun += told->begun[number];
        done += told->done[number];
    }
    EXPECT_LE(begun - done, kills);
    EXPECT_EQ(end_of(start([&](KeyValue& values) {
                  const unsigned long there = std::stoul(value_of(values, "counter").value_or("0"));
                  EXPECT_GE(there, done);
                  EXPECT_LE(there, begun);
                  add_one(values, "counter"); // nobody is waited for
                  return ::testing::Test::HasFailure() ? 1 : 0;
              })),
              0);
}

} // namespace
} // namespace stepstore::testing
