// Processes that stop within a transaction: who waits for them says so, gives up after a limit, and goes on
// where they do.
#include "base/interrupt.h"
#include "contract/backend_fixture.h"
#include "support/processes.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

namespace stepstore::store {

namespace {

using testing::end_of;
using testing::run_in_child;
using testing::start_child;
using namespace std::chrono_literals;

std::string content_of(const std::string& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

int count_of(const std::string& text, const std::string& part)
{
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

// Its stderr goes to `file`; a hang ends it.
void be_a_witness(const std::string& file, const char* wait_limit)
{
    alarm(60);
    setenv("STEPSTORE_WAIT_LIMIT", wait_limit, 1);
    (void)!freopen(file.c_str(), "w", stderr);
}

class Stopped : public ::testing::TestWithParam<Durability> {
protected:
    void SetUp() override { lmdb().create(path(), {1, GetParam()}); }
    const Backend& lmdb() const { return backend_named("lmdb"); }
    std::string path() const { return directory_ / "pool"; }
    std::string errors() const { return directory_ / "stderr"; }

    // A child that stops within a transaction on target 0. The rest of it runs once it goes on.
    pid_t stopped_child(bool writes)
    {
        const pid_t child = start_child([&] {
            const auto pool = open_claimed(lmdb(), path());
            int wrong = 1;
            if (writes) {
                bool once = true;
                pool->target(0).write([&](WriteTransaction& transaction) {
                    transaction.put(as_bytes("stopped"), as_bytes("written"));
                    if (std::exchange(once, false)) raise(SIGSTOP);
                });
                return 0;
            }
            pool->target(0).read([&](ReadTransaction& transaction) {
                raise(SIGSTOP);
                Bytes value;
                wrong = transaction.get(as_bytes("key"), value) && text_of(value) == "before" ? 0 : 1;
            });
            return wrong;
        });
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
        EXPECT_TRUE(WIFSTOPPED(status));
        return child;
    }
    testing::TemporaryDirectory directory_;
};

TEST_P(Stopped, AWaiterSaysOnWhomItWaitsAndGivesUpAfterTheLimit)
{
    const pid_t writer = stopped_child(true);
    const int waiter = run_in_child([&] {
        be_a_witness(errors(), "6");
        const auto pool = open_claimed(lmdb(), path());
        std::string text;
        if (code_of([&] { put(pool->target(0), "key", "waiter"); }, &text) != -DER_TIMEDOUT) return 1;
        const bool names =
            text.find("process " + std::to_string(writer) + " on host ") != std::string::npos &&
            text.find("stopped") != std::string::npos && text.find(" since ") != std::string::npos;
        return names && text.find("STEPSTORE_WAIT_LIMIT") != std::string::npos ? 0 : 2;
    });
    EXPECT_EQ(waiter, 0);
    const std::string told = content_of(errors());
    EXPECT_EQ(count_of(told, "warning"), 1) << told;
    EXPECT_EQ(count_of(told, "cannot write for 5 s: process " + std::to_string(writer)), 1) << told;
    EXPECT_EQ(count_of(told, "stopped"), 1) << told;
    kill(writer, SIGCONT);
    EXPECT_EQ(end_of(writer), 0);
    const auto pool = open_claimed(lmdb(), path());
    EXPECT_EQ(get(pool->target(0), "stopped"), "written");
    EXPECT_EQ(get(pool->target(0), "key"), "(none)");
    put(pool->target(0), "key", "after");
    EXPECT_EQ(get(pool->target(0), "key"), "after");
}

thread_local bool is_asked = false;

// Of two threads that wait one is asked to stop, by its host: it ends, and the other one writes.
TEST_P(Stopped, AWaiterThatIsAskedToStopEndsAlone)
{
    for (const bool first : {true, false}) {
        SCOPED_TRACE(first ? "it came first" : "it came second");
        const pid_t writer = stopped_child(true);
        const std::string ended = directory_ / (first ? "ended-1" : "ended-2");
        const pid_t waiter = start_child([&] {
            be_a_witness(errors(), "50");
            const auto pool = open_claimed(lmdb(), path());
            std::atomic<int> code = 0;
            const auto asked = [&] {
                is_asked = true;
                code = code_of([&] { put(pool->target(0), "asked", "stored"); });
                std::ofstream(ended) << "ended";
            };
            const auto other = [&] { put(pool->target(0), "other", first ? "one" : "two"); };
            ask_in_waits([] { return is_asked; });
            std::thread one = first ? std::thread(asked) : std::thread(other);
            std::this_thread::sleep_for(20ms); // most often the first one leads then
            std::thread two = first ? std::thread(other) : std::thread(asked);
            one.join();
            two.join();
            return code == -DER_CANCELED ? 0 : 1;
        });
        const auto until = std::chrono::steady_clock::now() + 40s;
        while (content_of(ended) != "ended" && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(1ms);
        EXPECT_EQ(content_of(ended), "ended") << "it waits for the writer";
        kill(writer, SIGCONT);
        EXPECT_EQ(end_of(writer), 0);
        EXPECT_EQ(end_of(waiter), 0);
        const auto pool = open_claimed(lmdb(), path());
        EXPECT_EQ(get(pool->target(0), "asked"), "(none)");
        EXPECT_EQ(get(pool->target(0), "other"), first ? "one" : "two");
    }
}

TEST_P(Stopped, AWaiterGoesOnWhenTheWriterIsKilled)
{
    const pid_t writer = stopped_child(true);
    const pid_t waiter = start_child([&] {
        be_a_witness(errors(), "30");
        const auto pool = open_claimed(lmdb(), path());
        put(pool->target(0), "key", "waiter");
        return 0;
    });
    usleep(300'000);
    const auto begun = std::chrono::steady_clock::now();
    kill(writer, SIGKILL);
    EXPECT_EQ(end_of(writer), -SIGKILL);
    EXPECT_EQ(end_of(waiter), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
    EXPECT_EQ(content_of(errors()), "");
    const auto pool = open_claimed(lmdb(), path());
    EXPECT_EQ(get(pool->target(0), "key"), "waiter");
    EXPECT_EQ(get(pool->target(0), "stopped"), "(none)");
}

// A turn that a fork happened in stays the parent's.
TEST_P(Stopped, AForkWithinATransactionTakesNoTurn)
{
    const auto pool = open_claimed(lmdb(), path());
    pid_t child = 0;
    pool->target(0).write([&](WriteTransaction& transaction) {
        transaction.put(as_bytes("parent"), as_bytes("1"));
        if (child == 0)
            child = start_child([&] {
                put(pool->target(0), "child", "1"); // waits for the parent
                return get(pool->target(0), "parent") == "1" ? 0 : 1;
            });
        usleep(200'000);
        EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the child wrote beside its parent";
    });
    EXPECT_EQ(end_of(child), 0);
    EXPECT_EQ(get(pool->target(0), "child"), "1");
}

// LMDB's first user of a lock file has written version 0 there, and not yet the newest one.
TEST_P(Stopped, AnIndexIsOpenedRightWhereAnotherWasKilledOpeningIt)
{
    put(open_claimed(lmdb(), path())->target(0), "key", "before");
    const pid_t opener = start_child([&] {
        struct flock whole {};
        whole.l_type = F_WRLCK;
        whole.l_whence = SEEK_SET;
        whole.l_len = 1;
        const int writers = open((path() + "/writers").c_str(), O_RDWR); // the lock on openers of target 0
        if (fcntl(writers, F_OFD_SETLK, &whole) != 0) return 1;
        const int lock = open((path() + "/target-000/lock.mdb").c_str(), O_RDWR);
        const std::uint64_t none = 0;
        constexpr off_t version_at = 8;
        if (fcntl(lock, F_SETLK, &whole) != 0 || pwrite(lock, &none, sizeof none, version_at) != sizeof none)
            return 2;
        raise(SIGSTOP);
        return 3;
    });
    int status = 0;
    ASSERT_EQ(waitpid(opener, &status, WUNTRACED), opener);
    ASSERT_TRUE(WIFSTOPPED(status));
    const pid_t waiter = start_child([&] {
        be_a_witness(errors(), "30");
        const auto pool = open_claimed(lmdb(), path());
        if (get(pool->target(0), "key") != "before") return 1;
        put(pool->target(0), "key", "after");
        return 0;
    });
    usleep(6'000'000);
    EXPECT_EQ(waitpid(waiter, nullptr, WNOHANG), 0);
    kill(opener, SIGKILL);
    EXPECT_EQ(end_of(opener), -SIGKILL);
    EXPECT_EQ(end_of(waiter), 0);
    EXPECT_EQ(count_of(content_of(errors()), "cannot open the index for 5 s: another process"), 1);
    EXPECT_EQ(get(open_claimed(lmdb(), path())->target(0), "key"), "after");
}

TEST_P(Stopped, OnlyWhoMayWriteCanTakeATurn)
{
    put(open_claimed(lmdb(), path())->target(0), "key", "1");
    ASSERT_TRUE(std::filesystem::exists(path() + "/writers"));
    if (geteuid() != 0) GTEST_SKIP() << "needs another user: run as root";
    for (auto above = std::filesystem::path(path()); above != "/tmp" && above.has_relative_path();
         above = above.parent_path())
        chmod(above.c_str(), 0755);
    EXPECT_EQ(run_in_child([&] {
                  if (setuid(65534) != 0) return 1;
                  const int fd = open((path() + "/writers").c_str(), O_RDWR);
                  return fd < 0 && errno == EACCES ? 0 : 2;
              }),
              0);
}

TEST_P(Stopped, AReaderKeepsNoMoreThanTheBoundFromBeingUsedAgain)
{
    put(open_claimed(lmdb(), path())->target(0), "key", "before");
    const pid_t reader = stopped_child(false);
    constexpr std::uint64_t bound = 16; // MiB
    const int writer = run_in_child([&] {
        be_a_witness(errors(), "6");
        setenv("STEPSTORE_PINNED_LIMIT", std::to_string(bound).c_str(), 1);
        const auto pool = open_claimed(lmdb(), path());
        const auto value = pattern(100'000, 1);
        std::string text;
        for (int n = 0; n < 1000; ++n) { // 100 MB
            const int code = code_of(
                [&] { pool->target(0).write([&](WriteTransaction& t) { t.put(as_bytes("key"), value); }); },
                &text);
            if (code == 0) continue;
            const bool names = text.find("process " + std::to_string(reader)) != std::string::npos &&
                               text.find("stopped") != std::string::npos;
            return code == -DER_TIMEDOUT && names ? 0 : 2;
        }
        return 1;
    });
    EXPECT_EQ(writer, 0);
    EXPECT_LT(std::filesystem::file_size(path() + "/target-000/data.mdb"), (bound + 4) << 20);
    const std::string told = content_of(errors());
    EXPECT_EQ(count_of(told, "grows because of a reader: process " + std::to_string(reader)), 1) << told;
    EXPECT_EQ(count_of(told, "cannot write for 5 s: process " + std::to_string(reader)), 1) << told;
    kill(reader, SIGCONT);
    EXPECT_EQ(end_of(reader), 0) << "the reader's version changed under it";
    const auto pool = open_claimed(lmdb(), path());
    put(pool->target(0), "key", "after");
    EXPECT_EQ(get(pool->target(0), "key"), "after");
}

INSTANTIATE_TEST_SUITE_P(Durabilities, Stopped, ::testing::Values(Durability::process, Durability::power),
                         [](const auto& one) {
                             return one.param == Durability::power ? "power" : "process";
                         });

} // namespace

} // namespace stepstore::store
