// Leases (client/lease.h), through a table of all that take them: holders that are killed at random, calls
// that get no answer, forks, and holders that are so slow that others take over. A new user is in the table,
// or `TheTableHasAllUsers` fails.
#include "base/bytes.h"
#include "base/interrupt.h"
#include "client/lease.h"
#include "fields/session.h"
#include "steps/stream/writer_lease.h"
#include "support/errors.h"
#include "support/faulty_library.h"
#include "support/overtaken.h"
#include "support/processes.h"
#include "support/temporary.h"

#include <barrier>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
#include <set>
#include <sys/mman.h>
#include <thread>

namespace stepstore::testing {
namespace {

Container container_of(const std::string& pool)
{
    return Pool::connect_or_create(pool).open_or_create_container("default");
}

std::optional<Lease> taken(Lease lease)
{
    if (lease.take()) return std::nullopt;
    return lease;
}

struct User {
    std::string name;
    std::set<std::string> sources; // that make its leases
    std::string key;
    KeyValue (*object)(const std::string& pool);
    std::optional<Lease> (*take)(const std::string& pool); // nullopt: another has it
    bool gives_signs;
};

KeyValue object_of(const Container& container, std::uint32_t hi, const char* object_class)
{
    return container.key_value(container.object_id(0, hi, ObjectType::key_value, object_class));
}

const User users[] = {
    {"WriterOfAStream",
     {"src/steps/stream/writer_lease.cc"},
     "main",
     [](const std::string& pool) { return object_of(container_of(pool), 0x53530003, ""); },
     [](const std::string& pool) -> std::optional<Lease> {
         try {
             return steps::take_stream(container_of(pool), "main", pool, 30);
         } catch (const Error& error) {
             if (error.code() != -DER_BUSY) throw;
             return std::nullopt;
         }
     },
     true},
    {"MakerOfADataset",
     {"src/fields/session.cc", "python/stepstore/copying/datasets.py"},
     "m/fields-7",
     [](const std::string& pool) {
         const Container root = Pool::connect_or_create(pool).open_or_create_container("stepstore-fields");
         return object_of(root, 0, "S1");
     },
     [](const std::string& pool) {
         return taken(fields::Session::open_own(pool, Access::read_write)->claim("fields-7"));
     },
     false},
    {"CopyToAContainer",
     {"bindings/python/copying.cc", "python/stepstore/copying/mark.py"},
     "copy/",
     [](const std::string& pool) { return object_of(container_of(pool), 0x53530401, "S1"); },
     [](const std::string& pool) {
         return taken(Lease(object_of(container_of(pool), 0x53530401, "S1"), "copy/"));
     },
     false},
};

// Numbers that a test's processes share.
struct Shared {
    std::atomic<pid_t> holder;
    std::atomic<std::uint64_t> begun, done, refused, beside;
};

class Leases : public ::testing::TestWithParam<User> {
protected:
    Leases() { container_of(pool); }
    ~Leases() override { Library::restore_ours(); }

    std::optional<Lease> take() const { return user.take(pool); }
    bool take(std::optional<Lease>& into) const
    {
        into.reset();
        if (auto lease = take()) into.emplace(std::move(*lease));
        return into.has_value();
    }
    // Whether a process of its own gets it.
    bool another_gets_it() const
    {
        return run_in_child([&] { return take() ? 1 : 0; }) == 1;
    }
    void change_record(const std::function<void(LeaseRecord&)>& change) const
    {
        KeyValue object = user.object(pool);
        LeaseRecord record = decode_lease(object.get(user.key).value());
        change(record);
        object.put(user.key, encode_lease(record));
    }
    // In a child that takes the lease while this process has a thread that gives signs.
    bool child_may_give_signs() const
    {
#ifdef __SANITIZE_THREAD__ // GCC's thread sanitizer cannot have threads in a child of a process with threads
        return !user.gives_signs;
#else
        return true;
#endif
    }
    void holder_seems_dead() const
    {
        KeyValue object = user.object(pool);
        if (const auto bytes = object.get(user.key); bytes && !decode_lease(*bytes).over)
            change_record([](LeaseRecord& record) { ++record.holder.started; });
    }

    // The value that is published is a number. Each holder makes it greater by one.
    KeyValue number() const { return object_of(container_of(pool), 77, ""); }
    static std::uint64_t value_in(const KeyValue& object)
    {
        const auto bytes = object.get("number");
        return bytes ? load_little<std::uint64_t>(bytes->data()) : 0;
    }
    // False: it was refused.
    static bool publish(Lease& lease, KeyValue object)
    {
        const auto before = object.get("number");
        if (!lease.still_held()) return false;
        std::byte next[8];
        store_little(next, before ? load_little<std::uint64_t>(before->data()) + 1 : std::uint64_t{1});
        return object.put_if("number", before ? std::optional<Bytes>(*before) : std::nullopt, next);
    }

    const User user = GetParam();
    TemporaryDirectory directory;
    std::string pool = directory / "pool";
};

class LeasesWithSigns : public ::testing::Test {
protected:
    LeaseRecord record() const { return decode_lease(object.get(key).value()); }
    void wait_for_sign() const // ctest ends it if there is none
    {
        const std::uint64_t puts = record().puts;
        while (record().puts == puts)
            usleep(1000);
    }

    TemporaryDirectory directory;
    KeyValue open() const { return object_of(container_of(pool), 78, ""); }

    const std::string pool = directory / "pool";
    KeyValue object = open();
    const std::string key = "key";
};

TEST_P(Leases, OfManyThatAreKilledAtRandomOneHoldsItAtATime)
{
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const shared = new (memory) Shared{};
    const auto start = [&] {
        return start_child([&] {
            while (true) {
                auto lease = take();
                if (!lease) {
                    usleep(200);
                    continue;
                }
                pid_t me = getpid();
                const pid_t before = shared->holder.exchange(me);
                if (before != 0 && look_at(static_cast<std::uint64_t>(before)).alive) ++shared->beside;
                ++shared->begun;
                publish(*lease, number()) ? ++shared->done : ++shared->refused;
                if (!lease->say(as_bytes("published"))) ++shared->refused;
                shared->holder.compare_exchange_strong(me, 0);
            }
            return 0;
        });
    };
    constexpr int processes = 4, kills = 40;
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i)
        children.push_back(start());
    std::mt19937 random(1);
    const auto kill_one = [&](pid_t child) {
        ASSERT_EQ(kill(child, SIGKILL), 0);
        ASSERT_EQ(end_of(child), -SIGKILL) << "it ended by itself";
    };
    for (int i = 0; i < kills || shared->done < 10; ++i) {
        usleep(static_cast<useconds_t>(random() % 30'000));
        pid_t& child = children[random() % processes];
        kill_one(child);
        child = start();
    }
    for (const pid_t child : children)
        kill_one(child);
    EXPECT_EQ(shared->beside, 0U) << "two had it at once";
    EXPECT_EQ(shared->refused, 0U) << "one had it that did not";
    const std::uint64_t published = value_in(number());
    EXPECT_GE(published, shared->done);
    EXPECT_LE(published, shared->begun);
    EXPECT_TRUE(take()) << "the dead keep it";
    munmap(memory, sizeof(Shared));
}

TEST_P(Leases, ACallInDoubtGivesItToNobodyElseAndKeepsItFromNobody)
{
    use_faulty_library();
    Late& late = Late::one();
    enum Call : std::uint8_t { to_take, to_say, to_end, calls };
    enum Comes : std::uint8_t { soon, later, never, times };
    for (int call = 0; call < calls; ++call) {
        for (int comes = 0; comes < times; ++comes) {
            SCOPED_TRACE("call " + std::to_string(call) + " comes " + std::to_string(comes));
            std::optional<Lease> first;
            ASSERT_TRUE(call == to_take || take(first));
            late.puts = late.removals = user.key;
            if (call == to_take) EXPECT_ERROR(-DER_TIMEDOUT, take());
            if (call == to_say) EXPECT_ERROR(-DER_TIMEDOUT, first->say(as_bytes("one")));
            if (call == to_end) first.reset();
            late.disarm();
            ASSERT_EQ(late.kept.empty(), false);
            if (comes == soon) late.carry_out();
            if (call == to_say) {
                EXPECT_TRUE(first->say(as_bytes("two")));
                EXPECT_TRUE(first->still_held());
                EXPECT_FALSE(another_gets_it());
            } else {
                ASSERT_TRUE(take(first)) << "its own process cannot go on";
            }
            if (comes == later) late.carry_out();
            EXPECT_TRUE(first->still_held());
            EXPECT_TRUE(first->say(as_bytes("three")));
            EXPECT_EQ(as_text(decode_lease(user.object(pool).get(user.key).value()).note), "three");
            EXPECT_FALSE(another_gets_it());
            EXPECT_FALSE(take());
            late.kept.clear();
            first.reset();
            EXPECT_TRUE(another_gets_it());
        }
    }
}

TEST_P(Leases, AForkedChildNeitherHasItNorGivesItBack)
{
    auto lease = take();
    ASSERT_TRUE(lease);
    const int ended = run_in_child([&] {
        const std::function<void()> refused[] = {
            [&] { lease->look(); },  [&] { lease->take(); },       [&] { lease->take_as_seen({}); },
            [&] { lease->say({}); }, [&] { lease->still_held(); }, [&] { lease->remove(); },
            [&] { lease->lost(); },
        };
        for (const auto& call : refused)
            if (error_of(call).code() != -DER_NO_HDL) return 1;
        if (take()) return 2;
        lease->give_back();
        lease.reset();
        return 0;
    });
    EXPECT_EQ(ended, 0);
    EXPECT_TRUE(lease->still_held());
    EXPECT_TRUE(lease->say(as_bytes("on")));
    EXPECT_FALSE(another_gets_it());
    lease.reset();
    EXPECT_TRUE(another_gets_it());
}

TEST_P(Leases, OneThatIsSlowChangesNothingOfThoseThatTookOver)
{
    Overtaken overtaken;
    int told = 0;
    const std::pair<const char*, void (*)(Lease&)> ends[] = {
        {"leaves", [](Lease& lease) { lease.give_back(); }},
        {"removes", [](Lease& lease) { lease.remove(); }},
    };
    int round = 0;
    for (const auto& [name, end] : ends) {
        for (std::size_t at = 0;; ++at) {
            SCOPED_TRACE(std::string(name) + ", call " + std::to_string(at));
            pool = directory / ("pool" + std::to_string(round++));
            container_of(pool);
            std::optional<Lease> other;
            std::uint64_t published = 0;
            const bool came = overtaken.run(
                at,
                [&] {
                    holder_seems_dead();
                    ASSERT_TRUE(take(other));
                    ASSERT_TRUE(publish(*other, number()));
                    published = value_in(number());
                },
                [&] {
                    auto lease = take();
                    if (!lease) return;
                    const bool done = publish(*lease, number()) && lease->say(as_bytes("published"));
                    if (!done) {
                        ++told;
                        EXPECT_FALSE(lease->still_held());
                        EXPECT_TRUE(lease->lost());
                    }
                    end(*lease);
                });
            if (!came) break;
            EXPECT_EQ(overtaken.failure(), nullptr);
            EXPECT_EQ(value_in(number()), published);
            EXPECT_TRUE(other->still_held());
            EXPECT_TRUE(other->say(as_bytes("on")));
            EXPECT_FALSE(take());
            other.reset();
            EXPECT_TRUE(take());
        }
    }
    EXPECT_GT(told, 0);
}

TEST_P(Leases, ThreadsMayGiveItBackAtOnce)
{
    constexpr int rounds = 30, threads = 4;
    for (int round = 0; round < rounds; ++round) {
        auto lease = take();
        ASSERT_TRUE(lease);
        std::barrier together(threads);
        std::vector<std::jthread> all;
        for (int i = 0; i < threads; ++i)
            all.emplace_back([&, i] {
                together.arrive_and_wait();
                if (i == 0) lease->say(as_bytes("on"));
                i % 2 == 0 ? lease->give_back() : static_cast<void>(lease->remove());
            });
        all.clear();
        EXPECT_FALSE(lease->still_held());
        EXPECT_TRUE(another_gets_it());
    }
}

TEST_P(Leases, OneThatWasLostCanBeTakenAgain)
{
    if (!child_may_give_signs()) GTEST_SKIP() << "with this sanitizer";
    auto lease = take();
    ASSERT_TRUE(lease);
    holder_seems_dead();
    ASSERT_TRUE(another_gets_it());
    ASSERT_FALSE(lease->still_held());
    ASSERT_TRUE(lease->lost());
    EXPECT_FALSE(lease->take()) << "it is free";
    EXPECT_FALSE(lease->lost());
    EXPECT_TRUE(lease->still_held());
    EXPECT_TRUE(lease->say(as_bytes("on")));
    EXPECT_FALSE(another_gets_it());
    lease.reset();
    EXPECT_TRUE(another_gets_it());
}

TEST_F(LeasesWithSigns, OneThatIsTakenAgainGivesSigns)
{
    constexpr double timeout = 0.03; // a sign every 10 ms
    Lease lease(open(), key, timeout);
    ASSERT_FALSE(lease.take());
    wait_for_sign();
    LeaseRecord other = record();
    other.over = true;
    ++other.token;
    object.put(key, encode_lease(other));
    while (!lease.lost())
        usleep(1000);
    ASSERT_FALSE(lease.take());
    wait_for_sign();
    lease.give_back();
    ASSERT_FALSE(lease.take());
    wait_for_sign();
    EXPECT_TRUE(lease.still_held());
}

TEST_P(Leases, ALivingHolderIsToldFromADeadOne)
{
    if (!child_may_give_signs()) GTEST_SKIP() << "with this sanitizer";
    auto lease = take();
    ASSERT_TRUE(lease);
    EXPECT_FALSE(take()) << "the same process";
    EXPECT_FALSE(another_gets_it());
    // After a restart of its machine, or on another one, it cannot be seen.
    change_record([](LeaseRecord& record) { record.holder.machine += "'"; });
    EXPECT_FALSE(take());
    // Another process has its number now.
    change_record([](LeaseRecord& record) {
        record.holder = this_process();
        ++record.holder.started;
    });
    EXPECT_TRUE(another_gets_it());
    EXPECT_FALSE(lease->still_held());
    EXPECT_FALSE(lease->say({}));
    EXPECT_TRUE(lease->lost());
    lease.reset();
    if (!user.gives_signs) { // otherwise it is watched: steps.writers
        auto object = user.object(pool);
        object.put(user.key, as_bytes("no record of a lease"));
        EXPECT_TRUE(another_gets_it());
    }
}

TEST_P(Leases, AWaitForAnUnseenHolderEndsIfItIsAskedTo)
{
    auto lease = take();
    ASSERT_TRUE(lease);
    change_record([](LeaseRecord& record) {
        record.holder.machine += "'";
        record.sign_ms = 1; // so that it is watched, if it gives signs
    });
    const auto asked = [&] {
        ask_in_waits([] { return true; });
        const int code = code_of([&] { take(); });
        return code == (user.gives_signs ? -DER_CANCELED : 0) ? 0 : 1;
    };
    EXPECT_EQ(run_in_child(asked), 0);
}

TEST(LeaseRecords, AnIntervalOfYearsIsDamage)
{
    LeaseRecord record;
    record.interval_ms = std::uint64_t{1} << 40;
    EXPECT_TRUE(decode_lease(encode_lease(record)).damaged);
    record.interval_ms = 333'333'334; // of the longest time-out that a writer may have
    EXPECT_FALSE(decode_lease(encode_lease(record)).damaged);
}

INSTANTIATE_TEST_SUITE_P(Users, Leases, ::testing::ValuesIn(users),
                         [](const auto& one) { return one.param.name; });

// Sources that make a Lease: a value or a return of this type, or _core.Lease.
TEST(LeaseUsers, TheTableHasAllUsers)
{
    std::set<std::string> known, found;
    for (const User& user : users)
        known.insert(user.sources.begin(), user.sources.end());
    const std::filesystem::path root = STEPSTORE_SOURCE_DIR;
    const std::regex makes(R"(\bLease\(|\bLease \w+[({]|^Lease [\w:]+\(|_core\.Lease\()",
                           std::regex::ECMAScript | std::regex::multiline);
    for (const char* top : {"src", "bindings", "plugins", "python"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
            const std::string name = std::filesystem::relative(entry.path(), root).string();
            if (!name.ends_with(".cc") && !name.ends_with(".py")) continue;
            std::ifstream file(entry.path());
            const std::string text(std::istreambuf_iterator<char>(file), {});
            if (name != "src/client/lease.cc" && std::regex_search(text, makes)) found.insert(name);
        }
    EXPECT_EQ(found, known) << "add a user of leases to the table above, or remove one that is none";
}

} // namespace
} // namespace stepstore::testing
