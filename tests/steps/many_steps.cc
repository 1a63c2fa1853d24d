// 10,000 steps: the memory of a writer and of a reader that follows the steps stays what it was after 2,000.
#include "steps/model.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <malloc.h>
#include <numeric>

namespace stepstore::steps::testing {
namespace {

constexpr std::uint64_t settled = 2000;           // steps after which nothing may grow any more
std::uint64_t steps_of(const std::string& design) // a snapshot takes as long as some steps
{
    return designs.at(design).step_mode == StepMode::extend ? 10000 : 3000;
}

// Of this process: what it has allocated, and its resident memory. Without the pages of files that are
// mapped: those are the page cache's, and it takes them back.
struct Memory {
    std::int64_t allocated = 0;
    std::int64_t resident = 0;
};

Memory memory_now()
{
    malloc_trim(0);
    const struct mallinfo2 heap = mallinfo2();
    Memory memory;
    memory.allocated = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) memory.resident = std::stoll(line.substr(8)) * 1024;
    return memory;
}

void expect_no_growth(const Memory& before, const Memory& after)
{
    // 8,000 steps more: 16 bytes that are kept of each would be seen. Resident memory comes in pages, and has
    // some slack.
    EXPECT_LT(after.allocated - before.allocated, 128 << 10);
    EXPECT_GT(before.resident, 0);
    EXPECT_LT(after.resident - before.resident, 1 << 20);
}

class ManySteps : public ::testing::TestWithParam<std::string> {};

// A few arrays of which one changes its shape now and then, values, a string.
void write_step(Writer& writer, std::uint64_t step, const std::vector<VariableId>& ids,
                std::vector<double>& data)
{
    writer.begin_step();
    data.front() = static_cast<double>(step);
    const std::uint64_t size[] = {data.size()}, start[] = {0}, part[] = {data.size() / 2 + step % 100 / 90};
    writer.put(ids[0], size, start, size, data.data());
    writer.put(ids[1], size, start, part, data.data(), Mode::sync);
    writer.put_value(ids[2], &step);
    writer.put_string(ids[3], "step " + std::to_string(step));
    writer.end_step();
}

void write(const std::string& location, const std::string& design)
{
    WriterOptions options = options_of(design);
    options.chunk_size = 0;
    options.targets = 2;
    Writer writer(location, options, self_communicator());
    const std::vector<VariableId> ids = {
        writer.define("whole", Type::float64, ShapeKind::global_array),
        writer.define("part", Type::float64, ShapeKind::global_array),
        writer.define("number", Type::uint64, ShapeKind::global_value),
        writer.define("text", Type::string, ShapeKind::global_value),
    };
    writer.attribute("unit", std::vector<std::string>{"m"});
    std::vector<double> data(64);
    std::iota(data.begin(), data.end(), 0.0);
    Memory before;
    for (std::uint64_t step = 0; step < steps_of(design); ++step) {
        if (step == settled) before = memory_now();
        write_step(writer, step, ids, data);
    }
    expect_no_growth(before, memory_now());
    writer.close();
}

void follow(const std::string& location, std::uint64_t steps)
{
    Reader reader(location, ReaderOptions(), self_communicator());
    std::vector<double> data(64);
    Memory before;
    std::uint64_t step = 0;
    for (; reader.begin_step(0) == StepStatus::ok; ++step) {
        if (step == settled) before = memory_now();
        const std::uint64_t start[] = {0}, count[] = {data.size()};
        const VariableId whole = *reader.find("whole"), number = *reader.find("number");
        reader.get(whole, start, count, data.data());
        std::uint64_t value = 0;
        reader.get_value(number, &value);
        ASSERT_EQ(value, step);
        ASSERT_EQ(reader.get_string(*reader.find("text")), "step " + std::to_string(step));
        ASSERT_EQ(reader.minmax(whole)->max.as<double>(),
                  static_cast<double>(std::max<std::uint64_t>(step, 63)));
        reader.end_step();
        ASSERT_EQ(data.front(), static_cast<double>(step));
        ASSERT_EQ(data.back(), 63.0);
    }
    ASSERT_EQ(step, steps);
    expect_no_growth(before, memory_now());
}

TEST_P(ManySteps, TakeNoMemory)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps what is freed: memory says nothing about the engine";
#endif
    const stepstore::testing::TemporaryDirectory directory;
    const std::string location = directory / "pool";
    write(location, GetParam());
    follow(location, steps_of(GetParam()));
    // The last step alone, of a stream that is long.
    ReaderOptions options;
    options.mode = ReadMode::random_access;
    Reader reader(location, options, self_communicator());
    std::uint64_t value = 0;
    reader.get_value(*reader.find("number"), &value);
    EXPECT_EQ(value, steps_of(GetParam()) - 1);
}

INSTANTIATE_TEST_SUITE_P(Layouts, ManySteps, ::testing::ValuesIn(few_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing
