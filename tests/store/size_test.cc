// What a pool takes as a copy that knows no holes, or that has only what its user may read.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <sys/stat.h>

#include <filesystem>

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
