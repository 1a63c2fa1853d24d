// What a sync of the embedded back end syncs: what any process wrote since the last one, and nothing else.
// The program's own fdatasync and fsync stand in front of the system's and note the files.
#include "contract/backend_fixture.h"
#include "support/processes.h"

#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

namespace stepstore::store {

namespace {

std::mutex guard; // guards noted
std::set<std::string> noted;

void note(int fd)
{
    std::error_code error;
    const auto file = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    const std::lock_guard lock(guard);
    noted.insert(error ? "?" : file.parent_path().filename() / file.filename());
}

int next(const char* name, int fd)
{
    note(fd);
    return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(fd);
}

std::set<std::string> synced_by(const std::function<void()>& action)
{
    {
        const std::lock_guard lock(guard);
        noted.clear();
    }
    action();
    const std::lock_guard lock(guard);
    return noted;
}

} // namespace

extern "C" [[gnu::visibility("default")]] int fdatasync(int fd)
{
    return next("fdatasync", fd);
}

extern "C" [[gnu::visibility("default")]] int fsync(int fd)
{
    return next("fsync", fd);
}

namespace {

class LmdbSync : public ::testing::Test {
protected:
    std::unique_ptr<Storage> open() { return open_claimed(backend_named("lmdb"), path_); }
    void make(Durability durability) { backend_named("lmdb").create(path_, {2, durability}); }
    static void write_bulk(Target& target)
    {
        const ExtentRef extent = append(target, {pattern(100'000, 1)});
        target.write(
            [&](WriteTransaction& t) { t.put(as_bytes("bulk"), std::as_bytes(std::span(&extent, 1))); });
    }

    testing::TemporaryDirectory directory_;
    const std::string path_ = directory_ / "pool";
};

bool any_index(const std::set<std::string>& files)
{
    return std::ranges::any_of(files, [](const std::string& file) { return file.ends_with("data.mdb"); });
}

bool any_extents(const std::set<std::string>& files)
{
    return std::ranges::any_of(files, [](const std::string& file) { return file.ends_with(".ext"); });
}

bool any_names(const std::set<std::string>& files)
{
    return std::ranges::any_of(files, [](const std::string& file) { return file.ends_with("/target-000"); });
}

TEST_F(LmdbSync, ANewPoolOfDurabilityPowerHasItsNameOnTheMedium)
{
    const std::string pool = directory_ / "new/pools/pool";
    const auto files = synced_by([&] { backend_named("lmdb").create(pool, {2, Durability::power}); });
    const std::string around = directory_.path().filename();
    for (const std::string& directory :
         {around, std::string("new"), std::string("pools"), std::string("pool")}) {
        EXPECT_TRUE(std::ranges::any_of(files, [&](const auto& file) {
            return file.ends_with("/" + directory);
        })) << directory;
    }
}

TEST_F(LmdbSync, OfATargetTakesWhatWasWrittenSinceTheLast)
{
    make(Durability::process);
    const auto pool = open();
    write_bulk(pool->target(0));
    const auto first = synced_by([&] { pool->target(0).sync(false); });
    EXPECT_TRUE(any_index(first));
    EXPECT_TRUE(any_extents(first));
    EXPECT_TRUE(synced_by([&] { pool->target(0).sync(false); }).empty()) << "nothing was written since";

    put(pool->target(0), "key", "value");
    EXPECT_TRUE(any_index(synced_by([&] { pool->target(0).sync(false); })));
    put(pool->target(1), "key", "value");
    EXPECT_TRUE(synced_by([&] { pool->target(0).sync(false); }).empty()) << "another target's business";
    EXPECT_TRUE(any_index(synced_by([&] { pool->target(1).sync(false); })));
}

TEST_F(LmdbSync, TakesWhatOtherProcessesWrote)
{
    make(Durability::process);
    const auto pool = open();
    put(pool->target(0), "key", "value");
    pool->target(0).sync(false);
    ASSERT_EQ(testing::run_in_child([&] {
                  write_bulk(open()->target(0));
                  return 0;
              }),
              0);
    const auto files = synced_by([&] { pool->target(0).sync(false); });
    EXPECT_TRUE(any_index(files));
    EXPECT_TRUE(any_extents(files));
}

TEST_F(LmdbSync, TakesTheNamesOfNewFilesOnceTheyAreOldEnoughOnlyOnce)
{
    make(Durability::process);
    const auto pool = open();
    write_bulk(pool->target(0));
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50)); // file times have a resolution of some milliseconds
    EXPECT_TRUE(any_names(synced_by([&] { pool->target(0).sync(false); })));
    write_bulk(pool->target(0));
    EXPECT_FALSE(any_names(synced_by([&] { pool->target(0).sync(false); }))) << "no file was made";
    ASSERT_EQ(testing::run_in_child([&] {
                  write_bulk(
                      open()->target(0)); // into a file of its own, since this process holds the other one
                  return 0;
              }),
              0);
    EXPECT_TRUE(any_names(synced_by([&] { pool->target(0).sync(false); })));
}

TEST_F(LmdbSync, OfItsOwnLeavesOtherProcessesExtentsToThem)
{
    make(Durability::process);
    const auto pool = open();
    write_bulk(pool->target(0));
    const auto mine = synced_by([&] { pool->target(0).sync(true); });
    EXPECT_TRUE(any_index(mine));
    EXPECT_TRUE(any_extents(mine));
    ASSERT_EQ(testing::run_in_child([&] {
                  write_bulk(open()->target(0));
                  write_bulk(open()->target(1));
                  return 0;
              }),
              0);
    EXPECT_TRUE(synced_by([&] { pool->target(0).sync(true); }).empty()) << "nothing of its own";
    EXPECT_TRUE(synced_by([&] { pool->target(1).sync(true); }).empty());

    put(pool->target(0), "key", "value");
    const auto key = synced_by([&] { pool->target(0).sync(true); });
    EXPECT_TRUE(any_index(key));
    EXPECT_FALSE(any_extents(key));
    write_bulk(pool->target(0));
    const auto again = synced_by([&] { pool->target(0).sync(true); });
    EXPECT_TRUE(any_extents(again));
    EXPECT_FALSE(any_names(again)) << "of the other process's file";
    const auto all = synced_by([&] { pool->target(0).sync(false); });
    EXPECT_TRUE(any_extents(all)) << "and they are not forgotten";
    EXPECT_TRUE(any_names(all));
}

TEST_F(LmdbSync, OfItsOwnIsNotForgottenWhenAllWasSyncedMeanwhile)
{
    make(Durability::process);
    const auto pool = open();
    pool->target(0).sync(false);
    const ExtentRef extent = append(pool->target(0), {pattern(100'000, 1)});
    put(pool->target(0), "key", "value");
    pool->target(0).sync(false); // the extent is not in the index yet
    pool->target(0).write(
        [&](WriteTransaction& t) { t.put(as_bytes("bulk"), std::as_bytes(std::span(&extent, 1))); });
    EXPECT_TRUE(any_index(synced_by([&] { pool->target(0).sync(true); })));
}

// An index is opened for writing when it is first written: what reads it meanwhile waits, and goes on.
TEST_F(LmdbSync, ReadersMeetTheFirstWriteOfTheirProcess)
{
    make(Durability::process);
    {
        const auto pool = open();
        put(pool->target(0), "key", "value");
    }
    for (int round = 0; round < 20; ++round) {
        const auto pool = open();
        std::atomic<bool> stop = false;
        std::atomic<int> reads = 0;
        std::vector<std::thread> readers;
        for (int i = 0; i < 3; ++i)
            readers.emplace_back([&] {
                while (!stop) {
                    EXPECT_EQ(get(pool->target(0), "key"), "value");
                    ++reads;
                }
            });
        while (reads < 10)
            std::this_thread::yield();
        put(pool->target(0), "round", std::to_string(round));
        const int before = reads;
        while (reads < before + 10)
            std::this_thread::yield();
        stop = true;
        for (auto& reader : readers)
            reader.join();
        EXPECT_EQ(get(pool->target(0), "round"), std::to_string(round));
    }
}

TEST_F(LmdbSync, AnIndexThatIsAwayWhenItIsFirstWrittenIsAnErrorUntilItIsBack)
{
    make(Durability::process);
    put(open()->target(0), "key", "value");
    const auto pool = open();
    EXPECT_EQ(get(pool->target(0), "key"), "value");
    const std::string data = path_ + "/target-000/data.mdb";
    std::filesystem::rename(data, data + ".away");
    EXPECT_THROW(put(pool->target(0), "key", "other"), Error);
    EXPECT_THROW(get(pool->target(0), "key"), Error);
    EXPECT_FALSE(std::filesystem::exists(data)) << "a new one would hide the old one";
    std::filesystem::rename(data + ".away", data);
    put(pool->target(0), "key", "other");
    EXPECT_EQ(get(pool->target(0), "key"), "other");
}

TEST_F(LmdbSync, HasNothingToDoWhereEveryUpdateIsSynced)
{
    make(Durability::power);
    const auto pool = open();
    EXPECT_TRUE(any_index(synced_by([&] { put(pool->target(0), "key", "value"); })));
    EXPECT_TRUE(any_extents(synced_by([&] { write_bulk(pool->target(0)); })));
    EXPECT_TRUE(synced_by([&] { pool->target(0).sync(false); }).empty());
}

} // namespace

} // namespace stepstore::store
