// A pool on a file system that several machines share belongs to one of them at a time. Processes that
// pretend to run on other machines (base/process.h).
#include "support/processes.h"
#include "support/store_fixture.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <thread>

namespace stepstore::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Machines : public ::testing::Test {
protected:
    void SetUp() override
    {
        PoolOptions options;
        options.targets = 2;
        ASSERT_EQ(run_in_child([&] {
                      Pool::create(path, options)->create_container(uuid_of(1), "test", {});
                      return 0;
                  }),
                  0);
    }
    static void be_on(const char* machine, const char* timeout = "60")
    {
        setenv("STEPSTORE_TEST_MACHINE", machine, 1);
        setenv("STEPSTORE_MACHINE_TIMEOUT_SECS", timeout, 1);
    }
    static void put(Pool& pool, const std::string& value)
    {
        pool.open_container("test")->kv_put(kv_object(1), as_bytes("key"), as_bytes(value));
    }
    std::string get() const
    {
        const auto container = Pool::open(path, Access::read_only)->open_container("test");
        const auto value = kv_read(*container, kv_object(1), as_bytes("key"));
        return value ? std::string(as_text(*value)) : "(none)";
    }

    // A process on a machine that has the pool open, for writing, until it is told to end.
    struct Holder {
        pid_t process = 0;
        int over = -1;
        int end()
        {
            (void)!write(over, "x", 1);
            return end_of(process);
        }
    };
    Holder hold(const char* machine, const char* timeout, Access access, std::function<int()> then = {}) const
    {
        int ready[2], over[2];
        EXPECT_EQ(pipe2(ready, O_CLOEXEC) + pipe2(over, O_CLOEXEC), 0);
        const pid_t child = start_child([&] {
            be_on(machine, timeout);
            const auto pool = Pool::open(path, access);
            if (access == Access::read_write) put(*pool, machine);
            (void)!write(ready[1], "x", 1);
            char byte;
            (void)!read(over[0], &byte, 1);
            if (!then) return 0;
            put(*pool, "later");
            return then();
        });
        char byte;
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        return {child, over[1]};
    }

    TemporaryDirectory directory;
    const std::string path = directory / "pool";
};

TEST_F(Machines, AreRefusedWhileAnotherWrites)
{
    Holder first = hold("alpha", "60", Access::read_write);
    EXPECT_EQ(run_in_child([&] {
                  be_on("beta");
                  for (const Access access : {Access::read_write, Access::read_only}) {
                      std::string message;
                      if (der_of([&] { Pool::open(path, access); }, &message) != DER_BUSY) return 1;
                      for (const char* part : {"alpha", "beta", "daos://", "one machine"})
                          if (message.find(part) == std::string::npos) return 2;
                  }
                  if (der_of([&] { Pool::destroy(path); }) != DER_BUSY) return 3;
                  return der_of([&] { Pool::create(path, {}); }) == DER_EXIST ? 0 : 4;
              }),
              0);
    EXPECT_EQ(run_in_child([&] { // but not the others of the same machine
                  be_on("alpha");
                  put(*Pool::open(path, Access::read_write), "of the second");
                  return get() == "of the second" ? 0 : 1;
              }),
              0);
    EXPECT_TRUE(fs::exists(path + "/machine"));
    EXPECT_EQ(first.end(), 0);
    EXPECT_FALSE(fs::exists(path + "/machine")) << "the last one of the machine gives it back";
    EXPECT_EQ(run_in_child([&] {
                  be_on("beta");
                  put(*Pool::open(path, Access::read_write), "beta");
                  return get() == "beta" ? 0 : 1;
              }),
              0);
}

TEST_F(Machines, ReadWhatNobodyWritesFromAnywhere)
{
    Holder first = hold("alpha", "60", Access::read_only);
    EXPECT_EQ(run_in_child([&] {
                  be_on("beta");
                  return get() == "(none)" ? 0 : 1;
              }),
              0);
    EXPECT_FALSE(fs::exists(path + "/machine"));
    EXPECT_EQ(first.end(), 0);
}

// What a reader maps and writes, the machine that writes later would find overwritten.
TEST_F(Machines, ThatOnlyReadLeaveNoTrace)
{
    const auto changed = [&] {
        fs::file_time_type newest{};
        for (const auto& entry : fs::recursive_directory_iterator(path))
            if (entry.is_regular_file()) newest = std::max(newest, entry.last_write_time());
        return newest;
    };
    const auto before = changed();
    const auto counters = [&] {
        std::uint64_t fetches = 0;
        for (const TargetInfo& target : Pool::open(path, Access::read_only)->query().targets)
            fetches += target.counters.fetches;
        return fetches;
    };
    const auto counted = counters();
    EXPECT_EQ(run_in_child([&] {
                  be_on("beta");
                  return get() == "(none)" ? 0 : 1;
              }),
              0);
    EXPECT_EQ(changed(), before);
    EXPECT_EQ(counters(), counted);
    EXPECT_EQ(run_in_child([&] { // one who reads first and writes then
                  be_on("beta");
                  const auto reader = Pool::open(path, Access::read_only)->open_container("test");
                  put(*Pool::open(path, Access::read_write), "of one who had read");
                  const auto value = kv_read(*reader, kv_object(1), as_bytes("key"));
                  return value && as_text(*value) == "of one who had read" ? 0 : 1;
              }),
              0);
}

TEST_F(Machines, TakeOverFromOneThatDied)
{
    const Holder first = hold("alpha", "1.5", Access::read_write);
    kill(first.process, SIGKILL);
    end_of(first.process);
    EXPECT_EQ(run_in_child([&] { // a sign that looks fresh is not doubted
                  be_on("beta", "1.5");
                  return der_of([&] { Pool::open(path, Access::read_write); }) == DER_BUSY ? 0 : 1;
              }),
              0);
    std::this_thread::sleep_for(1100ms);
    EXPECT_EQ(run_in_child([&] {
                  be_on("beta", "1.5");
                  put(*Pool::open(path, Access::read_write), "beta");
                  return get() == "beta" ? 0 : 1;
              }),
              0);
    EXPECT_FALSE(fs::exists(path + "/machine"));
}

TEST_F(Machines, TakeOverAtOnceFromTheSameOneBeforeItsRestartOrWhenToldTo)
{
    for (const auto& [machine, timeout] : {std::pair("alpha/second", "60"), std::pair("beta", "0")}) {
        const Holder first = hold("alpha/first", "60", Access::read_write);
        kill(first.process, SIGKILL);
        end_of(first.process);
        EXPECT_EQ(run_in_child([&, machine = machine, timeout = timeout] {
                      be_on(machine, timeout);
                      put(*Pool::open(path, Access::read_write), machine);
                      return get() == machine ? 0 : 1;
                  }),
                  0);
    }
}

TEST_F(Machines, ThatWereStoppedForTooLongLearnThatTheyLostIt)
{
    const Holder first = hold("alpha", "0.6", Access::read_write, [] { return 0; });
    kill(first.process, SIGSTOP);
    std::this_thread::sleep_for(500ms);
    Holder second = hold("beta", "0.6", Access::read_write);
    kill(first.process, SIGCONT);
    Holder again = first;
    EXPECT_EQ(again.end(), 255) << "what it puts must not be acknowledged";
    EXPECT_EQ(second.end(), 0);
}

TEST_F(Machines, GiveSignsAsLongAsTheyLive)
{
    Holder first = hold("alpha", "0.6", Access::read_write);
    std::this_thread::sleep_for(1500ms);
    EXPECT_EQ(run_in_child([&] {
                  be_on("beta", "0.6");
                  return der_of([&] { Pool::open(path, Access::read_write); }) == DER_BUSY ? 0 : 1;
              }),
              0);
    EXPECT_EQ(first.end(), 0);
}

TEST_F(Machines, RaceForAPoolThatNobodyHas)
{
    for (int round = 0; round < 5; ++round) {
        std::vector<pid_t> children;
        int ready[2];
        ASSERT_EQ(pipe(ready), 0);
        for (int number = 0; number < 6; ++number) {
            children.push_back(start_child([&, number] {
                be_on(("machine" + std::to_string(number)).c_str());
                std::shared_ptr<Pool> pool;
                const int error = der_of([&] { pool = Pool::open(path, Access::read_write); });
                char byte;
                close(ready[1]);
                (void)!read(ready[0], &byte, 1); // until all have tried
                return error == 0 ? 10 : error == DER_BUSY ? 11 : 12;
            }));
        }
        close(ready[0]);
        std::this_thread::sleep_for(300ms);
        close(ready[1]);
        int had = 0, refused = 0;
        for (const pid_t child : children) {
            const int end = end_of(child);
            had += end == 10;
            refused += end == 11;
        }
        EXPECT_EQ(had, 1);
        EXPECT_EQ(refused, 5);
    }
}

// A handle whose pool was removed by other means than by us.
TEST_F(Machines, NoPutIsAcknowledgedOnceThePoolsFilesAreRemoved)
{
    EXPECT_EQ(
        run_in_child([&] {
            auto pool = Pool::open(path, Access::read_write);
            auto container = pool->open_container("test");
            for (int n = 0; n < 100; ++n)
                container->kv_put(kv_object(1, class_sx), as_bytes(std::to_string(n)), as_bytes("value"));
            fs::remove_all(path);
            std::this_thread::sleep_for(20ms);
            for (int n = 0; n < 100; ++n) {
                std::string message;
                const int error = der_of(
                    [&] {
                        container->kv_put(kv_object(1, class_sx), as_bytes(std::to_string(n)),
                                          as_bytes("new"));
                    },
                    &message);
                if (n == 0 && (error != DER_STALE || message.find("removed") == std::string::npos)) return 1;
                if (error == 0)
                    std::this_thread::sleep_for(1ms); // within a few milliseconds of the last look
            }
            std::this_thread::sleep_for(20ms);
            const int last = der_of([&] { container->kv_put(kv_object(1, class_sx), as_bytes("a"), {}); });
            return last == DER_STALE ? 0 : 2;
        }),
        0);
}

} // namespace
} // namespace stepstore::testing
