// Blocks that lie elsewhere than in the memory of the program (Writer::put_from): what is put reads back
// equal, and a block that could not be fetched or written loses its step.
#include "steps/check/check.h"
#include "steps/model.h"
#include "stepstore/libdaos.h"
#include "support/process_group.h"
#include "support/report.h"
#include "support/temporary.h"

#include <cstring>
#include <functional>
#include <map>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_processes;
using stepstore::testing::start_child;
using stepstore::testing::TemporaryDirectory;

// The library, in which a write of at least 1 MiB does something first. It fails with what that returns. A
// pool that is opened afterwards uses it.
std::function<int()>& before_write()
{
    static auto* const one = new std::function<int()>;
    return *one;
}
Library& real()
{
    static auto* const one = new Library;
    return *one;
}

class WritesThatFail {
public:
    explicit WritesThatFail(std::function<int()> before)
    {
        before_write() = std::move(before);
        real() = Library::ours();
        Library ours = real();
        ours.array_write = [](daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                              daos_event_t* event) -> int {
            daos_size_t bytes = 0;
            for (daos_size_t i = 0; i < iod->arr_nr; ++i)
                bytes += iod->arr_rgs[i].rg_len;
            const int failure = bytes < 1 << 20 ? 0 : before_write()();
            return failure != 0 ? failure : real().array_write(oh, th, iod, sgl, event);
        };
        Library::replace_ours(ours);
    }
    ~WritesThatFail() { Library::restore_ours(); }
    WritesThatFail(const WritesThatFail&) = delete;
    WritesThatFail& operator=(const WritesThatFail&) = delete;
};

// Memory of pieces that is counted.
struct Taken {
    std::map<std::byte*, std::size_t> now; // bytes
    int ever = 0, asked = 0;
    int most = 2; // that there is
    bool has(MutableBytes memory) const
    {
        const auto after = now.upper_bound(memory.data());
        if (after == now.begin()) return false;
        const auto& [begin, bytes] = *std::prev(after);
        return memory.data() + memory.size() <= begin + bytes;
    }
};
Taken& taken()
{
    static auto* const one = new Taken;
    return *one;
}

constexpr PieceMemory counted = {[](std::size_t bytes) noexcept -> std::byte* {
                                     ++taken().asked;
                                     if (taken().ever == taken().most) return nullptr;
                                     ++taken().ever;
                                     auto* const memory = new std::byte[bytes];
                                     taken().now[memory] = bytes;
                                     return memory;
                                 },
                                 [](std::byte* memory, std::size_t bytes) noexcept {
                                     const auto found = taken().now.find(memory);
                                     if (found == taken().now.end() || found->second != bytes) std::abort();
                                     taken().now.erase(found);
                                     delete[] memory;
                                 }};

constexpr std::uint64_t elements = (9 << 20) / 8 + 11;

std::vector<double> field(std::uint64_t row)
{
    std::vector<double> values(elements);
    std::iota(values.begin(), values.end(), static_cast<double>(row) * 1e7);
    return values;
}

// One row of the field. on_fetch: is told how many were fetched before.
void put(Writer& writer, std::uint64_t rows, std::uint64_t row, bool stays = false,
         const std::function<void(int)>& on_fetch = {})
{
    const auto id = writer.define("field", Type::float64, ShapeKind::global_array);
    const Dims shape{rows, elements}, start{row, 0}, count{1, elements};
    std::vector<double> there = field(row);
    int fetches = 0;
    const auto room = writer.put_from(
        id, {shape, start, count}, nullptr,
        [&](MutableBytes to, std::uint64_t at) {
            if (on_fetch) on_fetch(fetches);
            ++fetches;
            std::memcpy(to.data(), reinterpret_cast<const std::byte*>(there.data()) + at, to.size());
        },
        stays);
    EXPECT_EQ(room.size(), stays ? elements * 8 : 0);
    std::ranges::fill(there, -1); // it is free again
}

void expect_row(Reader& reader, std::uint64_t row, std::uint64_t step)
{
    std::vector<double> values(elements);
    reader.get(*reader.find("field"), Dims{row, 0}, Dims{1, elements}, values.data(), Mode::sync, step);
    EXPECT_EQ(values, field(row)) << row;
}

void expect_rows(const std::string& location, std::uint64_t steps, std::uint64_t rows)
{
    ReaderOptions random;
    random.mode = ReadMode::random_access;
    Reader reader(location, random, self_communicator());
    ASSERT_EQ(reader.steps(), steps);
    for (std::uint64_t step = 0; step < steps; ++step) {
        for (std::uint64_t row = 0; row < rows; ++row)
            expect_row(reader, row, step);
        for (const Block& block : reader.blocks(*reader.find("field"), step)) {
            const auto row = block.start.front();
            ASSERT_TRUE(block.minmax);
            EXPECT_EQ(block.minmax->min.as<double>(), static_cast<double>(row) * 1e7);
            EXPECT_EQ(block.minmax->max.as<double>(), static_cast<double>(row) * 1e7 + elements - 1);
        }
    }
    const StreamReport report = check_streams(location, true);
    EXPECT_FALSE(report.damaged()) << report;
}

class PutFrom : public ::testing::TestWithParam<std::string> {
protected:
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

// Beside the puts of the program's own memory, in parts of a step, and with several ranks.
TEST_P(PutFrom, ReadsBackEqual)
{
    const auto ends = run_processes(2, [&](std::shared_ptr<Communicator> ranks) {
        const auto rank = static_cast<std::uint64_t>(ranks->rank());
        Writer writer(location, options_of(GetParam()), ranks);
        for (int step = 0; step < 2; ++step) {
            writer.begin_step();
            const auto small = writer.define("small", Type::int32, ShapeKind::local_array);
            const std::int32_t three[] = {7, 8, 9};
            put(writer, 6, rank);
            writer.put(small, {}, {}, Dims{3}, three);
            if (step == 0) writer.end_part();
            put(writer, 6, 2 + rank, true);
            writer.perform_puts();
            put(writer, 6, 4 + rank);
            writer.end_step();
        }
        writer.close();
        return ::testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(ends, std::vector<int>(2));
    expect_rows(location, 2, 6);
}

// The ways in which data are kept, and beside the program.
INSTANTIATE_TEST_SUITE_P(Layouts, PutFrom, ::testing::ValuesIn([] {
                             std::vector<std::string> names;
                             for (const char* name :
                                  {"array-aligned", "posix", "array-aligned-snapshot", "array-aligned-async"})
                                 if (designs.contains(name)) names.emplace_back(name);
                             return names;
                         }()),
                         name_of_design);

class LostPutFrom : public ::testing::Test {
protected:
    // The next step is begun, `lose` loses it, and every call says the same.
    void expect_lost(Writer& writer, const std::function<void()>& lose, const std::string& why)
    {
        const std::uint64_t before = writer.begin_step();
        const auto text_of = [](const std::function<void()>& call) -> std::string {
            try {
                call();
            } catch (const std::exception& error) {
                return error.what();
            }
            return {};
        };
        const std::string text = text_of(lose);
        EXPECT_NE(text.find(why), std::string::npos) << text;
        EXPECT_EQ(text_of([&] { writer.end_step(); }), text);
        EXPECT_THROW(writer.begin_step(), Error) << "only close is left";
        writer.close();
        expect_rows(location, before, 1);
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_F(LostPutFrom, AFetchThatThrows)
{
    for (const bool stays : {false, true})
        for (const int last : {0, 2}) {
            if (stays && last > 0) continue;
            Writer writer(location, options_of(designs.at("array-aligned")), self_communicator());
            writer.begin_step();
            put(writer, 1, 0);
            writer.end_step();
            expect_lost(
                writer,
                [&] {
                    put(writer, 1, 0, stays, [&](int fetches) {
                        if (fetches == last) throw std::runtime_error("the device is gone");
                    });
                },
                "the device is gone");
        }
}

TEST_F(LostPutFrom, AWriteThatFails)
{
    for (const int last : {0, 1, 2}) {
        int writes = 0, fetches = 0;
        bool fails = false;
        const WritesThatFail failing([&] { return fails && writes++ == last ? -DER_NOSPACE : 0; });
        Writer writer(location, options_of(designs.at("array-aligned")), self_communicator());
        writer.begin_step();
        put(writer, 1, 0);
        writer.end_step();
        fails = true;
        expect_lost(
            writer, [&] { put(writer, 1, 0, false, [&](int) { ++fetches; }); },
            "variable 'field' in step 1, rank 0");
        EXPECT_EQ(writes, last + 1);
        EXPECT_EQ(fetches, std::min(last + 2, 3));
    }
}

TEST_F(LostPutFrom, AKilledWriterLeavesWholeStepsOnly)
{
    const pid_t child = start_child([&] {
        int writes = -1;
        const WritesThatFail failing(
            [&] { return writes >= 0 && ++writes == 2 ? kill(getpid(), SIGKILL) : 0; });
        Writer writer(location, options_of(designs.at("array-aligned")), self_communicator());
        writer.begin_step();
        put(writer, 1, 0);
        writer.end_step();
        writes = 0;
        writer.begin_step();
        put(writer, 1, 0);
        return 1;
    });
    EXPECT_EQ(end_of(child), -SIGKILL);
    expect_rows(location, 1, 1);
}

// A child that the program makes while a piece is written: it goes on without the stream.
TEST_F(LostPutFrom, AForkWhileAPieceIsWritten)
{
    Writer writer(location, options_of(designs.at("array-aligned")), self_communicator());
    writer.begin_step();
    pid_t child = 0;
    put(writer, 1, 0, false, [&](int fetches) {
        if (fetches == 1) child = start_child([] { return 7; });
    });
    writer.end_step();
    writer.close();
    EXPECT_EQ(end_of(child), 7);
    expect_rows(location, 1, 1);
}

class PutFromInto : public LostPutFrom {
protected:
    void SetUp() override { taken() = {}; }
    std::unique_ptr<Writer> open(const std::string& design = "array-aligned")
    {
        auto made = std::make_unique<Writer>(location, options_of(designs.at(design)), self_communicator());
        made->fetch_into(&counted);
        made->begin_step();
        return made;
    }
    // A row in three pieces. on_fetch: as in put().
    static void put_row(Writer& writer, std::vector<bool>& in_taken,
                        const std::function<void(int)>& on_fetch = {})
    {
        const auto id = writer.define("field", Type::float64, ShapeKind::global_array);
        const std::vector<double> there = field(0);
        writer.put_from(id, {Dims{1, elements}, Dims{0, 0}, Dims{1, elements}}, nullptr,
                        [&](MutableBytes to, std::uint64_t at) {
                            if (on_fetch) on_fetch(static_cast<int>(in_taken.size()));
                            in_taken.push_back(taken().has(to));
                            std::memcpy(to.data(), reinterpret_cast<const std::byte*>(there.data()) + at,
                                        to.size());
                        });
    }
};

TEST_F(PutFromInto, PiecesLieInMemoryThatIsGivenBackByClose)
{
    const auto writer = open();
    EXPECT_EQ(taken().asked, 0) << "before a block needs it";
    std::vector<bool> in_taken;
    put_row(*writer, in_taken);
    EXPECT_EQ(in_taken, std::vector<bool>(3, true));
    writer->end_step();
    writer->begin_step();
    put_row(*writer, in_taken);
    EXPECT_EQ(in_taken, std::vector<bool>(6, true));
    EXPECT_EQ(taken().asked, 2) << "it stays for the next block";
    writer->end_step();
    EXPECT_EQ(taken().now.size(), 2);
    writer->close();
    EXPECT_TRUE(taken().now.empty());
    expect_rows(location, 2, 1);
}

TEST_F(PutFromInto, WithoutSomeOfItPiecesLieInOrdinaryMemory)
{
    for (const int most : {0, 1}) {
        taken() = {};
        taken().most = most;
        const auto writer = open();
        std::vector<bool> in_taken;
        put_row(*writer, in_taken);
        EXPECT_EQ(in_taken, std::vector<bool>({most == 1, false, most == 1}));
        writer->end_step();
        writer->close();
        EXPECT_EQ(taken().ever, most);
        EXPECT_TRUE(taken().now.empty());
        expect_rows(location, 1, 1);
    }
}

TEST_F(PutFromInto, AFetchThatThrowsAndAWriterThatIsNotClosedGiveItBack)
{
    for (const bool closes : {false, true}) {
        taken() = {};
        auto writer = open();
        std::vector<bool> in_taken;
        EXPECT_THROW(put_row(*writer, in_taken,
                             [](int fetches) {
                                 if (fetches == 2) throw std::runtime_error("the device is gone");
                             }),
                     std::runtime_error);
        EXPECT_EQ(taken().now.size(), 2);
        if (closes) {
            EXPECT_THROW(writer->close(), std::runtime_error);
            EXPECT_TRUE(taken().now.empty());
        }
        writer.reset();
        EXPECT_TRUE(taken().now.empty());
    }
}

// It is the parent's, whose driver a child does not have.
TEST_F(PutFromInto, AForkedChildGivesNothingBack)
{
    auto writer = open();
    std::vector<bool> in_taken;
    put_row(*writer, in_taken);
    const pid_t child = start_child([&] {
        writer.reset();
        return static_cast<int>(taken().now.size());
    });
    EXPECT_EQ(end_of(child), 2);
    writer->end_step();
    writer->close();
    EXPECT_TRUE(taken().now.empty());
    expect_rows(location, 1, 1);
}

// With async_write.
TEST_F(PutFromInto, BlocksThatStayTakeNone)
{
    const auto writer = open("array-aligned-async");
    std::vector<bool> in_taken;
    put_row(*writer, in_taken);
    EXPECT_EQ(in_taken, std::vector<bool>(1, false));
    writer->end_step();
    writer->close();
    EXPECT_EQ(taken().asked, 0);
    expect_rows(location, 1, 1);
}

TEST_F(LostPutFrom, OutsideOfAStepAndOfTheArrayItIsRefused)
{
    Writer writer(location, options_of(designs.at("array-aligned")), self_communicator());
    EXPECT_THROW(put(writer, 1, 0), Error);
    writer.begin_step();
    EXPECT_THROW(put(writer, 1, 1), Error);
    put(writer, 1, 0); // the step is not lost
    const auto one = writer.define("one", Type::float64, ShapeKind::global_array);
    const auto none = writer.define("none", Type::float64, ShapeKind::global_array);
    const auto fetch = [](MutableBytes to, std::uint64_t) {
        const double seven = 7;
        std::memcpy(to.data(), &seven, to.size());
    };
    writer.put_from(one, {Dims{1}, Dims{0}, Dims{1}}, nullptr, fetch);
    writer.put_from(none, {Dims{1}, Dims{0}, Dims{0}}, nullptr, fetch);
    writer.end_step();
    writer.close();
    expect_rows(location, 1, 1);
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    double value = 0;
    reader.get(*reader.find("one"), Dims{0}, Dims{1}, &value, Mode::sync);
    EXPECT_EQ(value, 7);
}

} // namespace
} // namespace stepstore::steps::testing
