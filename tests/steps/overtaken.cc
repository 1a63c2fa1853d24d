// A writer that is stopped before one of its calls, for so long that another one takes the stream over, and
// that goes on then. The other one's stream stays as it is, and there is never a second writer beside it.
#include "support/overtaken.h"
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "steps/stream/stream_list.h"
#include "steps/stream/writer_lease.h"
#include "support/errors.h"

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::Overtaken;
using stepstore::testing::TemporaryDirectory;

class OvertakenWriters : public ::testing::Test {
protected:
    void begin_anew(std::size_t number) { location = new_pool(directory, std::to_string(number)); }
    Writer open(bool append) const
    {
        WriterOptions options;
        options.targets = 2;
        options.append = append;
        return {location, options, self_communicator()};
    }
    void write(bool append, int steps) const
    {
        Writer writer = open(append);
        for (int step = 0; step < steps; ++step)
            model.write_step(writer, 0);
        writer.close();
    }
    Container container() const
    {
        return Pool::connect_or_create(location).open_or_create_container("default");
    }
    // The writer that holds the stream, if there is one, looks as if it had died.
    static void end_leases(const Container& container)
    {
        KeyValue leases = container.key_value(container.object_id(0, 0x53530003, ObjectType::key_value));
        for (const std::string& key : leases.list()) {
            LeaseRecord lease = decode_lease(leases.get(key).value());
            ++lease.holder.started; // an older process of this number
            leases.put(key, encode_lease(lease));
        }
    }
    std::optional<StreamRecord> record() const
    {
        return StreamList(container(), location, Access::read_only).find("main");
    }
    // What others do meanwhile: they replace the stream by one of three steps.
    void replace()
    {
        end_leases(container());
        write(false, 3);
        newer = record()->generation;
    }
    void expect_stream(std::uint64_t steps) const
    {
        Reader reader(location, {}, self_communicator());
        EXPECT_TRUE(reader.closed());
        std::uint64_t step = 0;
        for (; reader.begin_step(0) == StepStatus::ok; ++step) {
            model.check_step(reader, step);
            reader.end_step();
        }
        EXPECT_EQ(step, steps);
    }
    int code_of_failure() const
    {
        if (!overtaken.failure()) return 0;
        try {
            std::rethrow_exception(overtaken.failure());
        } catch (const Error& error) {
            return error.code();
        }
    }
    // operation: makes a stream of so many steps where it succeeds.
    void try_all(std::uint64_t steps, const std::function<void()>& operation)
    {
        int overtaken_times = 0;
        for (std::size_t at = 0;; ++at) {
            SCOPED_TRACE("call " + std::to_string(at));
            begin_anew(at);
            write(false, 1);
            newer = no_generation;
            if (!overtaken.run(at, [&] { replace(); }, operation)) break;
            ASSERT_NE(newer, no_generation);
            const auto now = record();
            if (overtaken.failure() || (now && now->generation == newer)) {
                if (overtaken.failure()) ++overtaken_times;
                ASSERT_TRUE(now) << "it was removed";
                EXPECT_EQ(now->generation, newer);
                expect_stream(3);
            } else if (now) {
                EXPECT_GT(now->generation, newer) << "an older stream took the place of a newer one";
                expect_stream(now->first_step == 0 ? steps : 3 + steps - 1); // begun after it
            } else {
                EXPECT_EQ(steps, 0U);
            }
            write(true, 1); // whatever was left, the next writer gets in
        }
        EXPECT_GT(overtaken_times, 0);
    }

    TemporaryDirectory directory;
    Overtaken overtaken;
    std::string location;
    Model model{1, 8, false};
    std::uint64_t newer = no_generation;
};

TEST_F(OvertakenWriters, OneThatReplacesAStream)
{
    try_all(2, [&] { write(false, 2); });
}

TEST_F(OvertakenWriters, OneThatAppends)
{
    try_all(2, [&] { write(true, 1); });
}

TEST_F(OvertakenWriters, OneThatEndsItsStream)
{
    std::optional<Writer> writer;
    int overtaken_times = 0;
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        begin_anew(at);
        writer.emplace(open(false));
        model.write_step(*writer, 0);
        const bool came = overtaken.run(at, [&] { replace(); }, [&] { writer->close(); });
        writer.reset();
        if (!came) break;
        const auto now = record();
        ASSERT_TRUE(now);
        EXPECT_EQ(now->generation, newer);
        expect_stream(3);
        if (overtaken.failure()) {
            EXPECT_EQ(code_of_failure(), -DER_STALE);
            ++overtaken_times;
        }
    }
    EXPECT_GT(overtaken_times, 0);
}

TEST_F(OvertakenWriters, OneThatRemovesAStream)
{
    try_all(0, [&] { remove_stream(location); });
}

// The other one is in the middle of its stream.
TEST_F(OvertakenWriters, OneThatComesLateLeavesTheStreamToAWriterAtWork)
{
    const std::pair<const char*, std::function<void()>> operations[] = {
        {"replace", [&] { write(false, 2); }},
        {"append", [&] { write(true, 1); }},
        {"remove", [&] { remove_stream(location); }},
    };
    std::size_t pool = 0;
    for (const auto& [name, operation] : operations) {
        for (std::size_t at = 0;; ++at) {
            SCOPED_TRACE(std::string(name) + ", call " + std::to_string(at));
            begin_anew(pool++);
            write(false, 1);
            std::optional<Writer> other;
            const bool came = overtaken.run(
                at,
                [&] {
                    end_leases(container());
                    other.emplace(open(false));
                    model.write_step(*other, 0);
                },
                operation);
            if (!came) break;
            model.write_step(*other, 0);
            other->close();
            expect_stream(2);
        }
    }
}

} // namespace
} // namespace stepstore::steps::testing
