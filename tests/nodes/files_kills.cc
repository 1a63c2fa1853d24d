// Processes that update the same keys of a pool in files, and are killed at any moment.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <atomic>
#include <csignal>
#include <map>
#include <sys/mman.h>
#include <thread>

namespace stepstore::testing {
namespace {

constexpr int processes = 4, rounds = 12, counters = 3;

// Shared by all processes of the test: what was acknowledged.
struct Told {
    std::atomic<std::uint64_t> counted[processes][counters]; // of this process, since the beginning
    std::atomic<std::uint64_t> inserted[64];                 // successes of inserts, by key
    std::atomic<std::uint64_t> put[processes];               // the last number that was put
};

std::uint64_t number_at(Container& container, const std::string& key)
{
    const auto value = kv_read(container, kv_object(1), as_bytes(key));
    return value ? std::stoull(std::string(as_text(*value))) : 0;
}

[[noreturn]] void work(const std::string& path, int process, Told& told)
{
    const auto container = Pool::open(path, Access::read_write)->open_container("test");
    std::mt19937_64 random(static_cast<std::uint64_t>(getpid()));
    for (;;) {
        const auto which = static_cast<int>(random() % counters);
        const std::string counter = "counter-" + std::to_string(which);
        const auto old = kv_read(*container, kv_object(1), as_bytes(counter));
        const std::string next = std::to_string((old ? std::stoull(std::string(as_text(*old))) : 0) + 1);
        const Precondition same = old ? Precondition::equals(*old) : Condition::must_not_exist;
        const int code =
            der_of([&] { container->kv_put(kv_object(1), as_bytes(counter), as_bytes(next), same); });
        if (code == 0)
            ++told.counted[process][which];
        else if (code != DER_MISMATCH && code != DER_EXIST)
            _exit(9);
        const auto key = random() % 64;
        const std::string name = "once-" + std::to_string(key);
        if (der_of([&] {
                container->kv_put(kv_object(2), as_bytes(name), as_bytes(name), Condition::must_not_exist);
            }) == 0)
            ++told.inserted[key];
        const std::uint64_t own = told.put[process] + 1;
        container->kv_put(kv_object(3), as_bytes("own-" + std::to_string(process)), pattern(own % 9000, own));
        told.put[process] = own;
    }
}

TEST(FilesKills, NoAcknowledgedUpdateIsLostAndNoneIsDoneTwice)
{
    const TemporaryDirectory directory;
    const std::string path = directory / "pool";
    PoolOptions options;
    options.backend = "files";
    Pool::create(path, options)->create_container(uuid_of(1), "test", {});
    void* memory = mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& told = *new (memory) Told{};
    std::mt19937 random(3);
    for (int round = 1; round <= rounds; ++round) {
        std::vector<pid_t> children;
        for (int process = 0; process < processes; ++process)
            children.push_back(start_child([&]() -> int { work(path, process, told); }));
        std::this_thread::sleep_for(std::chrono::milliseconds(30 + random() % 120));
        for (const pid_t child : children) {
            kill(child, SIGKILL);
            ASSERT_EQ(end_of(child), -SIGKILL);
        }
        const auto container = Pool::open(path, Access::read_write)->open_container("test");
        for (int which = 0; which < counters; ++which) {
            std::uint64_t acknowledged = 0;
            for (auto& process : told.counted)
                acknowledged += process[which];
            const std::uint64_t counted = number_at(*container, "counter-" + std::to_string(which));
            EXPECT_GE(counted, acknowledged);
            EXPECT_LE(counted, acknowledged + static_cast<std::uint64_t>(round * processes))
                << "those in flight";
        }
        for (int process = 0; process < processes; ++process) {
            const std::uint64_t last = told.put[process];
            const auto value = kv_read(*container, kv_object(3), as_bytes("own-" + std::to_string(process)));
            if (last == 0) continue;
            ASSERT_TRUE(value);
            EXPECT_TRUE(*value == pattern(last % 9000, last) ||
                        *value == pattern((last + 1) % 9000, last + 1));
            if (*value != pattern(last % 9000, last)) told.put[process] = last + 1;
        }
        EXPECT_TRUE(undamaged(Pool::check(path, {.data = true, .repair = round % 3 == 0})));
    }
    for (const auto& successes : told.inserted)
        EXPECT_LE(successes, 1U);
    Pool::check(path, {.data = true, .repair = true});
    EXPECT_EQ(Pool::check(path, {}).reclaimable_bytes, 0U) << "a repair leaves nothing";
}

// At any instant each key has its value: from its own file, or from the packed one.
TEST(FilesKills, ACompactionThatIsKilledLosesNothing)
{
    const TemporaryDirectory directory;
    const std::string path = directory / "pool";
    PoolOptions options;
    options.backend = "files";
    std::map<std::string, std::vector<std::byte>> expected[2];
    {
        const auto container = Pool::create(path, options)->create_container(uuid_of(1), "test", {});
    }
    std::mt19937 random(5);
    int finished = 0, cut = 0;
    for (std::uint64_t round = 1; round <= 24; ++round) {
        {
            const auto container = Pool::open(path, Access::read_write)->open_container("test");
            for (std::uint64_t object = 0; object < 2; ++object) {
                for (int update = 0; update < 40; ++update) {
                    const std::string key = "key-" + std::to_string(random() % 120);
                    auto value = pattern(random() % 3000, round);
                    if (random() % 4 == 0) {
                        container->kv_remove(kv_object(object), as_bytes(key));
                        expected[object].erase(key);
                    } else {
                        container->kv_put(kv_object(object), as_bytes(key), value);
                        expected[object][key] = std::move(value);
                    }
                }
            }
        }
        const pid_t child = start_child([&] {
            Pool::open(path, Access::read_write)->compact();
            return 0;
        });
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
        kill(child, SIGKILL);
        ++(end_of(child) == 0 ? finished : cut);
        const auto container = Pool::open(path, Access::read_only)->open_container("test");
        for (std::uint64_t object = 0; object < 2; ++object) {
            std::map<std::string, std::vector<std::byte>> found;
            for (const std::string& key : list_keys(*container, kv_object(object)))
                found[key] = kv_read(*container, kv_object(object), as_bytes(key)).value();
            ASSERT_EQ(found, expected[object]) << "round " << round << ", object " << object;
        }
        ASSERT_TRUE(undamaged(Pool::check(path, {.data = true, .repair = round % 3 == 0})));
    }
    EXPECT_GT(cut, 0);
    Pool::check(path, {.data = true, .repair = true});
    EXPECT_EQ(Pool::check(path, {}).reclaimable_bytes, 0U);
    Pool::open(path, Access::read_write)->compact();
}

} // namespace
} // namespace stepstore::testing
