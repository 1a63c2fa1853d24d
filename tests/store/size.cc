// What a pool takes as a copy that knows no holes, or that has only what its user may read.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

namespace stepstore::testing {
namespace {

// taken: on the medium, with its directories. read: what a reader of its files gets, holes included, as tar
// does without -S.
struct Footprint {
    std::uint64_t taken = 0;
    std::uint64_t read = 0;
};
Footprint bytes_of(const std::string& pool)
{
    Footprint bytes;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(pool)) {
        struct stat status {};
        if (::stat(entry.path().c_str(), &status) != 0) continue;
        bytes.taken += static_cast<std::uint64_t>(status.st_blocks) * 512;
        if (entry.is_regular_file()) bytes.read += entry.file_size();
    }
    return bytes;
}

std::string listing(const std::string& pool)
{
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(pool)) {
        struct stat status {};
        if (::stat(entry.path().c_str(), &status) != 0) continue;
        text += entry.path().string().substr(pool.size()) + ": " + std::to_string(status.st_size) +
                " bytes, " + std::to_string(status.st_blocks * 512) + " taken\n";
    }
    return text;
}

class Size : public ::testing::TestWithParam<Durability> {
protected:
    // Used by a process of its own, which ends.
    static void use(const std::string& path, const std::function<void(Container&)>& body)
    {
        EXPECT_EQ(run_in_child([&] {
                      const auto pool = Pool::open(path, Access::read_write);
                      body(*pool->open_container("c"));
                      return 0;
                  }),
                  0);
    }
    void make() const
    {
        EXPECT_EQ(run_in_child([&] {
                      PoolOptions options;
                      options.targets = 4;
                      options.durability = GetParam();
                      Pool::create(path(), options)->create_container(uuid_of(1), "c", {});
                      return 0;
                  }),
                  0);
    }
    void expect_no_holes() const
    {
        const Footprint bytes = bytes_of(path());
        EXPECT_LE(bytes.read, bytes.taken) << listing(path());
    }
    std::string path() const { return directory / "pool"; }
    TemporaryDirectory directory;
};
INSTANTIATE_TEST_SUITE_P(Durabilities, Size, ::testing::Values(Durability::process, Durability::power),
                         [](const auto& info) {
                             return info.param == Durability::power ? "power" : "process";
                         });

TEST_P(Size, OfACopyIsThatOfThePool)
{
    make();
    use(path(), [](Container& container) {
        for (std::uint64_t object = 0; object < 8; ++object) // on all targets
            container.kv_put(kv_object(object), as_bytes("key"), pattern(80, object));
    });
    expect_no_holes();
    use(path(), [](Container& container) { // a reader leaves no more
        EXPECT_EQ(kv_read(container, kv_object(1), as_bytes("key")), pattern(80, 1));
    });
    expect_no_holes();
}

// The unused part of lock.mdb takes no space.
TEST_P(Size, OfAnEmptyPoolIsSmall)
{
    constexpr std::uint64_t most = 120 << 10;
    const auto open_all = [&](bool killed) {
        return run_in_child([&] {
            const auto pool = Pool::open(path(), Access::read_write);
            pool->query(); // which opens all targets
            if (killed) raise(SIGKILL);
            return 0;
        });
    };
    EXPECT_EQ(run_in_child([&] {
                  PoolOptions options;
                  options.targets = 4;
                  options.durability = GetParam();
                  Pool::create(path(), options);
                  return 0;
              }),
              0);
    EXPECT_LE(bytes_of(path()).taken + 4096, most) << listing(path()); // with the pool's own directory
    expect_no_holes();
    EXPECT_EQ(open_all(false), 0);
    expect_no_holes();
    EXPECT_EQ(open_all(true), -SIGKILL);
    EXPECT_LE(bytes_of(path()).taken + 4096, most) << listing(path());
    EXPECT_EQ(open_all(false), 0); // cuts what the killed process left long
    EXPECT_LE(bytes_of(path()).taken + 4096, most) << listing(path());
    expect_no_holes();
}

// Values of whole pages do not take a page more, which would be nearly empty.
TEST_P(Size, OfPiecesOfWholePagesIsTheirs)
{
    make();
    constexpr std::uint64_t pieces = 200;
    for (const std::uint64_t piece : {std::uint64_t{4096}, std::uint64_t{8192}, std::uint64_t{5000}}) {
        const ArrayAttributes one_chunk{1, std::uint64_t{1} << 30};
        const ObjectId array = array_object(piece);
        const std::uint64_t before = bytes_of(path()).taken;
        use(path(), [&](Container& container) {
            container.array_create(array, one_chunk);
            for (std::uint64_t number = 0; number < pieces; ++number)
                write_cells(container, array, one_chunk, number * piece, pattern(piece, number));
        });
        if (piece % 4096 == 0) {
            EXPECT_LE(bytes_of(path()).taken - before, pieces * piece * 11 / 10 + (64 << 10));
        }
        use(path(), [&](Container& container) {
            // Parts of them are written over, across where they are cut.
            write_cells(container, array, one_chunk, piece - 30, pattern(20, 1));
            write_cells(container, array, one_chunk, 2 * piece + 10, pattern(piece, 2));
            std::vector<std::byte> expected;
            for (std::uint64_t number = 0; number < pieces; ++number) {
                const auto bytes = pattern(piece, number);
                expected.insert(expected.end(), bytes.begin(), bytes.end());
            }
            std::ranges::copy(pattern(20, 1), expected.begin() + static_cast<std::ptrdiff_t>(piece - 30));
            std::ranges::copy(pattern(piece, 2),
                              expected.begin() + static_cast<std::ptrdiff_t>(2 * piece + 10));
            EXPECT_TRUE(read_cells(container, array, one_chunk, 0, pieces * piece) == expected);
        });
    }
    EXPECT_TRUE(Pool::check(path(), {}).findings.empty());
}

// Processes that open and close it together never find the lock file of another one cut off.
TEST_P(Size, OfAPoolThatManyOpenAndCloseAtOnceIsSmall)
{
    make();
    constexpr std::uint64_t processes = 6, rounds = 40;
    const auto key_of = [](std::uint64_t process, std::uint64_t round) {
        return std::to_string(process) + " " + std::to_string(round);
    };
    std::vector<pid_t> children;
    for (std::uint64_t process = 0; process < processes; ++process) {
        children.push_back(start_child([&] {
            for (std::uint64_t round = 0; round < rounds; ++round) {
                const auto pool = Pool::open(path(), Access::read_write);
                const auto container = pool->open_container("c");
                const std::string key = key_of(process, round);
                container->kv_put(kv_object(round % 8), as_bytes(key), pattern(10, round));
                if (kv_read(*container, kv_object(round % 8), as_bytes(key)) != pattern(10, round)) return 1;
            }
            return 0;
        }));
    }
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    use(path(), [&](Container& container) {
        for (std::uint64_t process = 0; process < processes; ++process)
            for (std::uint64_t round = 0; round < rounds; ++round)
                EXPECT_EQ(kv_read(container, kv_object(round % 8), as_bytes(key_of(process, round))),
                          pattern(10, round));
    });
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
        if (entry.path().filename() == "lock.mdb") {
            EXPECT_LE(entry.file_size(), 4096U) << entry.path();
        }
    }
}

// Another user cannot read the files that only writers may lock. A copy without them is a pool.
TEST_P(Size, ACopyOfWhatOthersMayReadHasAll)
{
    make();
    use(path(), [](Container& container) {
        for (std::uint64_t object = 0; object < 8; ++object)
            container.kv_put(kv_object(object), as_bytes("key"), pattern(100'000, object));
    });
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
        const auto others = entry.status().permissions() & std::filesystem::perms::others_read;
        if (entry.is_regular_file() && others == std::filesystem::perms::none)
            std::filesystem::remove(entry.path());
    }
    const std::string copy = directory / "copy";
    std::filesystem::copy(path(), copy, std::filesystem::copy_options::recursive);
    use(copy, [](Container& container) {
        for (std::uint64_t object = 0; object < 8; ++object) {
            EXPECT_EQ(kv_read(container, kv_object(object), as_bytes("key")), pattern(100'000, object));
            container.kv_put(kv_object(object), as_bytes("more"), pattern(10, object));
        }
    });
    EXPECT_TRUE(undamaged(Pool::check(copy, {})));
}

} // namespace
} // namespace stepstore::testing
