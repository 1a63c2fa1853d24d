// Processes whose clocks differ by ten minutes, on one pool.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <atomic>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>

namespace {
std::atomic<long> seconds_ahead{0}; // of the real-time clock of this process
}

// In the place of the C library's, for all that this process loads.
extern "C" int clock_gettime(clockid_t clock, timespec* now)
{
    const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
    if (clock == CLOCK_REALTIME) now->tv_sec += seconds_ahead;
    return result;
}

namespace stepstore::testing {
namespace {

constexpr int keys = 16;

struct Shared {
    std::atomic<std::uint64_t> acknowledged{0};
    std::atomic<bool> stop{false};
};

// The number goes to every target, one key after the other.
int write_numbers(const std::string& path, Shared& shared, long ahead)
{
    seconds_ahead = ahead;
    const auto container = Pool::open(path, Access::read_write)->open_container("test");
    for (std::uint64_t i = 1; !shared.stop; ++i) {
        for (int key = 0; key < keys; ++key)
            container->kv_put(kv_object(1, class_sx), as_bytes(std::to_string(key)),
                              as_bytes(std::to_string(i)));
        shared.acknowledged = i;
    }
    return 0;
}

// What was acknowledged before a snapshot is in it, and what began after is not.
bool is_a_cut(Container& container, Shared& shared)
{
    const std::uint64_t before = shared.acknowledged;
    const Epoch epoch = container.create_snapshot("");
    const std::uint64_t after = shared.acknowledged + 1;
    std::uint64_t last = UINT64_MAX;
    for (int key = 0; key < keys; ++key) {
        const auto value = kv_read(container, kv_object(1, class_sx), as_bytes(std::to_string(key)), epoch);
        if (!value) return false;
        const std::uint64_t number = std::stoull(std::string(as_text(*value)));
        if (number < before || number > after || number > last) return false;
        last = number;
    }
    container.destroy_snapshot(epoch);
    return true;
}

void try_clocks(long writers, long snapshots)
{
    const TemporaryDirectory directory;
    const std::string path = pool_path(directory, "rados", "pool");
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    Shared& shared = *new (memory) Shared;
    ASSERT_EQ(run_in_child([&] {
                  PoolOptions options;
                  options.targets = 4;
                  Pool::create(path, options)->create_container(uuid_of(1), "test", {});
                  return 0;
              }),
              0);
    const pid_t writer = start_child([&] { return write_numbers(path, shared, writers); });
    const int cuts = run_in_child([&] {
        seconds_ahead = snapshots;
        const auto container = Pool::open(path, Access::read_write)->open_container("test");
        while (shared.acknowledged < 2)
            std::this_thread::yield();
        for (int round = 0; round < 15; ++round)
            if (!is_a_cut(*container, shared)) return 1;
        return 0;
    });
    EXPECT_EQ(cuts, 0);
    shared.stop = true;
    EXPECT_EQ(end_of(writer), 0);
    munmap(memory, sizeof(Shared));
}

TEST(RadosClocks, AWriterAheadOfTheOneWhoMakesSnapshots)
{
    try_clocks(300, -300);
}

TEST(RadosClocks, AWriterBehindTheOneWhoMakesSnapshots)
{
    try_clocks(-300, 300);
}

} // namespace
} // namespace stepstore::testing
