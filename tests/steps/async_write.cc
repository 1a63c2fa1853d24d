// A writer that writes beside the program (WriterOptions::async_write). The store is held at the data of a
// step: so each test looks at, or ends, a writer whose step is on its way.
#include "steps/check/check.h"
#include "steps/model.h"
#include "steps/profile/profile.h"
#include "steps/stream/writer_lease.h"
#include "stepstore/libdaos.h"
#include "support/process_group.h"
#include "support/report.h"
#include "support/temporary.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_processes;
using stepstore::testing::start_child;
using stepstore::testing::TemporaryDirectory;

// The library with a gate before the writes of large data, which can also fail.
class Gate {
public:
    Gate()
    {
        real() = Library::ours();
        Library gated = real();
        gated.array_write = [](daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                               daos_event_t* event) -> int {
            daos_size_t bytes = 0;
            for (daos_size_t i = 0; i < iod->arr_nr; ++i)
                bytes += iod->arr_rgs[i].rg_len;
            const int failure = bytes < large ? 0 : state().pass();
            return failure != 0 ? failure : real().array_write(oh, th, iod, sgl, event);
        };
        Library::replace_ours(gated);
    }
    ~Gate()
    {
        open();
        Library::restore_ours();
    }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void close() { state().set(false, 0); }
    void open(int failure = 0) { state().set(true, failure); }
    // Until a write waits at the gate.
    void wait_for_write() { state().wait_for_write(); }

    static constexpr daos_size_t large = 1 << 20; // bytes

private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        bool is_open = true;
        int failure = 0;
        int waiting = 0;

        int pass()
        {
            std::unique_lock lock(mutex);
            ++waiting;
            changed.notify_all();
            changed.wait(lock, [&] { return is_open; });
            --waiting;
            return failure;
        }
        void set(bool opened, int fails)
        {
            const std::lock_guard lock(mutex);
            is_open = opened;
            failure = fails;
            changed.notify_all();
        }
        void wait_for_write()
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return waiting > 0; });
        }
    };
    static State& state()
    {
        static auto* const one = new State; // a child that exits leaves threads at the gate
        return *one;
    }
    static Library& real()
    {
        static auto* const one = new Library;
        return *one;
    }
};

class AsyncWrite : public ::testing::Test {
protected:
    static constexpr std::uint64_t elements = 1 << 18; // 2 MiB

    static WriterOptions options()
    {
        WriterOptions options;
        options.async_write = true;
        options.targets = 2;
        return options;
    }
    static std::vector<double> field(std::uint64_t step)
    {
        std::vector<double> values(elements);
        std::iota(values.begin(), values.end(), static_cast<double>(step) * 1e6);
        return values;
    }
    // Of each rank its own, a row of it. The program's memory is used for other things at once.
    static void write_step(Writer& writer, int rank = 0, int ranks = 1)
    {
        const std::uint64_t step = writer.begin_step();
        const auto id = writer.define("field", Type::float64, ShapeKind::global_array);
        std::vector<double> values = field(step);
        const auto row = static_cast<std::uint64_t>(rank);
        writer.put(id, Dims{static_cast<std::uint64_t>(ranks), elements}, Dims{row, 0}, Dims{1, elements},
                   values.data());
        writer.end_step();
        std::ranges::fill(values, -1);
    }
    // All steps that there are.
    void expect_steps(std::uint64_t steps) const
    {
        ReaderOptions random;
        random.mode = ReadMode::random_access;
        Reader reader(location, random, self_communicator());
        ASSERT_EQ(reader.steps(), steps);
        for (std::uint64_t step = 0; step < steps; ++step) {
            std::vector<double> values(elements);
            reader.get(*reader.find("field"), Dims{0, 0}, Dims{1, elements}, values.data(), Mode::sync, step);
            EXPECT_EQ(values, field(step));
        }
        const StreamReport report = check_streams(location, true);
        EXPECT_FALSE(report.damaged()) << report;
    }
    // The error of what the program calls next.
    static std::string failure_of_next(int code, const std::function<void()>& next)
    {
        try {
            next();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), code) << error.what();
            return error.what();
        }
        ADD_FAILURE() << "no error";
        return {};
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_F(AsyncWrite, EndStepDoesNotWaitForTheStore)
{
    Gate gate;
    Writer writer(location, options(), self_communicator());
    Reader reader(location, {}, self_communicator());
    gate.close();
    write_step(writer); // returns
    EXPECT_EQ(writer.steps(), 1U);
    gate.wait_for_write();
    EXPECT_EQ(reader.begin_step(0.05), StepStatus::not_ready) << "its data is not there";
    // Meanwhile the program defines what comes next.
    writer.define("next", Type::int32, ShapeKind::global_value);
    const double time = 0.5;
    writer.attribute("time", Type::float64, &time, 1);
    gate.open();
    ASSERT_EQ(reader.begin_step(10), StepStatus::ok) << "it is published by itself";
    EXPECT_FALSE(reader.attribute("time"));
    reader.end_step();
    write_step(writer);
    writer.close();
    expect_steps(2);
    EXPECT_GT(writer.costs().hidden, 0);
}

TEST_F(AsyncWrite, BeginStepAndCloseWaitForTheStepBefore)
{
    for (const bool closes : {false, true}) {
        Gate gate;
        Writer writer(location, options(), self_communicator());
        gate.close();
        write_step(writer);
        gate.wait_for_write();
        std::atomic<bool> opened = false;
        std::thread opens([&] {
            usleep(100000);
            opened = true;
            gate.open();
        });
        if (closes)
            writer.close();
        else
            writer.begin_step();
        EXPECT_TRUE(opened);
        opens.join();
        expect_steps(1);
        EXPECT_GE(writer.costs().wait, 0.05);
    }
}

TEST_F(AsyncWrite, AFailureIsThatOfTheNextCall)
{
    for (const bool closes : {false, true}) {
        Gate gate;
        Writer writer(location, options(), self_communicator());
        write_step(writer);
        writer.begin_step();
        writer.end_step(); // nothing was put
        gate.close();
        write_step(writer);
        gate.wait_for_write();
        gate.open(-DER_NOSPACE);
        const std::string text = failure_of_next(-DER_NOSPACE, [&] {
            if (closes)
                writer.close();
            else
                writer.begin_step();
        });
        EXPECT_NE(text.find("step 2"), std::string::npos) << text;
        EXPECT_NE(text.find(location), std::string::npos) << text;
        EXPECT_NE(text.find("AsyncWrite"), std::string::npos) << text;
        EXPECT_EQ(writer.steps(), 2U);
        gate.open();
        if (!closes) {
            EXPECT_THROW(writer.begin_step(), Error) << "only close is left";
            writer.close();
        }
        EXPECT_EQ(Reader(location, {}, self_communicator()).steps(), 2U);
        WriterOptions append = options();
        append.append = true;
        Writer next(location, append, self_communicator());
        EXPECT_EQ(next.begin_step(), 2U);
    }
}

// Copied, from the program's memory, of a span, and in parts: nothing is written before it is handed over.
TEST_F(AsyncWrite, TakesEveryKindOfPut)
{
    Gate gate;
    WriterOptions copies = options();
    copies.min_deferred_size = 16 << 10;
    Writer writer(location, copies, self_communicator());
    const auto id = writer.define("field", Type::float64, ShapeKind::global_array);
    const Dims shape{8, elements}, count{1, elements};
    writer.begin_step();
    std::vector<double> memory;
    const auto put = [&](std::uint64_t row, Mode mode) {
        memory = field(row);
        writer.put(id, shape, Dims{row, 0}, count, memory.data(), mode);
    };
    gate.close();
    put(0, Mode::sync);
    std::ranges::fill(memory, -1); // free again on return
    const auto span = writer.put_span(id, shape, Dims{1, 0}, count);
    std::vector<double> kept = field(2);
    writer.put(id, shape, Dims{2, 0}, count, kept.data());
    writer.perform_puts();
    std::ranges::fill(kept, -1);
    put(3, Mode::sync);
    gate.open();
    writer.write_puts(); // all so far but the span
    gate.close();
    put(4, Mode::sync);
    const std::vector<double> late = field(1);
    std::memcpy(span.data(), late.data(), span.size());
    gate.open();
    writer.end_part();
    const auto second = writer.put_span(id, shape, Dims{5, 0}, count);
    const std::vector<double> filled = field(5);
    std::memcpy(second.data(), filled.data(), second.size());
    const double one = 7;
    writer.put(id, shape, Dims{6, 0}, Dims{1, 1}, &one);
    writer.end_step();
    writer.close();
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    for (std::uint64_t row = 0; row < 6; ++row) {
        std::vector<double> values(elements);
        reader.get(*reader.find("field"), Dims{row, 0}, count, values.data(), Mode::sync);
        EXPECT_EQ(values, field(row)) << row;
    }
}

// A part that fails: the step is lost, and whatever comes next says so.
// Small steps that are stored at once take no thread, large ones do: each waits for the one before.
TEST_F(AsyncWrite, SmallStepsAndLargeOnesMix)
{
    constexpr std::uint64_t steps = 60;
    const auto is_large = [](std::uint64_t step) { return step % 20 == 19; };
    {
        Writer writer(location, options(), self_communicator());
        const auto small = writer.define("small", Type::int64, ShapeKind::global_array);
        const auto large = writer.define("field", Type::float64, ShapeKind::global_array);
        for (std::uint64_t step = 0; step < steps; ++step) {
            writer.begin_step();
            std::vector<std::int64_t> few(4, static_cast<std::int64_t>(step));
            writer.put(small, Dims{4}, Dims{0}, Dims{4}, few.data());
            std::vector<double> many;
            if (is_large(step)) {
                many = field(step);
                writer.put(large, Dims{1, elements}, Dims{0, 0}, Dims{1, elements}, many.data());
            }
            writer.end_step();
            few.assign(4, -1);
            std::ranges::fill(many, -1);
        }
        writer.close();
    }
    ReaderOptions random;
    random.mode = ReadMode::random_access;
    Reader reader(location, random, self_communicator());
    ASSERT_EQ(reader.steps(), steps);
    for (std::uint64_t step = 0; step < steps; ++step) {
        std::vector<std::int64_t> few(4);
        reader.get(*reader.find("small"), Dims{0}, Dims{4}, few.data(), Mode::sync, step);
        EXPECT_EQ(few, std::vector<std::int64_t>(4, static_cast<std::int64_t>(step)));
        if (!is_large(step)) continue;
        std::vector<double> many(elements);
        reader.get(*reader.find("field"), Dims{0, 0}, Dims{1, elements}, many.data(), Mode::sync, step);
        EXPECT_EQ(many, field(step));
    }
}

TEST_F(AsyncWrite, APartThatFailsLosesTheStep)
{
    Gate gate;
    Writer writer(location, options(), self_communicator());
    write_step(writer);
    writer.begin_step();
    const auto id = writer.define("field", Type::float64, ShapeKind::global_array);
    const std::vector<double> values = field(1);
    const auto put = [&] { writer.put(id, Dims{1, elements}, Dims{0, 0}, Dims{1, elements}, values.data()); };
    put();
    gate.open(-DER_NOSPACE);
    writer.end_part();
    put();
    const std::string text = failure_of_next(-DER_NOSPACE, [&] { writer.end_part(); });
    EXPECT_NE(text.find("step 1"), std::string::npos) << text;
    gate.open();
    EXPECT_EQ(failure_of_next(-DER_NOSPACE, [&] { writer.end_step(); }), text);
    writer.close();
    expect_steps(1);
}

TEST_F(AsyncWrite, AKilledWriterLeavesWholeStepsOnly)
{
    const pid_t child = start_child([&] {
        Gate gate;
        Writer writer(location, options(), self_communicator());
        write_step(writer);
        writer.begin_step();
        writer.end_step();
        gate.close();
        write_step(writer);
        gate.wait_for_write();
        kill(getpid(), SIGKILL);
        return 1;
    });
    EXPECT_EQ(end_of(child), -SIGKILL);
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.steps(), 2U);
    WriterOptions append = options();
    append.append = true;
    Writer writer(location, append, self_communicator());
    EXPECT_EQ(writer.steps(), 2U);
}

// The thread is at work when the process ends, whose program has forgotten its writer.
TEST_F(AsyncWrite, AProcessMayExitMeanwhile)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer reports the thread";
#endif
    const pid_t child = start_child([&] {
        auto* const writer = new Writer(location, options(), self_communicator());
        write_step(*writer);
        write_step(*writer);
        std::exit(0);
        return 1;
    });
    EXPECT_EQ(end_of(child), 0);
    Reader reader(location, {}, self_communicator());
    EXPECT_GE(reader.steps(), 1U);
    expect_steps(reader.steps());
}

TEST_F(AsyncWrite, ADestroyedWriterEndsItsWork)
{
    {
        Gate gate;
        Writer writer(location, options(), self_communicator());
        gate.close();
        write_step(writer);
        gate.wait_for_write();
        gate.open();
    }
    expect_steps(1);
}

TEST_F(AsyncWrite, AForkedChildIsRefusedAndDisturbsNothing)
{
    Gate gate;
    Writer writer(location, options(), self_communicator());
    gate.close();
    write_step(writer);
    gate.wait_for_write();
    const pid_t child = start_child([&] {
        Writer inherited = std::move(writer);
        failure_of_next(-DER_NO_HDL, [&] { inherited.begin_step(); });
        failure_of_next(-DER_NO_HDL, [&] { inherited.close(); });
        return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(end_of(child), 0);
    gate.open();
    write_step(writer);
    writer.close();
    expect_steps(2);
}

// It was taken over while its data was on its way: it publishes nothing in the other one's stream.
TEST_F(AsyncWrite, AWriterThatLostItsLeasePublishesNothing)
{
    Gate gate;
    WriterOptions asks = options();
    asks.writer_timeout = 0;
    Writer writer(location, asks, self_communicator());
    write_step(writer);
    writer.begin_step();
    writer.end_step();
    gate.close();
    write_step(writer);
    gate.wait_for_write();
    {
        const Pool pool = Pool::connect(location);
        const Container container = pool.open_container("default");
        KeyValue leases = container.key_value(container.object_id(0, 0x53530003, ObjectType::key_value));
        for (const std::string& key : leases.list()) {
            LeaseRecord lease = decode_lease(leases.get(key).value());
            ++lease.holder.started; // as if it were an older process, which is dead
            leases.put(key, encode_lease(lease));
        }
    }
    {
        WriterOptions append = options();
        append.append = true;
        append.async_write = false;
        Writer other(location, append, self_communicator());
        EXPECT_EQ(other.begin_step(), 2U);
        other.end_step();
        other.close();
    }
    gate.open();
    failure_of_next(-DER_STALE, [&] { writer.begin_step(); });
    EXPECT_EQ(Reader(location, {}, self_communicator()).steps(), 3U);
}

constexpr int ranks = 3;

class AsyncWriteOfRanks : public AsyncWrite, public ::testing::WithParamInterface<std::string> {
protected:
    static WriterOptions of_design()
    {
        WriterOptions options = options_of(GetParam());
        options.chunk_size = 0;
        return options;
    }
};

// One rank's data fails: nobody hangs, each rank that goes on is told, and the step is not there.
TEST_P(AsyncWriteOfRanks, OneThatFailsLosesTheStepOfAll)
{
    for (int victim = 0; victim < ranks; ++victim) {
        const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
            Gate gate;
            const int rank = communicator->rank();
            Writer writer(location, of_design(), communicator);
            for (int step = 0; step < 2; ++step)
                write_step(writer, rank, ranks);
            writer.begin_step();
            writer.end_step();
            communicator->barrier();
            if (rank == victim) gate.open(-DER_NOSPACE);
            std::string text;
            try {
                for (int step = 0; step < 1000; ++step)
                    write_step(writer, rank, ranks);
            } catch (const Error& error) {
                text = error.what();
                EXPECT_EQ(error.code(), rank == victim ? -DER_NOSPACE : -DER_CANCELED) << text;
            }
            EXPECT_NE(text.find("rank " + std::to_string(victim)), std::string::npos) << text;
            gate.open();
            try {
                writer.close();
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), -DER_CANCELED) << error.what();
            }
            return HasFailure() ? 1 : 0;
        });
        EXPECT_EQ(ends, std::vector<int>(ranks, 0));
        Reader reader(location, {}, self_communicator());
        EXPECT_EQ(reader.steps(), 3U);
        EXPECT_FALSE(check_streams(location, true).damaged());
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, AsyncWriteOfRanks, ::testing::ValuesIn([] {
                             std::vector<std::string> names = async_designs;
                             std::erase(names, "posix-async"); // in files: steps.full_disk_of_ranks
                             return names;
                         }()),
                         name_of_design);

} // namespace
} // namespace stepstore::steps::testing
