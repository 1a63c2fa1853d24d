// The embedded back end between processes: two at once, over fork, races, locks, permissions.
#include "base/files.h"
#include "contract/backend_fixture.h"
#include "support/processes.h"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

namespace stepstore::store {

namespace {

using testing::end_of;
using testing::run_in_child;
using testing::start_child;
namespace fs = std::filesystem;

class LmdbProcesses : public ::testing::Test {
protected:
    const Backend& lmdb() const { return backend_named("lmdb"); }
    std::unique_ptr<Storage> make(Durability durability = Durability::process)
    {
        return lmdb().create(path(), {3, durability});
    }
    std::string path() const { return directory_ / "pool"; }
    testing::TemporaryDirectory directory_;
};

// A commit writes its meta page, and then tells readers of it in lock.mdb. A writer that is killed in between
// leaves them with the version before, until another one commits.
TEST_F(LmdbProcesses, ReadersDoNotWaitForAWriterThatWasKilledBeforeItToldOfItsCommit)
{
    const auto pool = make();
    put(pool->target(0), "key", "old");
    EXPECT_EQ(get(pool->target(0), "key"), "old");
    put(pool->target(0), "key", "new");
    const Descriptor lock(open((path() + "/target-000/lock.mdb").c_str(), O_RDWR | O_CLOEXEC));
    constexpr off_t told_at = 48; // the last version that readers know of; after a mutex of 40 bytes
    std::uint64_t told = 0;
    ASSERT_EQ(pread(lock.get(), &told, sizeof told, told_at), static_cast<ssize_t>(sizeof told));
    const std::uint64_t before = told - 1;
    ASSERT_EQ(pwrite(lock.get(), &before, sizeof before, told_at), static_cast<ssize_t>(sizeof before));
    const int status = run_in_child([&] {
        alarm(60); // it must not wait for ever
        const bool here = get(pool->target(0), "key") == "old";
        const bool anew = get(lmdb().open(path())->target(0), "key") == "old";
        return here && anew ? 0 : 1;
    });
    ASSERT_EQ(status, 0);
    EXPECT_EQ(get(pool->target(0), "key"), "old");
    ASSERT_EQ(pwrite(lock.get(), &told, sizeof told, told_at), static_cast<ssize_t>(sizeof told));
    EXPECT_EQ(get(pool->target(0), "key"), "new");
}

TEST_F(LmdbProcesses, WriteAndReadOneTargetTogether)
{
    make();
    constexpr int processes = 4;
    constexpr int each = 300;
    std::vector<pid_t> children;
    for (int process = 0; process < processes; ++process) {
        children.push_back(start_child([&, process] {
            const auto pool = open_claimed(lmdb(), path());
            for (int n = 0; n < each; ++n) {
                const ExtentRef extent =
                    append(pool->target(0), {pattern(5000, static_cast<std::uint64_t>(n))});
                pool->target(0).write([&](WriteTransaction& transaction) {
                    Bytes sum;
                    const int old = transaction.get(as_bytes("sum"), sum) ? std::stoi(text_of(sum)) : 0;
                    transaction.put(as_bytes("sum"), as_bytes(std::to_string(old + 1)));
                    const std::string key = "p" + std::to_string(process) + "-" + std::to_string(n);
                    transaction.put(as_bytes(key), std::as_bytes(std::span(&extent, 1)));
                });
            }
            return 0;
        }));
    }
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    const auto pool = lmdb().open(path());
    EXPECT_EQ(get(pool->target(0), "sum"), std::to_string(processes * each));
    for (int process = 0; process < processes; ++process) {
        for (int n = 0; n < each; ++n) {
            const std::string stored =
                get(pool->target(0), "p" + std::to_string(process) + "-" + std::to_string(n));
            ExtentRef extent;
            ASSERT_EQ(stored.size(), sizeof extent);
            std::memcpy(&extent, stored.data(), sizeof extent);
            std::vector<std::byte> bytes(extent.length);
            pool->target(0).read_extent(extent, 0, bytes);
            ASSERT_EQ(bytes, pattern(5000, static_cast<std::uint64_t>(n)));
        }
    }
    EXPECT_LE(pool->target(0).extent_files().size(), std::size_t{processes});
    EXPECT_EQ(pool->target(0).check(), std::vector<std::string>{});
}

TEST_F(LmdbProcesses, FollowEachOthersGrowth)
{
    const auto pool = make();
    put(pool->target(0), "first", "value");
    const auto large = pattern(std::size_t{90} << 20, 1);
    ASSERT_EQ(run_in_child([&] {
                  const auto other = open_claimed(lmdb(), path());
                  other->target(0).write([&](WriteTransaction& t) { t.put(as_bytes("large"), large); });
                  return 0;
              }),
              0);
    pool->target(0).read([&](ReadTransaction& transaction) {
        Bytes value;
        ASSERT_TRUE(transaction.get(as_bytes("large"), value));
        EXPECT_EQ(checksum(value), checksum(large));
    });
    ASSERT_EQ(run_in_child([&] {
                  const auto other = open_claimed(lmdb(), path());
                  other->target(0).write([&](WriteTransaction& t) { t.put(as_bytes("larger"), large); });
                  return 0;
              }),
              0);
    put(pool->target(0), "second", "value"); // a writer meets it too
    EXPECT_EQ(get(pool->target(0), "second"), "value");
}

TEST_F(LmdbProcesses, GrowWhileThreadsRead)
{
    const auto pool = make();
    put(pool->target(0), "key", "value");
    std::atomic<bool> going{true};
    std::vector<std::thread> readers;
    for (int n = 0; n < 4; ++n) {
        readers.emplace_back([&] {
            while (going)
                ASSERT_EQ(get(pool->target(0), "key"), "value");
        });
    }
    const auto large = pattern(std::size_t{150} << 20, 1);
    pool->target(0).write([&](WriteTransaction& t) { t.put(as_bytes("large"), large); });
    going = false;
    for (auto& reader : readers)
        reader.join();
    EXPECT_EQ(get(pool->target(0), "large").size(), large.size());
}

TEST_F(LmdbProcesses, GiveTheIndexNoMoreFileThanItNeeds)
{
    const auto pool = make();
    put(pool->target(0), "key", "value");
    EXPECT_LT(fs::file_size(path() + "/target-000/data.mdb"), 1'000'000U);
}

TEST_F(LmdbProcesses, GoOnInAForkedChild)
{
    const auto pool = make();
    put(pool->target(0), "parent", "1");
    const ExtentRef extent = append(pool->target(0), {as_bytes("bulk of the parent")});
    const Epoch epoch = pool->next_epoch();
    std::vector<pid_t> children;
    for (int n = 0; n < 3; ++n) {
        children.push_back(start_child([&, n] {
            if (get(pool->target(0), "parent") == "(none)") return 1;
            std::vector<std::byte> bytes(extent.length);
            pool->target(0).read_extent(extent, 0, bytes);
            if (as_text(bytes) != "bulk of the parent") return 2;
            for (int round = 0; round < 200; ++round)
                put(pool->target(0), "child" + std::to_string(n), std::to_string(round));
            const ExtentRef mine = append(pool->target(0), {as_bytes("bulk of a child")});
            if (mine.file == extent.file) return 3; // the parent still appends there
            return pool->next_epoch() > epoch ? 0 : 4;
        }));
    }
    for (int round = 0; round < 200; ++round)
        put(pool->target(0), "parent", std::to_string(round));
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    for (int n = 0; n < 3; ++n)
        EXPECT_EQ(get(pool->target(0), "child" + std::to_string(n)), "199");
    EXPECT_EQ(get(pool->target(0), "parent"), "199");
    put(pool->target(0), "parent", "after");
    EXPECT_EQ(get(pool->target(0), "parent"), "after");
}

TEST_F(LmdbProcesses, CanCloseAnInheritedPoolInTheChild)
{
    auto pool = make();
    put(pool->target(0), "key", "1");
    EXPECT_EQ(run_in_child([&] {
                  pool.reset(); // never used here: the parent's locks and maps must stay its own
                  const auto own = open_claimed(lmdb(), path());
                  put(own->target(0), "key", "2");
                  return 0;
              }),
              0);
    EXPECT_EQ(get(pool->target(0), "key"), "2");
    put(pool->target(0), "key", "3");
    EXPECT_EQ(run_in_child([&] { return get(lmdb().open(path())->target(0), "key") == "3" ? 0 : 1; }), 0);
}

// The locks that LMDB has of a file go when the process closes any descriptor of it, an inherited one too.
TEST_F(LmdbProcesses, KeepTheirLocksWhenAnInheritedPoolIsClosed)
{
    auto pool = make();
    put(pool->target(0), "key", "1");
    int closed[2];
    ASSERT_EQ(pipe(closed), 0);
    const pid_t child = start_child([&] {
        char byte = 0;
        if (read(closed[0], &byte, 1) != 1) return 2;
        const auto own = open_claimed(lmdb(), path());
        put(own->target(0), "key", "2");
        pool.reset();
        return run_in_child([&] {
            const Descriptor file(::open((path() + "/target-000/lock.mdb").c_str(), O_RDWR | O_CLOEXEC));
            return file && !lock_bytes(file.get(), F_SETLK, F_WRLCK, 0, 1) ? 0 : 1;
        });
    });
    pool.reset();
    EXPECT_EQ(write(closed[1], "c", 1), 1);
    EXPECT_EQ(end_of(child), 0);
    close(closed[0]);
    close(closed[1]);
}

TEST_F(LmdbProcesses, AreNotKeptFromDestroyingByAChildThatInheritedThePool)
{
    auto pool = make();
    const pid_t child = start_child([] {
        pause();
        return 0;
    });
    pool.reset();
    EXPECT_EQ(code_of([&] { lmdb().destroy(path()); }), 0);
    kill(child, SIGKILL);
    end_of(child);
}

TEST_F(LmdbProcesses, RaceToMakeAPool)
{
    for (int round = 0; round < 5; ++round) {
        const std::string pool = directory_ / ("raced" + std::to_string(round));
        std::vector<pid_t> children;
        for (int n = 0; n < 6; ++n) {
            children.push_back(start_child([&] {
                const int code = code_of([&] { lmdb().create(pool, {2, Durability::process}); });
                return code == 0 ? 10 : code == -DER_EXIST ? 11 : 12;
            }));
        }
        int made = 0, refused = 0;
        for (const pid_t child : children) {
            const int end = end_of(child);
            made += end == 10;
            refused += end == 11;
        }
        EXPECT_EQ(made, 1);
        EXPECT_EQ(refused, 5);
    }
}

TEST_F(LmdbProcesses, ThatDieWhileMakingAPoolLeaveNothingInTheWay)
{
    for (int round = 0; round < 12; ++round) {
        const std::string pool = directory_ / ("half" + std::to_string(round));
        const pid_t child = start_child([&] {
            lmdb().create(pool, {40, Durability::process});
            return 0;
        });
        usleep(static_cast<useconds_t>(round * 700));
        kill(child, SIGKILL);
        end_of(child);
        const int code = code_of([&] { lmdb().create(pool, {2, Durability::process}); });
        EXPECT_TRUE(code == 0 || code == -DER_EXIST) << code;
        const auto opened = open_claimed(lmdb(), pool);
        EXPECT_EQ(opened->targets(), code == 0 ? 2U : 40U);
        put(opened->target(1), "key", "value");
        EXPECT_FALSE(fs::exists(pool + "/target-039") && code == 0)
            << "the dead maker's files are still there";
    }
}

TEST_F(LmdbProcesses, ThatDieWhileReadingGiveTheirSlotsBack)
{
    const auto pool = make();
    put(pool->target(0), "key", "value");
    // More readers than there are slots, all killed in the middle of a read.
    for (int round = 0; round < 3; ++round) {
        std::vector<pid_t> children;
        for (int n = 0; n < 30; ++n) {
            int ready[2];
            ASSERT_EQ(pipe(ready), 0);
            children.push_back(start_child([&]() -> int {
                const auto own = lmdb().open(path());
                std::vector<std::thread> threads;
                std::atomic<int> reading{0};
                for (int thread = 0; thread < 15; ++thread) {
                    threads.emplace_back([&] {
                        own->target(0).read([&](ReadTransaction&) {
                            if (++reading == 15) (void)!write(ready[1], "x", 1);
                            pause();
                        });
                    });
                }
                pause();
                return 0;
            }));
            char byte;
            ASSERT_EQ(read(ready[0], &byte, 1), 1);
            close(ready[0]);
            close(ready[1]);
        }
        for (const pid_t child : children) {
            kill(child, SIGKILL);
            end_of(child);
        }
    }
    EXPECT_EQ(run_in_child([&] { return get(lmdb().open(path())->target(0), "key") == "value" ? 0 : 1; }), 0);
    EXPECT_EQ(get(pool->target(0), "key"), "value");
}

TEST_F(LmdbProcesses, DestroyNoPoolThatAnotherHasOpen)
{
    make();
    int ready[2], over[2];
    ASSERT_EQ(pipe(ready) + pipe(over), 0);
    const pid_t child = start_child([&] {
        const auto pool = lmdb().open(path());
        (void)!write(ready[1], "x", 1);
        char byte;
        (void)!read(over[0], &byte, 1);
        return 0;
    });
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    std::string text;
    EXPECT_EQ(code_of([&] { lmdb().destroy(path()); }, &text), -DER_BUSY);
    EXPECT_NE(text.find(path()), std::string::npos);
    {
        const auto mine = open_claimed(lmdb(), path()); // and when it is open here too
        EXPECT_EQ(code_of([&] { lmdb().destroy(path()); }), -DER_BUSY);
        put(mine->target(0), "key", "value");
    }
    ASSERT_EQ(write(over[1], "x", 1), 1);
    EXPECT_EQ(end_of(child), 0);
    lmdb().destroy(path());
    EXPECT_FALSE(fs::exists(path()));
}

TEST_F(LmdbProcesses, DestroyNothingButTheirOwnFiles)
{
    make().reset();
    std::ofstream(path() + "/notes.txt") << "mine";
    std::ofstream(path() + "/target-001/notes.txt") << "mine";
    lmdb().destroy(path());
    EXPECT_TRUE(fs::exists(path() + "/notes.txt"));
    EXPECT_TRUE(fs::exists(path() + "/target-001/notes.txt"));
    EXPECT_FALSE(fs::exists(path() + "/target-000"));
    EXPECT_FALSE((lmdb().look(path()) == Found::pool));
}

TEST_F(LmdbProcesses, MakeNoPoolInADirectoryOfOtherThings)
{
    for (const char* name : {"results.txt", "meta", "lock", "shared"}) {
        const std::string place = directory_ / (std::string("place-") + name);
        fs::create_directory(place);
        std::ofstream(place + "/" + name) << "mine";
        std::string text;
        EXPECT_EQ(code_of([&] { lmdb().create(place, {}); }, &text), -DER_EXIST) << name;
        EXPECT_NE(text.find(place), std::string::npos) << text;
        EXPECT_NE(text.find(name), std::string::npos) << text;
        EXPECT_EQ(std::distance(fs::directory_iterator(place), {}), 1);
        EXPECT_EQ(fs::file_size(place + "/" + name), 4U);
    }
    std::ofstream(directory_ / "file") << "mine";
    EXPECT_EQ(code_of([&] { lmdb().create(directory_ / "file", {}); }), -DER_NOTDIR);
    EXPECT_EQ(code_of([&] { lmdb().create(directory_ / "file/pool", {}); }), -DER_NOTDIR);
    fs::create_directory(directory_ / "empty");
    EXPECT_EQ(code_of([&] { lmdb().create(directory_ / "empty", {}); }), 0);
    EXPECT_EQ(code_of([&] { lmdb().create(directory_ / "a/b/c", {}); }), 0);
}

TEST_F(LmdbProcesses, ReadADirectoryThatCannotBeWritten)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
    {
        const auto pool = make();
        put(pool->target(0), "key", "value");
        put(pool->meta(), "key", "value");
        append(pool->target(0), {pattern(10'000, 1)});
    }
    fs::permissions(directory_.path(), fs::perms::owner_all | fs::perms::group_all | fs::perms::others_read |
                                           fs::perms::others_exec);
    EXPECT_EQ(run_in_child([&] {
                  if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
                  const auto pool = lmdb().open(path());
                  if (get(pool->target(0), "key") != "value") return 2;
                  if (pool->target(0).extent_files().size() != 1) return 3;
                  std::string text;
                  if (code_of([&] { open_claimed(lmdb(), path()); }, &text) != -DER_NO_PERM) return 4;
                  if (text.find(path()) == std::string::npos || text.find("user 0") == std::string::npos)
                      return 5;
                  if (text.find("65534") == std::string::npos) return 6;
                  if (code_of([&] { lmdb().create(directory_ / "other", {}); }) != -DER_NO_PERM) return 7;
                  if (code_of([&] { lmdb().destroy(path()); }) != -DER_NO_PERM) return 8;
                  if (code_of([&] { pool->next_epoch(); }) != -DER_NO_PERM) return 9;
                  pool->target(0).count({1, 1, 1, 1});
                  return pool->target(0).check().empty() ? 0 : 10;
              }),
              0);
    fs::permissions(path() + "/stepstore.pool", fs::perms::owner_read);
    EXPECT_EQ(run_in_child([&] {
                  if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
                  std::string text;
                  if (code_of([&] { lmdb().open(path()); }, &text) != -DER_NO_PERM) return 2;
                  return text.find("user 0") != std::string::npos ? 0 : 3;
              }),
              0);
    EXPECT_EQ(get(open_claimed(lmdb(), path())->target(0), "key"), "value");
}

TEST_F(LmdbProcesses, GiveEpochsOnceOverAll)
{
    make();
    const std::string file = directory_ / "epochs";
    std::vector<pid_t> children;
    for (int n = 0; n < 4; ++n) {
        children.push_back(start_child([&] {
            const auto pool = open_claimed(lmdb(), path());
            std::vector<Epoch> given;
            for (int each = 0; each < 20'000; ++each)
                given.push_back(pool->next_epoch());
            const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
            const auto bytes = static_cast<ssize_t>(given.size() * sizeof(Epoch));
            return write(fd, given.data(), static_cast<std::size_t>(bytes)) == bytes ? 0 : 1;
        }));
    }
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    std::vector<Epoch> all(80'000);
    std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(all.data()), 80'000 * sizeof(Epoch));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    EXPECT_GT(open_claimed(lmdb(), path())->next_epoch(), all.back());
}

TEST_F(LmdbProcesses, ReadManyTargetsThroughSymbolicLinksAndRelativePaths)
{
    const auto pool = make();
    put(pool->target(2), "key", "value");
    fs::create_directory_symlink(path(), directory_ / "link");
    const auto linked = open_claimed(lmdb(), directory_ / "link");
    put(linked->target(2), "key", "through the link");
    EXPECT_EQ(get(pool->target(2), "key"), "through the link");
    const auto old = fs::current_path();
    fs::current_path(directory_.path());
    const auto relative = open_claimed(lmdb(), "pool");
    fs::current_path(old);
    put(relative->target(2), "key", "by the relative path");
    EXPECT_EQ(get(pool->target(2), "key"), "by the relative path");
    EXPECT_EQ(run_in_child([&] { return get(relative->target(2), "key") == "by the relative path" ? 0 : 1; }),
              0);
}

} // namespace

} // namespace stepstore::store
