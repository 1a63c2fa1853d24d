// A device fills up below a pool: write() succeeds, and syncs fail. What was acknowledged is there after the
// system has dropped its memory. It may come from the process that met the full device and went on, or from
// one that came after it. Nothing is damaged. (Durability `process`: fields/full_disk.cc.)
#include "support/full_device.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <csignal>
#include <fstream>
#include <thread>

namespace stepstore::testing {
namespace {

class FullDeviceTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (!device.usable()) GTEST_SKIP() << "there is no tmpfs, ext4 or loop device here, or no root";
        PoolOptions options;
        options.targets = 2;
        options.durability = Durability::power;
        Pool::create(path, options)->create_container(uuid_of(1), "test", {});
        ASSERT_EQ(run_in_child([&] { return write_all(0, 60, true); }), 0);
        ASSERT_TRUE(device.take_all_room());
    }

    // Values of all sizes: in a record, in pages of their own, in an extent.
    static std::vector<std::byte> value(int number)
    {
        constexpr std::array<std::size_t, 4> sizes{100, 3000, 20'000, 300'000};
        return pattern(sizes[static_cast<std::size_t>(number) % sizes.size()],
                       static_cast<std::uint64_t>(number));
    }
    static void write_one(Container& container, int number)
    {
        if (number % 8 < 4)
            container.kv_put(kv_object(1, class_sx), as_bytes("key" + std::to_string(number)), value(number));
        else
            write_cells(container, array_object(static_cast<std::uint64_t>(number)), {1, 1 << 20}, 0,
                        value(number));
    }
    static std::vector<std::byte> read_one(Container& container, int number)
    {
        if (number % 8 < 4)
            return kv_read(container, kv_object(1, class_sx), as_bytes("key" + std::to_string(number)))
                .value_or(std::vector<std::byte>());
        return read_cells(container, array_object(static_cast<std::uint64_t>(number)), {1, 1 << 20}, 0,
                          value(number).size());
    }

    // Writes each, and notes what is acknowledged.
    int write_all(int from, int end, bool room) const
    {
        const auto pool = Pool::open(path, Access::read_write);
        const auto container = pool->open_container("test");
        std::ofstream notes(names, std::ios::app);
        int failed = 0;
        for (int number = from; number < end; ++number) {
            std::string message;
            const int error = der_of([&] { write_one(*container, number); }, &message);
            if (error == 0) notes << number << std::endl;
            if (error != 0) ++failed;
            EXPECT_TRUE(error == 0 || error == DER_NOSPACE) << error << ": " << message;
        }
        EXPECT_EQ(failed != 0, !room) << failed;
        return ::testing::Test::HasFailure() ? 1 : 0;
    }
    void expect_all_there() const
    {
        ASSERT_TRUE(device.mount_again());
        EXPECT_TRUE(undamaged(Pool::check(path, {})));
        const auto pool = Pool::open(path, Access::read_only);
        const auto container = pool->open_container("test");
        std::ifstream notes(names);
        int lost = 0;
        for (int number = 0; notes >> number;) {
            std::vector<std::byte> got;
            const int error = der_of([&] { got = read_one(*container, number); });
            if (error != 0 || got != value(number)) ++lost;
        }
        EXPECT_EQ(lost, 0);
    }

    FullDevice device;
    const std::string path = device.disk() + "/pool";
    const std::string names = device.beside() / "acknowledged";
};
TEST_F(FullDeviceTest, LosesNothingOfAProcessThatGoesOn)
{
    EXPECT_EQ(run_in_child([&] {
                  const int first = write_all(100, 160, false);
                  device.give_room();
                  return first + write_all(200, 260, true);
              }),
              0);
    expect_all_there();
}

TEST_F(FullDeviceTest, LosesNothingOfAProcessThatComesAfter)
{
    EXPECT_EQ(run_in_child([&] { return write_all(100, 160, false); }), 0);
    device.give_room();
    EXPECT_EQ(run_in_child([&] { return write_all(200, 260, true); }), 0);
    expect_all_there();
}

// The failure of one thread's sync is told to it alone, and concerns what the others wrote.
TEST_F(FullDeviceTest, LosesNothingOfThreads)
{
    const auto write_together = [&](int from, bool room) {
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([&, begin = from + thread * 100] { write_all(begin, begin + 20, room); });
        for (std::thread& thread : threads)
            thread.join();
    };
    EXPECT_EQ(run_in_child([&] {
                  write_together(1000, false);
                  device.give_room();
                  write_together(2000, true);
                  return HasFailure() ? 1 : 0;
              }),
              0);
    expect_all_there();
}

// Also a process that is killed inside a sync that fails leaves a note for the next one.
TEST_F(FullDeviceTest, LosesNothingBesideProcessesThatAreKilled)
{
    std::mt19937_64 random(20261124);
    for (int kills = 0; kills < 10; ++kills) {
        const pid_t child =
            start_child([&] { return write_all(1000 + 100 * kills, 1100 + 100 * kills, false); });
        usleep(static_cast<useconds_t>(5'000 + random() % 50'000));
        kill(child, SIGKILL);
        end_of(child);
    }
    device.give_room();
    EXPECT_EQ(run_in_child([&] { return write_all(3000, 3060, true); }), 0);
    expect_all_there();
}

} // namespace
} // namespace stepstore::testing
