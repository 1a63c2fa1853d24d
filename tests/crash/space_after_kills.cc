// kill -9 of writers of large values at random moments. The space that they leave behind comes back without a
// repair. The few that were killed between announcing a reference and its commit are the exception.
// STEPSTORE_TEST_KILLS: how many (60).
#include "support/processes.h"
#include "support/store_fixture.h"

#include <cstdlib>

namespace stepstore::testing {
namespace {

constexpr std::uint64_t writers = 2;
constexpr std::size_t largest = 4 << 20;

[[noreturn]] void write_on(const std::string& path, std::uint64_t me, std::uint64_t seed)
{
    const auto mine = Pool::open(path, Access::read_write)->open_container("test");
    std::mt19937_64 random(seed);
    const auto bytes = pattern(largest, seed);
    for (;;) {
        const std::size_t size = random() % 2 == 0 ? largest : 1 << 20;
        const Bytes value = Bytes(bytes).first(size);
        if (random() % 2 == 0)
            mine->kv_put(kv_object(1, class_sx), as_bytes("key" + std::to_string(me * 4 + random() % 4)),
                         value);
        else
            write_cells(*mine, array_object(2), {1, largest}, (me * 2 + random() % 2) * largest,
                        {value.begin(), value.end()});
    }
}

TEST(SpaceAfterKills, ComesBackWithTheNextWriter)
{
    TemporaryDirectory directory;
    const std::string path = directory / "pool";
    ASSERT_EQ(run_in_child([&] {
                  PoolOptions options;
                  options.targets = 2;
                  Pool::create(path, options)->create_container(uuid_of(1), "test", {});
                  return 0;
              }),
              0);
    const char* given = std::getenv("STEPSTORE_TEST_KILLS");
    const int kills = given != nullptr ? std::atoi(given) : 60;
    std::mt19937_64 random(20261123);
    for (int killed = 0; killed < kills;) {
        std::vector<pid_t> children;
        for (std::uint64_t writer = 0; writer < writers; ++writer)
            children.push_back(
                start_child([&, writer, seed = random()]() -> int { write_on(path, writer, seed); }));
        usleep(20'000);
        for (const pid_t child : children) {
            usleep(static_cast<useconds_t>(random() % 15'000));
            kill(child, SIGKILL);
            ASSERT_EQ(end_of(child), -SIGKILL);
            ++killed;
        }
    }
    ASSERT_EQ(run_in_child([&] {
                  const auto mine = Pool::open(path, Access::read_write)->open_container("test");
                  mine->kv_put(kv_object(1, class_sx), as_bytes("the next writer"), pattern(100'000, 1));
                  return 0;
              }),
              0);
    const CheckReport report = Pool::check(path, {true, false});
    EXPECT_FALSE(report.damaged());
    EXPECT_EQ(report.reclaimable_bytes, 0U);
}

} // namespace
} // namespace stepstore::testing
