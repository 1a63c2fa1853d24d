// Processes on a pool on Ceph that disturb each other as much as they can: updates of one key, forked
// children with their parent's pool, and processes that die with the turn (src/store/rados/target.cc).
#include "support/bare_ceph.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include "store/keys.h"

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <sys/mman.h>
#include <thread>

namespace stepstore::testing {
namespace {

using std::chrono::steady_clock;

constexpr int processes = 8;

double seconds_since(steady_clock::time_point begin)
{
    return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

// Of all processes of a test.
struct Shared {
    std::array<std::atomic<int>, processes> done{};
    std::array<std::atomic<double>, processes> longest{}; // seconds of an update
    std::atomic<bool> stop{false};
};

class RadosProcesses : public ::testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_EQ(run_in_child([&] {
                      PoolOptions options;
                      options.targets = 1;
                      Pool::create(path, options)->create_container(uuid_of(1), "test", {});
                      return 0;
                  }),
                  0);
    }
    void TearDown() override
    {
        EXPECT_EQ(run_in_child([&] {
                      // It is no record of the store.
                      storage()->target(0).write(
                          [](WriteTransaction& open) { open.erase(as_bytes("count")); });
                      const auto result = undamaged(Pool::check(path, {}));
                      EXPECT_TRUE(result);
                      return result ? 0 : 1;
                  }),
                  0);
        munmap(memory, sizeof(Shared));
    }
    std::shared_ptr<Container> open() const
    {
        return Pool::open(path, Access::read_write)->open_container("test");
    }
    // One more, on condition that nobody counts meanwhile.
    static void count(Target& target)
    {
        target.write([](WriteTransaction& transaction) {
            Bytes value;
            const int now =
                transaction.get(as_bytes("count"), value) ? std::stoi(std::string(as_text(value))) : 0;
            transaction.put(as_bytes("count"), as_bytes(std::to_string(now + 1)));
        });
    }
    static int counted(Target& target)
    {
        int now = 0;
        target.read([&](ReadTransaction& transaction) {
            Bytes value;
            if (transaction.get(as_bytes("count"), value)) now = std::stoi(std::string(as_text(value)));
        });
        return now;
    }
    std::unique_ptr<Storage> storage() const
    {
        auto opened = std::ranges::find(backends(), "rados", &Backend::name)->open(path);
        opened->claim();
        return opened;
    }
    pid_t start_counting(int process)
    {
        return start_child([&, process] {
            const auto mine = storage();
            const auto at = static_cast<std::size_t>(process);
            while (!shared.stop) {
                const auto begin = steady_clock::now();
                count(mine->target(0));
                shared.longest[at] = std::max(shared.longest[at].load(), seconds_since(begin));
                ++shared.done[at];
            }
            return 0;
        });
    }

    TemporaryDirectory directory;
    const std::string path = pool_path(directory, "rados", "pool");
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Shared& shared = *new (memory) Shared;
};

TEST_F(RadosProcesses, AllMakeProgressWithOneKey)
{
    std::vector<pid_t> children;
    for (int process = 0; process < processes; ++process)
        children.push_back(start_counting(process));
    std::this_thread::sleep_for(std::chrono::seconds(8));
    shared.stop = true;
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    int sum = 0, least = INT_MAX;
    for (const auto& done : shared.done) {
        sum += done;
        least = std::min(least, done.load());
    }
    EXPECT_EQ(run_in_child([&] { return counted(storage()->target(0)) == sum ? 0 : 1; }), 0);
    EXPECT_GT(least, 5);
    EXPECT_GT(least, sum / processes / 10); // nobody is left behind
    std::printf("%d updates in 8 s, the slowest process made %d\n", sum, least);
}

TEST_F(RadosProcesses, KilledOnesDelayTheOthersByThreeSeconds)
{
    std::vector<pid_t> children;
    for (int process = 0; process < processes; ++process)
        children.push_back(start_counting(process));
    int sum = 0;
    for (int process = 0; process < 3; ++process) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2111));
        kill(children[static_cast<std::size_t>(process)], SIGKILL);
        EXPECT_EQ(end_of(children[static_cast<std::size_t>(process)]), -SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::seconds(4));
    shared.stop = true;
    for (std::size_t process = 3; process < processes; ++process) {
        EXPECT_EQ(end_of(children[process]), 0);
        EXPECT_GT(shared.done[process], 5);
        EXPECT_LT(shared.longest[process], 8);
    }
    for (const auto& done : shared.done)
        sum += done;
    EXPECT_EQ(run_in_child([&] {
                  const int found = counted(storage()->target(0));
                  return found >= sum && found <= sum + 3 ? 0 : 1; // of a killed one the last is not told
              }),
              0);
}

// What a process leaves that dies between taking the turn and its update.
TEST_F(RadosProcesses, ATurnThatNobodyGivesBackEndsAfterThreeSeconds)
{
    EXPECT_EQ(run_in_child([&] {
                  BareCeph ceph(path);
                  librados::bufferlist token;
                  token.append("deadbeef");
                  int set = 0;
                  for (const std::string& object : ceph.objects())
                      if (object.ends_with(".t.0"))
                          set += ceph.io.omap_set(object, {{"T", token}}) == 0 ? 1 : 0;
                  return set == 1 ? 0 : 1;
              }),
              0);
    EXPECT_EQ(run_in_child([&] {
                  const auto container = open();
                  const auto begin = steady_clock::now();
                  container->kv_put(kv_object(1), as_bytes("key"), as_bytes("value"));
                  EXPECT_GT(seconds_since(begin), 2.5);
                  EXPECT_LT(seconds_since(begin), 6);
                  container->kv_put(kv_object(1), as_bytes("key"), as_bytes("other"));
                  EXPECT_LT(seconds_since(begin), 7);
                  return HasFailure() ? 1 : 0;
              }),
              0);
}

// A process that knows nothing of a key supposes that there is none. Then it looks at those around it.
TEST_F(RadosProcesses, AnUpdateThatSupposedWronglyAndThenLooksSeesOneMoment)
{
    const std::array keys{snapshot_key(7, 1), snapshot_key(7, 2), snapshot_key(7, 3)};
    const KeyBuffer scope = container_prefix(Space::snapshot, 7);
    const auto walk = [&](ReadTransaction& open) {
        std::set<std::string> found;
        Entry entry;
        for (bool more = open.seek_in(scope.view(), scope.view(), entry); more; more = open.next(entry))
            found.emplace(as_text(entry.key));
        return found;
    };
    EXPECT_EQ(run_in_child([&] {
                  storage()->target(0).write([&](WriteTransaction& open) {
                      for (const KeyBuffer& key : keys)
                          open.put(key.view(), as_bytes("here"));
                  });
                  return 0;
              }),
              0);
    EXPECT_EQ(run_in_child([&] {
                  const auto mine = storage();
                  bool first = false, second = false;
                  std::set<std::string> left;
                  mine->target(0).write([&](WriteTransaction& open) { // from now on it looks at the scope
                      walk(open);
                      open.put(as_bytes("count"), as_bytes("1"));
                  });
                  mine->target(0).write([&](WriteTransaction& open) {
                      first = open.erase(keys[0].view());
                      second = open.erase(keys[1].view());
                      left = walk(open);
                      open.put(as_bytes("count"), as_bytes("2"));
                  });
                  EXPECT_TRUE(first);
                  EXPECT_TRUE(second);
                  const std::set<std::string> expected{std::string(as_text(keys[2].view()))};
                  EXPECT_EQ(left, expected);
                  mine->target(0).read([&](ReadTransaction& open) { left = walk(open); });
                  EXPECT_EQ(left, expected);
                  mine->target(0).write([&](WriteTransaction& open) { open.erase(keys[2].view()); });
                  return HasFailure() ? 1 : 0;
              }),
              0);
}

TEST_F(RadosProcesses, APoolThatWasMadeAnewIsAnotherOne)
{
    const pid_t reader = start_child([&] {
        const auto before = Pool::open(path, Access::read_only);
        const auto container = before->open_container("test");
        raise(SIGSTOP);
        EXPECT_EQ(der_of([&] { kv_read(*container, kv_object(1), as_bytes("key")); }), DER_STALE);
        EXPECT_EQ(Pool::open(path, Access::read_only)->containers().front().label, "other");
        return HasFailure() ? 1 : 0;
    });
    int status = 0;
    EXPECT_EQ(waitpid(reader, &status, WUNTRACED), reader);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(run_in_child([&] {
                  Pool::destroy(path);
                  Pool::create(path, {})->create_container(uuid_of(2), "other", {});
                  return 0;
              }),
              0);
    kill(reader, SIGCONT);
    EXPECT_EQ(end_of(reader), 0);
}

// Parent and child update and read with the handles that the parent opened.
TEST_F(RadosProcesses, AForkedChildUsesWhatItsParentHasOpen)
{
    constexpr int rounds = 12;
    const auto use = [](Container& container, const std::string& who) {
        for (int round = 0; round < rounds; ++round) {
            const auto seed = static_cast<std::uint64_t>(round);
            const std::size_t size = round % 2 == 0 ? 500 : 5 << 20;
            container.kv_put(kv_object(1), as_bytes(who), pattern(size, seed));
            EXPECT_EQ(kv_read(container, kv_object(1), as_bytes(who)), pattern(size, seed));
            write_cells(container, array_object(2), {1, 1 << 20}, who == "child" ? 0 : 64 << 20,
                        pattern(size, seed));
        }
    };
    EXPECT_EQ(run_in_child([&] {
                  const auto container = open();
                  container->kv_put(kv_object(1), as_bytes("before"), pattern(3 << 20, 7));
                  const pid_t child = start_child([&] {
                      EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("before")), pattern(3 << 20, 7));
                      use(*container, "child");
                      return HasFailure() ? 1 : 0;
                  });
                  const pid_t killed = start_child([&] {
                      for (;;)
                          use(*container, "killed");
                      return 1;
                  });
                  use(*container, "parent");
                  EXPECT_EQ(end_of(child), 0);
                  EXPECT_NE(kv_read(*container, kv_object(1), as_bytes("killed")), std::nullopt);
                  kill(killed, SIGKILL);
                  EXPECT_EQ(end_of(killed), -SIGKILL);
                  use(*container, "parent");
                  for (const char* who : {"child", "parent"})
                      EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes(who)),
                                pattern(5 << 20, rounds - 1));
                  EXPECT_NE(kv_read(*container, kv_object(1), as_bytes("killed")), std::nullopt);
                  return HasFailure() ? 1 : 0;
              }),
              0);
}

} // namespace
} // namespace stepstore::testing
