// One writer per stream: who is refused, who takes over from the dead, what readers learn of it.
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "steps/stream/writer_lease.h"
#include "support/processes.h"
#include "support/temporary.h"

#include <atomic>
#include <functional>
#include <sys/mman.h>
#include <thread>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_in_child;
using stepstore::testing::start_child;
using stepstore::testing::TemporaryDirectory;

const std::string stream_name = "main";

// Numbers that a test's processes share.
struct Shared {
    std::atomic<int> ready;
    std::atomic<int> holders;
    std::atomic<int> most_holders;
    std::atomic<int> opened;
};

class Writers : public ::testing::Test {
protected:
    Writers()
    {
        void* memory =
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
        shared = new (memory) Shared{};
    }
    ~Writers() override { munmap(shared, sizeof(Shared)); }

    Writer open(bool append, double timeout = 30) const
    {
        WriterOptions options;
        options.targets = 2;
        options.append = append;
        options.writer_timeout = timeout;
        return {location, options, self_communicator()};
    }
    std::string refusal(bool append, double timeout = 30) const
    {
        try {
            open(append, timeout);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_BUSY) << error.what();
            return error.what();
        }
        ADD_FAILURE() << "the second writer was not refused";
        return {};
    }
    void write_step(Writer& writer) const { model.write_step(writer, 0); }

    // A process that has the stream open, has ended `steps` steps, and is in another. It ends when it is
    // killed.
    pid_t start_writer(bool append, int steps) const
    {
        shared->ready = 0;
        const pid_t child = start_child([&] {
            Writer writer = open(append);
            for (int step = 0; step < steps; ++step)
                write_step(writer);
            writer.begin_step();
            shared->ready = 1;
            while (true)
                pause();
            return 0;
        });
        while (shared->ready == 0) {
            int status = 0;
            if (waitpid(child, &status, WNOHANG) != 0) throw std::runtime_error("the writer ended by itself");
            usleep(1000);
        }
        return child;
    }
    static void kill_and_wait(pid_t child)
    {
        ASSERT_EQ(kill(child, SIGKILL), 0);
        ASSERT_EQ(end_of(child), -SIGKILL);
    }
    std::string host() const { return this_process().host; }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
    Model model{1, 8, false};
    Shared* shared = nullptr;
};

TEST_F(Writers, ASecondWriterIsToldWhoTheFirstIs)
{
    const pid_t first = start_writer(false, 2);
    for (const bool append : {false, true}) {
        const std::string text = refusal(append);
        EXPECT_NE(text.find("process " + std::to_string(first)), std::string::npos) << text;
        EXPECT_NE(text.find(host()), std::string::npos) << text;
    }
    try {
        remove_stream(location);
        ADD_FAILURE() << "a stream was removed while it was written";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_BUSY);
    }
    // Nothing was harmed.
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.steps(), 2u);
    kill_and_wait(first);
    Writer writer = open(true);
    EXPECT_EQ(writer.steps(), 2u);
    write_step(writer);
    writer.close();
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
}

TEST_F(Writers, AKilledWriterIsTakenOverFromBeforeAnybodyAskedForItsExit)
{
    const pid_t first = start_writer(false, 1);
    ASSERT_EQ(kill(first, SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(first), &info, WEXITED | WNOWAIT),
              0); // dead, and still listed
    {
        Writer writer = open(true);
        EXPECT_EQ(writer.steps(), 1u);
        writer.close();
    }
    ASSERT_EQ(end_of(first), -SIGKILL);
    open(false).close();
}

TEST_F(Writers, OneProcessMayOpenAgainWhatItDestroyedWithoutClose)
{
    {
        Writer writer = open(false);
        write_step(writer);
        const std::string text = refusal(false);
        EXPECT_NE(text.find("the same process"), std::string::npos) << text;
        write_step(writer); // the first one goes on
    }
    {
        Writer writer = open(true);
        EXPECT_EQ(writer.steps(), 2u);
    }
    Writer writer = open(false);
    EXPECT_EQ(writer.steps(), 0u);
}

TEST_F(Writers, StreamsDoNotKeepEachOtherFromBeingWritten)
{
    WriterOptions options;
    Writer one(location + "/default/3/main", options, self_communicator());
    Writer two(location + "/default/main", options, self_communicator());
    Writer three(location + "/other/main", options, self_communicator());
    Writer four(location + "/default/first/main", options, self_communicator());
    one.close(), two.close(), three.close(), four.close();
    Writer again(location + "/default/main", options, self_communicator());
    again.close();
}

TEST_F(Writers, OfManyThatTryAtOnceOneIsIn)
{
    constexpr int processes = 6, rounds = 12;
    kill_and_wait(start_writer(false, 1));
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i)
        children.push_back(start_child([&, i] {
            for (int round = 0; round < rounds;) {
                try {
                    Writer writer = open(true);
                    ++round;
                    ++shared->opened;
                    const int holders = ++shared->holders;
                    if (holders > shared->most_holders) shared->most_holders = holders;
                    usleep(static_cast<useconds_t>(200 * i));
                    write_step(writer);
                    --shared->holders;
                    if (round == rounds) kill(getpid(), SIGKILL); // in the middle of it all
                    if (round % 3 == 0) writer.close();
                } catch (const Error& error) {
                    if (error.code() != -DER_BUSY) throw;
                    usleep(500);
                }
            }
            return 0;
        }));
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), -SIGKILL);
    EXPECT_EQ(shared->most_holders, 1);
    EXPECT_EQ(shared->opened, processes * rounds);
    ReaderOptions options;
    options.mode = ReadMode::random_access;
    Reader reader(location, options, self_communicator());
    ASSERT_EQ(reader.steps(), 1u + processes * rounds);
    for (std::uint64_t step = 0; step < reader.steps(); ++step)
        model.check_step(reader, step);
}

TEST_F(Writers, ReadersLearnWhatBecameOfTheWriter)
{
    const pid_t first = start_writer(false, 2);
    Reader reader(location, {}, self_communicator());
    for (int step = 0; step < 2; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        reader.end_step();
    }
    EXPECT_EQ(reader.begin_step(0), StepStatus::not_ready);
    EXPECT_EQ(reader.begin_step(0.3), StepStatus::not_ready);
    kill_and_wait(first);
    EXPECT_EQ(reader.begin_step(-1), StepStatus::writer_died); // would wait for ever
    EXPECT_EQ(reader.dead_writer(), "process " + std::to_string(first) + " on host " + host());
    EXPECT_EQ(reader.begin_step(0), StepStatus::writer_died);
    {
        Writer writer = open(true);
        EXPECT_EQ(reader.begin_step(0), StepStatus::not_ready);
        write_step(writer);
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        EXPECT_EQ(reader.current_step(), 2u);
        reader.end_step();
    } // left without close
    EXPECT_EQ(reader.begin_step(-1), StepStatus::end_of_stream);
    EXPECT_FALSE(reader.closed());
}

TEST_F(Writers, AReaderThatWaitsIsWokenByTheWritersDeath)
{
    const pid_t first = start_writer(false, 1);
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    reader.end_step();
    std::thread killer([&] {
        usleep(200000);
        kill(first, SIGKILL);
    });
    EXPECT_EQ(reader.begin_step(-1), StepStatus::writer_died);
    killer.join();
    EXPECT_EQ(end_of(first), -SIGKILL);
}

// What a writer on another machine would have stored.
class ElsewhereWriters : public Writers {
protected:
    ElsewhereWriters()
    {
        Writer writer = open(false);
        write_step(writer);
        writer.close();
    }
    KeyValue leases() const
    {
        const Container container = Pool::connect(location).open_container("default");
        return container.key_value(container.object_id(0, 0x53530003, ObjectType::key_value));
    }
    // The lease as it is, but of a machine that cannot be seen from here.
    std::vector<std::byte> lease_of_elsewhere(std::uint64_t sign_ms) const
    {
        LeaseRecord lease = decode_lease(leases().get(stream_name).value());
        lease.over = false;
        lease.interval_ms = interval_ms;
        lease.sign_ms = sign_ms;
        lease.holder.machine += "'";
        return encode_lease(lease);
    }
    static std::uint64_t now_ms()
    {
        return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                              std::chrono::system_clock::now().time_since_epoch())
                                              .count());
    }
    static constexpr std::uint64_t interval_ms = 200;
};

TEST_F(ElsewhereWriters, OneThatGivesSignsIsNotTakenOverFrom)
{
    constexpr std::uint64_t hour = 3600 * 1000;
    leases().put(stream_name, lease_of_elsewhere(now_ms()));
    const std::string text = refusal(true);
    EXPECT_NE(text.find("WriterTimeoutSecs"), std::string::npos) << text;
    // Its clock is an hour behind, but its signs come.
    const auto old = lease_of_elsewhere(now_ms() - hour), later = lease_of_elsewhere(now_ms() - hour + 1000);
    KeyValue record = leases();
    record.put(stream_name, old);
    std::jthread signs([&](const std::stop_token& stop) {
        for (int i = 0; !stop.stop_requested(); ++i) {
            record.put(stream_name, i % 2 == 0 ? later : old);
            usleep(20000);
        }
    });
    refusal(true, 20);
    refusal(false, 20);
}

TEST_F(ElsewhereWriters, OneThatIsSilentIsTakenOverFrom)
{
    leases().put(stream_name, lease_of_elsewhere(now_ms() - 100 * interval_ms));
    {
        Writer writer = open(true, 0.3);
        EXPECT_EQ(writer.steps(), 1u);
    }
    // At once, when the user says so.
    leases().put(stream_name, lease_of_elsewhere(now_ms()));
    open(true, 0).close();
}

TEST_F(ElsewhereWriters, AReaderLearnsThatOneIsSilent)
{
    Reader closed(location, {}, self_communicator());
    {
        Writer writer = open(true); // so that the stream is not closed
    }
    leases().put(stream_name, lease_of_elsewhere(now_ms()));
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    reader.end_step();
    EXPECT_EQ(reader.begin_step(0), StepStatus::not_ready);
    EXPECT_EQ(reader.begin_step(-1), StepStatus::writer_died);
}

TEST_F(ElsewhereWriters, ARecordThatCannotBeReadDoesNotLockTheStreamForEver)
{
    KeyValue record = leases();
    auto bytes = record.get(stream_name).value();
    bytes[20] ^= std::byte{4};
    record.put(stream_name, bytes);
    open(true, 0.3).close();
    record.put(stream_name, as_bytes("nonsense"));
    open(false, 0.3).close();
}

// The first one was only slow: it finds out, and what it writes is not kept.
TEST_F(ElsewhereWriters, OneThatWasTakenOverFromIsTold)
{
    Writer slow = open(true, 0.3);
    write_step(slow);
    std::jthread other([&] {
        leases().remove(stream_name); // another took over, and left
    });
    other.join();
    bool told = false;
    for (int i = 0; i < 600 && !told; ++i) {
        usleep(50000);
        try {
            write_step(slow);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_STALE) << error.what();
            told = true;
        }
    }
    EXPECT_TRUE(told);
}

// Its last sign of life is older than its time-out when a step is stored, so it asks before it says so.
TEST_F(ElsewhereWriters, OneThatStoodStillDoesNotAcknowledgeAStep)
{
    Writer slow = open(true, 0); // which gives no signs
    write_step(slow);
    leases().remove(stream_name); // another took over, and left
    try {
        write_step(slow);
        ADD_FAILURE() << "the step was acknowledged";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_STALE) << error.what();
    }
}

TEST_F(ElsewhereWriters, LeasesDoNotPileUp)
{
    for (int i = 0; i < 20; ++i)
        open(i % 2 == 0).close();
    remove_stream(location);
    EXPECT_EQ(leases().list(), std::vector<std::string>{stream_name});
}

} // namespace
} // namespace stepstore::steps::testing
