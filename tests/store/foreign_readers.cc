// Readers that may not write a file of the pool, so that writers do not know of them: another user at umask
// 022. STEPSTORE_SECONDS: how long they run beside writers (default 4). STEPSTORE_KEYS: how many there are of
// the object that is long to list (default 60,000).
#include "support/processes.h"
#include "support/store_fixture.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>

namespace stepstore::testing {
namespace {

constexpr unsigned stranger = 65534;
constexpr int keys = 500;
constexpr std::uint64_t sizes[] = {24, 100, 5000, 70000};

std::string key_of(int number)
{
    return "key-" + std::to_string(number);
}

int number_in(const char* variable, int otherwise)
{
    const char* given = std::getenv(variable);
    return given != nullptr ? std::atoi(given) : otherwise;
}

std::vector<std::byte> value_of(int number, std::uint64_t turn)
{
    auto value = pattern(sizes[(static_cast<std::uint64_t>(number) + turn) % 4], turn);
    store_little(value.data(), static_cast<std::uint64_t>(number));
    store_little(value.data() + 8, turn);
    return value;
}

class ForeignReaders : public StoreTest {
protected:
    using Clock = std::chrono::steady_clock;
    static constexpr unsigned targets = 2;
    static constexpr std::uint64_t writers = 4;

    void SetUp() override
    {
        if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
        umask(022);
        open_pool("lmdb", targets);
        for (auto at = std::filesystem::path(path); at != at.root_path() && at != "/tmp" && at != "/dev/shm";
             at = at.parent_path())
            std::filesystem::permissions(
                at, std::filesystem::perms::others_read | std::filesystem::perms::others_exec,
                std::filesystem::perm_options::add);
        for (int number = 0; number < keys; ++number)
            container->kv_put(object, as_bytes(key_of(number)), value_of(number, 0));
        container.reset(); // a child would open it as its parent had it
        pool.reset();
    }
    void put_many() const
    {
        const auto mine = Pool::open(path, Access::read_write)->open_container("test");
        for (int number = 0; number < many; ++number)
            mine->kv_put(long_object, as_bytes(key_of(number)), pattern(100, static_cast<unsigned>(number)));
    }
    static bool over(Clock::time_point end) { return Clock::now() > end; }
    static Clock::time_point the_end()
    {
        return Clock::now() + std::chrono::seconds(number_in("STEPSTORE_SECONDS", 4));
    }
    static bool become_stranger() { return setgid(stranger) == 0 && setuid(stranger) == 0; }
    static bool damaged(const CheckReport& report)
    {
        for (const CheckFinding& one : report.findings)
            if (one.severity == CheckFinding::Severity::damage)
                std::fprintf(stderr, "false finding: %s: %s\n", one.where.c_str(), one.what.c_str());
        return report.damaged();
    }
    static int count_keys(Container& of, const ObjectId& listed)
    {
        ListPosition position;
        int count = 0;
        of.kv_list(listed, position, [&](Bytes) { return ++count < 1'000'000; });
        return count;
    }
    // All values are whole, all keys are there. Returns what a child process ends with.
    int read_once(Container& mine) const
    {
        for (int number = 0; number < keys; number += 7) {
            const auto value = kv_read(mine, object, as_bytes(key_of(number)));
            if (!value || value->size() < 16) return 2;
            const auto turn = load_little<std::uint64_t>(value->data() + 8);
            if (*value != value_of(number, turn)) return 3;
        }
        if (kv_read(mine, object, as_bytes(std::string("no such key")))) return 4;
        return count_keys(mine, object) == keys ? 0 : 5;
    }
    // As a stranger, until the end and at least once. Every `check_every`th time with a check.
    int read_all_of_it(Clock::time_point end, unsigned check_every = 0) const
    {
        if (!become_stranger()) return 1;
        unsigned rounds = 0;
        unsigned checks = 0;
        double longest = 0;
        do {
            const auto begun = Clock::now();
            const auto mine = Pool::open(path, Access::read_only)->open_container("test");
            if (const int wrong = read_once(*mine); wrong != 0) return wrong;
            if (check_every != 0 && ++rounds % check_every == 0) {
                if (damaged(Pool::check(path, {}))) return 6;
                ++checks;
            }
            longest = std::max(longest, std::chrono::duration<double>(Clock::now() - begun).count());
        } while (!over(end));
        if (check_every != 0)
            std::fprintf(stderr, "a reader: %u rounds, %u checks, the longest round %.2f s\n", rounds, checks,
                         longest);
        return 0;
    }
    int write_on(std::uint64_t writer, Clock::time_point end) const
    {
        const auto mine = Pool::open(path, Access::read_write)->open_container("test");
        std::uint64_t turn = writer + 1;
        for (; !over(end); turn += writers) {
            const int number = static_cast<int>(turn * 31 % keys);
            mine->kv_put(object, as_bytes(key_of(number)), value_of(number, turn));
        }
        if (std::getenv("STEPSTORE_SECONDS") != nullptr)
            std::fprintf(stderr, "a writer: %llu updates\n", static_cast<unsigned long long>(turn / writers));
        return 0;
    }
    // Small values, as fast as it goes, until it is killed.
    int write_for_ever(std::uint64_t writer) const
    {
        const auto mine = Pool::open(path, Access::read_write)->open_container("test");
        const auto value = pattern(100, writer);
        for (std::uint64_t turn = writer;; turn += writers)
            mine->kv_put(long_object, as_bytes(key_of(static_cast<int>(turn * 31 % many))), value);
    }
    std::vector<pid_t> start_busy_writers() const
    {
        std::vector<pid_t> all;
        for (std::uint64_t writer = 0; writer < writers; ++writer)
            all.push_back(start_child([&] { return write_for_ever(writer); }));
        return all;
    }
    static void kill_all(const std::vector<pid_t>& children)
    {
        for (const pid_t child : children) {
            kill(child, SIGKILL);
            EXPECT_EQ(end_of(child), -SIGKILL);
        }
    }
    std::string kept(unsigned target) const { return path + "/target-00" + std::to_string(target) + "/kept"; }
    bool any_kept() const { return std::filesystem::exists(kept(0)) || std::filesystem::exists(kept(1)); }
    // Announces a reader at each target, as anybody may who may read data.mdb, until the child is killed.
    pid_t announce_for_ever() const
    {
        return start_child([&] {
            if (!become_stranger()) return 1;
            for (unsigned target = 0; target < targets; ++target) {
                const std::string index = path + "/target-00" + std::to_string(target) + "/data.mdb";
                const int fd = open(index.c_str(), O_RDONLY);
                struct flock lock {};
                lock.l_type = F_RDLCK; // the whole file
                if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) != 0) return 2;
            }
            for (;;)
                pause();
        });
    }
    // By which an index may grow before a writer looks what is pinned: docs/design/lmdb-backend.md.
    static constexpr std::uint64_t step = 16 << 20; // bytes
    // So many updates of 2,000 small values.
    int write_some(int updates) const
    {
        const auto mine = Pool::open(path, Access::read_write)->open_container("test");
        for (int turn = 0; turn < updates; ++turn)
            mine->kv_put(long_object, as_bytes(key_of(turn * 31 % 2000)), pattern(100, 1));
        return 0;
    }
    std::uint64_t longest_index() const
    {
        std::uint64_t longest = 0;
        for (unsigned target = 0; target < targets; ++target)
            longest = std::max<std::uint64_t>(
                longest,
                std::filesystem::file_size(path + "/target-00" + std::to_string(target) + "/data.mdb"));
        return longest;
    }
    // This process sees the pool on a mount that cannot be written, and is root. False: the system refuses.
    bool mount_read_only() const
    {
        constexpr unsigned long again = MS_BIND | MS_REMOUNT | MS_RDONLY;
        return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
               mount(nullptr, path.c_str(), nullptr, again, nullptr) == 0;
    }
    template <class Condition>
    static bool soon(Condition condition)
    {
        for (const auto end = Clock::now() + std::chrono::seconds(20); !over(end); usleep(2000))
            if (condition()) return true;
        return false;
    }
    const int many = number_in("STEPSTORE_KEYS", 60'000);
    const ObjectId object = kv_object(1, class_sx);
    const ObjectId long_object = kv_object(2, class_sx);
};

TEST_F(ForeignReaders, ReadListAndCheckBesideWritersWithoutAFalseError)
{
    const auto end = the_end();
    std::vector<pid_t> children;
    for (std::uint64_t writer = 0; writer < writers; ++writer)
        children.push_back(start_child([&] { return write_on(writer, end); }));
    for (int reader = 0; reader < 4; ++reader)
        children.push_back(start_child([&] { return read_all_of_it(end, 3); }));
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
}

TEST_F(ForeignReaders, ReadAPoolThatNobodyWrites)
{
    EXPECT_EQ(run_in_child([&] { return read_all_of_it(Clock::now()); }), 0);
}

TEST_F(ForeignReaders, CheckWhatNobodyWritesAndFindNothing)
{
    EXPECT_EQ(run_in_child([&] {
                  if (!become_stranger()) return 1;
                  return Pool::check(path, {}).damaged() ? 2 : 0;
              }),
              0);
}

TEST_F(ForeignReaders, ReadListAndCheckOnAReadOnlyMount)
{
    constexpr int refused = 99;
    const auto read_there = [&] {
        return run_in_child([&] {
            if (!mount_read_only()) return refused;
            if (std::ofstream(path + "/new")) return 1;
            for (int round = 0; round < 5; ++round) {
                const auto mine = Pool::open(path, Access::read_only)->open_container("test");
                if (const int wrong = read_once(*mine); wrong != 0) return wrong;
                if (damaged(Pool::check(path, {}))) return 6;
            }
            return der_of([&] { Pool::open(path, Access::read_write); }) == DER_NO_PERM ? 0 : 7;
        });
    };
    const int alone = read_there();
    if (alone == refused) GTEST_SKIP() << "needs the right to mount";
    EXPECT_EQ(alone, 0);
    const auto busy = start_busy_writers();
    EXPECT_EQ(read_there(), 0) << "beside writers";
    kill_all(busy);
}

// The walk of a check takes as long as thousands of updates.
TEST_F(ForeignReaders, ListAndCheckManyKeysBesideBusyWriters)
{
    ASSERT_EQ(run_in_child([&] { return put_many(), 0; }), 0);
    const auto busy = start_busy_writers();
    EXPECT_EQ(run_in_child([&] {
                  if (!become_stranger()) return 1;
                  for (int round = 0; round < 3; ++round) {
                      const auto mine = Pool::open(path, Access::read_only)->open_container("test");
                      if (count_keys(*mine, long_object) != many) return 2;
                      if (damaged(Pool::check(path, {}))) return 3;
                  }
                  return 0;
              }),
              0);
    kill_all(busy);
}

// A read sees all that was acknowledged before it began, also where a version is kept since long.
TEST_F(ForeignReaders, SeeTheLatestUpdateWhileAnOlderVersionIsKept)
{
    const pid_t announced = announce_for_ever();
    const auto busy = start_busy_writers();
    ASSERT_TRUE(soon([&] { return any_kept(); }));
    int asked[2], answered[2];
    ASSERT_EQ(pipe(asked) + pipe(answered), 0);
    const pid_t reader = start_child([&] {
        if (!become_stranger()) return 1;
        const auto mine = Pool::open(path, Access::read_only)->open_container("test");
        std::uint64_t turn = 0;
        while (read(asked[0], &turn, sizeof turn) == sizeof turn && turn != 0) {
            const auto value = kv_read(*mine, object, as_bytes(key_of(1)));
            if (!value || *value != value_of(1, turn)) return 2;
            if (write(answered[1], "x", 1) != 1) return 3;
        }
        return 0;
    });
    {
        close(answered[1]);
        const auto mine = Pool::open(path, Access::read_write)->open_container("test");
        char byte = 0;
        for (std::uint64_t turn = 1; turn <= 300; ++turn) {
            mine->kv_put(object, as_bytes(key_of(1)), value_of(1, turn));
            ASSERT_EQ(write(asked[1], &turn, sizeof turn), static_cast<ssize_t>(sizeof turn));
            if (read(answered[0], &byte, 1) != 1) break;
        }
    }
    const std::uint64_t last = 0;
    ASSERT_EQ(write(asked[1], &last, sizeof last), static_cast<ssize_t>(sizeof last));
    EXPECT_EQ(end_of(reader), 0);
    kill_all(busy);
    kill_all({announced});
    for (const int fd : {asked[0], asked[1], answered[0]})
        close(fd);
}

TEST_F(ForeignReaders, ReadRightValuesWhileWritersAreKilled)
{
    const pid_t announced = announce_for_ever(); // so that those who are killed keep
    const auto end = the_end();
    std::vector<pid_t> readers;
    for (int reader = 0; reader < 2; ++reader)
        readers.push_back(start_child([&] { return read_all_of_it(end, 2); }));
    std::vector<pid_t> all(writers);
    const auto start = [&](std::uint64_t writer) {
        all[writer] = start_child([&] { return write_on(writer, Clock::time_point::max()); });
    };
    for (std::uint64_t writer = 0; writer < writers; ++writer)
        start(writer);
    for (std::uint64_t turn = 0; !over(end); ++turn) {
        usleep(20'000);
        kill_all({all[turn % writers]});
        start(turn % writers);
    }
    for (const pid_t reader : readers)
        EXPECT_EQ(end_of(reader), 0);
    kill_all(all);
    kill_all({announced});
}

TEST_F(ForeignReaders, PinNoMoreThanHalfTheBoundHoweverLongTheyAreThere)
{
    const std::uint64_t before = longest_index();
    const pid_t announced = announce_for_ever();
    constexpr std::uint64_t bound = 8; // MiB
    EXPECT_EQ(run_in_child([&] {
                  setenv("STEPSTORE_PINNED_LIMIT", std::to_string(bound).c_str(), 1);
                  setenv("STEPSTORE_WAIT_LIMIT", "3", 1);
                  return write_some(20'000); // some 150 MB of pages at each target
              }),
              0);
    EXPECT_TRUE(any_kept());
    EXPECT_LT(longest_index(), before + (bound << 20) + step) << before;
    kill_all({announced});
}

// A process that keeps a version and writes no more, because it computes or is stopped.
TEST_F(ForeignReaders, NobodyWaitsForAKeeperThatDoesNotGoOn)
{
    const std::uint64_t before = longest_index();
    const pid_t announced = announce_for_ever();
    const pid_t keeper = start_child([&] {
        const auto mine = Pool::open(path, Access::read_write)->open_container("test");
        for (int turn = 0; !std::filesystem::exists(kept(0)) || !std::filesystem::exists(kept(1)); ++turn)
            mine->kv_put(long_object, as_bytes(key_of(turn % many)), pattern(100, 1));
        raise(SIGSTOP);
        mine->kv_put(long_object, as_bytes(key_of(1)), pattern(100, 1));
        return 0;
    });
    int status = 0;
    ASSERT_EQ(waitpid(keeper, &status, WUNTRACED), keeper);
    ASSERT_TRUE(WIFSTOPPED(status));
    constexpr std::uint64_t bound = 8; // MiB
    EXPECT_EQ(run_in_child([&] {
                  setenv("STEPSTORE_PINNED_LIMIT", std::to_string(bound).c_str(), 1);
                  setenv("STEPSTORE_WAIT_LIMIT", "3", 1);
                  return write_some(20'000);
              }),
              0);
    EXPECT_LT(longest_index(), before + (bound << 20) + step) << before;
    // Readers find a keeper that goes on.
    const auto busy = start_busy_writers();
    EXPECT_EQ(run_in_child([&] {
                  if (!become_stranger()) return 1;
                  return damaged(Pool::check(path, {})) ? 2 : 0;
              }),
              0);
    kill_all(busy);
    kill(keeper, SIGCONT);
    EXPECT_EQ(end_of(keeper), 0);
    kill_all({announced});
}

TEST_F(ForeignReaders, ThatAreNotThereCostNothing)
{
    ASSERT_EQ(run_in_child([&] { return write_some(5000); }), 0);
    EXPECT_FALSE(any_kept());
    EXPECT_EQ(run_in_child([&] { // who may write has a slot of LMDB's
                  const auto mine = Pool::open(path, Access::read_only)->open_container("test");
                  return count_keys(*mine, object) == keys && !Pool::check(path, {}).damaged() ? 0 : 1;
              }),
              0);
    EXPECT_FALSE(any_kept());
    // What was kept is given up when the reader has gone.
    const pid_t announced = announce_for_ever();
    const auto busy = start_busy_writers();
    EXPECT_TRUE(soon([&] { return any_kept(); }));
    kill_all({announced});
    EXPECT_TRUE(soon([&] { return !any_kept(); }));
    kill_all(busy);
}

// What is no file of a keeper's is no reason for a wrong value, and is replaced.
TEST_F(ForeignReaders, BelieveNoFileThatNoKeeperHolds)
{
    const std::string elsewhere = directory / "elsewhere";
    std::ofstream(elsewhere) << "mine";
    const std::vector<std::function<void(const std::string&)>> kinds{
        [](const std::string& file) { std::ofstream(file) << ""; },
        [](const std::string& file) { std::ofstream(file) << "STKEPT1\n"; },
        [](const std::string& file) { std::ofstream(file) << std::string(48, 'x'); },
        [](const std::string& file) { std::filesystem::create_directory(file); },
        [&](const std::string& file) { std::filesystem::create_symlink(elsewhere, file); },
        [](const std::string& file) { mkfifo(file.c_str(), 0644); },
    };
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        for (unsigned target = 0; target < targets; ++target) {
            for (const char* suffix : {"", ".new", ".void"}) {
                std::filesystem::remove(kept(target) + suffix);
                kinds[kind](kept(target) + suffix);
            }
        }
        const auto busy = start_busy_writers();
        EXPECT_EQ(run_in_child([&] {
                      if (!become_stranger()) return 1;
                      const auto mine = Pool::open(path, Access::read_only)->open_container("test");
                      if (count_keys(*mine, object) != keys) return 2;
                      return damaged(Pool::check(path, {})) ? 3 : 0;
                  }),
                  0)
            << "kind " << kind;
        kill_all(busy);
    }
    std::string content;
    std::ifstream(elsewhere) >> content;
    EXPECT_EQ(content, "mine");
}

// A keeper's own index is mapped anew, forks, and closes the pool, while it keeps.
TEST_F(ForeignReaders, AreKeptAVersionByAProcessThatForksAndGrowsItsMap)
{
    const pid_t announced = announce_for_ever();
    EXPECT_EQ(run_in_child([&] {
                  for (int round = 0; round < 3; ++round) {
                      const auto mine = Pool::open(path, Access::read_write)->open_container("test");
                      const auto value = pattern(60'000, 1);
                      for (int turn = 0; turn < 1500; ++turn) // 45 MB and more at each target
                          mine->kv_put(long_object, as_bytes(key_of(round * 1500 + turn)), value);
                      if (!any_kept()) return 1;
                      const int child = run_in_child([&] {
                          mine->kv_put(long_object, as_bytes(key_of(0)), value);
                          return kv_read(*mine, long_object, as_bytes(key_of(1))) ? 0 : 1;
                      });
                      if (child != 0) return 2;
                      mine->kv_put(long_object, as_bytes(key_of(0)), value);
                  }
                  return 0;
              }),
              0);
    kill_all({announced});
    ASSERT_EQ(run_in_child([&] { return write_some(1000); }), 0);
}

// Updates that wait for the disk are committed together: by another path of the code.
TEST_F(ForeignReaders, AreKeptAVersionByThreadsOfAProcess)
{
    for (const Durability durability : {Durability::process, Durability::power}) {
        ASSERT_EQ(run_in_child([&] {
                      Pool::destroy(path);
                      PoolOptions options;
                      options.backend = "lmdb";
                      options.targets = targets;
                      options.durability = durability;
                      const auto made = Pool::create(path, options);
                      made->create_container(uuid_of(1), "test", {});
                      const auto mine = made->open_container("test");
                      for (int number = 0; number < keys; ++number)
                          mine->kv_put(object, as_bytes(key_of(number)), value_of(number, 0));
                      return 0;
                  }),
                  0);
        const std::uint64_t turns = durability == Durability::process ? 400 : 60;
        const auto end = Clock::now() + std::chrono::seconds(2);
        const pid_t announced = announce_for_ever();
        const pid_t reader = start_child([&] { return read_all_of_it(end, 2); });
        EXPECT_EQ(run_in_child([&] {
                      std::atomic<int> wrong = 0;
                      std::atomic<bool> seen = false;
                      while (!over(end)) { // closed and opened again
                          const auto mine = Pool::open(path, Access::read_write)->open_container("test");
                          std::vector<std::thread> threads;
                          for (int thread = 0; thread < 4; ++thread)
                              threads.emplace_back([&, thread] {
                                  for (std::uint64_t turn = 1; turn < turns; ++turn) {
                                      const int number = (thread + static_cast<int>(turn) * 4) % keys;
                                      mine->kv_put(object, as_bytes(key_of(number)), value_of(number, turn));
                                      if (!kv_read(*mine, object, as_bytes(key_of(thread)))) wrong = 1;
                                  }
                                  if (any_kept()) seen = true;
                              });
                          for (std::thread& thread : threads)
                              thread.join();
                      }
                      return wrong != 0 ? 1 : seen ? 0 : 2;
                  }),
                  0);
        EXPECT_EQ(end_of(reader), 0);
        kill_all({announced});
    }
}

TEST_F(ForeignReaders, MayBeForkedByAProcessThatWrites)
{
    const auto mine = Pool::open(path, Access::read_write);
    const auto open = mine->open_container("test");
    open->kv_put(object, as_bytes(key_of(1)), value_of(1, 7));
    EXPECT_EQ(run_in_child([&] {
                  if (!become_stranger()) return 1;
                  const auto as_parent = kv_read(*open, object, as_bytes(key_of(1)));
                  if (!as_parent || *as_parent != value_of(1, 7)) return 2;
                  const auto own = Pool::open(path, Access::read_only)->open_container("test");
                  if (count_keys(*own, object) != keys) return 3;
                  for (const ObjectId& one : {object, array_object(3)}) {
                      const int code = der_of([&] {
                          if (one == object)
                              open->kv_put(one, as_bytes(key_of(1)), value_of(1, 8));
                          else
                              write_cells(*open, one, {1, 1 << 20}, 0, pattern(200'000, 1));
                      });
                      if (code != DER_NO_PERM) return 4;
                  }
                  if (der_of([&] { Pool::open(path, Access::read_write); }) != DER_NO_PERM) return 5;
                  return kv_read(*open, object, as_bytes(key_of(2))) ? 0 : 6;
              }),
              0);
    open->kv_put(object, as_bytes(key_of(1)), value_of(1, 9));
    EXPECT_EQ(*kv_read(*open, object, as_bytes(key_of(1))), value_of(1, 9));
}

} // namespace
} // namespace stepstore::testing
