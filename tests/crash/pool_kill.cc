// Makers and destroyers of pools are killed at every step. The next process, whatever it does, finds a whole
// pool or none, and nothing that they left is in the way. The calls that change a directory stand in front of
// the system's and count.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::atomic<int> steps_left{-1}; // until this process is killed; negative: it is not

void step()
{
    if (steps_left.load() < 0) return;
    if (steps_left.fetch_sub(1) == 0) raise(SIGKILL);
}

template <class... Arguments>
auto next(const char* name, Arguments... arguments)
{
    step();
    return reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_NEXT, name))(arguments...);
}

} // namespace

extern "C" {
[[gnu::visibility("default")]] int mkdir(const char* path, mode_t mode) noexcept
{
    return next("mkdir", path, mode);
}
[[gnu::visibility("default")]] int mkdirat(int at, const char* name, mode_t mode) noexcept
{
    return next("mkdirat", at, name, mode);
}
[[gnu::visibility("default")]] int unlink(const char* path) noexcept
{
    return next("unlink", path);
}
[[gnu::visibility("default")]] int unlinkat(int at, const char* name, int flags) noexcept
{
    return next("unlinkat", at, name, flags);
}
[[gnu::visibility("default")]] int rmdir(const char* path) noexcept
{
    return next("rmdir", path);
}
[[gnu::visibility("default")]] int rename(const char* from, const char* to) noexcept
{
    return next("rename", from, to);
}
[[gnu::visibility("default")]] int renameat(int at, const char* from, int there, const char* to) noexcept
{
    return next("renameat", at, from, there, to);
}
[[gnu::visibility("default")]] int fsync(int fd)
{
    return next("fsync", fd);
}
[[gnu::visibility("default")]] int fdatasync(int fd)
{
    return next("fdatasync", fd);
}
[[gnu::visibility("default")]] ssize_t pwritev(int fd, const iovec* pieces, int count, off_t offset)
{
    step();
    return reinterpret_cast<ssize_t (*)(int, const iovec*, int, off_t)>(dlsym(RTLD_NEXT, "pwritev"))(
        fd, pieces, count, offset);
}
}

namespace stepstore::testing {
namespace {

namespace fs = std::filesystem;

PoolOptions options_of(Durability durability)
{
    PoolOptions options;
    options.label = "mine";
    options.targets = 2;
    options.durability = durability;
    return options;
}

void make(const std::string& path)
{
    Pool::create(path, options_of(Durability::power))->create_container(uuid_of(1), "test", {});
}

class PoolKill : public ::testing::Test {
protected:
    // Runs `work` until its step number `step`; false: it came to its end before.
    static bool killed_at(int step, const std::function<void()>& work)
    {
        const int end = run_in_child([&] {
            steps_left = step;
            work();
            steps_left = -1;
            return 0;
        });
        EXPECT_TRUE(end == 0 || end == -SIGKILL) << end;
        return end == -SIGKILL;
    }

    // Which may be anybody's, and is in nobody's way.
    static bool empty_lock_only(const std::string& path)
    {
        return std::distance(fs::directory_iterator(path), {}) == 1 && fs::exists(path + "/lock") &&
               fs::file_size(path + "/lock") == 0;
    }

    // What processes that know of nothing find; each asks in another order.
    static int find_whole_or_none(const std::string& path, bool destroy_first)
    {
        const auto connect = [&] { return der_of([&] { Pool::open(path, Access::read_only); }); };
        const auto create = [&] {
            return der_of([&] { Pool::create(path, options_of(Durability::process)); });
        };
        const auto destroy = [&] { return der_of([&] { Pool::destroy(path); }); };
        const int there = connect();
        if (there == 0) {
            const PoolInfo info = Pool::open(path, Access::read_only)->query();
            if (info.label != "mine" || info.durability != Durability::power) return 1;
            if (create() != DER_EXIST) return 2;
            if (Pool::check(path, {}).damaged()) return 3;
            if (destroy() != 0) return 4;
        } else {
            if (there != DER_NONEXIST) return 5;
            if (!Pool::list(fs::path(path).parent_path().parent_path()).empty()) return 6;
            if (destroy_first) {
                const int left = destroy();
                if (left != 0 && left != DER_NONEXIST) return 7;
                if (fs::exists(path) && !fs::is_empty(path) && !empty_lock_only(path)) return 8;
            }
            if (connect() != DER_NONEXIST) return 9;
            if (create() != 0) return 10;
            if (Pool::open(path, Access::read_write)->query().durability != Durability::process) return 11;
            if (Pool::check(path, {}).damaged()) return 12;
            if (destroy() != 0) return 13;
        }
        if (connect() != DER_NONEXIST || destroy() != DER_NONEXIST) return 14;
        return fs::exists(path) ? 15 : 0;
    }
    void expect_whole_or_none(const std::string& path, bool destroy_first, int step)
    {
        EXPECT_EQ(run_in_child([&] { return find_whole_or_none(path, destroy_first); }), 0)
            << "killed at step " << step << (destroy_first ? ", destroyed" : ", made anew");
        fs::remove_all(path);
    }

    TemporaryDirectory directory;
    const std::string path = directory / "pools/pool";
};

TEST_F(PoolKill, AMakerAtEveryStep)
{
    int step = 0;
    for (bool killed = true; killed; ++step) {
        for (const bool destroy_first : {false, true}) {
            killed = killed_at(step, [&] { Pool::create(path, options_of(Durability::power)); });
            expect_whole_or_none(path, destroy_first, step);
        }
    }
    EXPECT_GT(step, 20);
}

TEST_F(PoolKill, ADestroyerAtEveryStep)
{
    int step = 0;
    for (bool killed = true; killed; ++step) {
        for (const bool destroy_first : {false, true}) {
            ASSERT_EQ(run_in_child([&] { return make(path), 0; }), 0);
            killed = killed_at(step, [&] { Pool::destroy(path); });
            expect_whole_or_none(path, destroy_first, step);
        }
    }
    EXPECT_GT(step, 12);
}

// The next one who makes or destroys it dies too, and the one after it.
TEST_F(PoolKill, ThreeAfterEachOther)
{
    std::mt19937 random(20261123);
    for (int round = 0; round < 20; ++round) {
        ASSERT_EQ(run_in_child([&] { return make(path), 0; }), 0);
        for (int after = 0; after < 3; ++after) {
            const bool destroyer = random() % 2 == 0;
            killed_at(static_cast<int>(random() % 30), [&] {
                der_of([&] {
                    if (destroyer)
                        Pool::destroy(path);
                    else
                        Pool::create(path, options_of(Durability::power));
                });
            });
        }
        expect_whole_or_none(path, round % 2 == 0, round);
    }
}

TEST_F(PoolKill, ACreateThatFailsLeavesNothing)
{
    // The limit on file sizes ends it at each file in turn.
    for (const rlim_t most : {0, 100, 5000, 9000}) {
        EXPECT_EQ(run_in_child([&] {
                      std::signal(SIGXFSZ, SIG_IGN);
                      const rlimit limit{most, most};
                      setrlimit(RLIMIT_FSIZE, &limit);
                      const int error = der_of([&] { Pool::create(path, options_of(Durability::power)); });
                      return error == DER_NOSPACE ? 0 : 1;
                  }),
                  0)
            << most;
        EXPECT_TRUE(fs::is_empty(directory.path())) << "the directories above the pool too";
    }
    PoolOptions bad = options_of(Durability::process);
    for (const char* label : {"../../x", "..", ".", "a b", "a/b"}) {
        bad.label = label;
        EXPECT_EQ(der_of([&] { Pool::create(path, bad); }), DER_INVAL) << label;
        EXPECT_TRUE(fs::is_empty(directory.path())) << label;
    }
    bad.label.clear();
    bad.target_directories = {directory / "nowhere"};
    EXPECT_EQ(der_of([&] { Pool::create(path, bad); }), DER_NONEXIST);
    EXPECT_TRUE(fs::is_empty(directory.path()));
}

} // namespace
} // namespace stepstore::testing
