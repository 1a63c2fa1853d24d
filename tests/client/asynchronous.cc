// Event queues, and errors that arrive through them: injected into a copy of our library's table.
#include "client/client_fixture.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

namespace stepstore::testing {
namespace {

using AsynchronousTest = ClientTest;

TEST_F(AsynchronousTest, CompletesManyCallsAtOnce)
{
    auto kv = key_value();
    auto queue = pool->event_queue();
    std::vector<Pending> pending;
    std::vector<std::vector<std::byte>> values;
    for (int i = 0; i < 200; ++i)
        values.push_back(bytes(std::string(static_cast<std::size_t>(i) * 50, 'x') + std::to_string(i)));
    for (std::size_t i = 0; i < values.size(); ++i)
        pending.push_back(kv.put(queue, "key " + std::to_string(i), values[i]));
    for (auto& each : pending)
        each.wait();
    pending.clear();

    std::vector<std::vector<std::byte>> read(values.size(), std::vector<std::byte>(20'000));
    std::vector<std::size_t> sizes(values.size(), 20'000);
    for (std::size_t i = 0; i < values.size(); ++i)
        pending.push_back(kv.get_into(queue, "key " + std::to_string(i), read[i].data(), &sizes[i]));
    for (std::size_t i = 0; i < values.size(); ++i) {
        pending[i].wait();
        pending[i].wait(); // a second time at once
        EXPECT_TRUE(pending[i].ready());
        read[i].resize(sizes[i]);
        EXPECT_EQ(read[i], values[i]);
    }
}

TEST_F(AsynchronousTest, TellsSizesAndErrorsThroughTheWait)
{
    auto kv = key_value();
    auto queue = pool->event_queue();
    kv.put(queue, "key", bytes("0123456789"), Condition::must_not_exist).wait();
    auto refused = kv.put(queue, "key", {}, Condition::must_not_exist);
    const auto error = error_of([&] { refused.wait(); });
    EXPECT_EQ(error.code(), -DER_EXIST);
    EXPECT_NE(std::string(error.what()).find("put 'key'"), std::string::npos) << error.what();
    EXPECT_NO_THROW(refused.wait()); // told once

    std::array<std::byte, 4> room;
    std::size_t size = room.size();
    auto short_get = kv.get_into(queue, "key", room.data(), &size);
    EXPECT_ERROR(-DER_REC2BIG, short_get.wait());
    EXPECT_EQ(size, 10U);
    size = room.size();
    kv.get_into(queue, "absent", room.data(), &size).wait();
    EXPECT_EQ(size, 0U);
    auto never_seen =
        kv.put(queue, "key", {}, Condition::must_not_exist); // waits when it goes, without a word
}

TEST_F(AsynchronousTest, MovesArrays)
{
    auto array = container->create_array(container->object_id(3, 0, ObjectType::array),
                                         {.cell_size = 1, .chunk_size = 4});
    auto queue = pool->event_queue();
    const auto data = bytes("several chunks of cells");
    const std::array<Bytes, 1> out = {data};
    const std::array<Range, 2> ranges = {Range{0, 10}, Range{100, data.size() - 10}};
    array.write(queue, ranges, out).wait();
    std::vector<std::byte> read(data.size());
    const std::array<MutableBytes, 1> in = {read};
    auto pending = array.read(queue, ranges, in);
    while (!pending.ready())
        std::this_thread::yield();
    pending.wait();
    EXPECT_EQ(read, data);
    const std::array<MutableBytes, 1> wrong = {MutableBytes(read).first(5)};
    EXPECT_ERROR(-DER_INVAL, array.read(queue, ranges, wrong).wait());
}

TEST_F(AsynchronousTest, OutlivesObjectAndQueue)
{
    const auto value = bytes(std::string(1 << 20, 'v'));
    Pending pending;
    {
        auto kv = key_value();
        auto queue = pool->event_queue();
        pending = kv.put(queue, "key", value);
    }
    const auto id = key_value().id();
    container.reset();
    pool.reset();
    pending.wait();
    const auto again = Pool::connect(location);
    EXPECT_EQ(again.open_container("container").key_value(id).get("key"), value);
}

TEST_F(AsynchronousTest, ServesSeveralThreads)
{
    auto kv = key_value();
    auto queue = pool->event_queue();
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 50; ++i) {
                const std::string key = std::to_string(thread) + "." + std::to_string(i);
                const auto value = bytes(key);
                kv.put(queue, key, value).wait();
                if (kv.get(key) != value) ++wrong;
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(kv.list().size(), 200U);
}

// Launches calls while another thread polls, and takes each call once, with its own error.
TEST_F(AsynchronousTest, IsPolledForWhatHasCompleted)
{
    auto kv = key_value();
    auto queue = pool->event_queue();
    EXPECT_TRUE(queue.poll(std::chrono::microseconds(0)).empty());
    EXPECT_EQ(Pending().id(), nullptr);
    constexpr std::size_t calls = 300;
    std::vector<Pending::Id> done;
    std::thread poller([&] {
        while (done.size() < calls) {
            const auto some = queue.poll(std::chrono::milliseconds(100));
            done.insert(done.end(), some.begin(), some.end());
        }
    });
    std::vector<Pending> pending;
    const auto value = bytes(std::string(50'000, 'v'));
    for (std::size_t i = 0; i < calls; ++i)
        pending.push_back(kv.put(queue, "key " + std::to_string(i / 2), value, Condition::must_not_exist));
    poller.join();
    std::vector<Pending::Id> launched;
    for (const auto& each : pending)
        launched.push_back(each.id());
    std::ranges::sort(done);
    std::ranges::sort(launched);
    EXPECT_EQ(done, launched);
    for (std::size_t i = 0; i < calls; i += 2) { // one of each two comes second
        int refused = 0;
        for (const std::size_t one : {i, i + 1}) {
            try {
                pending[one].wait();
            } catch (const Error& error) {
                ++refused;
                const std::string key = "\"key " + std::to_string(i / 2) + "\""; // in the library's message
                EXPECT_EQ(error.code(), -DER_EXIST);
                EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
            }
        }
        EXPECT_EQ(refused, 1);
    }
}

TEST_F(AsynchronousTest, TellsAKeyThatIsMissingFromAnEmptyValue)
{
    auto kv = key_value();
    auto queue = kv.event_queue();
    kv.put("empty", {});
    std::array<std::byte, 4> room;
    std::size_t size = room.size();
    kv.get_into(queue, "empty", room.data(), &size, Condition::must_exist).wait();
    EXPECT_EQ(size, 0U);
    size = room.size();
    auto absent = kv.get_into(queue, "absent", room.data(), &size, Condition::must_exist);
    EXPECT_ERROR(-DER_NONEXIST, absent.wait());
}

TEST_F(AsynchronousTest, LaunchesNothingForNoCells)
{
    auto array = container->create_array(container->object_id(4, 0, ObjectType::array), {.cell_size = 4});
    auto queue = array.event_queue();
    EXPECT_EQ(array.write(queue, 0, {}).id(), nullptr);
    EXPECT_ERROR(-DER_INVAL, array.write(queue, 0, bytes("three")));
    array.write(queue, 2, bytes("abcd")).wait();
    std::vector<std::byte> read(12);
    auto pending = array.read(queue, 1, read);
    pending.wait();
    EXPECT_TRUE(pending.tells_cells_short());
    EXPECT_EQ(pending.cells_short(), 1U);
    EXPECT_EQ(read, bytes(std::string_view("\0\0\0\0abcd\0\0\0\0", 12)));
}

// ---- faults

int connects = 0;
int disconnects = 0;
int failing_puts = 0;
int code_of_event = 0;

int counted_connect(const char* pool, const char* sys, unsigned flags, daos_handle_t* poh,
                    daos_pool_info_t* info, daos_event_t* ev)
{
    ++connects;
    return Library::ours().pool_connect(pool, sys, flags, poh, info, ev);
}

int counted_disconnect(daos_handle_t poh, daos_event_t* ev)
{
    ++disconnects;
    return Library::ours().pool_disconnect(poh, ev);
}

int failing_put(daos_handle_t oh, daos_handle_t th, uint64_t flags, const char* key, daos_size_t size,
                const void* buf, daos_event_t* ev)
{
    if (failing_puts-- > 0) return -DER_NOSPACE; // the launch itself fails
    return Library::ours().kv_put(oh, th, flags, key, size, buf, ev);
}

// Every event completes with an error, whatever the operation did.
int failing_test(daos_event_t* ev, int64_t timeout, bool* flag)
{
    const int rc = Library::ours().event_test(ev, timeout, flag);
    if (rc == 0 && *flag) ev->ev_error = code_of_event;
    return rc;
}

int lost_queue(daos_event_t*, int64_t, bool*)
{
    return -DER_NONEXIST;
}

TEST_F(AsynchronousTest, CallsThroughTheTableThatItWasGiven)
{
    Library library = Library::ours();
    library.pool_connect = counted_connect;
    library.pool_disconnect = counted_disconnect;
    connects = disconnects = 0;
    {
        const auto through = Pool::connect(library, location);
        EXPECT_EQ(connects, 1);
        EXPECT_EQ(disconnects, 0);
        EXPECT_EQ(through.containers().size(), 1U);
    }
    EXPECT_EQ(disconnects, 1);
}

TEST_F(AsynchronousTest, PassesOnAnErrorOfTheLaunch)
{
    Library library = Library::ours();
    library.kv_put = failing_put;
    const auto through = Pool::connect(library, location);
    auto faulty = through.open_container("container");
    auto kv = faulty.key_value(key_value().id());
    auto queue = through.event_queue();
    const auto value = bytes("value");
    failing_puts = 2;
    EXPECT_ERROR(-DER_NOSPACE, kv.put(queue, "key", value));
    EXPECT_ERROR(-DER_NOSPACE, kv.put("key", value));
    kv.put(queue, "key", value).wait();
    EXPECT_EQ(kv.get("key"), value);
}

TEST_F(AsynchronousTest, PassesOnAnErrorOfTheEvent)
{
    Library library = Library::ours();
    library.event_test = failing_test;
    library.last_message = nullptr; // as a DAOS system's library
    const auto through = Pool::connect(library, location);
    auto faulty = through.open_container("container");
    auto kv = faulty.key_value(key_value().id());
    auto queue = through.event_queue();
    const auto value = bytes("value");
    for (const int code : {-DER_IO, -DER_CSUM, -DER_TIMEDOUT, -4711}) {
        code_of_event = code;
        auto pending = kv.put(queue, "key", value);
        const auto error = error_of([&] { pending.wait(); });
        EXPECT_EQ(error.code(), code);
        EXPECT_NE(std::string(error.what()).find("put 'key'"), std::string::npos) << error.what();
    }
    code_of_event = -DER_IO;
    auto pending = kv.put(queue, "key", value);
    while (!pending.ready()) // sees it completed, and keeps the error for the wait
        std::this_thread::yield();
    EXPECT_ERROR(-DER_IO, pending.wait());
}

TEST_F(AsynchronousTest, DoesNotHangWhenTheQueueIsLost)
{
    auto kv = key_value();
    Library library = Library::ours();
    library.event_test = lost_queue;
    const auto through = Pool::connect(library, location);
    auto faulty = through.open_container("container");
    auto object = faulty.key_value(kv.id());
    auto queue = through.event_queue();
    const auto value = bytes("value");
    auto pending = object.put(queue, "key", value);
    EXPECT_ERROR(-DER_NONEXIST, pending.wait());
    while (!kv.get("key")) // the put itself goes on: its memory must stay
        std::this_thread::yield();
}

} // namespace
} // namespace stepstore::testing
