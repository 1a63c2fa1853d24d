// What gathered gets ask of the store: each byte once, in requests that a DAOS system takes.
#include "steps/read/data_reads.h"

#include "base/checksum.h"
#include "support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace stepstore::steps {
namespace {

constexpr std::uint64_t rows = 40, columns = 3000;

// The data of each rank is `data`. Refuses what daos_array_read of a DAOS system refuses, or hangs on.
class StrictReader final : public DataReader {
public:
    explicit StrictReader(std::vector<std::byte> data) : data_(std::move(data)) {}

    void read(std::span<DataRequest> requests) override
    {
        std::vector<std::vector<Range>> of_rank(2);
        for (const DataRequest& request : requests) {
            ASSERT_EQ(request.ranges.size(), request.memory.size());
            ASSERT_FALSE(request.ranges.empty());
            ASSERT_LE(request.ranges.size(), 16384U);
            for (std::size_t i = 0; i < request.ranges.size(); ++i) {
                const Range& range = request.ranges[i];
                ASSERT_GT(range.length, 0U);
                ASSERT_EQ(range.length, request.memory[i].size());
                ASSERT_LE(range.index + range.length, data_.size());
                std::memcpy(request.memory[i].data(), data_.data() + range.index, range.length);
                of_rank[request.place.rank].push_back(range);
                bytes += range.length;
            }
        }
        for (auto& ranges : of_rank) {
            std::ranges::sort(ranges, {}, &Range::index);
            for (std::size_t i = 1; i < ranges.size(); ++i)
                ASSERT_GE(ranges[i].index, ranges[i - 1].index + ranges[i - 1].length) << "overlap";
        }
    }
    std::uint64_t size(std::uint32_t) override { return data_.size(); }
    void flip(std::uint64_t at) { data_[at] ^= std::byte{16}; }

    std::uint64_t bytes = 0;

private:
    std::vector<std::byte> data_;
};

class DataReadsTest : public ::testing::Test {
protected:
    // One block of rows x columns, whose elements are their own numbers.
    DataReadsTest() : cells(rows * columns)
    {
        for (std::size_t i = 0; i < cells.size(); ++i)
            cells[i] = static_cast<std::uint32_t>(i);
        const auto* first = reinterpret_cast<const std::byte*>(cells.data());
        reader.emplace(std::vector(first, first + cells.size() * sizeof cells[0]));
    }

    struct Get {
        Dims start, count;
        std::vector<std::uint32_t> memory;
    };
    void add(Get& get, std::uint32_t rank = 0)
    {
        get.memory.assign(get.count[0] * get.count[1], UINT32_MAX);
        reads.add({0, rank}, 0, {origin, shape}, {get.start, get.count},
                  reinterpret_cast<std::byte*>(get.memory.data()), sizeof cells[0], sums);
    }
    // As a writer that wrote the block in two ranges.
    void sum_up()
    {
        const auto bytes = std::as_bytes(std::span(cells));
        DataSums made;
        for (const DataSpan range : {DataSpan{200'000, bytes.size() - 200'000}, DataSpan{0, 200'000}}) {
            const Bytes memory = bytes.subspan(range.begin, range.length);
            MemoryPieces pieces({&memory, 1});
            made.add(range, pieces);
        }
        std::vector<std::byte> encoded;
        made.encode(0, encoded);
        sums = std::make_shared<const DataSums>(DataSums::decode(encoded, {0, bytes.size()}, "a test"));
    }
    void expect(const Get& get) const
    {
        for (std::uint64_t row = 0; row < get.count[0]; ++row)
            for (std::uint64_t column = 0; column < get.count[1]; ++column)
                ASSERT_EQ(get.memory[row * get.count[1] + column],
                          (get.start[0] + row) * columns + get.start[1] + column)
                    << row << "," << column;
    }
    void run_and_expect(std::span<const Get> gets)
    {
        reads.run([&](std::span<DataRequest> requests) { reader->read(requests); });
        for (const Get& get : gets)
            expect(get);
        EXPECT_EQ(reads.bytes(), reader->bytes);
        EXPECT_EQ(reads.verified(), sums != nullptr || reads.bytes() == 0);
    }

    const Dims origin{0, 0}, shape{rows, columns};
    std::vector<std::uint32_t> cells;
    std::optional<StrictReader> reader;
    DataReads reads{Order::row_major};
    std::shared_ptr<const DataSums> sums; // nullptr: nothing is verified
};

TEST_F(DataReadsTest, TheSameBlockTwiceIsReadOnce)
{
    std::vector<Get> gets{{{0, 0}, {rows, columns}, {}}, {{0, 0}, {rows, columns}, {}}};
    for (Get& get : gets)
        add(get);
    run_and_expect(gets);
    EXPECT_EQ(reader->bytes, cells.size() * sizeof cells[0]);
    EXPECT_EQ(reads.requests(), 1U);
}

TEST_F(DataReadsTest, APartOfABlockThatIsReadAnyway)
{
    std::vector<Get> gets{{{5, 7}, {3, 2}, {}},
                          {{10, 0}, {2, columns}, {}},
                          {{0, 0}, {rows, columns}, {}},
                          {{5, 0}, {1, columns}, {}}};
    for (Get& get : gets)
        add(get);
    run_and_expect(gets);
    EXPECT_EQ(reader->bytes, cells.size() * sizeof cells[0]);
}

TEST_F(DataReadsTest, BoxesThatShareSomeOfTheirBytes)
{
    std::vector<Get> gets{
        {{3, 0}, {5, columns}, {}}, {{6, 100}, {4, columns - 100}, {}}, {{9, 0}, {1, 200}, {}}};
    for (Get& get : gets)
        add(get);
    run_and_expect(gets);
}

TEST_F(DataReadsTest, AnyBoxesOfSeveralRanks)
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<Get> gets(1 + random() % 6);
        for (Get& get : gets) {
            get.start = {random() % rows, random() % columns};
            get.count = {random() % (rows - get.start[0] + 1), random() % (columns - get.start[1] + 1)};
            if (random() % 2 == 0) get.start[1] = 0, get.count[1] = columns; // whole rows are read directly
            add(get, static_cast<std::uint32_t>(random() % 2));
        }
        reader->bytes = 0;
        run_and_expect(gets);
        if (HasFatalFailure()) return;
    }
}

TEST_F(DataReadsTest, OneBlockWithoutChecksumsIsNotVerified)
{
    std::vector<Get> gets{{{0, 0}, {rows, columns}, {}}, {{0, 0}, {rows, columns}, {}}};
    add(gets[0]);
    sum_up();
    add(gets[1], 1);
    reads.run([&](std::span<DataRequest> requests) { reader->read(requests); });
    EXPECT_FALSE(reads.verified());
    expect(gets[0]);
    expect(gets[1]);
}

TEST_F(DataReadsTest, AnyBoxesOfVerifiedPieces)
{
    sum_up();
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
        std::vector<Get> gets(1 + random() % 6);
        for (Get& get : gets) {
            get.start = {random() % rows, random() % columns};
            get.count = {random() % (rows - get.start[0] + 1), random() % (columns - get.start[1] + 1)};
            add(get, static_cast<std::uint32_t>(random() % 2));
        }
        reader->bytes = 0;
        run_and_expect(gets);
        if (HasFatalFailure()) return;
    }
}

// Whichever byte is wrong: a get of a part of its piece is refused, and one of other pieces is not.
TEST_F(DataReadsTest, DamagedPiecesAreFound)
{
    sum_up();
    std::mt19937_64 random(13);
    for (int round = 0; round < 200; ++round) {
        const std::uint64_t wrong = random() % (rows * columns * sizeof cells[0]);
        const DataSpan piece = sums->cover({wrong, 1});
        Get get{{random() % rows, random() % columns}, {1, 1}, {}};
        const std::uint64_t wanted = (get.start[0] * columns + get.start[1]) * sizeof cells[0];
        reader->flip(wrong);
        add(get);
        const auto run = [&] { reads.run([&](std::span<DataRequest> requests) { reader->read(requests); }); };
        if (wanted >= piece.begin && wanted < piece.end()) {
            EXPECT_EQ(stepstore::testing::error_of(run).code(), -DER_CSUM) << wrong;
        } else {
            EXPECT_NO_THROW(run()) << wrong;
            expect(get);
        }
        reader->flip(wrong);
    }
}

// As a machine that had old bytes of the file: the second look has the right ones.
TEST_F(DataReadsTest, ABadLookIsRepeated)
{
    sum_up();
    Get get{{0, 0}, {rows, columns}, {}};
    add(get);
    int looks = 0;
    reads.run([&](std::span<DataRequest> requests) {
        reader->read(requests);
        if (looks++ == 0) requests[0].memory[0][5] ^= std::byte{1};
    });
    EXPECT_EQ(looks, 2);
    expect(get);
}

TEST(DataSums, KeepWhatTheyWereMadeOf)
{
    constexpr std::uint64_t base = 12345;
    const std::vector<std::byte> zeros(64 << 10);
    const std::vector<Bytes> memory(3, Bytes(zeros));
    MemoryPieces pieces(memory);
    DataSums made;
    made.add({base + 70'000, 64 << 10}, pieces);
    made.add({base, 65'537}, pieces);
    std::vector<std::byte> encoded;
    made.encode(base, encoded);
    const DataSpan data{base, 140'000};
    const DataSums read = DataSums::decode(encoded, data, "a test");
    EXPECT_EQ(read.cover({base + 65'536, 1}).begin, base + 65'536);
    EXPECT_EQ(read.cover({base + 65'535, 2}).length, 65'537U);
    EXPECT_EQ(read.cover({base + 66'000, 10}).length, 10U) << "nothing was written there";
    for (std::size_t length = 0; length < encoded.size(); ++length)
        EXPECT_THROW(DataSums::decode(Bytes(encoded).first(length), data, "a test"), Error) << length;
    EXPECT_THROW(DataSums::decode(encoded, {base, 100'000}, "a test"), Error);
    EXPECT_THROW(DataSums::decode(encoded, {UINT64_MAX - 5, 140'000}, "a test"), Error);
}

TEST(DataSums, PiecesAreFewAndNotTooLarge)
{
    EXPECT_EQ(piece_size_of(1), 64U << 10);
    EXPECT_EQ(piece_size_of(32 << 20), 64U << 10);
    EXPECT_EQ(piece_size_of((32 << 20) + 1), 128U << 10);
    EXPECT_EQ(piece_size_of(std::uint64_t{1} << 30), 2U << 20);
    EXPECT_EQ(piece_size_of(std::uint64_t{1} << 62), 4U << 20);
}

TEST_F(DataReadsTest, ManyShortRangesAreSeveralRequests)
{
    constexpr std::uint64_t stride = 1032, many = 40000; // elements: too far apart to be read over
    std::vector<std::byte> data(many * stride * sizeof(std::uint32_t));
    for (std::uint64_t i = 0; i < many; ++i) {
        const auto number = static_cast<std::uint32_t>(i);
        std::memcpy(data.data() + i * stride * sizeof number, &number, sizeof number);
    }
    StrictReader wide(std::move(data));
    std::vector<std::uint32_t> column(many);
    const Dims start{0, 0}, count{many, 1}, all{many, stride};
    reads.add({0, 1}, 0, {start, all}, {start, count}, reinterpret_cast<std::byte*>(column.data()),
              sizeof column[0], nullptr);
    reads.run([&](std::span<DataRequest> requests) { wide.read(requests); });
    EXPECT_EQ(reads.requests(), 3U);
    for (std::uint64_t i = 0; i < many; ++i)
        ASSERT_EQ(column[i], i);
}

} // namespace
} // namespace stepstore::steps
