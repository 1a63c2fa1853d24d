// Readers that may not write a file of the pool, so that writers do not know of them: another user at umask
// 022. STEPSTORE_SECONDS: how long they run beside writers (default 4).
#include "support/processes.h"
#include "support/store_fixture.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>

namespace stepstore::testing {
namespace {

constexpr unsigned stranger = 65534;
constexpr int keys = 500;
constexpr std::uint64_t sizes[] = {24, 100, 5000, 70000};

std::string key_of(int number)
{
    return "key-" + std::to_string(number);
}

std::vector<std::byte> value_of(int number, std::uint64_t turn)
{
    auto value = pattern(sizes[(static_cast<std::uint64_t>(number) + turn) % 4], turn);
    store_little(value.data(), static_cast<std::uint64_t>(number));
    store_little(value.data() + 8, turn);
    return value;
}

class ForeignReaders : public StoreTest {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
        umask(022);
        open_pool("lmdb", 2);
        for (auto at = std::filesystem::path(path); at != at.root_path() && at != "/tmp" && at != "/dev/shm";
             at = at.parent_path())
            std::filesystem::permissions(
                at, std::filesystem::perms::others_read | std::filesystem::perms::others_exec,
                std::filesystem::perm_options::add);
        for (int number = 0; number < keys; ++number)
            container->kv_put(object, as_bytes(key_of(number)), value_of(number, 0));
        container.reset(); // a child would open it as its parent had it
        pool.reset();
    }
    static bool over(std::chrono::steady_clock::time_point end)
    {
        return std::chrono::steady_clock::now() > end;
    }
    std::chrono::steady_clock::time_point the_end() const
    {
        const char* given = std::getenv("STEPSTORE_SECONDS");
        return std::chrono::steady_clock::now() +
               std::chrono::seconds(given != nullptr ? std::atoi(given) : 4);
    }
    // All values are whole, all keys are there. As a stranger; returns what the child process ends with.
    int read_all_of_it(std::chrono::steady_clock::time_point end) const
    {
        if (setgid(stranger) != 0 || setuid(stranger) != 0) return 1;
        std::uint64_t rounds = 0;
        do {
            const auto mine = Pool::open(path, Access::read_only)->open_container("test");
            for (int number = 0; number < keys; number += 7) {
                const auto value = mine->kv_read(object, as_bytes(key_of(number)));
                if (!value || value->size() < 16) return 2;
                const auto turn = load_little<std::uint64_t>(value->data() + 8);
                if (*value != value_of(number, turn)) return 3;
            }
            if (mine->kv_read(object, as_bytes(std::string("no such key")))) return 4;
            ListPosition position;
            int listed = 0;
            mine->kv_list(object, position, [&](Bytes, std::uint64_t) { return ++listed <= keys; });
            if (listed != keys) return 5;
            ++rounds;
        } while (!over(end));
        return rounds != 0 ? 0 : 6;
    }
    int write_on(std::uint64_t writer, std::chrono::steady_clock::time_point end) const
    {
        const auto mine = Pool::open(path, Access::read_write)->open_container("test");
        for (std::uint64_t turn = writer + 1; !over(end); turn += 2) {
            const int number = static_cast<int>(turn * 31 % keys);
            mine->kv_put(object, as_bytes(key_of(number)), value_of(number, turn));
        }
        return 0;
    }
    const ObjectId object = kv_object(1, class_sx);
};

TEST_F(ForeignReaders, ReadBesideWritersWithoutAFalseError)
{
    const auto end = the_end();
    std::vector<pid_t> children;
    for (std::uint64_t writer = 0; writer < 2; ++writer)
        children.push_back(start_child([&] { return write_on(writer, end); }));
    for (int reader = 0; reader < 2; ++reader)
        children.push_back(start_child([&] { return read_all_of_it(end); }));
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
}

TEST_F(ForeignReaders, ReadAPoolThatNobodyWrites)
{
    EXPECT_EQ(run_in_child([&] { return read_all_of_it(std::chrono::steady_clock::now()); }), 0);
}

TEST_F(ForeignReaders, CheckWhatNobodyWritesAndFindNothing)
{
    EXPECT_EQ(run_in_child([&] {
                  if (setgid(stranger) != 0 || setuid(stranger) != 0) return 1;
                  return Pool::check(path, {}).damaged() ? 2 : 0;
              }),
              0);
}

} // namespace
} // namespace stepstore::testing
