// The embedded back end at its limits: full disks, limits on file sizes, many files, extent files of dead
// writers.
#include "contract/backend_fixture.h"
#include "support/processes.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/mount.h>
#include <sys/resource.h>
#include <thread>

namespace stepstore::store {

namespace {

using testing::run_in_child;
namespace fs = std::filesystem;

class LmdbLimits : public ::testing::Test {
protected:
    const Backend& lmdb() const { return backend_named("lmdb"); }
    std::string path() const { return directory_ / "pool"; }
    testing::TemporaryDirectory directory_;
};

// A small file system of its own, where this process may mount one.
class SmallDisk {
public:
    SmallDisk(const std::string& place, const char* size) : place_(place)
    {
        fs::create_directory(place);
        mounted_ = mount("stepstore-test", place.c_str(), "tmpfs", 0, size) == 0;
    }
    ~SmallDisk()
    {
        if (mounted_) umount2(place_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    bool mounted() const { return mounted_; }

private:
    std::string place_;
    bool mounted_;
};

// Fills a pool until it refuses, and looks at what is left: all that was acknowledged, and a pool that goes
// on once there is space again. 0, or the number of the step that failed.
int fill_and_look(Storage& pool, const std::function<void()>& make_space)
{
    constexpr int most = 100'000;
    int stored = 0;
    int code = 0;
    std::string text;
    while (code == 0 && stored < most) {
        const auto value = pattern(30'000, static_cast<std::uint64_t>(stored));
        const std::string key = "key" + std::to_string(stored);
        code = code_of(
            [&] { pool.target(0).write([&](WriteTransaction& t) { t.put(as_bytes(key), value); }); }, &text);
        stored += code == 0;
    }
    if (code != -DER_NOSPACE || text.find(pool.path()) == std::string::npos) return 1;
    if (stored < 10) return 2;
    for (int n = 0; n < stored; ++n) {
        const auto value = pattern(30'000, static_cast<std::uint64_t>(n));
        if (get(pool.target(0), "key" + std::to_string(n)) != as_text(value)) return 3;
    }
    if (!pool.target(0).check().empty()) return 4;
    make_space();
    pool.target(0).write([&](WriteTransaction& t) { t.put(as_bytes("later"), pattern(30'000, 1)); });
    if (get(pool.target(0), "later") != as_text(pattern(30'000, 1))) return 5;
    return 0;
}

int fill_extents(Storage& pool)
{
    std::vector<ExtentRef> extents;
    int code = 0;
    std::string text;
    while (code == 0 && extents.size() < 100'000) {
        code = code_of([&] { extents.push_back(append(pool.target(1), {pattern(300'000, extents.size())})); },
                       &text);
    }
    if (code != -DER_NOSPACE || text.find(pool.path()) == std::string::npos) return 11;
    if (extents.size() < 3) return 12;
    std::vector<std::byte> bytes(300'000);
    for (std::size_t n = 0; n < extents.size(); ++n) {
        pool.target(1).read_extent(extents[n], 0, bytes);
        if (bytes != pattern(300'000, n)) return 13;
    }
    pool.target(1).release(extents.back());
    extents.back() = append(pool.target(1), {pattern(200'000, 1)}); // there is space for it again
    return 0;
}

TEST_F(LmdbLimits, AFullDiskRefusesUpdatesAndLosesNone)
{
    const std::string place = directory_ / "small";
    const SmallDisk disk(place, "size=12m");
    if (!disk.mounted()) GTEST_SKIP() << "needs root and mounts for a small file system";
    int index = -1, bulk = -1;
    {
        const auto pool = lmdb().create(place + "/pool", {2, Durability::process});
        const std::string filler = place + "/filler";
        std::ofstream(filler) << std::string(3'000'000, 'f');
        index = fill_and_look(*pool, [&] { fs::remove(filler); });
        bulk = fill_extents(*pool);
    }
    {
        const auto again = open_claimed(lmdb(), place + "/pool");
        EXPECT_TRUE(get(again->target(0), "later") == as_text(pattern(30'000, 1)));
    }
    EXPECT_EQ(index, 0);
    EXPECT_EQ(bulk, 0);
}

TEST_F(LmdbLimits, NoSpaceToMakeAPoolLeavesNone)
{
    const std::string place = directory_ / "tiny";
    const SmallDisk disk(place, "size=128k");
    if (!disk.mounted()) GTEST_SKIP() << "needs root and mounts for a small file system";
    std::string text;
    EXPECT_EQ(code_of([&] { lmdb().create(place + "/pool", {20, Durability::process}); }, &text),
              -DER_NOSPACE)
        << text;
    EXPECT_FALSE((lmdb().look(place + "/pool") == Found::pool));
}

// The table of readers is mapped. It has its room from the beginning, so that readers go on where none is
// left.
// 0: each of them found it.
int read_at_once(const std::string& pool, int readers)
{
    const auto opened = backend_named("lmdb").open(pool);
    std::barrier all(readers);
    std::vector<std::jthread> threads;
    std::atomic<int> found{0};
    for (int n = 0; n < readers; ++n) {
        threads.emplace_back([&] {
            opened->target(0).read([&](ReadTransaction& transaction) {
                all.arrive_and_wait();
                Bytes value;
                found += transaction.get(as_bytes("key"), value);
            });
        });
    }
    threads.clear();
    return found == readers ? 0 : 1;
}

// Those without a slot copy pages.
TEST_F(LmdbLimits, MoreReadersThanSlotsReadAtOnce)
{
    put(lmdb().create(path(), {1, Durability::process})->target(0), "key", "value");
    EXPECT_EQ(run_in_child([&] { return read_at_once(path(), 1100); }), 0);
}

TEST_F(LmdbLimits, ReadersGoOnWhileTheDiskIsFull)
{
    const std::string place = directory_ / "small";
    const SmallDisk disk(place, "size=4m");
    if (!disk.mounted()) GTEST_SKIP() << "needs root and mounts for a small file system";
    const std::string pool = place + "/pool";
    const std::string table = pool + "/target-000/lock.mdb";
    const auto fill_disk = [&] {
        std::ofstream filler(place + "/filler", std::ios::app);
        const std::string block(4096, 'f');
        while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
        }
    };
    const auto many_readers = [&] { return read_at_once(pool, 400); };
    ASSERT_EQ(run_in_child([&] {
                  put(lmdb().create(pool, {1, Durability::process})->target(0), "key", "value");
                  return 0;
              }),
              0);
    fill_disk();
    EXPECT_EQ(run_in_child(many_readers), 0);
    // A pool that was copied with holes says so.
    const std::string bytes = [&] {
        std::ifstream in(table, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }();
    fs::resize_file(table, 0);
    fs::resize_file(table, bytes.size());
    fill_disk();
    EXPECT_EQ(run_in_child([&] {
                  std::string text;
                  const int code = code_of([&] { get(lmdb().open(pool)->target(0), "key"); }, &text);
                  return code == -DER_NOSPACE && text.find(table) != std::string::npos ? 0 : 1;
              }),
              0);
    fs::remove(place + "/filler");
    EXPECT_EQ(run_in_child(many_readers), 0);
}

TEST_F(LmdbLimits, ALimitOnFileSizesRefusesUpdatesAndLosesNone)
{
    EXPECT_EQ(run_in_child([&] {
                  signal(SIGXFSZ, SIG_IGN);
                  const auto pool = lmdb().create(path(), {2, Durability::process});
                  rlimit limit{};
                  getrlimit(RLIMIT_FSIZE, &limit);
                  limit.rlim_cur = 8 << 20;
                  setrlimit(RLIMIT_FSIZE, &limit);
                  const int index = fill_and_look(*pool, [&] {
                      limit.rlim_cur = limit.rlim_max;
                      setrlimit(RLIMIT_FSIZE, &limit);
                  });
                  limit.rlim_cur = 8 << 20;
                  setrlimit(RLIMIT_FSIZE, &limit);
                  std::string text;
                  const auto large = pattern(20 << 20, 1);
                  if (code_of([&] { append(pool->target(1), {large}); }, &text) != -DER_NOSPACE) return 20;
                  return index;
              }),
              0);
    EXPECT_TRUE(get(open_claimed(lmdb(), path())->target(0), "later") == as_text(pattern(30'000, 1)));
}

TEST_F(LmdbLimits, MoreExtentFilesThanStayOpenAreRead)
{
    constexpr unsigned processes = 80; // each appends to a file of its own
    lmdb().create(path(), {1, Durability::process});
    std::vector<pid_t> children;
    int ready[2], over[2];
    ASSERT_EQ(pipe(ready) + pipe(over), 0);
    for (unsigned n = 0; n < processes; ++n) {
        children.push_back(testing::start_child([&, n] {
            close(over[1]);
            const auto pool = open_claimed(lmdb(), path());
            const ExtentRef extent = append(pool->target(0), {pattern(5'000, n)});
            put(pool->target(0), "extent" + std::to_string(n), as_text(std::as_bytes(std::span(&extent, 1))));
            (void)!write(ready[1], "x", 1);
            char byte;
            (void)!read(over[0], &byte, 1);
            return 0;
        }));
    }
    char byte;
    for (unsigned n = 0; n < processes; ++n)
        ASSERT_EQ(read(ready[0], &byte, 1), 1);
    const auto pool = open_claimed(lmdb(), path());
    const auto files = pool->target(0).extent_files();
    EXPECT_EQ(files.size(), processes);
    EXPECT_TRUE(std::ranges::all_of(files, [](const auto& file) { return file.in_use; }));
    for (int round = 0; round < 2; ++round) {
        for (unsigned n = 0; n < processes; ++n) {
            ExtentRef extent;
            std::memcpy(&extent, get(pool->target(0), "extent" + std::to_string(n)).data(), sizeof extent);
            std::vector<std::byte> bytes(extent.length);
            pool->target(0).read_extent(extent, 0, bytes);
            EXPECT_EQ(bytes, pattern(5'000, n));
        }
    }
    close(over[1]);
    for (const pid_t child : children)
        EXPECT_EQ(testing::end_of(child), 0);
    // The files of those that ended are taken over, not left behind for ever.
    const ExtentRef extent = append(pool->target(0), {pattern(5'000, 1)});
    EXPECT_EQ(pool->target(0).extent_files().size(), processes);
    EXPECT_TRUE(std::ranges::any_of(files, [&](const auto& file) { return file.file == extent.file; }));
}

TEST_F(LmdbLimits, AFileThatNobodyNeedsIsRemoved)
{
    ExtentRef first, second;
    {
        const auto pool = lmdb().create(path(), {1, Durability::process});
        first = append(pool->target(0), {pattern(50'000, 1)});
        second = append(pool->target(0), {pattern(50'000, 2)});
    }
    const auto pool = open_claimed(lmdb(), path());
    pool->target(0).release(first);
    EXPECT_EQ(pool->target(0).extent_files().size(), 1U);
    std::vector<std::byte> bytes(50'000);
    pool->target(0).read_extent(second, 0, bytes);
    EXPECT_EQ(bytes, pattern(50'000, 2));
    pool->target(0).release(second);
    const auto files = pool->target(0).extent_files();
    EXPECT_TRUE(files.empty() || files[0].allocated == 0); // not every file system allows to remove it
    const ExtentRef later = append(pool->target(0), {pattern(50'000, 3)});
    pool->target(0).read_extent(later, 0, bytes);
    EXPECT_EQ(bytes, pattern(50'000, 3));
}

} // namespace

} // namespace stepstore::store
