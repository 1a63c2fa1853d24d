// Several threads read one stream at random, each with a queue of deferred gets, while it is appended to.
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/location.h"
#include "support/temporary.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::TemporaryDirectory;

constexpr std::uint64_t width = 40'000, blocks = 3, length = width * blocks;
constexpr std::uint64_t variables = 3;
constexpr double untouched = -1;

double value_at(std::uint64_t variable, std::uint64_t step, std::uint64_t index)
{
    return static_cast<double>(variable * 10'000'000 + step * 1'000'000 + index);
}

void write(const std::string& location, WriterOptions options, std::uint64_t first, std::uint64_t end)
{
    options.append = first > 0;
    Writer writer(location, options, self_communicator());
    for (std::uint64_t step = first; step < end; ++step) {
        writer.begin_step();
        for (std::uint64_t variable = 0; variable < variables; ++variable) {
            const auto id =
                writer.define("v" + std::to_string(variable), Type::float64, ShapeKind::global_array);
            for (std::uint64_t block = 0; block < blocks; ++block) {
                std::vector<double> values(width);
                for (std::uint64_t i = 0; i < width; ++i)
                    values[i] = value_at(variable, step, block * width + i);
                writer.put(id, Dims{length}, Dims{block * width}, Dims{width}, values.data(), Mode::sync);
            }
        }
        writer.end_step();
    }
    writer.close();
}

Reader open(const std::string& location)
{
    ReaderOptions random;
    random.mode = ReadMode::random_access;
    return {location, random, self_communicator()};
}

// A thread's: memory with some around it that no get may touch.
struct Wanted {
    std::uint64_t variable, step, start;
    std::vector<double> memory;

    Wanted(std::uint64_t variable, std::uint64_t step, std::uint64_t start, std::uint64_t count)
        : variable(variable), step(step), start(start), memory(count + 2, untouched)
    {
    }
    std::uint64_t count() const { return memory.size() - 2; }
    bool is_untouched() const
    {
        return std::ranges::all_of(memory, [](double one) { return one == untouched; });
    }
    bool is_right() const
    {
        for (std::uint64_t i = 0; i < count(); ++i)
            if (memory[i + 1] != value_at(variable, step, start + i)) return false;
        return memory.front() == untouched && memory.back() == untouched;
    }
};

void queue_get(Reader& reader, GetQueue& queue, Wanted& wanted)
{
    const auto held = reader.lock();
    reader.swap_queue(queue);
    try {
        reader.get(reader.find("v" + std::to_string(wanted.variable)).value(), Dims{wanted.start},
                   Dims{wanted.count()}, wanted.memory.data() + 1, Mode::deferred, wanted.step);
    } catch (...) {
        reader.swap_queue(queue);
        throw;
    }
    reader.swap_queue(queue);
}

void perform(Reader& reader, GetQueue& queue)
{
    auto held = reader.lock();
    reader.perform_gets(*queue, held);
    EXPECT_TRUE(held.owns_lock());
}

class ReadQueues : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_F(ReadQueues, EachBringsItsOwnGets)
{
    write(location, {}, 0, 2);
    Reader reader = open(location);
    GetQueue first = reader.new_queue({});
    GetQueue second = reader.new_queue({});
    Wanted of_first(0, 0, 5, 100), of_second(1, 1, width - 7, 50), of_reader(2, 0, 0, length);
    queue_get(reader, first, of_first);
    queue_get(reader, second, of_second);
    reader.get(reader.find("v2").value(), Dims{0}, Dims{length}, of_reader.memory.data() + 1, Mode::deferred,
               0);
    perform(reader, first);
    EXPECT_TRUE(of_first.is_right());
    EXPECT_TRUE(of_second.is_untouched());
    EXPECT_TRUE(of_reader.is_untouched());
    reader.perform_gets();
    EXPECT_TRUE(of_reader.is_right());
    EXPECT_TRUE(of_second.is_untouched());
    perform(reader, second);
    EXPECT_TRUE(of_second.is_right());
    // What was brought is not brought again.
    of_first.memory.assign(of_first.memory.size(), untouched);
    perform(reader, first);
    EXPECT_TRUE(of_first.is_untouched());
    reader.close();
}

TEST_F(ReadQueues, ARefusedGetIsDroppedAlone)
{
    write(location, {}, 0, 2);
    Reader reader = open(location);
    GetQueue first = reader.new_queue({});
    GetQueue second = reader.new_queue({});
    Wanted good(0, 0, 0, 10), beyond(0, 7, 0, 10), too_long(1, 1, length - 5, 10),
        others(1, 1, 3, length - 3);
    queue_get(reader, second, others);
    queue_get(reader, first, good);
    EXPECT_THROW(queue_get(reader, first, beyond), Error);
    EXPECT_THROW(queue_get(reader, first, too_long), Error);
    perform(reader, first);
    EXPECT_TRUE(good.is_right());
    EXPECT_TRUE(beyond.is_untouched());
    EXPECT_TRUE(too_long.is_untouched());
    EXPECT_TRUE(others.is_untouched());
    perform(reader, second);
    EXPECT_TRUE(others.is_right());
}

// An operator of the program that cannot be undone stands for damage.
class Wrong final : public BlockOperator {
public:
    Codec codec() const override { return operator_codec(7); }
    std::optional<Bytes> apply(Bytes raw, Type, DimsView, DimsView) override { return raw.first(8); }
};

TEST_F(ReadQueues, AGetThatFailsDropsItsQueueAlone)
{
    {
        Writer writer(location, {}, self_communicator());
        const std::vector<double> values(length, 1.5);
        for (const char* name : {"v0", "v1"}) {
            const auto id = writer.define(name, Type::float64, ShapeKind::global_array);
            if (name[1] == '1') writer.operate(id, std::make_shared<Wrong>());
        }
        writer.begin_step();
        for (const VariableId id : {0, 1})
            writer.put(id, Dims{length}, Dims{0}, Dims{length}, values.data(), Mode::sync);
        writer.end_step();
        writer.close();
    }
    Reader reader = open(location);
    GetQueue first = reader.new_queue([](VariableId, Codec, Bytes, MutableBytes, const std::string& what) {
        throw Error(-DER_CSUM, what + " is damaged");
    });
    GetQueue second = reader.new_queue({});
    Wanted good(0, 0, 0, 10), bad(1, 0, 0, 10), others(0, 0, 0, length);
    queue_get(reader, first, good);
    queue_get(reader, first, bad);
    queue_get(reader, second, others);
    EXPECT_THROW(perform(reader, first), Error);
    EXPECT_TRUE(others.is_untouched());
    perform(reader, first); // nothing is left of it
    EXPECT_TRUE(bad.is_untouched());
    perform(reader, second);
    EXPECT_EQ(others.memory[length], 1.5);
    queue_get(reader, first, good);
    good.memory.assign(good.memory.size(), untouched);
    perform(reader, first);
    EXPECT_EQ(good.memory[10], 1.5);
}

TEST_F(ReadQueues, MayOutliveTheReader)
{
    write(location, {}, 0, 1);
    GetQueue queue;
    Wanted wanted(0, 0, 0, 10);
    {
        Reader reader = open(location);
        queue = reader.new_queue({});
        queue_get(reader, queue, wanted);
        reader.close();
        EXPECT_THROW(perform(reader, queue), Error);
    }
    queue.reset();
    EXPECT_TRUE(wanted.is_untouched());
}

// The writer's steps bring the stream's record up to date under the readers' feet.
class ReadQueuesOfThreads : public ReadQueues, public ::testing::WithParamInterface<std::string> {};

TEST_P(ReadQueuesOfThreads, EachGetsWhatItWants)
{
    constexpr std::uint64_t threads = 4, rounds = 25, before = 2, after = 8;
    WriterOptions options;
    options.layout = GetParam();
    if (options.layout == "kv") options.compression.method = CompressionMethod::zstd;
    if (stepstore::testing::on_cluster() && options.layout == "posix") GTEST_SKIP() << "no files there";
    write(location, options, 0, before);
    Reader reader = open(location);
    std::atomic<bool> wrong = false;
    const auto work = [&](std::uint64_t thread) {
        std::mt19937_64 random(thread);
        const auto below = [&](std::uint64_t end) { return random() % end; };
        GetQueue queue = reader.new_queue({});
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::uint64_t there = 0;
            {
                const auto held = reader.lock();
                there = reader.steps();
            }
            std::vector<Wanted> wanted;
            for (std::uint64_t i = below(5); i <= 5; ++i) {
                const auto start = below(length);
                wanted.emplace_back(below(variables), below(there), start, 1 + below(length - start));
            }
            for (Wanted& one : wanted)
                queue_get(reader, queue, one);
            perform(reader, queue);
            if (!std::ranges::all_of(wanted, &Wanted::is_right)) wrong = true;
        }
    };
    std::vector<std::thread> running;
    for (std::uint64_t thread = 0; thread < threads; ++thread)
        running.emplace_back(work, thread);
    for (std::uint64_t step = before; step < after; ++step)
        write(location, options, step, step + 1);
    for (std::thread& one : running)
        one.join();
    EXPECT_FALSE(wrong);
    EXPECT_EQ(reader.steps(), after);
    reader.close();
}

INSTANTIATE_TEST_SUITE_P(Layouts, ReadQueuesOfThreads, ::testing::Values("array", "kv", "posix"),
                         [](const auto& layout) { return layout.param; });

} // namespace
} // namespace stepstore::steps::testing
