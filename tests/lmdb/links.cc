// The owner of a pool may put links, pipes or other files where a pool has its own. Nothing outside of the
// pool is read, written, locked or removed through them. On kernels with openat2 and without.
#include "contract/backend_fixture.h"
#include "support/old_kernel.h"
#include "support/processes.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace stepstore::store {

namespace {

namespace fs = std::filesystem;

// Every case runs in a process of its own: whether a kernel has openat2 is looked at once.
class Links : public ::testing::TestWithParam<bool> {
protected:
    const Backend& lmdb() const { return backend_named("lmdb"); }
    std::string pool(const std::string& name) const { return directory_ / name; }
    void make(const std::string& name) const
    {
        const auto made = lmdb().create(pool(name), {2, Durability::process});
        for (unsigned target = 0; target < 2; ++target) {
            const ExtentRef extent = append(made->target(target), {pattern(100'000, target)});
            made->target(target).write([&](WriteTransaction& t) {
                t.put(as_bytes("key"), as_bytes(name));
                t.put(as_bytes("bulk"), std::as_bytes(std::span(&extent, 1)));
            });
        }
        put(made->meta(), "key", name);
    }
    // Everything that somebody may do with a pool. No matter what comes of it.
    void use(const std::string& name) const
    {
        for (const bool claims : {false, true}) {
            code_of([&] {
                const auto opened = lmdb().open(pool(name));
                if (claims) opened->claim();
                for (unsigned target = 0; target < opened->targets(); ++target) {
                    code_of([&] { get(opened->target(target), "key"); });
                    code_of([&] { put(opened->target(target), "key", "of the attack"); });
                    code_of([&] { append(opened->target(target), {pattern(50'000, 9)}); });
                    code_of([&] { opened->target(target).check(); });
                    code_of([&] { opened->target(target).extent_files(); });
                    code_of([&] { opened->target(target).sync(false); });
                    code_of([&] { opened->target(target).usage(); });
                }
                code_of([&] { put(opened->meta(), "key", "of the attack"); });
            });
        }
        code_of([&] { lmdb().create(pool(name), {2, Durability::process}); });
        code_of([&] { lmdb().destroy(pool(name)); });
    }
    int in_child(const std::function<int()>& body) const
    {
        return testing::run_in_child([&] {
            testing::old_kernel = GetParam();
            alarm(60); // nothing hangs
            return body();
        });
    }
    std::string content(const fs::path& file) const
    {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    // Of all files below, and of their permissions.
    std::string all_of(const std::string& name) const
    {
        std::vector<std::string> lines;
        for (const auto& entry : fs::recursive_directory_iterator(pool(name))) {
            const auto path = entry.path();
            lines.push_back(
                path.string() + " " + std::to_string(static_cast<int>(entry.status().permissions())) + " " +
                (entry.is_regular_file() ? std::to_string(checksum(as_bytes(content(path)))) : ""));
        }
        std::ranges::sort(lines);
        std::string all;
        for (const auto& line : lines)
            all += line + "\n";
        return all;
    }

    testing::TemporaryDirectory directory_;
};

TEST_P(Links, ToAnotherPoolsPartsLeadNowhere)
{
    ASSERT_EQ(in_child([&] { return make("theirs"), 0; }), 0);
    for (const char* part :
         {"target-001", "meta", "target-001/data.mdb", "meta/data.mdb", "target-001/lock.mdb",
          "meta/lock.mdb", "shared", "lock", "stepstore.pool", "files"}) {
        ASSERT_EQ(in_child([&] { return make("mine"), 0; }), 0);
        const std::string before = all_of("theirs");
        fs::remove_all(pool("mine") + "/" + part);
        fs::create_symlink(pool("theirs") + "/" + part, pool("mine") + "/" + part);
        EXPECT_EQ(in_child([&] { return use("mine"), 0; }), 0) << part;
        EXPECT_EQ(all_of("theirs"), before) << part;
        EXPECT_EQ(in_child([&] {
                      const auto theirs = open_claimed(lmdb(), pool("theirs"));
                      return get(theirs->target(1), "key") == "theirs" ? 0 : 1;
                  }),
                  0);
        fs::remove_all(pool("mine"));
    }
}

TEST_P(Links, ToOrdinaryFilesAreNotWrittenThrough)
{
    const std::string victim = directory_ / "victim.txt";
    for (const char* part :
         {"target-001/lock.mdb", "meta/lock.mdb", "lock", "shared", "stepstore.pool.unfinished"}) {
        for (const bool hard : {false, true}) {
            std::ofstream(victim) << "what the victim wrote";
            fs::permissions(victim, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
            ASSERT_EQ(in_child([&] { return make("mine"), 0; }), 0);
            fs::remove(pool("mine") + "/" + part);
            if (hard)
                fs::create_hard_link(victim, pool("mine") + "/" + part);
            else
                fs::create_symlink(victim, pool("mine") + "/" + part);
            EXPECT_EQ(in_child([&] { return use("mine"), 0; }), 0) << part;
            EXPECT_EQ(content(victim), "what the victim wrote") << part;
            fs::remove_all(pool("mine"));
        }
    }
}

TEST_P(Links, AreNamedInTheError)
{
    ASSERT_EQ(in_child([&] { return make("mine"), 0; }), 0);
    fs::rename(pool("mine") + "/target-001", directory_ / "elsewhere");
    fs::create_directory_symlink(directory_ / "elsewhere", pool("mine") + "/target-001");
    EXPECT_EQ(in_child([&] {
                  std::string text;
                  const auto opened = open_claimed(lmdb(), pool("mine"));
                  if (code_of([&] { get(opened->target(1), "key"); }, &text) != -DER_BADPATH) return 1;
                  if (text.find("target-001") == std::string::npos) return 2;
                  if (text.find("symbolic link") == std::string::npos) return 3;
                  return get(opened->target(0), "key") == "mine" ? 0 : 4;
              }),
              0);
}

// Also one that leads to nothing. It is no file that is missing, of a pool that is not there or damaged.
TEST_P(Links, AreNamedInTheErrorWhateverTheyAre)
{
    for (const char* part : {"target-001", "meta", "target-001/data.mdb", "meta/data.mdb",
                             "target-001/lock.mdb", "meta/lock.mdb", "shared", "lock", "stepstore.pool"}) {
        for (const bool dangling : {false, true}) {
            ASSERT_EQ(in_child([&] { return make("mine"), 0; }), 0);
            const std::string elsewhere = directory_ / "elsewhere";
            fs::rename(pool("mine") + "/" + part, elsewhere);
            fs::create_symlink(dangling ? elsewhere + "/nothing" : elsewhere, pool("mine") + "/" + part);
            EXPECT_EQ(in_child([&] {
                          std::string text;
                          const int code = code_of(
                              [&] {
                                  const auto opened = open_claimed(lmdb(), pool("mine"));
                                  get(opened->meta(), "key");
                                  ExtentRef extent;
                                  const std::string stored = get(opened->target(1), "bulk");
                                  std::memcpy(&extent, stored.data(), sizeof extent);
                                  std::vector<std::byte> bytes(extent.length);
                                  opened->target(1).read_extent(extent, 0, bytes);
                                  put(opened->target(1), "key", "new");
                              },
                              &text);
                          if (text.find(part) == std::string::npos) return 1;
                          if (text.find("symbolic link") == std::string::npos) return 2;
                          return code == -DER_BADPATH ? 0 : 3;
                      }),
                      0)
                << part << (dangling ? ", to nothing" : "");
            fs::remove_all(pool("mine"));
            fs::remove_all(elsewhere);
        }
    }
}

TEST_P(Links, PipesInThePlaceOfFilesKeepNobodyWaiting)
{
    for (const char* part :
         {"target-001/data.mdb", "target-001/lock.mdb", "shared", "lock", "stepstore.pool"}) {
        ASSERT_EQ(in_child([&] { return make("mine"), 0; }), 0);
        fs::remove(pool("mine") + "/" + part);
        ASSERT_EQ(mkfifo((pool("mine") + "/" + part).c_str(), 0666), 0);
        EXPECT_EQ(in_child([&] { return use("mine"), 0; }), 0) << part;
        fs::remove_all(pool("mine"));
    }
}

TEST_P(Links, APoolGoesOnUnderAnotherNameAndMeetsNoOtherOne)
{
    EXPECT_EQ(in_child([&] {
                  make("mine");
                  const auto opened = open_claimed(lmdb(), pool("mine"));
                  fs::rename(pool("mine"), pool("moved"));
                  make("mine"); // another one of that name
                  const ExtentRef extent = append(opened->target(1), {pattern(100'000, 7)});
                  put(opened->target(1), "key", "after it was moved");
                  const auto moved = lmdb().open(pool("moved"));
                  if (get(moved->target(1), "key") != "after it was moved") return 1;
                  std::vector<std::byte> bytes(extent.length);
                  moved->target(1).read_extent(extent, 0, bytes);
                  if (bytes != pattern(100'000, 7)) return 2;
                  return get(lmdb().open(pool("mine"))->target(1), "key") == "mine" ? 0 : 3;
              }),
              0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Links, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "WithoutOpenat2" : "WithOpenat2"; });

} // namespace

} // namespace stepstore::store
