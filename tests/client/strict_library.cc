// The client on a libdaos that does no more than DAOS 2.6 does. Ours is kinder in some places, so here it is
// made as strict. Reads leave memory alone where nothing is stored. Only arrays of bytes tell how much was
// read. An empty range never returns. Snapshots have no names, and any epoch opens.
#include "client/client_fixture.h"
#include "stepstore/administration.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

namespace stepstore::testing {
namespace {

std::atomic<int> empty_ranges{0}; // requests at which a DAOS system hangs or crashes

void note_request(const daos_array_iod_t* iod, const d_sg_list_t* sgl)
{
    if (iod->arr_nr == 0 || (sgl && sgl->sg_nr == 0)) ++empty_ranges;
    for (daos_size_t i = 0; i < iod->arr_nr; ++i)
        if (iod->arr_rgs[i].rg_len == 0) ++empty_ranges;
}

int strict_write(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                 daos_event_t* event)
{
    note_request(iod, sgl);
    return Library::ours().array_write(oh, th, iod, sgl, event);
}

int strict_punch(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, daos_event_t* event)
{
    note_request(iod, nullptr);
    return Library::ours().array_punch(oh, th, iod, event);
}

// Of one range and one piece, cells of one byte.
int strict_read(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                daos_event_t* event)
{
    note_request(iod, sgl);
    const daos_array_iod_t before = *iod;
    auto* memory = static_cast<std::byte*>(sgl->sg_iovs[0].iov_buf);
    const std::vector<std::byte> kept(memory, memory + sgl->sg_iovs[0].iov_len);
    if (const int rc = Library::ours().array_read(oh, th, iod, sgl, nullptr)) return rc;
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (memory[i] == std::byte{0})
            memory[i] = kept[i]; // nothing is stored there: the tests store no zeroes
    iod->arr_nr_read = before.arr_nr_read;
    iod->arr_nr_short_read = before.arr_nr_short_read;
    // Completes the event, with an operation that changes nothing.
    static daos_size_t size;
    return event ? Library::ours().array_get_size(oh, th, &size, event) : 0;
}

int strict_snapshot(daos_handle_t coh, daos_epoch_t* epoch, char* name, daos_event_t* event)
{
    if (name) return -DER_NOSYS;
    return Library::ours().cont_create_snap(coh, epoch, nullptr, event);
}

int strict_list_recx(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, daos_key_t* akey,
                     daos_size_t* size, std::uint32_t* nr, daos_recx_t* recxs, daos_epoch_range_t* epochs,
                     daos_anchor_t* anchor, bool ascending, daos_event_t* event)
{
    if (*nr > 128 || !epochs) return -DER_INVAL;
    return Library::ours().obj_list_recx(oh, th, dkey, akey, size, nr, recxs, epochs, anchor, ascending,
                                         event);
}

// Transactions as DAOS has them: what they put is kept aside, and their commit fails once if another value
// came meanwhile.
struct Transaction {
    std::vector<std::function<int()>> updates;
    bool read = false;
};
constexpr std::uint64_t transaction_cookie = 0x7472616e73;
Transaction open_transaction;
std::function<void()> before_commit; // what another process does then, once
bool overtaken = false;
int transactions_open = 0, restarts = 0;

bool in_transaction(daos_handle_t th)
{
    return th.cookie == transaction_cookie;
}

int tx_open(daos_handle_t, daos_handle_t* th, std::uint64_t flags, daos_event_t*)
{
    if (flags != 0) return -DER_INVAL;
    ++transactions_open;
    open_transaction = {};
    th->cookie = transaction_cookie;
    return 0;
}

int tx_commit(daos_handle_t, daos_event_t*)
{
    if (const auto others = std::exchange(before_commit, nullptr)) {
        others();
        overtaken = true;
        return -DER_TX_RESTART;
    }
    if (overtaken || !open_transaction.read) return -DER_INVAL; // not begun anew, or blind
    for (const auto& update : open_transaction.updates)
        if (const int rc = update()) return rc;
    return 0;
}

int tx_restart(daos_handle_t, daos_event_t*)
{
    ++restarts;
    overtaken = false;
    open_transaction = {};
    return 0;
}

int tx_abort(daos_handle_t, daos_event_t*)
{
    open_transaction = {};
    return 0;
}

int tx_close(daos_handle_t th, daos_event_t* event)
{
    if (!in_transaction(th)) return Library::ours().tx_close(th, event);
    --transactions_open;
    return 0;
}

int tx_get(daos_handle_t oh, daos_handle_t th, std::uint64_t flags, const char* key, daos_size_t* size,
           void* buf, daos_event_t* event)
{
    if (in_transaction(th)) open_transaction.read = true;
    return Library::ours().kv_get(oh, in_transaction(th) ? DAOS_TX_NONE : th, flags, key, size, buf, event);
}

int tx_put(daos_handle_t oh, daos_handle_t th, std::uint64_t flags, const char* key, daos_size_t size,
           const void* buf, daos_event_t* event)
{
    if (!in_transaction(th)) return Library::ours().kv_put(oh, th, flags, key, size, buf, event);
    open_transaction.updates.emplace_back(
        [=] { return Library::ours().kv_put(oh, DAOS_TX_NONE, flags, key, size, buf, nullptr); });
    return 0;
}

int tx_remove(daos_handle_t oh, daos_handle_t th, std::uint64_t flags, const char* key, daos_event_t* event)
{
    if (!in_transaction(th)) return Library::ours().kv_remove(oh, th, flags, key, event);
    open_transaction.updates.emplace_back(
        [=] { return Library::ours().kv_remove(oh, DAOS_TX_NONE, flags, key, nullptr); });
    return 0;
}

Library strict_library()
{
    Library library = Library::ours();
    library.kv_put_if = nullptr;
    library.kv_get = tx_get;
    library.kv_put = tx_put;
    library.kv_remove = tx_remove;
    library.tx_open = tx_open;
    library.tx_commit = tx_commit;
    library.tx_restart = tx_restart;
    library.tx_abort = tx_abort;
    library.tx_close = tx_close;
    library.name = "strict";
    library.last_message = nullptr;
    library.array_read = strict_read;
    library.array_write = strict_write;
    library.array_punch = strict_punch;
    library.cont_create_snap = strict_snapshot;
    library.obj_list_recx = strict_list_recx;
    return library;
}

class StrictLibraryTest : public ClientTest {
protected:
    StrictLibraryTest()
        : strict_pool(Pool::connect(strict_library(), location)),
          strict(strict_pool.open_container("container"))
    {
        empty_ranges = 0;
    }
    ~StrictLibraryTest() override { EXPECT_EQ(empty_ranges, 0); }

    ObjectId id(ObjectType type) const { return strict.object_id(1, 0, type, "S2"); }

    Pool strict_pool;
    Container strict;
};

TEST_F(StrictLibraryTest, RunsOfRecordsAreListedInSmallPages)
{
    Object object = strict.object(id(ObjectType::akeys));
    const auto name = bytes("name");
    std::vector<Range> runs;
    for (std::uint64_t i = 0; i < 300; ++i)
        runs.push_back({3 * i, 2});
    const auto records = bytes(std::string(600, 'r'));
    const Bytes memory(records);
    const AkeyUpdate update{
        .akey = name, .type = AkeyType::array, .record_size = 1, .records = runs, .memory = {&memory, 1}};
    object.update(name, {&update, 1});
    std::size_t found = 0;
    object.list_records(name, name, [&](const Range& run) {
        EXPECT_EQ(run.index, runs.at(found).index);
        EXPECT_EQ(run.length, 2U);
        ++found;
        return true;
    });
    EXPECT_EQ(found, runs.size());
    EXPECT_NE(object.last_update().epoch, 0U);
}

TEST_F(StrictLibraryTest, WhatIsNotStoredReadsAsZero)
{
    Array array = strict.create_array(id(ObjectType::array), {.cell_size = 1, .chunk_size = 16});
    array.write(4, bytes("abcd"));
    array.set_size(30);
    std::vector<std::byte> read(40, std::byte{0xee});
    const ReadResult result = array.read(0, read);
    EXPECT_EQ(result.cells_short, 10U);
    EXPECT_EQ(result.bytes, 30U);
    EXPECT_EQ(text(read), std::string("\0\0\0\0abcd", 8).append(32, '\0'));

    std::vector<std::byte> later(40, std::byte{0xee});
    EventQueue queue = strict_pool.event_queue();
    const Range range{0, later.size()};
    const MutableBytes memory(later);
    array.read(queue, {&range, 1}, {&memory, 1}).wait();
    EXPECT_EQ(later, read);
}

TEST_F(StrictLibraryTest, EmptyRangesNeverReachTheLibrary)
{
    Array array = strict.open_array(id(ObjectType::array_bytes), {.cell_size = 1, .chunk_size = 16});
    EventQueue queue = strict_pool.event_queue();
    const auto one = bytes("x");
    const std::vector<Range> ranges{{5, 0}, {7, 1}, {100, 0}};
    const std::vector<Bytes> memory{{}, one, {}};
    array.write(ranges, memory);
    array.write(queue, ranges, memory).wait();
    EXPECT_EQ(array.size(), 8U);

    array.write(3, {});
    array.write(queue, {}, {}).wait();
    const Range nothing{3, 0};
    array.write({&nothing, 1}, {});
    array.punch({&nothing, 1});
    array.punch({});
    const ReadResult result = array.read(3, {});
    EXPECT_EQ(result.cells_short, 0U);
    EXPECT_EQ(result.bytes, 0U);
    Pending pending = array.read(queue, {&nothing, 1}, {});
    EXPECT_TRUE(pending.ready());
    pending.wait();
    EXPECT_EQ(array.size(), 8U);

    const Bytes memory_alone(one);
    EXPECT_ERROR(-DER_INVAL, array.write({}, {&memory_alone, 1}));
    const Range cells{0, 1};
    EXPECT_ERROR(-DER_INVAL, array.read(queue, {&cells, 1}, {}));
}

TEST_F(StrictLibraryTest, SnapshotsHaveEpochsOnly)
{
    const auto error = error_of([&] { strict.create_snapshot("named"); });
    EXPECT_EQ(error.code(), -DER_NOSYS);
    EXPECT_NE(std::string(error.what()).find("named"), std::string::npos) << error.what();
    const std::uint64_t epoch = strict.create_snapshot();
    strict.at_snapshot(epoch);
    for (const std::uint64_t other : {epoch + 1, epoch - 1, std::uint64_t{12345}})
        EXPECT_ERROR(-DER_NONEXIST, strict.at_snapshot(other));
}

TEST_F(StrictLibraryTest, AConditionalUpdateIsATransactionThatIsRestarted)
{
    KeyValue kv = strict.key_value(id(ObjectType::key_value));
    KeyValue others = container->key_value(id(ObjectType::key_value));
    const auto first = bytes("first"), second = bytes("second");
    restarts = 0;
    EXPECT_FALSE(kv.put_if("key", first, second));
    EXPECT_FALSE(kv.put_if("key", Bytes(), second));
    EXPECT_TRUE(kv.put_if("key", std::nullopt, first));
    EXPECT_FALSE(kv.put_if("key", std::nullopt, second));
    EXPECT_FALSE(kv.put_if("key", bytes("first and more"), second));
    EXPECT_FALSE(kv.put_if("key", bytes("fir"), second)) << "it is longer";
    EXPECT_TRUE(kv.put_if("key", first, second));
    EXPECT_EQ(kv.get("key"), second);

    before_commit = [&] { others.put("other key", {}); }; // a restart alone is no reason to fail
    EXPECT_TRUE(kv.put_if("key", second, first));
    EXPECT_EQ(kv.get("key"), first);
    before_commit = [&] { others.put("key", bytes("third")); };
    EXPECT_FALSE(kv.put_if("key", first, second));
    before_commit = [&] { others.put("key", bytes("fourth")); };
    EXPECT_FALSE(kv.remove_if("key", bytes("third")));
    EXPECT_EQ(restarts, 3);
    EXPECT_EQ(kv.get("key"), bytes("fourth"));
    EXPECT_TRUE(kv.remove_if("key", bytes("fourth")));
    EXPECT_EQ(kv.get("key"), std::nullopt);
    EXPECT_EQ(transactions_open, 0);
}

TEST_F(StrictLibraryTest, WithoutTransactionsAConditionalUpdateIsRefusedByName)
{
    Library plain = strict_library();
    plain.tx_commit = nullptr;
    const Pool bare = Pool::connect(plain, location);
    KeyValue kv = bare.open_container("container").key_value(id(ObjectType::key_value));
    EXPECT_TRUE(kv.put_if("key", std::nullopt, bytes("first"))); // needs none
    const auto error = error_of([&] { kv.put_if("key", bytes("first"), bytes("second")); });
    EXPECT_EQ(error.code(), -DER_NOSYS);
    for (const char* part : {"'key'", "transaction", "strict"})
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}

} // namespace
TEST_F(StrictLibraryTest, ObjectsOfASnapshotAreListedFromItsTable)
{
    strict.key_value(id(ObjectType::key_value)).put("key", bytes("value"));
    for (std::uint64_t number = 2; number < 3000; ++number) // more than one call gives
        strict.key_value(strict.object_id(number, 0, ObjectType::key_value, "S2")).put("key", bytes("value"));
    const std::uint64_t epoch = strict.create_snapshot({}, true);
    strict.key_value(strict.object_id(5000, 0, ObjectType::key_value, "S2")).put("key", bytes("later"));
    const std::vector<ObjectInfo> objects = list_objects(strict.at_snapshot(epoch), false);
    ASSERT_EQ(objects.size(), 2999U);
    EXPECT_EQ(objects.front().id, id(ObjectType::key_value));
    EXPECT_TRUE(objects.front().key_value);
    EXPECT_EQ(objects.front().object_class, "S2");
    EXPECT_FALSE(objects.front().keys);
}

} // namespace stepstore::testing
