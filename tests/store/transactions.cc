// Transactions on several targets, looked at and killed after every commit that they consist of.
#include "stepstore/printable.h"
#include "store/builtin.h"
#include "store/keys.h"
#include "store/transaction/changes.h"
#include "support/forwarding.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>

namespace stepstore::testing {
namespace {

// Called before and after each commit of a target; others may be open around it.
std::function<void()> at_commit;

class WatchedTarget final : public ForwardingTarget {
public:
    using ForwardingTarget::ForwardingTarget;
    void write(FunctionRef<void(WriteTransaction&)> body) override
    {
        real_.write([&](WriteTransaction& transaction) {
            body(transaction);
            call();
        });
        call();
    }

private:
    static void call()
    {
        if (!at_commit) return;
        const auto look = std::exchange(at_commit, nullptr); // not for what it does itself
        look();
        at_commit = look;
    }
};

Backend watched()
{
    return {
        "watched",
        [](const std::string& path, const NewPool& options) -> std::unique_ptr<Storage> {
            return std::make_unique<ForwardingStorage<WatchedTarget>>(path,
                                                                      lmdb::backend().create(path, options));
        },
        [](const std::string& path) -> std::unique_ptr<Storage> {
            return std::make_unique<ForwardingStorage<WatchedTarget>>(path, lmdb::backend().open(path));
        },
        [](const std::string& path) { lmdb::backend().destroy(path); },
        [](const std::string&) { return Found::nothing; },
        [](const std::string& path) { return path.ends_with(".watched"); },
    };
}

constexpr unsigned targets = 4;
constexpr ArrayAttributes shape{1, 50000};
const ObjectId values = kv_object(1, class_sx), array = array_object(2), copies = kv_object(3, class_rp_2gx);
const ObjectId gone = array_object(4);

std::vector<std::byte> content(bool is_new)
{
    return pattern(400000, is_new ? 2 : 1);
}

std::string named(const ObjectId& oid)
{
    return std::to_string(oid.lo) + " ";
}

// The stored bytes, by name.
using State = std::map<std::string, std::vector<std::byte>>;

State state_of(Container& in, Epoch epoch = latest)
{
    State all;
    for (const ObjectId& oid : {values, copies})
        for (const std::string& key : list_keys(in, oid, epoch))
            all[named(oid) + key] = *kv_read(in, oid, as_bytes(key), epoch);
    for (const ObjectId& oid : {array, gone})
        if (in.array_attributes(oid, epoch))
            all[named(oid)] = read_cells(in, oid, shape, 0, in.array_size(oid, shape, epoch), epoch);
    return all;
}

void make(Container& in)
{
    const auto bytes = content(false);
    for (int i = 0; i < 8; ++i)
        in.kv_put(values, as_bytes("v" + std::to_string(i)), Bytes(bytes).first(i % 2 == 0 ? 90000 : 200));
    in.kv_put(copies, as_bytes("c"), as_bytes("old"));
    for (const ObjectId& oid : {array, gone}) {
        in.array_create(oid, shape);
        write_cells(in, oid, shape, 0, bytes);
    }
}

void change(Container& in)
{
    const auto bytes = content(true);
    for (int i = 0; i < 8; i += 2)
        in.kv_put(values, as_bytes("v" + std::to_string(i)), Bytes(bytes).first(i % 4 == 0 ? 80000 : 300));
    in.kv_remove(values, as_bytes("v1"));
    in.kv_put(values, as_bytes("new"), Bytes(bytes).first(100000));
    in.kv_put(copies, as_bytes("c"), as_bytes("new"));
    write_cells(in, array, shape, 30000, Bytes(bytes).first(200000));
    in.punch(gone);
}

State after_change(State state)
{
    const auto bytes = content(true);
    for (int i = 0; i < 8; i += 2)
        state[named(values) + "v" + std::to_string(i)].assign(bytes.begin(),
                                                              bytes.begin() + (i % 4 == 0 ? 80000 : 300));
    state.erase(named(values) + "v1");
    state[named(values) + "new"].assign(bytes.begin(), bytes.begin() + 100000);
    state[named(copies) + "c"] = to_bytes("new");
    std::ranges::copy(Bytes(bytes).first(200000), state[named(array)].begin() + 30000);
    state.erase(named(gone));
    return state;
}

// A reader that may write nothing, of its own: the state is the one before, or the one after.
bool sees_all(const std::string& path, const State& before, const State& after)
{
    const State now = state_of(*Pool::open(path, Access::read_only)->open_container("test"));
    EXPECT_TRUE(now == before || now == after) << "a part of the transaction";
    return now == after;
}

class Killed : public ::testing::TestWithParam<std::tuple<bool, Durability>> {
protected:
    void SetUp() override
    {
        static const bool registered = [] {
            register_backend(watched());
            return true;
        }();
        ASSERT_TRUE(registered);
        PoolOptions options;
        options.backend = "watched";
        options.targets = targets;
        options.durability = std::get<1>(GetParam());
        path = directory.path().string() + "/pool.watched";
        auto pool = Pool::create(path, options);
        pool->create_container(uuid_of(1), "test", {});
        auto container = pool->open_container("test");
        make(*container);
        before = state_of(*container);
        after = after_change(before);
        if (std::get<0>(GetParam())) container->create_snapshot("");
        container.reset();
        pool.reset();
        original = path + ".original";
        std::filesystem::copy(path, original, std::filesystem::copy_options::recursive);
    }
    void begin_again()
    {
        std::filesystem::remove_all(path);
        std::filesystem::copy(original, path, std::filesystem::copy_options::recursive);
    }
    static void transact(Container& in)
    {
        auto mine = in.begin_transaction();
        mine->run(Transaction::Part::update, [](Container& at) { change(at); });
        mine->commit();
    }
    // A child that changes all in one transaction, and is killed before or after one of its commits.
    int killed_at(int point) const
    {
        return run_in_child([&] {
            auto container = Pool::open(path, Access::read_write)->open_container("test");
            int commits = 0;
            at_commit = [&] {
                if (++commits == point) kill(getpid(), SIGKILL);
            };
            transact(*container);
            at_commit = nullptr;
            return 0;
        });
    }

    TemporaryDirectory directory;
    std::string path, original;
    State before, after;
};

TEST_P(Killed, AtEveryCommitAllIsThereOrNothing)
{
    int done = 0, undone = 0;
    for (int point = 1;; ++point) {
        begin_again();
        const int end = killed_at(point);
        const bool is_done = sees_all(path, before, after);
        if (end == 0) {
            EXPECT_TRUE(is_done);
            break;
        }
        ASSERT_EQ(end, -SIGKILL);
        ++(is_done ? done : undone);
        EXPECT_TRUE(undamaged(Pool::check(path, {}))) << "at point " << point;
        const auto copy = path + ".copy.watched";
        std::filesystem::copy(path, copy, std::filesystem::copy_options::recursive);
        for (const bool repairs : {false, true}) { // by a repair, or by the next writer
            const std::string& at = repairs ? copy : path;
            if (repairs) {
                CheckOptions options;
                options.repair = true;
                EXPECT_TRUE(undamaged(Pool::check(at, options)));
            } else {
                auto pool = Pool::open(at, Access::read_write);
                auto in = pool->open_container("test");
                in->destroy_snapshot(in->create_snapshot("now")); // on every target
                if (std::get<0>(GetParam())) {
                    EXPECT_EQ(state_of(*in, in->snapshots().front().epoch), before);
                }
            }
            EXPECT_EQ(sees_all(at, before, after), is_done) << "what was seen stays, at point " << point;
            const CheckReport report = Pool::check(at, {});
            EXPECT_TRUE(undamaged(report));
            for (const CheckFinding& one : report.findings)
                EXPECT_EQ(one.what.find("transaction"), std::string::npos) << one.where << ": " << one.what;
            if (repairs) {
                EXPECT_EQ(report.reclaimable_bytes, 0U) << "at point " << point;
            }
        }
        std::filesystem::remove_all(copy);
        if (::testing::Test::HasFailure()) break;
    }
    EXPECT_GT(done, 0);
    EXPECT_GT(undone, 0);
    std::printf("%d kills, %d of them after the decision\n", done + undone, done);
}

TEST_P(Killed, OthersSeeAllOrNothingAtEveryCommit)
{
    auto pool = Pool::open(path, Access::read_write);
    auto container = pool->open_container("test");
    int looks = 0;
    bool was_done = false;
    at_commit = [&] {
        ++looks;
        const bool done = run_in_child([&] { return sees_all(path, before, after) ? 1 : 0; }) == 1;
        EXPECT_TRUE(done || !was_done) << "what was seen stays";
        was_done = done;
        const State mine = state_of(*container); // of the process that commits
        EXPECT_TRUE(mine == (done ? after : before));
        EXPECT_TRUE(undamaged(Pool::check(path, {})));
    };
    transact(*container);
    at_commit = nullptr;
    EXPECT_TRUE(was_done);
    EXPECT_GE(looks, 2 * static_cast<int>(targets));
    EXPECT_EQ(state_of(*container), after);
    EXPECT_EQ(Pool::check(path, {}).reclaimable_bytes, 0U);
}

// ---- damage

struct Stored {
    unsigned target;
    OwnedBytes key, value;
};

// What a transaction on several targets has left on them, and the container's marks.
std::vector<Stored> left_on_targets(const std::string& path)
{
    std::vector<Stored> all;
    auto storage = lmdb::backend().open(path);
    for (unsigned index = 0; index < storage->targets(); ++index)
        storage->target(index).read([&](ReadTransaction& transaction) {
            for (const Space space : {Space::container, Space::undo, Space::decision}) {
                const KeyBuffer prefix(space);
                Entry entry;
                for (bool more = transaction.seek(prefix.view(), entry);
                     more && starts_with(entry.key, prefix.view()); more = transaction.next(entry))
                    all.push_back({index, owned(entry.key), owned(entry.value)});
            }
        });
    return all;
}

// The stored value of a name is one of its two, or was said to be damaged. Gives how many were.
int damaged_values(Container& in, const State& before, const State& after)
{
    int damaged = 0;
    std::set<std::string> names;
    for (const State* state : {&before, &after})
        for (const auto& [name, value] : *state)
            names.insert(name);
    const auto one_of_both = [&](const std::string& name, const std::optional<OwnedBytes>& found) {
        return std::ranges::any_of(std::array{&before, &after}, [&](const State* state) {
            const auto known = state->find(name);
            return known == state->end() ? !found : found == known->second;
        });
    };
    for (const std::string& name : names) {
        const ObjectId oid = name.starts_with(named(values)) ? values : copies;
        if (!name.starts_with(named(oid))) continue; // arrays may have a part of each
        try {
            EXPECT_TRUE(one_of_both(name, kv_read(in, oid, as_bytes(name.substr(named(oid).size())))))
                << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_CSUM) << error.what();
            ++damaged;
        }
    }
    return damaged;
}

TEST_P(Killed, ADamagedNoteCopyOrDecisionIsSaidAndNoStateIsMixed)
{
    if (std::get<1>(GetParam()) == Durability::power) GTEST_SKIP() << "damage does not depend on it";
    std::mt19937 random(11);
    int refused = 0, tries = 0;
    for (int point = 2; point <= 16; point += 2) { // after each commit, until the end
        begin_again();
        const int end = killed_at(point);
        if (end == 0) break;
        const std::string killed = path + ".killed.watched";
        std::filesystem::copy(path, killed, std::filesystem::copy_options::recursive);
        const auto records = left_on_targets(killed);
        for (const Stored& one : records) {
            const bool is_copy = one.key[0] == static_cast<std::byte>(Space::undo);
            if (is_copy && random() % 24 != 0) continue; // there are many
            for (const bool of_key : {false, true}) {
                std::filesystem::remove_all(path);
                std::filesystem::copy(killed, path, std::filesystem::copy_options::recursive);
                Stored changed = one;
                OwnedBytes& bytes = of_key ? changed.key : changed.value;
                // A key's last byte: on the medium a damaged record stays beside its place.
                const std::size_t at = of_key ? bytes.size() - 1 : random() % bytes.size();
                bytes[at] ^= static_cast<std::byte>(1U << random() % 8);
                lmdb::backend().open(path)->target(one.target).write([&](WriteTransaction& transaction) {
                    transaction.erase(one.key);
                    transaction.put(changed.key, changed.value);
                });
                ++tries;
                const auto told = [&] {
                    return "point " + std::to_string(point) + ", target " + std::to_string(one.target) +
                           ", byte " + std::to_string(at) + (of_key ? " of the key " : " of ") +
                           printable(as_text(one.key));
                };
                try {
                    sees_all(path, before, after);
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), -DER_CSUM) << error.what();
                    EXPECT_NE(std::string(error.what()).find("target"), std::string::npos) << error.what();
                    ++refused;
                }
                EXPECT_TRUE(Pool::check(path, {}).damaged()) << told();
                CheckOptions repair;
                repair.repair = true;
                Pool::check(path, repair);
                {
                    auto pool = Pool::open(path, Access::read_write);
                    auto in = pool->open_container("test");
                    damaged_values(*in, before, after);
                }
                if (::testing::Test::HasFailure()) FAIL() << told();
            }
        }
        std::filesystem::remove_all(killed);
    }
    EXPECT_GT(refused, 0);
    std::printf("%d damages, %d readings refused\n", tries, refused);
}

// A medium that fails at each of the commits.
TEST_P(Killed, ACommitThatFailsLeavesAllOrNothing)
{
    int dones = 0, undones = 0;
    for (int point = 1;; ++point) {
        begin_again();
        auto pool = Pool::open(path, Access::read_write);
        auto container = pool->open_container("test");
        int commits = 0;
        at_commit = [&] {
            if (++commits == point) throw Error(-DER_NOSPACE, "the test's medium is full");
        };
        bool failed = false;
        try {
            transact(*container);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_NOSPACE);
            failed = true;
        }
        at_commit = nullptr;
        const bool fell = commits >= point;
        // The error of a commit that was done all the same leaves open what was.
        const bool done = sees_all(path, before, after);
        EXPECT_TRUE(done || failed) << "at point " << point;
        EXPECT_EQ(state_of(*container), done ? after : before);
        container->destroy_snapshot(container->create_snapshot("now"));
        container.reset();
        pool.reset();
        CheckOptions repair;
        repair.repair = true;
        EXPECT_TRUE(undamaged(Pool::check(path, repair)));
        const CheckReport report = Pool::check(path, {});
        EXPECT_EQ(report.reclaimable_bytes, 0U) << "at point " << point;
        (done ? dones : undones) += failed ? 1 : 0;
        EXPECT_EQ(sees_all(path, before, after), done);
        if (!fell || ::testing::Test::HasFailure()) break;
    }
    EXPECT_GT(undones, dones);
}

// ---- numbers under keys on all targets, whose sum stays 0

constexpr unsigned numbers = 8;

std::string key_of(unsigned number)
{
    return "n" + std::to_string(number % numbers);
}

long number_at(Container& in, unsigned number)
{
    const auto value = kv_read(in, values, as_bytes(key_of(number)));
    return value ? std::stol(std::string(as_text(*value))) : 0;
}

// Until it is committed; and then as new.
void repeat(Transaction& mine, FunctionRef<void()> calls)
{
    for (;;) {
        try {
            calls();
            mine.commit();
            return mine.restart();
        } catch (const Error& error) {
            if (error.code() != -DER_TX_RESTART) throw;
            mine.restart();
        }
    }
}

void move_something(Transaction& mine, std::mt19937& random)
{
    const auto from = static_cast<unsigned>(random() % numbers);
    const auto to = static_cast<unsigned>(from + 1 + random() % 5);
    repeat(mine, [&] {
        long left = 0, there = 0;
        mine.run(Transaction::Part::read, [&](Container& in) {
            left = number_at(in, from) - 7;
            there = number_at(in, to) + 7;
        });
        mine.run(Transaction::Part::update, [&](Container& in) {
            in.kv_put(values, as_bytes(key_of(from)), as_bytes(std::to_string(left)));
            in.kv_put(values, as_bytes(key_of(to)), as_bytes(std::to_string(there)));
        });
    });
}

long sum_in(Transaction& mine)
{
    long sum = 0;
    repeat(mine, [&] {
        sum = 0;
        mine.run(Transaction::Part::read, [&](Container& in) {
            for (unsigned number = 0; number < numbers; ++number)
                sum += number_at(in, number);
        });
    });
    return sum;
}

long sum_in(const std::string& path, Access access)
{
    return sum_in(*Pool::open(path, access)->open_container("test")->begin_transaction());
}

// Several write at once, which durability `power` commits in groups. Readers may write, or not.
TEST_P(Killed, SumsStayWhateverThreadsDo)
{
    auto pool = Pool::open(path, Access::read_write);
    auto container = pool->open_container("test");
    std::atomic<bool> moving{true};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads, readers;
    for (unsigned thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&, thread] {
            auto mine = container->begin_transaction();
            std::mt19937 random(thread);
            for (int move = 0; move < 40; ++move)
                move_something(*mine, random);
        });
    }
    for (const Access access : {Access::read_only, Access::read_write}) {
        readers.emplace_back([&, access] {
            auto in = Pool::open(path, access)->open_container("test");
            auto mine = in->begin_transaction();
            do { // at least once without writers, who may make it begin again all the time
                wrong += sum_in(*mine) != 0 ? 1 : 0;
            } while (moving);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    moving = false;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(wrong, 0);
    const CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(undamaged(report));
    for (const CheckFinding& one : report.findings)
        EXPECT_EQ(one.what.find("transaction"), std::string::npos) << one.where << ": " << one.what;
}

TEST_P(Killed, AtAnyInstantTheSumStays)
{
    std::mt19937 random(7);
    for (int kill_number = 0; kill_number < 12; ++kill_number) {
        const pid_t child = start_child([&] {
            auto container = Pool::open(path, Access::read_write)->open_container("test");
            std::vector<std::thread> threads;
            for (unsigned thread = 0; thread < 2; ++thread) {
                threads.emplace_back([&, seed = static_cast<unsigned>(random()) + thread] {
                    auto mine = container->begin_transaction();
                    for (std::mt19937 own(seed);;)
                        move_something(*mine, own);
                });
            }
            for (std::thread& thread : threads)
                thread.join();
            return 0;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 60));
        kill(child, SIGKILL);
        EXPECT_EQ(end_of(child), -SIGKILL);
        EXPECT_EQ(sum_in(path, Access::read_only), 0);
        EXPECT_TRUE(undamaged(Pool::check(path, {})));
        if (kill_number % 2 == 0) {
            EXPECT_EQ(sum_in(path, Access::read_write), 0);
        }
    }
    CheckOptions repair;
    repair.repair = true;
    EXPECT_TRUE(undamaged(Pool::check(path, repair)));
    EXPECT_EQ(sum_in(path, Access::read_only), 0);
    EXPECT_EQ(Pool::check(path, {}).reclaimable_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(, Killed,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Durability::process, Durability::power)));

} // namespace
} // namespace stepstore::testing
