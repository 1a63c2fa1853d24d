// Who may only read a pool cannot keep those out who may write it: by no lock on any file of the pool.
#include "contract/backend_fixture.h"
#include "support/processes.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace stepstore::store {

namespace {

namespace fs = std::filesystem;
constexpr unsigned stranger = 65534;

class ForeignLocks : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
        umask(022);
        fs::permissions(directory_.path(), fs::perms::owner_all | fs::perms::group_all |
                                               fs::perms::others_read | fs::perms::others_exec);
    }
    const Backend& lmdb() const { return backend_named("lmdb"); }
    void make() const
    {
        const auto pool = lmdb().create(path_, {2, Durability::process});
        write_all(*pool, "first");
    }
    static void write_all(Storage& pool, const std::string& value)
    {
        for (unsigned target = 0; target < pool.targets(); ++target) {
            const ExtentRef extent = append(pool.target(target), {pattern(100'000, target)});
            pool.target(target).write([&](WriteTransaction& t) {
                t.put(as_bytes("key"), as_bytes(value));
                t.put(as_bytes("bulk"), std::as_bytes(std::span(&extent, 1)));
            });
        }
        put(pool.meta(), "key", value);
    }
    static bool become_stranger() { return setgid(stranger) == 0 && setuid(stranger) == 0; }

    // Opens every file of the pool as far as a stranger may, and locks all of it in every way that there is.
    // How many.
    int lock_all() const
    {
        int locked = 0;
        for (const auto& entry : fs::recursive_directory_iterator(path_)) {
            if (!entry.is_regular_file()) continue;
            for (const int mode : {O_RDWR, O_RDONLY}) {
                const int fd = open(entry.path().c_str(), mode | O_CLOEXEC);
                if (fd < 0) continue;
                for (const int call : {F_SETLK, F_OFD_SETLK}) {
                    for (const int kind : {F_WRLCK, F_RDLCK}) {
                        struct flock lock {};
                        lock.l_type = static_cast<short>(kind);
                        locked += fcntl(fd, call, &lock) == 0;
                    }
                }
            }
        }
        return locked;
    }
    // A stranger who holds what locks he gets while `body` runs.
    void beside_a_stranger(const std::function<void()>& body) const
    {
        int ready[2], over[2];
        ASSERT_EQ(pipe(ready) + pipe(over), 0);
        const pid_t child = testing::start_child([&] {
            if (!become_stranger()) return 1;
            const int locked = lock_all();
            (void)!write(ready[1], "x", 1);
            char byte;
            (void)!read(over[0], &byte, 1);
            return locked > 0 ? 0 : 2; // he may read the pool, and lock what is only read
        });
        char byte;
        ASSERT_EQ(read(ready[0], &byte, 1), 1);
        body();
        ASSERT_EQ(write(over[1], "x", 1), 1);
        EXPECT_EQ(testing::end_of(child), 0);
        for (const int fd : {ready[0], ready[1], over[0], over[1]})
            close(fd);
    }

    testing::TemporaryDirectory directory_;
    const std::string path_ = directory_ / "pool";
};

TEST_F(ForeignLocks, ShutNobodyOutWhoMayWrite)
{
    ASSERT_EQ(testing::run_in_child([&] { return make(), 0; }), 0);
    beside_a_stranger([&] {
        EXPECT_EQ(testing::run_in_child([&] {
                      const auto pool = open_claimed(lmdb(), path_);
                      write_all(*pool, "second");
                      for (unsigned target = 0; target < 2; ++target) {
                          if (get(pool->target(target), "key") != "second") return 1;
                          if (!pool->target(target).check().empty()) return 2;
                      }
                      return 0;
                  }),
                  0);
        EXPECT_EQ(testing::run_in_child([&] { return lmdb().destroy(path_), 0; }), 0);
    });
    EXPECT_FALSE(fs::exists(path_));
}

TEST_F(ForeignLocks, AreToldByTheModesOfTheFilesWhichTheOwnerMends)
{
    ASSERT_EQ(testing::run_in_child([&] { return make(), 0; }), 0);
    const auto mode = [&](const std::string& name) {
        struct stat status {};
        EXPECT_EQ(stat((path_ + "/" + name).c_str(), &status), 0);
        return status.st_mode & 0777;
    };
    const auto names = {"lock", "meta/lock.mdb", "target-000/lock.mdb", "target-001/lock.mdb"};
    for (const char* name : names) {
        EXPECT_EQ(mode(name), 0600U) << name;
        chmod((path_ + "/" + name).c_str(), 0644); // as a copy may have them
    }
    ASSERT_EQ(testing::run_in_child([&] { return write_all(*open_claimed(lmdb(), path_), "more"), 0; }), 0);
    for (const char* name : names)
        EXPECT_EQ(mode(name), 0600U) << name;
    // A pool of a group: who may write its directories may write and so lock.
    for (const auto& entry : fs::recursive_directory_iterator(path_))
        if (entry.is_directory())
            fs::permissions(entry.path(), fs::perms::group_write, fs::perm_options::add);
    fs::permissions(path_, fs::perms::group_write, fs::perm_options::add);
    ASSERT_EQ(testing::run_in_child([&] { return write_all(*open_claimed(lmdb(), path_), "more"), 0; }), 0);
    for (const char* name : names)
        EXPECT_EQ(mode(name), 0660U) << name;
    umask(002);
    fs::remove_all(path_);
    ASSERT_EQ(testing::run_in_child([&] { return make(), 0; }), 0);
    for (const char* name : names)
        EXPECT_EQ(mode(name), 0660U) << name;
    umask(022);
}

TEST_F(ForeignLocks, AreNotNeededToRead)
{
    ASSERT_EQ(testing::run_in_child([&] { return make(), 0; }), 0);
    EXPECT_EQ(testing::run_in_child([&] {
                  if (!become_stranger()) return 1;
                  const auto pool = lmdb().open(path_);
                  if (get(pool->target(1), "key") != "first") return 2;
                  if (get(pool->meta(), "key") != "first") return 3;
                  if (pool->target(1).extent_files().size() != 1) return 4;
                  return pool->target(1).check().empty() ? 0 : 5;
              }),
              0);
}

} // namespace

} // namespace stepstore::store
