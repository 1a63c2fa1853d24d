// kill -9 of store writers at random moments. After each, a process that knows nothing of them finds: every
// acknowledged update whole; the one in flight either done or not; nothing torn; no damage.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <sys/mman.h>
#include <thread>

namespace stepstore::testing {
namespace {

constexpr int writers = 4;
const int rounds = ceph_pool() != nullptr ? 50 : 30; // 200 kills, or 120
constexpr int keys = 12;                             // of each writer
constexpr std::uint64_t slot = 150000;
constexpr std::uint64_t small_part = 1000; // of a slot
constexpr ArrayAttributes attributes{1, 100000};

// What a writer acknowledged and what it was doing, in memory that outlives it. Updates of a key are numbered
// from 1.
struct Log {
    struct Key {
        std::uint64_t number = 0; // of the last acknowledged update
        bool present = false;     // it was a put
    };
    enum Doing : std::uint64_t { nothing, put, remove, array_small, array_large, snapshot };
    Key key[keys];
    std::uint64_t array_small_number = 0, array_large_number = 0;
    Epoch snapshot_epoch = 0;
    Key at_snapshot[keys];
    // Set before an update, cleared after its acknowledgement.
    std::atomic<Doing> doing{nothing};
    std::uint64_t doing_key = 0;
    std::atomic<std::uint64_t> updates{0};
};

std::vector<std::byte> numbered(std::uint64_t writer, std::uint64_t key, std::uint64_t number)
{
    const std::uint64_t sizes[] = {16, 300, 5000, 60000, 66000, 200000};
    auto value = pattern(sizes[(key + number) % 6], writer << 48 | key << 40 | number);
    store_little(value.data(), number);
    return value;
}

ObjectId object_of(std::uint64_t key)
{
    return kv_object(1 + key % 3, key % 3 == 2 ? class_rp_2g1 : class_sx);
}

std::string name_of(std::uint64_t writer, std::uint64_t key)
{
    return "w" + std::to_string(writer) + (key % 4 == 0 ? std::string(100, 'k') : "k") + std::to_string(key);
}

std::vector<std::byte> small_cells(std::uint64_t writer, std::uint64_t number)
{
    return pattern(small_part, number << 8 | writer);
}

std::vector<std::byte> large_cells(std::uint64_t writer, std::uint64_t number)
{
    return pattern(slot - small_part, number << 8 | 128 | writer);
}

class Writer {
public:
    Writer(const std::string& path, Log& log, std::uint64_t me, std::uint64_t seed)
        : container_(Pool::open(path, Access::read_write)->open_container("test")), log_(log), me_(me),
          random_(seed)
    {
    }
    [[noreturn]] void run_until_killed()
    {
        for (;;) {
            const auto what = random_() % 100;
            if (what < 70)
                update_key(what < 12);
            else if (what < 95)
                update_array(what >= 88);
            else if (me_ == 0)
                snapshot();
            else if (me_ == 1)
                pass_a_container();
            log_.doing = Log::nothing;
            ++log_.updates;
        }
    }

private:
    void update_key(bool removal)
    {
        const std::uint64_t key = random_() % keys;
        log_.doing_key = key;
        log_.doing = removal ? Log::remove : Log::put;
        const std::uint64_t number = log_.key[key].number + 1;
        if (removal)
            container_->kv_remove(object_of(key), as_bytes(name_of(me_, key)));
        else
            container_->kv_put(object_of(key), as_bytes(name_of(me_, key)), numbered(me_, key, number));
        log_.key[key] = {number, !removal};
    }
    void update_array(bool large)
    {
        log_.doing = large ? Log::array_large : Log::array_small;
        auto& number = large ? log_.array_large_number : log_.array_small_number;
        const auto cells = large ? large_cells(me_, number + 1) : small_cells(me_, number + 1);
        write_cells(*container_, array_object(1), attributes, me_ * slot + (large ? small_part : 0), cells);
        ++number;
    }
    void snapshot()
    {
        log_.doing = Log::snapshot;
        const auto all = container_->snapshots();
        if (all.size() > 3) container_->destroy_snapshot(all.front().epoch);
        // One that was killed before it could note its snapshot has left that under its name.
        const std::string name = "by the first, " + std::to_string(all.empty() ? 0 : all.back().epoch);
        const Epoch epoch = container_->create_snapshot(name);
        log_.snapshot_epoch = 0;
        std::copy(std::begin(log_.key), std::end(log_.key), std::begin(log_.at_snapshot));
        log_.snapshot_epoch = epoch;
    }
    void pass_a_container()
    {
        der_of([&] { container_->pool()->create_container(uuid_of(77), "passing", {}); });
        container_->pool()->open_container("passing")->kv_put(kv_object(9, class_sx), as_bytes("k"),
                                                              pattern(70000, 1));
        container_->pool()->destroy_container("passing", true);
    }

    std::shared_ptr<Container> container_;
    Log& log_;
    const std::uint64_t me_;
    std::mt19937_64 random_;
};

// Compares the store with one writer's log, in a process of its own, and brings the log up to date with an
// update that was in flight.
class Verifier {
public:
    Verifier(Container& container, Log& log, std::uint64_t me) : container_(container), log_(log), me_(me) {}

    bool verify()
    {
        for (std::uint64_t key = 0; key < keys; ++key)
            verify_key(key);
        verify_array(0, small_part, log_.array_small_number, log_.doing == Log::array_small, small_cells);
        verify_array(small_part, slot, log_.array_large_number, log_.doing == Log::array_large, large_cells);
        if (log_.snapshot_epoch != 0) {
            for (std::uint64_t key = 0; key < keys; ++key)
                verify_at_snapshot(key);
        }
        log_.doing = Log::nothing;
        return good_;
    }

private:
    void wrong(const std::string& what)
    {
        std::fprintf(stderr, "writer %llu: %s\n", static_cast<unsigned long long>(me_), what.c_str());
        good_ = false;
    }
    void verify_key(std::uint64_t key)
    {
        Log::Key& last = log_.key[key];
        const bool in_flight = log_.doing_key == key && (log_.doing == Log::put || log_.doing == Log::remove);
        const auto value = kv_read(container_, object_of(key), as_bytes(name_of(me_, key)));
        const std::uint64_t number = value ? load_little<std::uint64_t>(value->data()) : 0;
        if (value && *value != numbered(me_, key, number))
            return wrong("a torn value of key " + std::to_string(key));
        if (value ? last.present && number == last.number : !last.present) return; // as it was acknowledged
        const bool done = in_flight && (value ? log_.doing == Log::put && number == last.number + 1
                                              : log_.doing == Log::remove);
        if (!done) {
            wrong("key " + std::to_string(key) + " has update " + std::to_string(number) + " and not " +
                  std::to_string(last.number));
        }
        last = {last.number + 1, value.has_value()};
    }
    void verify_at_snapshot(std::uint64_t key)
    {
        const Log::Key& then = log_.at_snapshot[key];
        const auto value =
            kv_read(container_, object_of(key), as_bytes(name_of(me_, key)), log_.snapshot_epoch);
        if (value.has_value() != then.present || (value && *value != numbered(me_, key, then.number))) {
            const auto number = value ? load_little<std::uint64_t>(value->data()) : 0;
            wrong("key " + std::to_string(key) + " is not in the snapshot " +
                  std::to_string(log_.snapshot_epoch) + " as it was then: update " + std::to_string(number) +
                  " and not " + (then.present ? std::to_string(then.number) : "absent"));
        }
    }
    // Each chunk's part of a write is there as a whole or not at all.
    void verify_array(std::uint64_t from, std::uint64_t to, std::uint64_t& number, bool in_flight,
                      std::vector<std::byte> (*cells)(std::uint64_t, std::uint64_t))
    {
        const auto got = read_cells(container_, array_object(1), attributes, me_ * slot + from, to - from);
        const auto before = number == 0 ? std::vector<std::byte>(to - from) : cells(me_, number);
        const auto after = cells(me_, number + 1);
        for (std::uint64_t at = from; at < to;) {
            const std::uint64_t place = me_ * slot + at;
            const std::uint64_t end =
                std::min(to, at + attributes.chunk_size - place % attributes.chunk_size);
            const auto same = [&](const std::vector<std::byte>& as) {
                return std::equal(got.begin() + static_cast<long>(at - from),
                                  got.begin() + static_cast<long>(end - from),
                                  as.begin() + static_cast<long>(at - from));
            };
            if (!same(before) && !(in_flight && same(after))) {
                wrong("cells " + std::to_string(at) + " to " + std::to_string(end) +
                      " of its slot are wrong");
            }
            at = end;
        }
        if (!in_flight) return;
        write_cells(container_, array_object(1), attributes, me_ * slot + from, after);
        ++number;
    }

    Container& container_;
    Log& log_;
    const std::uint64_t me_;
    bool good_ = true;
};

int verify_all(const std::string& path, Log* logs, bool check)
{
    auto pool = Pool::open(path, Access::read_write);
    auto container = pool->open_container("test");
    bool good = true;
    for (int writer = 0; writer < writers; ++writer)
        good = Verifier(*container, logs[writer], static_cast<std::uint64_t>(writer)).verify() && good;
    if (!good) return 1;
    if (!check) return 0;
    const CheckReport report = Pool::check(path, {true, false});
    for (const CheckFinding& one : report.findings) {
        if (one.severity != CheckFinding::Severity::damage) continue;
        std::fprintf(stderr, "check: %s: %s\n", one.where.c_str(), one.what.c_str());
        good = false;
    }
    return good ? 0 : 2;
}

TEST(StoreKill, WritersKilledAtRandomMomentsLeaveWhatTheyAcknowledged)
{
    TemporaryDirectory directory;
    const bool on_rados = ceph_pool() != nullptr;
    const std::string path = pool_path(directory, on_rados ? "rados" : "lmdb", "pool");
    // This process never opens the pool.
    ASSERT_EQ(run_in_child([&] {
                  PoolOptions options;
                  options.targets = 3;
                  Pool::create(path, options)->create_container(uuid_of(1), "test", {});
                  return 0;
              }),
              0);
    void* memory =
        mmap(nullptr, sizeof(Log) * writers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    Log* logs = static_cast<Log*>(memory);
    for (int writer = 0; writer < writers; ++writer)
        new (&logs[writer]) Log;
    std::mt19937_64 random(20261121);
    int kills = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<pid_t> children;
        const std::uint64_t begun = logs[0].updates;
        for (int writer = 0; writer < writers; ++writer) {
            children.push_back(start_child([&, writer, seed = random()]() -> int {
                const auto me = static_cast<std::uint64_t>(writer);
                Writer(path, logs[writer], me, seed).run_until_killed();
            }));
        }
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (logs[0].updates < begun + 5 && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (const pid_t child : children) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 15000));
            kill(child, SIGKILL);
            kills += end_of(child) == -SIGKILL ? 1 : 0;
        }
        ASSERT_EQ(run_in_child([&] { return verify_all(path, logs, round % 6 == 5); }), 0)
            << "after round " << round;
    }
    EXPECT_EQ(kills, writers * rounds) << "a writer ended by itself";
    for (int writer = 0; writer < writers; ++writer)
        EXPECT_GT(logs[writer].updates, static_cast<std::uint64_t>(rounds))
            << "the writers did next to nothing";
    // What the dead left is given back, and nothing else goes.
    ASSERT_EQ(run_in_child([&] {
                  Pool::check(path, {true, true});
                  const CheckReport report = Pool::check(path, {true, false});
                  if (report.damaged()) return 1;
                  return report.reclaimable_bytes == 0 ? verify_all(path, logs, false) : 2;
              }),
              0);
    munmap(memory, sizeof(Log) * writers);
    if (!on_rados) return;
    // The cluster takes a process for dead after ten seconds. Then the next one that opens the pool for
    // updates gives back what the dead had appended and not published, and what they had dropped and not
    // removed. The marks of snapshots whose creators died go when a newer snapshot is removed.
    std::this_thread::sleep_for(std::chrono::seconds(12));
    {
        const auto container = Pool::open(path, Access::read_write)->open_container("test");
        container->destroy_snapshots(std::array{container->create_snapshot("the newest")});
    }
    // Marks of a container whose maker died stay until the next one is made, or a repair.
    for (const CheckFinding& one : Pool::check(path, {true, true}).findings) {
        if (one.severity != CheckFinding::Severity::info || one.what.find("container") == std::string::npos)
            ADD_FAILURE() << one.where << ": " << one.what;
    }
    for (const CheckFinding& one : Pool::check(path, {true, false}).findings)
        ADD_FAILURE() << one.where << ": " << one.what << " (after a repair)";
    int destroyed = -1;
    std::string message;
    for (int wait = 0; destroyed != 0 && wait < 30; ++wait) {
        destroyed = der_of([&] { Pool::destroy(path); }, &message);
        if (destroyed != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    EXPECT_EQ(destroyed, 0) << message;
}

} // namespace
} // namespace stepstore::testing
