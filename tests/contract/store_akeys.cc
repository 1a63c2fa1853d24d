// Objects of dkeys and akeys: random operations with snapshots against the simplest model there is, and what
// such a play does not reach.
#include "store/akey_key.h"
#include "support/store_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <list>
#include <map>
#include <memory>
#include <thread>

namespace stepstore::testing {
namespace {

class AkeyContract : public StoreTest {
protected:
    static int steps(int locally) { return GetParam() == "rados" ? locally / 10 : locally; }
};
INSTANTIATE_TEST_SUITE_P(Backends, AkeyContract, every_backend(), backend_name);

ObjectId akey_object(std::uint64_t lo, std::uint64_t object_class = class_sx)
{
    return {object_class, lo}; // DAOS_OT_MULTI_HASHED
}

// Of one akey: a value, or records by their index.
struct Held {
    AkeyType type{};
    std::vector<std::byte> value;
    std::size_t record_size = 0;
    std::map<std::uint64_t, std::vector<std::byte>> records;
};
using Model = std::map<std::string, std::map<std::string, Held>>; // by dkey and akey

// Keys that differ in all that matters: zero bytes, bytes that are escaped, and beginnings that they share.
std::vector<std::string> some_keys()
{
    const std::string shared(200, 'x');
    return {"a",
            "ab",
            std::string("\0", 1),
            std::string("a\0", 2),
            std::string("a\0\0b", 4),
            "\1",
            "\1\2",
            "\xff",
            shared,
            shared + "1",
            shared + std::string(3000, 'y'),
            std::string(62, 'k'),
            std::string(63, 'k'),
            std::string(40, '\0')};
}

class Play {
public:
    Play(Container& container, const ObjectId& oid, unsigned seed)
        : container_(container), oid_(oid), keys_(some_keys()), random_(seed)
    {
    }

    void run(int steps)
    {
        for (int step = 0; step < steps; ++step) {
            const unsigned what = number(100);
            if (what < 50)
                update();
            else if (what < 60)
                punch();
            else if (what < 64 && snapshots_.size() < 4)
                snapshots_.emplace_back(container_.create_snapshot(""), model_);
            else if (what < 67 && !snapshots_.empty())
                drop_snapshot();
            else
                fetch_some();
            if (::testing::Test::HasFailure()) {
                ADD_FAILURE() << "at step " << step;
                return;
            }
        }
        compare(model_, latest);
        for (const auto& [epoch, model] : snapshots_)
            compare(model, epoch);
    }

private:
    unsigned number(unsigned below) { return static_cast<unsigned>(random_() % below); }
    const std::string& key() { return keys_[number(static_cast<unsigned>(keys_.size()))]; }
    std::vector<std::byte> bytes(std::size_t size) { return pattern(size, random_()); }
    std::size_t value_size()
    {
        switch (number(8)) {
        case 0: return 70000 + number(200000);
        case 1: return 4000 + number(9000);
        default: return 1 + number(300);
        }
    }

    // Several akeys of a dkey at once.
    void update()
    {
        const std::string dkey = key();
        std::set<std::string> chosen;
        for (unsigned count = 1 + number(3); count > 0; --count)
            chosen.insert(key());
        std::vector<AkeyUpdate> updates;
        std::list<std::vector<std::byte>> data;
        std::list<std::vector<Bytes>> memory;
        std::list<std::vector<Range>> ranges;
        Model next = model_;
        for (const std::string& akey : chosen) {
            const auto held = model_[dkey].find(akey);
            const bool there = held != model_[dkey].end();
            AkeyUpdate one;
            one.akey = as_bytes(akey);
            one.type = there ? held->second.type : number(2) == 0 ? AkeyType::single : AkeyType::array;
            const bool removes = there && number(6) == 0;
            Held& to = next[dkey][akey];
            to.type = one.type;
            if (one.type == AkeyType::single) {
                if (removes) {
                    next[dkey].erase(akey);
                } else {
                    to.value = data.emplace_back(bytes(value_size()));
                    one.record_size = to.value.size();
                    memory.push_back({Bytes(data.back()).first(to.value.size() / 2),
                                      Bytes(data.back()).subspan(to.value.size() / 2)});
                    one.memory = memory.back();
                }
            } else {
                if (!there) to.record_size = 1 + number(20);
                one.record_size = removes ? 0 : to.record_size;
                auto& parts = ranges.emplace_back();
                std::uint64_t at = number(50);
                std::uint64_t records = 0;
                for (unsigned count = 1 + number(3); count > 0; --count) {
                    const std::uint64_t length = 1 + number(number(10) == 0 ? 3000 : 40);
                    parts.push_back({at, length});
                    at += length + 1 + number(30);
                    records += length;
                }
                one.ranges = parts;
                if (!removes) {
                    data.emplace_back(bytes(records * to.record_size));
                    memory.push_back({data.back()});
                    one.memory = memory.back();
                }
                std::size_t taken = 0;
                for (const Range& part : parts) {
                    for (std::uint64_t i = part.index; i < part.index + part.length; ++i) {
                        to.records.erase(i);
                        if (removes) continue;
                        const auto from = data.back().begin() + static_cast<long>(taken);
                        to.records[i] = {from, from + static_cast<long>(to.record_size)};
                        taken += to.record_size;
                    }
                }
            }
            updates.push_back(one);
        }
        container_.akey_update(oid_, as_bytes(dkey), updates);
        model_ = std::move(next);
        forget_empty();
    }

    void punch()
    {
        const std::string dkey = key();
        if (number(12) == 0) {
            container_.punch(oid_);
            model_.clear();
        } else if (number(2) == 0) {
            container_.akey_punch(oid_, as_bytes(dkey), {});
            model_.erase(dkey);
        } else {
            const std::string akey = key();
            const Bytes one = as_bytes(akey);
            container_.akey_punch(oid_, as_bytes(dkey), {&one, 1});
            if (model_.contains(dkey)) model_[dkey].erase(akey);
            forget_empty();
        }
    }

    void forget_empty()
    {
        std::erase_if(model_, [](const auto& one) { return one.second.empty(); });
    }

    void drop_snapshot()
    {
        const std::size_t which = number(static_cast<unsigned>(snapshots_.size()));
        container_.destroy_snapshot(snapshots_[which].first);
        snapshots_.erase(snapshots_.begin() + static_cast<long>(which));
    }

    void fetch_some()
    {
        const bool old = !snapshots_.empty() && number(2) == 0;
        const auto& snapshot = old ? snapshots_[number(static_cast<unsigned>(snapshots_.size()))]
                                   : std::pair<Epoch, Model>(latest, model_);
        const std::string dkey = key();
        const auto found = snapshot.second.find(dkey);
        compare_dkey(dkey, found == snapshot.second.end() ? std::map<std::string, Held>{} : found->second,
                     snapshot.first);
    }

    void compare(const Model& model, Epoch epoch)
    {
        std::vector<std::string> dkeys, expected;
        ListPosition position;
        for (int again = 0; !position.done; ++again) { // a few at a time
            int room = 3;
            container_.dkey_list(
                oid_, position,
                [&](Bytes dkey) {
                    if (room-- == 0) return false;
                    dkeys.emplace_back(as_text(dkey));
                    return true;
                },
                epoch);
            ASSERT_LT(again, 1000);
        }
        std::ranges::sort(dkeys);
        for (const auto& [dkey, akeys] : model)
            expected.push_back(dkey);
        EXPECT_EQ(dkeys, expected);
        for (const auto& [dkey, akeys] : model)
            compare_dkey(dkey, akeys, epoch);
    }

    void compare_dkey(const std::string& dkey, const std::map<std::string, Held>& akeys, Epoch epoch)
    {
        std::vector<std::string> listed, expected;
        ListPosition position;
        container_.akey_list(
            oid_, as_bytes(dkey), position,
            [&](Bytes akey, AkeyType type) {
                listed.emplace_back(as_text(akey));
                const auto held = akeys.find(listed.back());
                EXPECT_TRUE(held != akeys.end() && held->second.type == type);
                return true;
            },
            epoch);
        EXPECT_TRUE(position.done);
        std::ranges::sort(listed);
        for (const auto& [akey, held] : akeys)
            expected.push_back(akey);
        EXPECT_EQ(listed, expected) << epoch;
        for (const std::string& akey : keys_) {
            const auto held = akeys.find(akey);
            compare_akey(dkey, akey, held == akeys.end() ? nullptr : &held->second, epoch);
        }
    }

    void compare_akey(const std::string& dkey, const std::string& akey, const Held* held, Epoch epoch)
    {
        AkeyFetch fetch;
        fetch.akey = as_bytes(akey);
        if (held == nullptr) {
            for (const AkeyType type : {AkeyType::single, AkeyType::array}) {
                fetch.type = type;
                container_.akey_fetch(oid_, as_bytes(dkey), {&fetch, 1}, epoch);
                EXPECT_EQ(fetch.record_size, 0U);
            }
            return;
        }
        fetch.type = held->type;
        if (held->type == AkeyType::single) {
            std::vector<std::byte> value(held->value.size() + 7);
            const std::vector<MutableBytes> memory{MutableBytes(value).first(3),
                                                   MutableBytes(value).subspan(3)};
            fetch.memory = memory;
            container_.akey_fetch(oid_, as_bytes(dkey), {&fetch, 1}, epoch);
            ASSERT_EQ(fetch.record_size, held->value.size());
            value.resize(fetch.record_size);
            EXPECT_EQ(value, held->value);
            return;
        }
        const std::uint64_t end = held->records.empty() ? 10 : held->records.rbegin()->first + 5;
        const std::uint64_t from = number(20);
        const Range range{from, from < end ? end - from : 1};
        std::vector<std::byte> got(range.length * held->record_size, std::byte{0xee});
        const MutableBytes memory = got;
        std::vector<Range> stored;
        fetch.ranges = {&range, 1};
        fetch.memory = {&memory, 1};
        fetch.stored = &stored;
        container_.akey_fetch(oid_, as_bytes(dkey), {&fetch, 1}, epoch);
        ASSERT_EQ(fetch.record_size, held->record_size);
        std::vector<std::byte> expected(got.size());
        std::vector<Range> parts;
        std::uint64_t bytes = 0;
        for (const auto& [index, record] : held->records) {
            if (index < range.index || index >= range.index + range.length) continue;
            std::ranges::copy(record, expected.begin() +
                                          static_cast<long>((index - range.index) * held->record_size));
            bytes += held->record_size;
            if (!parts.empty() && parts.back().index + parts.back().length == index)
                ++parts.back().length;
            else
                parts.push_back({index, 1});
        }
        EXPECT_EQ(got, expected);
        EXPECT_EQ(fetch.bytes, bytes);
        ASSERT_EQ(stored.size(), parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i)
            EXPECT_TRUE(stored[i].index == parts[i].index && stored[i].length == parts[i].length);
        // The same from the listing of extents, which keeps those of two updates apart.
        std::uint64_t records = 0, last = 0;
        const auto size = container_.extent_list(
            oid_, as_bytes(dkey), as_bytes(akey), range,
            [&](const StoredExtent& extent) {
                EXPECT_GE(extent.records.index, last);
                EXPECT_LE(extent.birth, epoch);
                last = extent.records.index + extent.records.length;
                records += extent.records.length;
                return true;
            },
            epoch);
        EXPECT_EQ(size, held->record_size);
        EXPECT_EQ(records * held->record_size, bytes);
    }

    Container& container_;
    const ObjectId oid_;
    const std::vector<std::string> keys_;
    std::mt19937_64 random_;
    Model model_;
    std::vector<std::pair<Epoch, Model>> snapshots_;
};

TEST_P(AkeyContract, BehaveAsTheirModel)
{
    for (unsigned seed = 1; seed <= 3; ++seed) {
        Play(*container, akey_object(seed), seed).run(steps(100));
        if (HasFailure()) return;
    }
}

TEST_P(AkeyContract, BehaveAsTheirModelOnOneTargetAndInTwoCopies)
{
    Play(*container, akey_object(1, class_s1), 11).run(steps(100));
    Play(*container, akey_object(2, class_rp_2gx), 12).run(steps(100));
}

std::vector<std::byte> get(Container& container, const ObjectId& oid, std::string_view dkey,
                           std::string_view akey, Epoch epoch = latest)
{
    std::vector<std::byte> value(1 << 20);
    const MutableBytes memory = value;
    AkeyFetch fetch;
    fetch.akey = as_bytes(akey);
    fetch.memory = {&memory, 1};
    container.akey_fetch(oid, as_bytes(dkey), {&fetch, 1}, epoch);
    value.resize(fetch.record_size);
    return value;
}

void put(Container& container, const ObjectId& oid, std::string_view dkey, std::string_view akey,
         std::string_view value, Condition of_akey = Condition::none, Condition of_dkey = Condition::none)
{
    const Bytes memory = as_bytes(value);
    AkeyUpdate update;
    update.akey = as_bytes(akey);
    update.record_size = value.size();
    update.memory = {&memory, 1};
    update.condition = of_akey;
    container.akey_update(oid, as_bytes(dkey), {&update, 1}, of_dkey);
}

TEST_P(AkeyContract, ConditionsAreCheckedBeforeAnythingIsChanged)
{
    const ObjectId oid = akey_object(1);
    const auto put_code = [&](const char* dkey, const char* akey, Condition of_akey, Condition of_dkey) {
        return der_of([&] { put(*container, oid, dkey, akey, "new", of_akey, of_dkey); });
    };
    constexpr auto none = Condition::none, absent = Condition::must_not_exist, there = Condition::must_exist;
    EXPECT_EQ(put_code("d", "a", none, there), DER_NONEXIST);
    EXPECT_EQ(put_code("d", "a", there, none), DER_NONEXIST);
    put(*container, oid, "d", "a", "value", absent, absent);
    EXPECT_EQ(put_code("d", "b", none, absent), DER_EXIST);
    EXPECT_EQ(put_code("d", "a", absent, none), DER_EXIST);
    EXPECT_EQ(get(*container, oid, "d", "a"), to_bytes("value"));
    EXPECT_TRUE(get(*container, oid, "d", "b").empty());
    put(*container, oid, "d", "b", "second", absent, there);

    // One of two that does not hold keeps the other from happening.
    const Bytes value = as_bytes("third");
    AkeyUpdate both[2];
    for (AkeyUpdate& one : both) {
        one.record_size = value.size();
        one.memory = {&value, 1};
    }
    both[0].akey = as_bytes("c");
    both[1].akey = as_bytes("a");
    both[1].condition = absent;
    EXPECT_EQ(der_of([&] { container->akey_update(oid, as_bytes("d"), both); }), DER_EXIST);
    EXPECT_TRUE(get(*container, oid, "d", "c").empty());

    const Bytes missing[] = {as_bytes("a"), as_bytes("missing")};
    EXPECT_EQ(der_of([&] { container->akey_punch(oid, as_bytes("d"), missing, true); }), DER_NONEXIST);
    EXPECT_EQ(get(*container, oid, "d", "a"), to_bytes("value"));
    EXPECT_EQ(der_of([&] { container->akey_punch(oid, as_bytes("none"), {}, true); }), DER_NONEXIST);
    container->akey_punch(oid, as_bytes("d"), {}, true);
    EXPECT_TRUE(get(*container, oid, "d", "b").empty());

    AkeyFetch fetch;
    fetch.akey = as_bytes("a");
    EXPECT_EQ(der_of([&] { container->akey_fetch(oid, as_bytes("d"), {&fetch, 1}, latest, true); }),
              DER_NONEXIST);
    put(*container, oid, "d", "b", "again");
    container->akey_fetch(oid, as_bytes("d"), {&fetch, 1}, latest, true);
    fetch.must_exist = true;
    EXPECT_EQ(der_of([&] { container->akey_fetch(oid, as_bytes("d"), {&fetch, 1}, latest); }), DER_NONEXIST);
}

TEST_P(AkeyContract, AnAkeyHasOneTypeAndRecordsOfOneSize)
{
    const ObjectId oid = akey_object(1);
    put(*container, oid, "d", "value", "text");
    const Bytes memory = as_bytes("12345678");
    const Range two{0, 2};
    AkeyUpdate records;
    records.type = AkeyType::array;
    records.record_size = 4;
    records.ranges = {&two, 1};
    records.memory = {&memory, 1};
    const auto code = [&] {
        return der_of([&] { container->akey_update(oid, as_bytes("d"), {&records, 1}); });
    };
    records.akey = as_bytes("value");
    EXPECT_EQ(code(), DER_INVAL);
    records.akey = as_bytes("records");
    EXPECT_EQ(code(), 0);
    EXPECT_EQ(der_of([&] { put(*container, oid, "d", "records", "text"); }), DER_INVAL);
    const Range four{0, 4};
    records.record_size = 2;
    records.ranges = {&four, 1};
    EXPECT_EQ(code(), DER_INVAL);
    records.record_size = 4; // two records of memory for four
    EXPECT_EQ(code(), DER_IO_INVAL);
    const Range far{std::uint64_t{1} << 61, 2};
    records.ranges = {&far, 1};
    EXPECT_EQ(code(), DER_OVERFLOW);

    std::byte room[7];
    const MutableBytes small(room);
    AkeyFetch fetch;
    fetch.akey = as_bytes("records");
    fetch.type = AkeyType::array;
    fetch.ranges = {&two, 1};
    fetch.memory = {&small, 1};
    EXPECT_EQ(der_of([&] { container->akey_fetch(oid, as_bytes("d"), {&fetch, 1}); }), DER_REC2BIG);
    EXPECT_EQ(fetch.record_size, 4U);
}

// A value, few records and many of them, all made of one byte.
class Generations {
public:
    Generations(Container& container, const ObjectId& oid) : container_(container), oid_(oid) {}

    void write(std::uint8_t number)
    {
        const std::vector<std::byte> bytes(many, std::byte{number});
        const Bytes value = Bytes(bytes).first(40), some = Bytes(bytes).first(few), all = bytes;
        const Range few_records{3, few}, many_records{0, many};
        AkeyUpdate updates[3];
        updates[0].record_size = value.size();
        updates[0].memory = {&value, 1};
        updates[1].ranges = {&few_records, 1};
        updates[1].memory = {&some, 1};
        updates[2].ranges = {&many_records, 1};
        updates[2].memory = {&all, 1};
        for (std::size_t i = 0; i < 3; ++i) {
            updates[i].akey = as_bytes(names[i]);
            if (i == 0) continue;
            updates[i].type = AkeyType::array;
            updates[i].record_size = 1;
        }
        container_.akey_update(oid_, as_bytes("dkey"), updates);
    }
    // nullopt: there is none.
    std::optional<std::uint8_t> read()
    {
        std::vector<std::byte> value(40), some(few), all(many);
        const MutableBytes memory[] = {value, some, all};
        const Range ranges[] = {{0, 0}, {3, few}, {0, many}};
        AkeyFetch fetches[3];
        for (std::size_t i = 0; i < 3; ++i) {
            fetches[i].akey = as_bytes(names[i]);
            fetches[i].memory = {&memory[i], 1};
            if (i == 0) continue;
            fetches[i].type = AkeyType::array;
            fetches[i].ranges = {&ranges[i], 1};
        }
        container_.akey_fetch(oid_, as_bytes("dkey"), fetches);
        EXPECT_EQ(fetches[0].record_size == 0, fetches[1].record_size == 0);
        EXPECT_EQ(fetches[0].record_size == 0, fetches[2].record_size == 0);
        if (fetches[0].record_size == 0) return std::nullopt;
        std::set<std::byte> seen(value.begin(), value.end());
        seen.insert(some.begin(), some.end());
        seen.insert(all.begin(), all.end());
        EXPECT_EQ(seen.size(), 1U) << "parts of several updates";
        return static_cast<std::uint8_t>(*seen.begin());
    }

private:
    static constexpr std::size_t few = 500, many = 100000;
    static constexpr const char* names[] = {"value", "few", "many"};
    Container& container_;
    const ObjectId oid_;
};

TEST_P(AkeyContract, AnUpdateIsSeenWhole)
{
    for (const std::uint64_t object_class : {class_s1, class_rp_2g1}) {
        const ObjectId oid = akey_object(1, object_class);
        Generations(*container, oid).write(1);
        std::atomic<bool> done{false};
        std::thread writer([&] {
            for (int round = 0; round < steps(300); ++round) {
                const Bytes akey = as_bytes("many");
                if (round % 7 == 0) container->akey_punch(oid, as_bytes("dkey"), {});
                if (round % 11 == 0) container->akey_punch(oid, as_bytes("other"), {&akey, 1});
                Generations(*container, oid).write(static_cast<std::uint8_t>(round));
            }
            done = true;
        });
        int reads = 0;
        for (; !done; ++reads)
            Generations(*container, oid).read();
        writer.join();
        EXPECT_GT(reads, 0);
    }
}

// A writer is killed at any moment.
TEST_P(AkeyContract, AnUpdateOfAKilledProcessIsThereOrNot)
{
    if (GetParam() == "memory") GTEST_SKIP() << "its pools do not survive their process";
    const ObjectId oid = akey_object(1, class_rp_2g1);
    for (int round = 0; round < steps(40); ++round) {
        const pid_t child = fork();
        if (child == 0) {
            try {
                const auto mine = Pool::open(path, Access::read_write)->open_container("test");
                for (unsigned number = 1;; ++number) {
                    Generations(*mine, oid).write(static_cast<std::uint8_t>(number));
                    if (number % 5 == 0) mine->akey_punch(oid, as_bytes("dkey"), {});
                }
            } catch (...) {
                _exit(1);
            }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5 + round * 3 % 40));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status));
        Generations(*container, oid).read();
        if (round % 10 == 0) {
            CheckOptions repair;
            repair.repair = true;
            EXPECT_TRUE(undamaged(Pool::check(path, repair)));
            Generations(*container, oid).read();
        }
    }
    Generations(*container, oid).write(77);
    EXPECT_EQ(Generations(*container, oid).read(), 77);
}

TEST_P(AkeyContract, KeyValuesAndArraysAreObjectsWithOneAkey)
{
    const ObjectId values = kv_object(1, class_sx);
    container->kv_put(values, as_bytes("key"), as_bytes("value"));
    EXPECT_EQ(get(*container, values, "key", "0"), to_bytes("value"));
    put(*container, values, "other", "0", "text");
    EXPECT_EQ(kv_read(*container, values, as_bytes("other")), to_bytes("text"));
    EXPECT_EQ(der_of([&] { put(*container, values, "other", "1", "text"); }), DER_NOTSUPPORTED);
    container->akey_punch(values, as_bytes("key"), {}, true);
    EXPECT_FALSE(kv_read(*container, values, as_bytes("key")));

    const ObjectId oid = array_object(2);
    const ArrayAttributes attributes{4, 100};
    container->array_create(oid, attributes);
    const auto cells = pattern(4 * 250, 5);
    write_cells(*container, oid, attributes, 0, cells);
    const auto dkey_of_chunk = [](std::uint64_t number) {
        std::vector<std::byte> dkey(8);
        store_big(dkey.data(), number);
        return dkey;
    };
    std::vector<std::vector<std::byte>> dkeys;
    ListPosition position;
    container->dkey_list(oid, position, [&](Bytes dkey) {
        dkeys.emplace_back(dkey.begin(), dkey.end());
        return true;
    });
    std::ranges::sort(dkeys);
    EXPECT_EQ(dkeys, (std::vector{dkey_of_chunk(0), dkey_of_chunk(1), dkey_of_chunk(2), dkey_of_chunk(3)}));
    std::vector<std::byte> got(4 * 60);
    const MutableBytes memory = got;
    const Range range{40, 60};
    std::vector<Range> stored;
    AkeyFetch fetch;
    fetch.akey = as_bytes("0");
    fetch.type = AkeyType::array;
    fetch.ranges = {&range, 1};
    fetch.memory = {&memory, 1};
    fetch.stored = &stored;
    container->akey_fetch(oid, dkey_of_chunk(2), {&fetch, 1});
    EXPECT_EQ(got, std::vector(cells.begin() + 4 * 140, cells.begin() + 4 * 200));
    EXPECT_EQ(fetch.record_size, 4U);
    ASSERT_EQ(stored.size(), 1U);
    EXPECT_EQ(stored[0].length, 60U);

    const auto new_cells = pattern(4 * 60, 6);
    const Bytes from(new_cells);
    AkeyUpdate update;
    update.akey = as_bytes("0");
    update.type = AkeyType::array;
    update.record_size = 4;
    update.ranges = {&range, 1};
    update.memory = {&from, 1};
    container->akey_update(oid, dkey_of_chunk(3), {&update, 1});
    EXPECT_EQ(read_cells(*container, oid, attributes, 240, 60), new_cells);
    container->akey_punch(oid, dkey_of_chunk(3), {});
    EXPECT_EQ(container->array_size(oid, attributes), 200U);
}

TEST_P(AkeyContract, KeysAreTakenApartAgain)
{
    for (const std::string& dkey : some_keys()) {
        for (const std::string& akey : some_keys()) {
            const AkeyKey key(as_bytes(dkey), as_bytes(akey), AkeyType::array);
            SplitKey parts;
            ASSERT_TRUE(split(key.whole(), parts));
            EXPECT_EQ(as_text(parts.dkey), dkey);
            EXPECT_EQ(as_text(parts.akey), akey);
            const DkeyBeginning beginning(as_bytes(dkey));
            EXPECT_TRUE(starts_with(key.stored().view(), beginning.stored()));
            EXPECT_TRUE(starts_with(key.whole(), beginning.whole()));
        }
    }
    std::mt19937_64 random(7);
    for (int round = 0; round < 20000; ++round) { // any bytes are one, or none
        std::vector<std::byte> bytes(random() % 12);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random() % 5);
        SplitKey parts;
        if (!split(bytes, parts)) continue;
        const AkeyKey key(parts.dkey, parts.akey, parts.type);
        EXPECT_TRUE(equal(key.whole(), bytes));
    }
}

} // namespace
} // namespace stepstore::testing
