// Transactions: all or nothing, what they see, and that those of several threads and processes are as if one
// came after the other.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <atomic>
#include <map>
#include <thread>

namespace stepstore::testing {
namespace {

using Part = Transaction::Part;

class TransactionContract : public StoreTest {
protected:
    // Where a transaction of several targets is refused, one has to do.
    void SetUp() override { open_pool(GetParam(), several() ? 4 : 1); }
    static bool several() { return GetParam() != "rados" && GetParam() != "optimistic"; }
    static int rounds(int locally) { return GetParam() == "rados" ? locally / 10 : locally; }
};
INSTANTIATE_TEST_SUITE_P(Backends, TransactionContract, every_backend(), backend_name);

void put(Transaction& transaction, const ObjectId& oid, const std::string& key, Bytes value,
         Condition condition = Condition::none)
{
    transaction.run(Part::update, [&](Container& in) { in.kv_put(oid, as_bytes(key), value, condition); });
}

std::optional<std::string> get(Transaction& transaction, const ObjectId& oid, const std::string& key)
{
    std::optional<std::vector<std::byte>> value;
    transaction.run(Part::read, [&](Container& in) { value = kv_read(in, oid, as_bytes(key)); });
    if (!value) return std::nullopt;
    return std::string(as_text(*value));
}

std::string get(Container& container, const ObjectId& oid, const std::string& key)
{
    const auto value = kv_read(container, oid, as_bytes(key));
    return value ? std::string(as_text(*value)) : "none";
}

TEST_P(TransactionContract, NothingIsSeenBeforeTheCommitAndAllAfterIt)
{
    const ObjectId one = kv_object(1), two = kv_object(2, class_sx);
    container->kv_put(one, as_bytes("a"), as_bytes("old"));
    auto transaction = container->begin_transaction();
    put(*transaction, one, "a", as_bytes("new"));
    put(*transaction, one, "a", as_bytes("newer"));
    for (int i = 0; i < 20; ++i)
        put(*transaction, two, "k" + std::to_string(i), as_bytes("v"));
    EXPECT_EQ(get(*transaction, one, "a"), "old") << "as on DAOS, reads do not see the transaction's updates";
    EXPECT_EQ(get(*container, one, "a"), "old");
    EXPECT_TRUE(list_keys(*container, two).empty());
    const Epoch epoch = transaction->commit();
    EXPECT_GT(epoch, 0U);
    EXPECT_EQ(get(*container, one, "a"), "newer");
    EXPECT_EQ(list_keys(*container, two).size(), 20U);
    EXPECT_LE(container->last_update(two), epoch);
}

TEST_P(TransactionContract, WithoutACommitNothingIsLeft)
{
    const ObjectId oid = kv_object(1, class_sx);
    const auto large = pattern(300000, 1);
    for (const bool restarts : {true, false}) {
        auto transaction = container->begin_transaction();
        put(*transaction, oid, "large", large);
        put(*transaction, oid, "small", as_bytes("x"));
        if (restarts) transaction->restart();
    }
    EXPECT_TRUE(list_keys(*container, oid).empty());
    if (GetParam() == "rados") return; // space comes back later there
    EXPECT_EQ(Pool::check(path, {}).reclaimable_bytes, 0U);
}

TEST_P(TransactionContract, WhatOthersChangeMakesItBeginAgain)
{
    const ObjectId oid = kv_object(1);
    container->kv_put(oid, as_bytes("read"), as_bytes("1"));
    struct {
        const char* what;
        std::function<void(Transaction&)> see;
        std::function<void()> change;
    } const cases[] = {
        {"a value that was read", [&](Transaction& mine) { get(mine, oid, "read"); },
         [&] { container->kv_put(oid, as_bytes("read"), as_bytes("2")); }},
        {"the same value, put again", [&](Transaction& mine) { get(mine, oid, "read"); },
         [&] { container->kv_put(oid, as_bytes("read"), as_bytes("2")); }},
        {"a key that was not there", [&](Transaction& mine) { get(mine, oid, "none"); },
         [&] { container->kv_put(oid, as_bytes("none"), as_bytes("2")); }},
        {"a key between two that were listed",
         [&](Transaction& mine) { mine.run(Part::read, [&](Container& in) { list_keys(in, oid); }); },
         [&] { container->kv_put(oid, as_bytes("nope"), as_bytes("2")); }},
        {"a key that it puts", [&](Transaction&) {},
         [&] { container->kv_put(oid, as_bytes("put"), as_bytes("other")); }},
        {"a snapshot", [&](Transaction&) {}, [&] { container->create_snapshot(""); }},
    };
    for (const auto& one : cases) {
        auto mine = container->begin_transaction();
        one.see(*mine);
        put(*mine, oid, "put", as_bytes("mine"));
        put(*mine, kv_object(7, class_sx), "beside", as_bytes("mine"));
        one.change();
        EXPECT_EQ(der_of([&] { mine->commit(); }), DER_TX_RESTART) << one.what;
        EXPECT_NE(get(*container, oid, "put"), "mine") << one.what;
        EXPECT_EQ(get(*container, kv_object(7, class_sx), "beside"), "none") << one.what;
    }
}

TEST_P(TransactionContract, WhatItReadsWasSoAtOneMoment)
{
    const ObjectId a = kv_object(1), b = kv_object(2), c = kv_object(3);
    for (const ObjectId& oid : {a, b, c})
        container->kv_put(oid, as_bytes("k"), as_bytes("1"));
    auto mine = container->begin_transaction();
    EXPECT_EQ(get(*mine, a, "k"), "1");
    container->kv_put(c, as_bytes("k"), as_bytes("2")); // which it has not read
    EXPECT_EQ(get(*mine, b, "k"), "1");
    container->kv_put(a, as_bytes("k"), as_bytes("2"));
    EXPECT_EQ(der_of([&] { get(*mine, c, "k"); }), DER_TX_RESTART);
    mine->restart();
    EXPECT_EQ(get(*mine, a, "k"), "2");
    EXPECT_EQ(get(*mine, c, "k"), "2");
    EXPECT_EQ(mine->commit(), 0U) << "it has changed nothing";
}

TEST_P(TransactionContract, ConditionsCountAtOnceAndOfWhatWasCommitted)
{
    const ObjectId oid = kv_object(1);
    container->kv_put(oid, as_bytes("there"), as_bytes("1"));
    const auto check = [&](Transaction& in, const char* key, Condition condition) {
        return der_of([&] {
            in.run(Part::condition,
                   [&](Container& at) { at.kv_put(oid, as_bytes(key), as_bytes("2"), condition); });
        });
    };
    auto mine = container->begin_transaction();
    put(*mine, oid, "new", as_bytes("2"));
    EXPECT_EQ(check(*mine, "there", Condition::must_not_exist), DER_EXIST);
    EXPECT_EQ(check(*mine, "there", Condition::must_exist), 0);
    EXPECT_EQ(check(*mine, "new", Condition::must_not_exist), 0) << "its own updates do not count";
    EXPECT_EQ(check(*mine, "new", Condition::must_exist), DER_NONEXIST);
    EXPECT_GT(mine->commit(), 0U);
    EXPECT_EQ(get(*container, oid, "new"), "2");
    EXPECT_EQ(get(*container, oid, "there"), "1") << "nothing of a condition is kept";

    EXPECT_EQ(check(*mine, "later", Condition::must_not_exist), 0);
    put(*mine, oid, "later", as_bytes("mine"));
    container->kv_put(oid, as_bytes("later"), as_bytes("other"));
    EXPECT_EQ(der_of([&] { mine->commit(); }), DER_TX_RESTART);
}

TEST_P(TransactionContract, AFailedCallChangesNothingOfIt)
{
    const ObjectId oid = kv_object(1);
    auto mine = container->begin_transaction();
    put(*mine, oid, "a", as_bytes("1"));
    EXPECT_EQ(der_of([&] {
                  mine->run(Part::update, [&](Container& in) {
                      in.kv_put(oid, as_bytes("b"), pattern(200000, 3));
                      in.kv_put(oid, as_bytes("a"), as_bytes("2"));
                      in.kv_put(oid, as_bytes("a"), as_bytes("3"), Condition::must_not_exist);
                  });
              }),
              DER_EXIST);
    mine->commit();
    EXPECT_EQ(get(*container, oid, "a"), "1");
    EXPECT_EQ(get(*container, oid, "b"), "none");
    if (GetParam() == "rados") return;
    EXPECT_EQ(Pool::check(path, {}).reclaimable_bytes, 0U);
}

TEST_P(TransactionContract, AllKindsOfUpdatesTakeEffectTogether)
{
    const ArrayAttributes shape{4, 1000};
    const ObjectId array = array_object(1), gone = array_object(2), values = kv_object(3, class_sx);
    const ObjectId object{class_sx, 4}, two_copies = kv_object(5, several() ? class_rp_2gx : class_s1);
    const auto content = pattern(400000, 1), more = pattern(120000, 2);
    container->array_create(gone, shape);
    write_cells(*container, gone, shape, 0, content);
    container->array_create(array, shape);
    write_cells(*container, array, shape, 0, content);
    const Epoch before = container->create_snapshot("");

    auto mine = container->begin_transaction();
    mine->run(Part::update, [&](Container& in) { in.punch(gone); });
    mine->run(Part::update, [&](Container& in) { write_cells(in, array, shape, 500, more); });
    mine->run(Part::update, [&](Container& in) { in.array_set_size(array, shape, 20000); });
    mine->run(Part::update, [&](Container& in) { in.kv_put(values, as_bytes("large"), content); });
    mine->run(Part::update, [&](Container& in) { in.kv_put(two_copies, as_bytes("k"), more); });
    const Range range{7, 3};
    const Bytes records = Bytes(more).first(30);
    const Bytes single = as_bytes("single");
    const std::array updates{
        AkeyUpdate{.akey = as_bytes("a"), .record_size = 6, .ranges = {}, .memory = {&single, 1}},
        AkeyUpdate{.akey = as_bytes("r"),
                   .type = AkeyType::array,
                   .record_size = 10,
                   .ranges = {&range, 1},
                   .memory = {&records, 1}}};
    mine->run(Part::update, [&](Container& in) { in.akey_update(object, as_bytes("d"), updates); });
    EXPECT_EQ(container->array_size(gone, shape), 100000U);
    EXPECT_EQ(read_cells(*container, array, shape, 0, 100000), content);
    EXPECT_EQ(container->objects().size(), 2U);
    mine->commit();

    EXPECT_FALSE(container->array_attributes(gone));
    EXPECT_EQ(container->array_size(array, shape), 20000U);
    auto expected = content;
    std::ranges::copy(more, expected.begin() + 2000);
    expected.resize(80000);
    EXPECT_EQ(read_cells(*container, array, shape, 0, 20000), expected);
    EXPECT_EQ(kv_read(*container, values, as_bytes("large")), content);
    EXPECT_EQ(kv_read(*container, two_copies, as_bytes("k")), more);
    std::vector<std::byte> got(30);
    const MutableBytes memory = got;
    AkeyFetch fetch{
        .akey = as_bytes("r"), .type = AkeyType::array, .ranges = {&range, 1}, .memory = {&memory, 1}};
    container->akey_fetch(object, as_bytes("d"), {&fetch, 1});
    EXPECT_TRUE(std::ranges::equal(got, records));
    EXPECT_EQ(read_cells(*container, array, shape, 0, 100000, before), content) << "the snapshot stays";
    EXPECT_EQ(read_cells(*container, gone, shape, 0, 100000, before), content);
    container->destroy_snapshot(before);
    if (GetParam() == "rados") return;
    const CheckReport report = Pool::check(path, {});
    EXPECT_EQ(report.reclaimable_bytes, 0U);
    EXPECT_TRUE(report.findings.empty()) << report.findings.front().what;
}

TEST_P(TransactionContract, TooMuchIsRefused)
{
    auto mine = container->begin_transaction();
    const auto value = pattern(60000, 1);
    int code = 0;
    int puts = 0;
    for (; puts < 5000 && code == 0; ++puts)
        code = der_of([&] { put(*mine, kv_object(1, class_sx), std::to_string(puts), value); });
    EXPECT_EQ(code, DER_OVERFLOW);
    EXPECT_NEAR(puts, (256 << 20) / 60000, 20);
}

TEST_P(TransactionContract, SeveralTargetsAreRefusedByNameWhereTheyCannotChangeAtOnce)
{
    if (several()) GTEST_SKIP() << "they can";
    const std::string other = pool_path(directory, GetParam(), "two");
    PoolOptions options;
    options.backend = GetParam();
    options.targets = 2;
    auto two = Pool::create(other, options);
    two->create_container(uuid_of(2), "test", {});
    auto in = two->open_container("test");
    auto mine = in->begin_transaction();
    for (int i = 0; i < 10; ++i)
        put(*mine, kv_object(1, class_sx), std::to_string(i), as_bytes("x"));
    std::string message;
    EXPECT_EQ(der_of([&] { mine->commit(); }, &message), DER_NOTSUPPORTED);
    EXPECT_NE(message.find("2 targets"), std::string::npos) << message;
    EXPECT_TRUE(list_keys(*in, kv_object(1, class_sx)).empty());
    mine.reset();
    in.reset();
    two.reset();
    Pool::destroy(other);
}

TEST(TransactionsInFiles, AreRefusedByName)
{
    const TemporaryDirectory directory;
    PoolOptions options;
    options.backend = "files";
    auto pool = Pool::create(directory / "pool", options);
    pool->create_container(uuid_of(1), "test", {});
    std::string message;
    EXPECT_EQ(der_of([&] { pool->open_container("test")->begin_transaction(); }, &message), DER_NOTSUPPORTED);
    EXPECT_NE(message.find("DAOS_TX_NONE"), std::string::npos) << message;
}

// ---- accounts: their sum stays, for everybody, at every moment

constexpr int accounts = 12;

ObjectId account(int number)
{
    return kv_object(100 + static_cast<std::uint64_t>(number % 5), number % 2 == 0 ? class_s1 : class_sx);
}

long balance(const std::optional<std::string>& text)
{
    return std::stol(text.value_or("0"));
}

// Moves something between two or three accounts.
void move(Transaction& mine, std::mt19937& random, bool large)
{
    const int from = static_cast<int>(random() % accounts),
              to = (from + 1 + static_cast<int>(random() % 5)) % accounts;
    const long amount = static_cast<long>(random() % 100);
    const long left = balance(get(mine, account(from), "a" + std::to_string(from))) - amount;
    const long there = balance(get(mine, account(to), "a" + std::to_string(to))) + amount;
    const auto text = [&](long value) {
        std::string digits = std::to_string(value);
        if (large) digits.resize(70000, ' ');
        return digits;
    };
    put(mine, account(from), "a" + std::to_string(from), as_bytes(text(left)));
    put(mine, account(to), "a" + std::to_string(to), as_bytes(text(there)));
}

// Until it is done. How often it began again.
int repeat(Transaction& mine, const std::function<void()>& calls)
{
    for (int again = 0;; ++again) {
        try {
            calls();
            mine.commit();
            return again;
        } catch (const Error& error) {
            if (error.code() != -DER_TX_RESTART || again == 10000) throw;
            mine.restart();
        }
    }
}

long sum_of(Transaction& mine)
{
    long sum = 0;
    for (int i = 0; i < accounts; ++i)
        sum += balance(get(mine, account(i), "a" + std::to_string(i)));
    return sum;
}

TEST_P(TransactionContract, TheSumOfAccountsStaysWhateverThreadsDo)
{
    std::atomic<bool> moving{true};
    std::atomic<int> again{0}, sums{0}, wrong{0};
    std::vector<std::thread> threads;
    const int moves = rounds(100);
    for (unsigned seed = 0; seed < 3; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            auto mine = container->begin_transaction();
            for (int i = 0; i < moves || (sums == 0 && i < 100 * moves); ++i) {
                again += repeat(*mine, [&] { move(*mine, random, i % 4 == 0); });
                mine->restart();
            }
        });
    }
    std::thread reader([&] {
        auto mine = container->begin_transaction();
        while (moving) {
            long sum = 0;
            repeat(*mine, [&] { sum = sum_of(*mine); });
            mine->restart();
            if (sum != 0) ++wrong;
            ++sums;
        }
    });
    for (std::thread& thread : threads)
        thread.join();
    moving = false;
    reader.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(sums, 0);
    auto mine = container->begin_transaction();
    EXPECT_EQ(sum_of(*mine), 0);
    std::printf("%d moves began again %d times, %d sums\n", 3 * moves, again.load(), sums.load());
}

TEST_P(TransactionContract, ProcessesCountWithoutALoss)
{
    if (GetParam() == "memory" || GetParam() == "optimistic") GTEST_SKIP() << "of one process";
    const ObjectId a = kv_object(1), b = kv_object(2), c = kv_object(3, class_sx);
    const int counts = rounds(60);
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        children.push_back(start_child([&] {
            auto mine = container->begin_transaction();
            for (int n = 0; n < counts; ++n) {
                repeat(*mine, [&] {
                    for (const ObjectId& oid : {a, b, c}) {
                        const long next = balance(get(*mine, oid, "n")) + 1;
                        put(*mine, oid, "n", as_bytes(std::to_string(next)));
                    }
                });
                mine->restart();
            }
            mine.reset();
            container.reset();
            pool.reset();
            return 0;
        }));
    }
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    for (const ObjectId& oid : {a, b, c})
        EXPECT_EQ(get(*container, oid, "n"), std::to_string(3 * counts));
}

// Random transactions, committed or not, against a map; what they read is the map as it was.
TEST_P(TransactionContract, RandomTransactionsAreLikeAMap)
{
    std::mt19937 random(5);
    std::map<std::string, std::string> model;
    const ObjectId oid = kv_object(1, class_sx);
    const auto key = [&] { return "k" + std::to_string(random() % 12); };
    std::vector<std::pair<Epoch, std::map<std::string, std::string>>> snapshots;
    auto mine = container->begin_transaction();
    for (int round = 0; round < rounds(120); ++round) {
        auto next = model;
        for (unsigned calls = random() % 8; calls > 0; --calls) {
            const std::string at = key();
            switch (random() % 4) {
            case 0:
                mine->run(Part::update, [&](Container& in) { in.kv_remove(oid, as_bytes(at)); });
                next.erase(at);
                break;
            case 1: {
                const auto found = model.find(at);
                const auto got = get(*mine, oid, at);
                EXPECT_TRUE(found == model.end() ? !got : got == found->second);
                break;
            }
            default: {
                const std::string value(1 + random() % (random() % 5 == 0 ? 200000 : 300),
                                        static_cast<char>('a' + random() % 26));
                put(*mine, oid, at, as_bytes(value));
                next[at] = value;
            }
            }
        }
        if (random() % 3 != 0) {
            mine->commit();
            model = next;
        }
        mine->restart();
        if (random() % 10 == 0) snapshots.emplace_back(container->create_snapshot(""), model);
    }
    snapshots.emplace_back(latest, model);
    for (const auto& [epoch, then] : snapshots) {
        std::map<std::string, std::string> now;
        for (const std::string& at : list_keys(*container, oid, epoch))
            now[at] = as_text(*kv_read(*container, oid, as_bytes(at), epoch));
        EXPECT_EQ(now, then);
    }
    if (GetParam() == "rados") return;
    EXPECT_EQ(Pool::check(path, {}).reclaimable_bytes, 0U);
}

TEST_P(TransactionContract, AForkedChildLeavesItsParentsTransactionAlone)
{
    if (GetParam() == "rados") GTEST_SKIP() << "the fixture's pool is not opened in a child";
    const ObjectId oid = kv_object(1);
    auto mine = container->begin_transaction();
    const auto large = pattern(200000, 1);
    put(*mine, oid, "k", large);
    EXPECT_EQ(run_in_child([&] {
                  mine.reset(); // gives back nothing of what the parent has appended
                  return 0;
              }),
              0);
    mine->commit();
    EXPECT_EQ(kv_read(*container, oid, as_bytes("k")), large);
}

} // namespace
} // namespace stepstore::testing
