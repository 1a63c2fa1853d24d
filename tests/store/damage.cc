// What a flipped byte, a cut file or a mixed-up target leads to: an error that names it, a finding of check,
// and nothing else lost.
#include "support/damage.h"
#include "base/checksum.h"
#include "store/keys.h"
#include "store/object.h"
#include "store/pool_core.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace stepstore::testing {
namespace {

class Damage : public StoreTest {
protected:
    void TearDown() override
    {
        container.reset();
        pool.reset();
        if (!path.empty()) Pool::destroy(path);
    }

    // Below the store: the pool's back end itself.
    std::unique_ptr<Storage> below()
    {
        for (const Backend& factory : backends())
            if (factory.look(path) == Found::pool) return factory.open(path);
        return nullptr;
    }
    static bool has_finding(const CheckReport& report, CheckFinding::Severity severity,
                            const std::string& where, const std::string& what = "")
    {
        return std::ranges::any_of(report.findings, [&](const CheckFinding& one) {
            return one.severity == severity && one.where.find(where) != std::string::npos &&
                   one.what.find(what) != std::string::npos && !one.advice.empty();
        });
    }
    // Changes the record of a key on one target (on each copy when `copies` is 2).
    void change_record(
        const ObjectId& oid, Bytes key, unsigned copy,
        const std::function<void(std::vector<std::byte>& key, std::vector<std::byte>& value)>& change)
    {
        auto backend = below();
        const Placement placement(1, oid, backend->targets());
        const ReplicaSet set = placement.group(placement.group_of(key));
        const KeyBuffer live = kind_prefix(Space::live, 1, oid, Kind::keyvalue).add(StoredKey(key).view());
        backend->target(set.targets[copy]).write([&](WriteTransaction& transaction) {
            Bytes value;
            ASSERT_TRUE(transaction.get(live.view(), value));
            std::vector<std::byte> new_key(live.view().begin(), live.view().end());
            std::vector<std::byte> new_value(value.begin(), value.end());
            change(new_key, new_value);
            transaction.erase(live.view());
            transaction.put(new_key, new_value);
        });
    }
    void close()
    {
        container.reset();
        pool.reset();
    }
    void reopen()
    {
        close();
        pool = Pool::open(path, Access::read_write);
        container = pool->open_container("test");
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, Damage, every_backend(), backend_name);

TEST_P(Damage, EveryFlippedBitOfARecordIsFound)
{
    const ObjectId oid = kv_object(0x77, class_s2);
    for (const std::size_t size : {20UL, 70000UL}) {
        const std::string key(size == 20 ? "wind-speed" : std::string(90, 'w'));
        container->kv_put(oid, as_bytes("before"), as_bytes("fine"));
        container->kv_put(oid, as_bytes(key), pattern(size, 1));
        std::size_t bytes = 0;
        change_record(oid, as_bytes(key), 0, [&](auto&, auto& value) { bytes = value.size(); });
        ASSERT_GT(bytes, 28U);
        for (std::size_t i = 0; i < bytes; ++i) {
            const auto flip = [&](auto&, auto& value) { value[i] ^= static_cast<std::byte>(1U << i % 8); };
            change_record(oid, as_bytes(key), 0, flip);
            std::string message;
            EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes(key)); }, &message), DER_CSUM)
                << "byte " << i;
            for (const std::string& name :
                 {std::string("pool"), std::string("target"), std::string("container test"),
                  std::string("object"), key.substr(0, 60)})
                EXPECT_NE(message.find(name), std::string::npos) << message;
            change_record(oid, as_bytes(key), 0, flip);
        }
        EXPECT_EQ(kv_read(*container, oid, as_bytes(key)), pattern(size, 1));
        EXPECT_EQ(kv_read(*container, oid, as_bytes("before")), to_bytes("fine"));
    }
}

TEST_P(Damage, ADamagedRecordIsListedFoundAndReplaced)
{
    const ObjectId oid = kv_object(0x77);
    for (int i = 0; i < 100; ++i)
        container->kv_put(oid, as_bytes("key" + std::to_string(i)), as_bytes("value"));
    change_record(oid, as_bytes("key50"), 0, [](auto&, auto& value) { value[10] ^= std::byte{4}; });
    // The listing says so once and goes on behind it.
    std::set<std::string> seen;
    ListPosition position;
    int errors = 0;
    while (!position.done) {
        errors += der_of([&] {
                      container->kv_list(oid, position, [&](Bytes key) {
                          seen.emplace(as_text(key));
                          return true;
                      });
                  }) == DER_CSUM;
        ASSERT_LT(errors, 5);
    }
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(seen.size(), 99U);
    EXPECT_FALSE(seen.contains("key50"));
    const CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(report.damaged());
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "key \"key50\""));
    EXPECT_EQ(report.findings.size(), 1U);
    container->kv_put(oid, as_bytes("key50"), as_bytes("anew"));
    EXPECT_EQ(kv_read(*container, oid, as_bytes("key50")), to_bytes("anew"));
    change_record(oid, as_bytes("key51"), 0, [](auto&, auto& value) { value[10] ^= std::byte{4}; });
    EXPECT_TRUE(container->kv_remove(oid, as_bytes("key51")));
    change_record(oid, as_bytes("key52"), 0,
                  [](auto&, auto& value) { value.back() ^= std::byte{4}; }); // the value itself
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("key52")); }), DER_CSUM);
    EXPECT_FALSE(Pool::check(path, {false, false}).damaged()) << "without data only the structure";
    EXPECT_TRUE(Pool::check(path, {true, false}).damaged());
    container->punch(oid);
    EXPECT_TRUE(undamaged(Pool::check(path, {})));
}

// A record of an array may be what describes its extents: a repair keeps them as long as it is damaged.
TEST_P(Damage, DamagedAkeysAreNamedAndPunchedAway)
{
    const ObjectId oid{class_s1, 0x78}; // of dkeys and akeys
    const std::string long_dkey(300, 'd');
    const auto content = pattern(2000, 3);
    const Bytes memory = content;
    const Range records{0, content.size()};
    AkeyUpdate updates[2];
    updates[0].akey = as_bytes("value");
    updates[1].akey = as_bytes("array");
    updates[1].type = AkeyType::array;
    updates[1].ranges = {&records, 1};
    for (AkeyUpdate& update : updates)
        update.memory = {&memory, 1};
    updates[0].record_size = content.size();
    updates[1].record_size = 1;
    for (const std::string& dkey : {long_dkey, std::string("short"), std::string("kept")})
        container->akey_update(oid, as_bytes(dkey), updates);

    const KeyBuffer akeys = kind_prefix(Space::live, 1, oid, Kind::keyvalue);
    const auto kept = [&](Bytes key) { return starts_with(key.subspan(akeys.size()), as_bytes("kept")); };
    const unsigned target = Placement(1, oid, pool->targets()).group(0).targets[0];
    below()->target(target).write([&](WriteTransaction& transaction) {
        std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> changed;
        Entry entry;
        for (bool more = transaction.seek(akeys.view(), entry); more && starts_with(entry.key, akeys.view());
             more = transaction.next(entry))
            if (!kept(entry.key))
                changed.push_back(
                    {{entry.key.begin(), entry.key.end()}, {entry.value.begin(), entry.value.end()}});
        ASSERT_EQ(changed.size(), 4U);
        for (auto& [key, value] : changed) {
            value[10] ^= std::byte{4};
            transaction.put(key, value);
        }
    });
    reopen();
    const auto fetch_code = [&](const std::string& dkey, const char* akey, AkeyType type) {
        AkeyFetch fetch;
        fetch.akey = as_bytes(akey);
        fetch.type = type;
        return der_of([&] { container->akey_fetch(oid, as_bytes(dkey), {&fetch, 1}); });
    };
    for (const std::string& dkey : {long_dkey, std::string("short")}) {
        EXPECT_EQ(fetch_code(dkey, "value", AkeyType::single), DER_CSUM);
        EXPECT_EQ(fetch_code(dkey, "array", AkeyType::array), DER_CSUM);
    }
    const CheckReport damaged = Pool::check(path, {true, true});
    EXPECT_TRUE(damaged.damaged());
    EXPECT_FALSE(has_finding(damaged, CheckFinding::Severity::reclaimable, "object", "akey was punched"));
    container->akey_punch(oid, as_bytes(long_dkey), {}, true);
    const Bytes both[] = {as_bytes("value"), as_bytes("array")};
    container->akey_punch(oid, as_bytes("short"), both, true);
    EXPECT_EQ(fetch_code(long_dkey, "value", AkeyType::single), 0);
    const CheckReport punched = Pool::check(path, {true, true});
    EXPECT_TRUE(undamaged(punched));
    EXPECT_TRUE(has_finding(punched, CheckFinding::Severity::reclaimable, "object", "akey was punched"));
    const CheckReport repaired = Pool::check(path, {});
    EXPECT_EQ(repaired.findings.size(), 0U);
    EXPECT_EQ(fetch_code("kept", "value", AkeyType::single), 0);
    EXPECT_EQ(fetch_code("kept", "array", AkeyType::array), 0);
}

TEST_P(Damage, ADamagedRecordThatASnapshotNeedsIsNotSilentlyAbsentThere)
{
    const ObjectId oid = kv_object(0x77);
    for (const char* key : {"put", "remove", "punch"})
        container->kv_put(oid, as_bytes(key), as_bytes("value"));
    const Epoch snapshot = container->create_snapshot("");
    for (const char* key : {"put", "remove", "punch"})
        change_record(oid, as_bytes(key), 0, [](auto&, auto& value) { value[10] ^= std::byte{4}; });
    container->kv_put(oid, as_bytes("put"), as_bytes("anew"));
    EXPECT_TRUE(container->kv_remove(oid, as_bytes("remove")));
    container->punch(oid);
    EXPECT_TRUE(list_keys(*container, oid).empty());
    for (const char* key : {"put", "remove", "punch"})
        EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes(key), snapshot); }), DER_CSUM) << key;
    container->destroy_snapshot(snapshot);
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
}

TEST_P(Damage, AFlippedByteInAStoredKeyIsNoSilentAbsence)
{
    const ObjectId oid = kv_object(0x78);
    for (const char* key : {"alpha", "beta0", "delta"})
        container->kv_put(oid, as_bytes(key), as_bytes("value"));
    change_record(oid, as_bytes("beta0"), 0, [](auto& key, auto&) { key.back() ^= std::byte{1}; });
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("beta0")); }), DER_CSUM);
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("beta1")); }), DER_CSUM);
    EXPECT_EQ(der_of([&] { list_keys(*container, oid); }), DER_CSUM);
    EXPECT_EQ(kv_read(*container, oid, as_bytes("alpha")), to_bytes("value"));
    EXPECT_EQ(kv_read(*container, oid, as_bytes("delta")), to_bytes("value"));
    EXPECT_TRUE(has_finding(Pool::check(path, {}), CheckFinding::Severity::damage, "beta1"));
    EXPECT_EQ(kv_read(*container, oid, as_bytes("alpha")), to_bytes("value"));
}

// An update beside such a record would hide it, one over it would lose it: it is put back first, as a check
// with repair does.
TEST_P(Damage, ARecordUnderADamagedKeyIsPutBack)
{
    const ObjectId oid = kv_object(0x78);
    const auto damage = [&] {
        change_record(oid, as_bytes("beta0"), 0, [](auto& key, auto&) { key.back() = std::byte{'7'}; });
    };
    const std::vector<std::pair<const char*, std::function<void()>>> updates{
        {"itself, conditional",
         [&] {
             EXPECT_EQ(
                 der_of([&] { container->kv_put(oid, as_bytes("beta0"), {}, Condition::must_not_exist); }),
                 DER_EXIST);
             container->kv_put(oid, as_bytes("beta0"), as_bytes("value"), Condition::must_exist);
         }},
        {"between", [&] { container->kv_put(oid, as_bytes("beta3"), as_bytes("new")); }},
        {"over", [&] { container->kv_put(oid, as_bytes("beta7"), as_bytes("new")); }},
        {"removing", [&] { EXPECT_FALSE(container->kv_remove(oid, as_bytes("beta7"))); }},
        {"check", [&] { Pool::check(path, {true, true}); }},
    };
    for (const auto& [name, update] : updates) {
        container->kv_put(oid, as_bytes("beta0"), as_bytes("value"));
        damage();
        update();
        EXPECT_EQ(kv_read(*container, oid, as_bytes("beta0")), to_bytes("value")) << name;
        EXPECT_TRUE(undamaged(Pool::check(path, {}))) << name;
        for (const char* key : {"beta3", "beta7"})
            container->kv_remove(oid, as_bytes(key));
    }
}

TEST_P(Damage, AMisplacedRecordIsFound)
{
    // A whole, intact record under another object's key.
    change_record((container->kv_put(kv_object(1), as_bytes("key"), as_bytes("v")), kv_object(1)),
                  as_bytes("key"), 0, [](auto& key, auto&) { key[object_prefix_size - 1] ^= std::byte{2}; });
    EXPECT_TRUE(Pool::check(path, {}).damaged());
}

TEST_P(Damage, TheSecondCopyStandsInForADamagedFirst)
{
    const ObjectId oid = kv_object(0x79, class_rp_2g1);
    const ObjectId array = array_object(0x7a, class_rp_2g1);
    container->kv_put(oid, as_bytes("small"), as_bytes("value"));
    container->kv_put(oid, as_bytes("header"), as_bytes("value"));
    container->kv_put(oid, as_bytes("big"), pattern(100000, 1));
    container->kv_put(oid, as_bytes("both"), as_bytes("value"));
    write_cells(*container, array, {1, 1 << 20}, 0, pattern(300000, 2));
    change_record(oid, as_bytes("small"), 0, [](auto&, auto& value) { value.back() ^= std::byte{1}; });
    change_record(oid, as_bytes("header"), 0, [](auto&, auto& value) { value[20] ^= std::byte{1}; });
    change_record(oid, as_bytes("big"), 0, [](auto&, auto& value) { value.back() ^= std::byte{1}; });
    for (unsigned copy = 0; copy < 2; ++copy)
        change_record(oid, as_bytes("both"), copy, [](auto&, auto& value) { value.back() ^= std::byte{1}; });
    EXPECT_EQ(kv_read(*container, oid, as_bytes("small")), to_bytes("value"));
    EXPECT_EQ(kv_read(*container, oid, as_bytes("header")), to_bytes("value"));
    EXPECT_EQ(kv_read(*container, oid, as_bytes("big")), pattern(100000, 1));
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("both")); }), DER_CSUM);
    std::vector<std::byte> big(100000), small(5), both(5);
    std::vector<KeyRead> reads = {{as_bytes("small"), small, {}}, {as_bytes("big"), big, {}}};
    container->kv_get_many(oid, reads);
    EXPECT_EQ(small, to_bytes("value"));
    EXPECT_EQ(big, pattern(100000, 1));
    reads.push_back({as_bytes("both"), both, {}});
    EXPECT_EQ(der_of([&] { container->kv_get_many(oid, reads); }), DER_CSUM);
    EXPECT_EQ(list_keys(*container, oid).size(), 4U);
    auto backend = below();
    const unsigned first = Placement(1, array, backend->targets()).group(0).targets[0];
    backend->target(first).write([&](WriteTransaction& transaction) {
        Entry entry;
        ASSERT_TRUE(transaction.seek(object_prefix(Space::live, 1, array).view(), entry));
        const std::vector<std::byte> key(entry.key.begin(), entry.key.end());
        std::vector<std::byte> value(entry.value.begin(), entry.value.end());
        value[12] ^= std::byte{1};
        transaction.put(key, value);
    });
    EXPECT_EQ(read_cells(*container, array, {1, 1 << 20}, 0, 300000), pattern(300000, 2));
    EXPECT_EQ(container->array_size(array, {1, 1 << 20}), 300000U);
    const CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "small"));
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "header"));
}

TEST_P(Damage, CopiesThatDifferAreReported)
{
    const ObjectId oid = kv_object(0x79, class_rp_2g1);
    container->kv_put(oid, as_bytes("one"), as_bytes("value"));
    container->kv_put(oid, as_bytes("two"), as_bytes("value"));
    // As a writer leaves it that dies between its two commits.
    auto backend = below();
    const unsigned second = Placement(1, oid, backend->targets()).group(0).targets[1];
    backend->target(second).write([&](WriteTransaction& transaction) {
        transaction.erase(kind_prefix(Space::live, 1, oid, Kind::keyvalue).add(as_bytes("one")).view());
    });
    const CheckReport report = Pool::check(path, {});
    EXPECT_FALSE(report.damaged());
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::info, "\"one\"", "is missing"));
    EXPECT_FALSE(has_finding(report, CheckFinding::Severity::info, "\"two\""));
    container->kv_put(oid, as_bytes("one"), as_bytes("value"));
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
}

TEST_P(Damage, APoolWithADamagedHeaderIsCheckedAllTheSame)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("value"));
    close();
    const auto change_header = [&](const std::function<void(std::vector<std::byte>&)>& change) {
        auto backend = below();
        backend->meta().write([&](WriteTransaction& meta) {
            Bytes value;
            const KeyBuffer key = meta_key(MetaSpace::header);
            ASSERT_TRUE(meta.get(key.view(), value));
            std::vector<std::byte> changed(value.begin(), value.end());
            change(changed);
            meta.put(key.view(), changed);
        });
    };
    change_header([](auto& value) { value[40] ^= std::byte{1}; });
    EXPECT_EQ(der_of([&] { Pool::open(path, Access::read_write); }), DER_CSUM);
    CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(report.damaged());
    EXPECT_GE(report.records, 1U);
    change_header([](auto& value) { value[40] ^= std::byte{1}; });
    // Newer and older formats, with a checksum that is right.
    auto set_version = [](std::vector<std::byte>& value, std::uint8_t version) {
        value[8 + 8 + 9] = std::byte{version};
        const KeyBuffer key = meta_key(MetaSpace::header);
        std::vector<std::byte> all(key.view().begin(), key.view().end());
        all.insert(all.end(), value.begin() + 8, value.end());
        store_little(value.data(), checksum(all));
    };
    for (const unsigned version : {4U, 1U}) {
        change_header([&](auto& value) { set_version(value, static_cast<std::uint8_t>(version)); });
        std::string message;
        EXPECT_EQ(der_of([&] { Pool::open(path, Access::read_write); }, &message), DER_DF_INCOMPT);
        EXPECT_NE(message.find("version " + std::to_string(version)), std::string::npos) << message;
        EXPECT_EQ(der_of([&] { Pool::check(path, {}); }), DER_DF_INCOMPT) << "which is no damage";
    }
    change_header([&](auto& value) { set_version(value, 3); });
    reopen();
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("key")), to_bytes("value"));
}

TEST_P(Damage, ALostHeaderIsDamageAndNotMadeAnew)
{
    close();
    const KeyBuffer key = meta_key(MetaSpace::header);
    std::vector<std::byte> kept;
    {
        auto backend = below();
        backend->meta().write([&](WriteTransaction& meta) {
            Bytes value;
            ASSERT_TRUE(meta.get(key.view(), value));
            kept.assign(value.begin(), value.end());
            meta.erase(key.view());
        });
    }
    for (const Access access : {Access::read_only, Access::read_write}) {
        std::string message;
        EXPECT_EQ(der_of([&] { Pool::open(path, access); }, &message), DER_DF_INVAL);
        EXPECT_NE(message.find("no header"), std::string::npos) << message;
    }
    EXPECT_TRUE(Pool::check(path, {true, true}).damaged());
    {
        auto backend = below();
        backend->meta().write([&](WriteTransaction& meta) {
            Bytes value;
            EXPECT_FALSE(meta.get(key.view(), value)) << "somebody made another one";
            meta.put(key.view(), kept);
        });
    }
    reopen();
    EXPECT_EQ(pool->containers().size(), 1U);
}

TEST_P(Damage, TargetsThatWereMixedUpAreRefused)
{
    close();
    {
        auto backend = below();
        backend->target(2).write([&](WriteTransaction& transaction) {
            Bytes value;
            const KeyBuffer key(Space::header);
            ASSERT_TRUE(transaction.get(key.view(), value));
            const std::vector<std::byte> kept(value.begin(), value.end());
            backend->target(3).write([&](WriteTransaction& other) { other.put(key.view(), kept); });
        });
    }
    // A pool's targets are looked at when they are needed.
    const auto mixed_up = Pool::open(path, Access::read_write);
    std::string message;
    EXPECT_EQ(der_of([&] { mixed_up->query(); }, &message), DER_DF_INVAL);
    EXPECT_NE(message.find("target 3"), std::string::npos) << message;
    EXPECT_EQ(der_of([&] { mixed_up->create_container(Uuid{7}, "everywhere", {}); }), DER_DF_INVAL);
    EXPECT_EQ(mixed_up->containers().size(), 1U) << "nothing was half made";
    EXPECT_TRUE(has_finding(Pool::check(path, {}), CheckFinding::Severity::damage, "target 3"));
}

TEST_P(Damage, MetadataThatDoesNotFitIsFound)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("value"));
    pool->create_container(uuid_of(2), "other", {});
    const Epoch snapshot = container->create_snapshot("s");
    {
        auto backend = below();
        backend->meta().write([&](WriteTransaction& meta) {
            Bytes value;
            const KeyBuffer record = meta_key(MetaSpace::container).add(std::uint32_t{1});
            ASSERT_TRUE(meta.get(record.view(), value));
            std::vector<std::byte> changed(value.begin(), value.end());
            changed[20] ^= std::byte{1};
            meta.put(record.view(), changed);
        });
        backend->target(1).write(
            [&](WriteTransaction& transaction) { transaction.erase(snapshot_key(1, snapshot).view()); });
    }
    EXPECT_EQ(der_of([&] { pool->open_container("test")->query(); }), DER_CSUM);
    EXPECT_EQ(pool->open_container("other")->query().label, "other");
    const CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "metadata, record"));
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "label \"test\""));
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "container number 1", "does not know"));
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "target 1", "snapshot"));
}

TEST_P(Damage, OverlappingExtentsAreFound)
{
    const ObjectId oid = array_object(5, class_s1);
    write_cells(*container, oid, {1, 1000}, 0, pattern(100, 1));
    write_cells(*container, oid, {1, 1000}, 200, pattern(100, 2));
    auto backend = below();
    const unsigned target = Placement(1, oid, backend->targets()).group(0).targets[0];
    backend->target(target).write([&](WriteTransaction& transaction) {
        // A whole record of 250 bytes that ends at byte 300.
        const auto data = pattern(250, 3);
        const Bytes piece(data);
        NewRecord record;
        record.birth = backend->next_epoch();
        record.length = 250;
        record.pieces = {&piece, 1};
        record.payload_sum = checksum(piece);
        const KeyBuffer key =
            kind_prefix(Space::live, 1, oid, Kind::array).add(std::uint64_t{0}).add(std::uint64_t{300});
        record.encode(key.view(), transaction.reserve(key.view(), record.stored_size()));
    });
    EXPECT_TRUE(
        has_finding(Pool::check(path, {}), CheckFinding::Severity::damage, "ends at byte 300", "begins at"));
}

TEST_P(Damage, WhatAnInterruptedSnapshotLeavesIsPutRightByTheNext)
{
    const ObjectId oid = kv_object(1, class_sx);
    container->kv_put(oid, as_bytes("key"), as_bytes("old"));
    const Epoch stray = below()->next_epoch();
    below()->target(2).write([&](WriteTransaction& transaction) {
        put_sealed(transaction, snapshot_key(1, stray).view(), {});
        put_state(transaction, 1, {stray});
    });
    CheckReport report = Pool::check(path, {});
    EXPECT_FALSE(report.damaged());
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::reclaimable, "target 2", "never finished"));
    const Epoch snapshot = container->create_snapshot("");
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    container->kv_put(oid, as_bytes("key"), as_bytes("new"));
    EXPECT_EQ(kv_read(*container, oid, as_bytes("key"), snapshot), to_bytes("old"));
}

TEST_P(Damage, AnInterruptedDestructionIsFinished)
{
    for (const bool by_check : {false, true}) {
        pool->create_container(uuid_of(2), "doomed", {});
        auto doomed = pool->open_container("doomed");
        for (int i = 0; i < 100; ++i)
            doomed->kv_put(kv_object(1, class_sx), as_bytes(std::to_string(i)),
                           pattern(i < 5 ? 70000 : 10, 1));
        doomed.reset();
        // As its first step leaves it.
        const Uuid uuid = uuid_of(2);
        below()->meta().write([&](WriteTransaction& meta) {
            const auto id = static_cast<std::uint32_t>(find_container(meta, path, "doomed"));
            ASSERT_NE(id, 0U);
            meta.erase(meta_key(MetaSpace::container).add(id).view());
            meta.erase(meta_key(MetaSpace::label).add(as_bytes("doomed")).view());
            meta.erase(
                meta_key(MetaSpace::uuid).add(std::as_bytes(std::span<const std::uint8_t>(uuid))).view());
            put_sealed(meta, meta_key(MetaSpace::destroying).add(id).view(), BodyWriter().number(id).view());
        });
        CheckReport report = Pool::check(path, {});
        EXPECT_FALSE(report.damaged());
        EXPECT_TRUE(has_finding(report, CheckFinding::Severity::reclaimable, "container", "destroyed"));
        if (by_check)
            Pool::check(path, {true, true});
        else
            reopen();
        report = Pool::check(path, {});
        EXPECT_EQ(report.objects, 0U);
        EXPECT_EQ(report.extents, 0U);
        EXPECT_TRUE(undamaged(report));
    }
}

// ---- files

class FileDamage : public Damage {
protected:
    void SetUp() override { open_pool("lmdb", 2); }

    std::vector<std::filesystem::path> files(const std::string& extension)
    {
        return files_with(path, extension);
    }
    int flip_in_files(const std::string& extension, Bytes bytes, std::size_t offset)
    {
        return testing::flip_in_files(path, extension, bytes, offset);
    }
};

TEST_F(FileDamage, AFlippedByteInAStoredValue)
{
    const ObjectId oid = kv_object(1);
    for (int i = 0; i < 50; ++i)
        container->kv_put(oid, as_bytes("key" + std::to_string(i)),
                          as_bytes("the value of number <" + std::to_string(i) + ">"));
    close();
    ASSERT_GE(flip_in_files(".mdb", as_bytes("the value of number <33>"), 3), 1);
    reopen();
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("key33")); }), DER_CSUM);
    EXPECT_EQ(kv_read(*container, oid, as_bytes("key34")), to_bytes("the value of number <34>"));
    EXPECT_TRUE(has_finding(Pool::check(path, {}), CheckFinding::Severity::damage, "key33"));
}

TEST_F(FileDamage, AFlippedByteInAStoredKey)
{
    const ObjectId oid = kv_object(1);
    for (int i = 0; i < 50; ++i)
        container->kv_put(oid, as_bytes("temperature" + std::to_string(100 + i) + "K"), as_bytes("v"));
    close();
    for (const std::size_t offset :
         {0UL, 4UL, 13UL}) { // in ways that move it up, down and little in the order
        const std::string key = "temperature" + std::to_string(110 + 7 * offset % 30) + "K";
        ASSERT_GE(flip_in_files(".mdb", as_bytes(key), offset), 1);
        reopen();
        EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes(key)); }), DER_CSUM)
            << key << " at " << offset;
        EXPECT_TRUE(Pool::check(path, {}).damaged());
        close();
        std::string flipped = key;
        flipped[offset] = static_cast<char>(flipped[offset] ^ 0x10);
        ASSERT_GE(flip_in_files(".mdb", as_bytes(flipped), offset), 1);
        reopen();
        EXPECT_TRUE(undamaged(Pool::check(path, {})));
        close();
    }
}

TEST_F(FileDamage, AFlippedByteInABulkExtent)
{
    const ObjectId oid = kv_object(1);
    const ObjectId array = array_object(2, class_s1);
    const auto value = pattern(300000, 1);
    const auto cells = pattern(1 << 20, 2);
    container->kv_put(oid, as_bytes("good"), pattern(200000, 9));
    container->kv_put(oid, as_bytes("bad"), value);
    write_cells(*container, array, {1, 1 << 20}, 0, cells);
    close();
    ASSERT_EQ(flip_in_files(".ext", Bytes(value).subspan(150000, 64), 7), 1);
    ASSERT_EQ(flip_in_files(".ext", Bytes(cells).subspan(500000, 64), 7), 1);
    reopen();
    std::string message;
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("bad")); }, &message), DER_CSUM);
    EXPECT_NE(message.find("\"bad\""), std::string::npos) << message;
    EXPECT_EQ(kv_read(*container, oid, as_bytes("good")), pattern(200000, 9));
    EXPECT_EQ(der_of([&] { read_cells(*container, array, {1, 1 << 20}, 0, 1 << 20); }, &message), DER_CSUM);
    EXPECT_NE(message.find("chunk 0"), std::string::npos) << message;
    // Without verifying it is read as it is.
    auto as_it_is = read_cells(*container, array, {1, 1 << 20}, 0, 1 << 20, latest, nullptr, Verify::no);
    as_it_is[500007] ^= std::byte{0x10};
    EXPECT_EQ(as_it_is, cells);
    // What lies in other blocks can be read.
    const auto part = read_cells(*container, array, {1, 1 << 20}, 0, 450000);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), cells.begin()));
    const CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "\"bad\""));
    EXPECT_TRUE(has_finding(report, CheckFinding::Severity::damage, "chunk 0"));
    EXPECT_EQ(report.findings.size(), 2U);
    // A write over the damaged block alone cannot keep its rest; one over all of it can.
    EXPECT_EQ(der_of([&] { write_cells(*container, array, {1, 1 << 20}, 500000, pattern(10, 1)); }),
              DER_CSUM);
    write_cells(*container, array, {1, 1 << 20}, 7 << 16, pattern(1 << 16, 3));
    EXPECT_EQ(read_cells(*container, array, {1, 1 << 20}, 0, 1 << 20).size(), cells.size());
    EXPECT_EQ(read_cells(*container, array, {1, 1 << 20}, 7 << 16, 1 << 16), pattern(1 << 16, 3));
    // A file that is gone is told without verifying too.
    close();
    for (const auto& file : files(".ext"))
        std::filesystem::remove(file);
    reopen();
    EXPECT_EQ(
        der_of([&] { read_cells(*container, array, {1, 1 << 20}, 0, 1 << 20, latest, nullptr, Verify::no); }),
        DER_CSUM);
}

TEST_F(FileDamage, AnExtentFileThatWasCutOffOrRemoved)
{
    const ObjectId oid = kv_object(1);
    container->kv_put(oid, as_bytes("small"), as_bytes("v"));
    container->kv_put(oid, as_bytes("first"), pattern(200000, 1));
    container->kv_put(oid, as_bytes("last"), pattern(200000, 2));
    close();
    const auto extents = files(".ext");
    ASSERT_EQ(extents.size(), 1U);
    std::filesystem::resize_file(extents[0], 300000);
    reopen();
    EXPECT_EQ(kv_read(*container, oid, as_bytes("first")), pattern(200000, 1));
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("last")); }), DER_CSUM);
    EXPECT_TRUE(has_finding(Pool::check(path, {}), CheckFinding::Severity::damage, "\"last\"", "cut off"));
    close();
    std::filesystem::remove(extents[0]);
    reopen();
    EXPECT_EQ(der_of([&] { kv_read(*container, oid, as_bytes("first")); }), DER_CSUM);
    EXPECT_EQ(kv_read(*container, oid, as_bytes("small")), to_bytes("v"));
    EXPECT_TRUE(has_finding(Pool::check(path, {}), CheckFinding::Severity::damage, "\"first\"", "missing"));
}

TEST_F(FileDamage, BytesOfADeadWriterAreGivenBackAndNothingElse)
{
    const ObjectId oid = kv_object(1, class_sx);
    const ObjectId array = array_object(2);
    close();
    EXPECT_EQ(run_in_child([&] {
                  auto writer = Pool::open(path, Access::read_write)->open_container("test");
                  for (int i = 0; i < 20; ++i)
                      writer->kv_put(oid, as_bytes(std::to_string(i)),
                                     pattern(100000, static_cast<unsigned>(i)));
                  write_cells(*writer, array, {1, 300000}, 0, pattern(1000000, 99));
                  auto backend = below();
                  const auto lost = pattern(500000, 7);
                  const Bytes piece(lost);
                  Payload payload{{&piece, 1}};
                  for (unsigned target = 0; target < 2; ++target) { // and dies before the commit
                      backend->target(target).append({&payload, 1});
                      backend->target(target).entering(payload.extent);
                  }
                  _exit(7);
                  return 0;
              }),
              7);
    CheckReport report = Pool::check(path, {});
    EXPECT_FALSE(report.damaged());
    EXPECT_GE(report.reclaimable_bytes, 1000000U);
    EXPECT_LT(report.reclaimable_bytes, 1100000U);
    EXPECT_EQ(report.reclaimed_bytes, 0U);
    report = Pool::check(path, {true, true});
    EXPECT_GE(report.reclaimed_bytes, 1000000U);
    EXPECT_LT(report.reclaimed_bytes, 1100000U);
    report = Pool::check(path, {});
    EXPECT_TRUE(report.findings.empty());
    reopen();
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(kv_read(*container, oid, as_bytes(std::to_string(i))),
                  pattern(100000, static_cast<unsigned>(i)));
    EXPECT_EQ(read_cells(*container, array, {1, 300000}, 0, 1000000), pattern(1000000, 99));
}

// The file system takes blocks of its own to say where the pieces of a file with holes lie. Nobody can give
// them back.
TEST_P(Damage, AFileOfManyPiecesHasNothingToReclaim)
{
    for (int i = 0; i < 200; ++i)
        container->kv_put(kv_object(1), as_bytes(std::to_string(i)),
                          pattern(70'000, static_cast<unsigned>(i)));
    pool->sync();
    for (int i = 0; i < 200; i += 2)
        ASSERT_TRUE(container->kv_remove(kv_object(1), as_bytes(std::to_string(i))));
    pool->sync();
    close();
    EXPECT_TRUE(Pool::check(path, {true, true}).findings.empty());
    const CheckReport report = Pool::check(path, {});
    EXPECT_TRUE(report.findings.empty());
    EXPECT_EQ(report.reclaimable_bytes, 0U);
}

} // namespace
} // namespace stepstore::testing
