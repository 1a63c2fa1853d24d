// Array objects on every back end.
#include "store/record.h"
#include "support/store_fixture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

namespace stepstore::testing {
namespace {

class ArrayContract : public StoreTest {
protected:
    std::uint64_t bulk_bytes()
    {
        std::uint64_t bulk = 0;
        for (const TargetInfo& target : pool->query().targets)
            bulk += target.bulk_bytes;
        return bulk;
    }
    // Where in a unit of its extent file a payload that begins with these bytes begins.
    std::optional<std::size_t> begins_at(Bytes bytes) const
    {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(directory / "")) {
            if (entry.path().extension() != ".ext") continue;
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string content(std::istreambuf_iterator<char>(in), {});
            const auto at = content.find(as_text(bytes));
            if (at != std::string::npos) return at % 4096;
        }
        return std::nullopt;
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, ArrayContract, every_store(), backend_name);

TEST_P(ArrayContract, AttributesAreKeptWithTheObject)
{
    const ObjectId oid = array_object(1);
    EXPECT_EQ(container->array_attributes(oid), std::nullopt);
    container->array_create(oid, {8, 1000});
    const auto got = container->array_attributes(oid);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->cell_size, 8U);
    EXPECT_EQ(got->chunk_size, 1000U);
    EXPECT_EQ(der_of([&] { container->array_create(oid, {8, 1000}); }), DER_EXIST);
    EXPECT_EQ(der_of([&] { container->array_create(array_object(2), {0, 1000}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { container->array_create(array_object(2), {8, 0}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { container->array_create(array_object(2), {8, (1ULL << 63) - 1}); }), DER_OVERFLOW);
    EXPECT_EQ(der_of([&] { container->array_create(array_object(2), {1, (1ULL << 63) + 1}); }), DER_OVERFLOW);
    EXPECT_FALSE(container->array_attributes(array_object(2)).has_value());
    container->array_create(array_object(3), {1, 1ULL << 63}); // the largest
    EXPECT_EQ(container->array_size(array_object(3), {1, 1ULL << 63}), 0U);
    const Epoch snapshot = snapshot_or_latest();
    container->punch(oid);
    EXPECT_EQ(container->array_attributes(oid), std::nullopt);
    container->array_create(oid, {4, 10});
    EXPECT_EQ(container->array_attributes(oid)->cell_size, 4U);
    EXPECT_EQ(container->array_attributes(oid, snapshot)->cell_size, has_versions() ? 8U : 4U);
}

TEST_P(ArrayContract, WhatIsWrittenComesBackHolesAreZero)
{
    const ArrayAttributes attributes{1, 1000};
    const ObjectId oid = array_object(1);
    const auto data = pattern(3500, 1);
    write_cells(*container, oid, attributes, 1700, data);
    ReadResult result;
    const auto got = read_cells(*container, oid, attributes, 0, 6000, latest, &result);
    EXPECT_EQ(result.bytes, has_versions() ? 3500U : 5200U); // files do not tell their holes
    EXPECT_EQ(result.cells_short, 800U);
    for (std::size_t i = 0; i < 6000; ++i) {
        const std::byte expected = i >= 1700 && i < 5200 ? data[i - 1700] : std::byte{0};
        ASSERT_EQ(got[i], expected) << i;
    }
    EXPECT_EQ(container->array_size(oid, attributes), 5200U);
    EXPECT_GT(container->last_update(oid), 0U);
    read_cells(*container, oid, attributes, 0, 5200, latest, &result);
    EXPECT_EQ(result.cells_short, 0U);
    read_cells(*container, oid, attributes, 9000, 10, latest, &result);
    EXPECT_EQ(result.cells_short, 10U);
    EXPECT_EQ(result.bytes, 0U);
    read_cells(*container, array_object(77), attributes, 0, 10, latest, &result);
    EXPECT_EQ(result.cells_short, 10U);
}

TEST_P(ArrayContract, RangesAndMemoryMayBeInDifferentPieces)
{
    const ArrayAttributes attributes{4, 100};
    const ObjectId oid = array_object(1, class_s4);
    const auto data = pattern(4 * 700, 5);
    const Bytes all(data);
    const std::vector<Range> ranges{{50, 200}, {0, 0}, {1000, 1}, {400, 499}};
    const std::vector<Bytes> memory{
        all.first(1), {}, all.subspan(1, 1000), all.subspan(1001, 3), all.subspan(1004)};
    container->array_write(oid, attributes, ranges, memory);
    std::vector<std::byte> got(data.size());
    const MutableBytes into(got);
    const std::vector<MutableBytes> pieces{into.first(777), into.subspan(777, 0), into.subspan(777)};
    const ReadResult result = container->array_read(oid, attributes, ranges, pieces);
    EXPECT_EQ(got, data);
    EXPECT_EQ(result.bytes, data.size());
    EXPECT_EQ(result.cells_short, 0U);
    EXPECT_EQ(container->array_size(oid, attributes), 1001U);
    const auto middle = read_cells(*container, oid, attributes, 400, 499);
    EXPECT_TRUE(std::equal(middle.begin(), middle.end(), data.begin() + 4 * 201));
    EXPECT_EQ(der_of([&] { container->array_write(oid, attributes, ranges, std::span(memory).first(3)); }),
              DER_IO_INVAL);
    EXPECT_EQ(der_of([&] { container->array_read(oid, attributes, std::span(ranges).first(1), pieces); }),
              DER_IO_INVAL);
}

TEST_P(ArrayContract, TheLastOfOverlappingRangesCounts)
{
    const ArrayAttributes attributes{1, 1 << 20};
    const ObjectId oid = array_object(1, class_s1);
    for (const std::size_t size : {100UL, 200000UL}) {
        const auto first = pattern(size, 1);
        const auto second = pattern(size, 2);
        const std::vector<Range> ranges{{0, size}, {size / 2, size}};
        const std::vector<Bytes> memory{first, second};
        container->array_write(oid, attributes, ranges, memory);
        const auto got = read_cells(*container, oid, attributes, 0, size + size / 2);
        EXPECT_TRUE(std::equal(first.begin(), first.begin() + static_cast<long>(size / 2), got.begin()));
        EXPECT_TRUE(std::equal(second.begin(), second.end(), got.begin() + static_cast<long>(size / 2)));
    }
}

TEST_P(ArrayContract, CuttingLargeExtentsKeepsTheRest)
{
    const ArrayAttributes attributes{1, 4 << 20};
    const ObjectId oid = array_object(1, class_s1);
    auto expected = pattern(3 << 20, 1);
    write_cells(*container, oid, attributes, 0, expected);
    const std::vector<std::pair<std::size_t, std::size_t>> updates{
        {1000, 10},   {65536, 65536}, {200000, 300000}, {1 << 20, 1}, {(1 << 20) + 65536, 65537},
        {3145720, 8}, {0, 1},         {70000, 2000000}};
    std::uint64_t seed = 10;
    for (const auto& [offset, size] : updates) {
        const auto data = pattern(size, ++seed);
        write_cells(*container, oid, attributes, offset, data);
        std::ranges::copy(data, expected.begin() + static_cast<long>(offset));
        ASSERT_EQ(read_cells(*container, oid, attributes, 0, expected.size()), expected)
            << offset << " + " << size;
        EXPECT_TRUE(undamaged(Pool::check(path, {})));
    }
    write_cells(*container, oid, attributes, 0, pattern(3 << 20, 2));
    EXPECT_LE(bulk_bytes(), (3U << 20) + 4096) << "the space of what was overwritten was not given back";
    container->punch(oid);
    EXPECT_EQ(bulk_bytes(), 0U);
    EXPECT_EQ(container->array_size(oid, attributes), 0U);
}

// Copies between places that differ within a cache line, or by little in their page, are slow, so a large
// payload begins half a page from where memory usually does and where its memory does in its cache line;
// whatever is cut off it later.
TEST_P(ArrayContract, LargeExtentsBeginHalfAPageFromTheirMemory)
{
    const ArrayAttributes attributes{1, 4 << 20};
    const ObjectId oid = array_object(1, class_s1);
    const std::size_t size = (1 << 20) + 5;
    std::vector<std::byte> memory(size + 128);
    const auto over = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    for (const std::size_t skew : {0UL, 1UL, 16UL, 63UL}) {
        auto expected = pattern(size, skew + 1);
        const auto mine = std::span(memory).subspan(64 - over + skew, size);
        std::ranges::copy(expected, mine.begin());
        write_cells(*container, oid, attributes, 0, mine);
        EXPECT_EQ(begins_at(Bytes(expected).first(64)),
                  GetParam() == "lmdb" ? std::optional(2048 + skew) : std::nullopt);
        ASSERT_EQ(read_cells(*container, oid, attributes, 0, size), expected);
        // Borders of blocks, of the memory's and of the file's.
        for (const std::size_t at : {65536UL, 65536UL - skew, 131072UL - skew - 1, size - 70000})
            for (const std::size_t bytes : {1UL, 65536UL, 69000UL}) {
                const auto got = read_cells(*container, oid, attributes, at, bytes);
                ASSERT_TRUE(std::ranges::equal(got, Bytes(expected).subspan(at, bytes)))
                    << skew << ": " << at;
            }
        const std::vector<std::pair<std::size_t, std::size_t>> cuts{
            {0, 1}, {65536 - skew, 65536}, {3 * 65536 - skew - 1, 2}, {400000, 300000}, {size - 1, 1}};
        for (const auto& [offset, bytes] : cuts) {
            const auto data = pattern(bytes, offset);
            write_cells(*container, oid, attributes, offset, data);
            std::ranges::copy(data, expected.begin() + static_cast<long>(offset));
            ASSERT_EQ(read_cells(*container, oid, attributes, 0, size), expected) << skew << ": " << offset;
            CheckOptions with_data;
            with_data.data = true;
            const CheckReport report = Pool::check(path, with_data);
            EXPECT_TRUE(undamaged(report));
            EXPECT_EQ(report.reclaimable_bytes, 0U) << skew << ": " << offset;
        }
        container->punch(oid);
        EXPECT_EQ(bulk_bytes(), 0U) << skew;
    }
}

TEST_P(ArrayContract, SizesGrowAndShrink)
{
    const ArrayAttributes attributes{2, 100};
    const ObjectId oid = array_object(1);
    EXPECT_EQ(container->array_size(oid, attributes), 0U);
    for (const std::uint64_t size : {1UL, 100UL, 101UL, 1000UL, 999UL, 900UL, 200UL, 99UL,
                                     has_versions() ? 12345678901234UL : 1234567890123UL, 50UL, 0UL, 300UL}) {
        container->array_set_size(oid, attributes, size);
        EXPECT_EQ(container->array_size(oid, attributes), size);
        container->array_set_size(oid, attributes, size);
        EXPECT_EQ(container->array_size(oid, attributes), size);
        ReadResult result;
        const auto zeros = read_cells(*container, oid, attributes, 0, 400, latest, &result);
        EXPECT_EQ(std::ranges::count(zeros, std::byte{0}), 800);
        EXPECT_EQ(result.cells_short, size < 400 ? 400 - size : 0);
    }
    const auto data = pattern(2000, 1);
    write_cells(*container, oid, attributes, 0, data);
    EXPECT_EQ(container->array_size(oid, attributes), 1000U);
    container->array_set_size(oid, attributes, 250);
    container->array_set_size(oid, attributes, 1000);
    const auto got = read_cells(*container, oid, attributes, 0, 1000);
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + 500, got.begin()));
    EXPECT_EQ(std::count(got.begin() + 500, got.end(), std::byte{0}), 1500);
}

TEST_P(ArrayContract, AnEndMarkerIsNoObstacleToWrites)
{
    const ArrayAttributes attributes{1, 1000};
    const ObjectId oid = array_object(1, class_s1);
    container->array_set_size(oid, attributes, 500);
    write_cells(*container, oid, attributes, 100, pattern(100, 1)); // before it
    EXPECT_EQ(container->array_size(oid, attributes), 500U);
    write_cells(*container, oid, attributes, 400, pattern(200, 2)); // over it
    EXPECT_EQ(container->array_size(oid, attributes), 600U);
    const auto got = read_cells(*container, oid, attributes, 450, 20);
    const auto over = pattern(200, 2);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), over.begin() + 50));
    container->array_set_size(oid, attributes, 2000);
    write_cells(*container, oid, attributes, 1900, pattern(100, 3)); // up to it
    EXPECT_EQ(container->array_size(oid, attributes), 2000U);
    EXPECT_EQ(read_cells(*container, oid, attributes, 1900, 100), pattern(100, 3));
    const Range all{0, 1ULL << 40};
    container->array_punch(oid, attributes, {&all, 1});
    EXPECT_EQ(container->array_size(oid, attributes), 0U);
}

TEST_P(ArrayContract, PunchedRangesReadAsZero)
{
    const ArrayAttributes attributes{1, 1000};
    const ObjectId oid = array_object(1);
    auto expected = pattern(10000, 1);
    write_cells(*container, oid, attributes, 0, expected);
    const std::vector<Range> ranges{{10, 20}, {950, 100}, {2000, 3500}, {7000, 0}};
    container->array_punch(oid, attributes, ranges);
    for (const Range& range : ranges)
        std::fill_n(expected.begin() + static_cast<long>(range.index), range.length, std::byte{0});
    EXPECT_EQ(read_cells(*container, oid, attributes, 0, 10000), expected);
    EXPECT_EQ(container->array_size(oid, attributes), 10000U);
    const Range everything{0, 1ULL << 62};
    container->array_punch(oid, attributes, {&everything, 1});
    EXPECT_EQ(container->array_size(oid, attributes), 0U);
}

TEST_P(ArrayContract, ManyExtentsArePunchedInBatches)
{
    const ArrayAttributes attributes{1, 1 << 20};
    const ObjectId oid = array_object(1, class_s2);
    const auto data = pattern(7, 1);
    const Bytes piece(data);
    for (std::uint64_t i = 0; i < 30; ++i) {
        std::vector<Range> ranges;
        std::vector<Bytes> memory;
        for (std::uint64_t k = 0; k < 100; ++k) {
            ranges.push_back({(i * 100 + k) * 1000, 7});
            memory.push_back(piece);
        }
        container->array_write(oid, attributes, ranges, memory);
    }
    container->array_set_size(oid, attributes, 3000000);
    const Range most{3, 2999990};
    container->array_punch(oid, attributes, {&most, 1});
    const auto got = read_cells(*container, oid, attributes, 0, 2999990);
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + 3, got.begin()));
    EXPECT_EQ(std::count(got.begin() + 3, got.end(), std::byte{0}), 2999987);
    EXPECT_EQ(container->array_size(oid, attributes), 3000000U);
}

TEST_P(ArrayContract, OffsetsReachTo2To63Bytes)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no offsets beyond those of the file system";
    const std::uint64_t end = 1ULL << 63;
    for (const ArrayAttributes attributes : {ArrayAttributes{1, 1 << 20}, ArrayAttributes{8, 3}}) {
        const ObjectId oid = array_object(attributes.cell_size, class_s4);
        const std::uint64_t cells = end / attributes.cell_size;
        const auto data = pattern(40 * attributes.cell_size, 1);
        write_cells(*container, oid, attributes, cells - 40, data);
        EXPECT_EQ(read_cells(*container, oid, attributes, cells - 40, 40), data);
        EXPECT_EQ(container->array_size(oid, attributes), cells);
        EXPECT_EQ(der_of([&] { write_cells(*container, oid, attributes, cells - 39, data); }), DER_OVERFLOW);
        EXPECT_EQ(der_of([&] { write_cells(*container, oid, attributes, UINT64_MAX - 1, data); }),
                  DER_OVERFLOW);
        EXPECT_EQ(der_of([&] { container->array_set_size(oid, attributes, cells + 1); }), DER_OVERFLOW);
        container->array_set_size(oid, attributes, cells - 1);
        EXPECT_EQ(container->array_size(oid, attributes), cells - 1);
        container->array_set_size(oid, attributes, 10);
        EXPECT_EQ(container->array_size(oid, attributes), 10U);
    }
    EXPECT_EQ(der_of([&] { container->array_size(array_object(5), {0, 1}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { container->array_size(array_object(5), {1, 0}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { container->array_size(array_object(5), {1ULL << 40, 1ULL << 40}); }),
              DER_OVERFLOW);
}

TEST_P(ArrayContract, TwoCopiesOfArraysAreKept)
{
    const ArrayAttributes attributes{1, 100000};
    const ObjectId oid = array_object(3, class_rp_2gx);
    container->array_create(oid, attributes);
    auto expected = pattern(1000000, 1);
    write_cells(*container, oid, attributes, 0, expected);
    const auto more = pattern(250000, 2);
    write_cells(*container, oid, attributes, 333, more);
    std::ranges::copy(more, expected.begin() + 333);
    const Range hole{40000, 200000};
    container->array_punch(oid, attributes, {&hole, 1});
    std::fill_n(expected.begin() + 40000, 200000, std::byte{0});
    container->array_set_size(oid, attributes, 900001);
    expected.resize(900001);
    EXPECT_EQ(read_cells(*container, oid, attributes, 0, 900001), expected);
    for (const CheckFinding& one : Pool::check(path, {}).findings)
        EXPECT_EQ(one.what.find("copy"), std::string::npos) << one.what;
}

TEST_P(ArrayContract, ASmallRangeAmongManyExtentsIsRight)
{
    const ArrayAttributes attributes{1, 1 << 20};
    const ObjectId oid = array_object(1, class_s1);
    std::vector<Range> ranges;
    std::vector<Bytes> memory;
    const auto data = pattern(50, 1);
    for (std::uint64_t k = 0; k < 10000; ++k) {
        ranges.push_back({k * 100, 50});
        memory.emplace_back(data);
    }
    container->array_write(oid, attributes, ranges, memory);
    for (std::uint64_t at = 0; at < 999000; at += 99900) {
        const auto got = read_cells(*container, oid, attributes, at, 200);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin()));
        EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin() + 100));
        EXPECT_EQ(std::count(got.begin() + 50, got.begin() + 100, std::byte{0}), 50);
    }
}

// A block is read and verified whole, however little of it is wanted.
TEST(Blocks, AreSmallWherePayloadsAre)
{
    const std::pair<std::uint64_t, unsigned> expected[] = {
        {64 << 10, 12}, {256 << 10, 12}, {(256 << 10) + 1, 13}, {1 << 20, 14},
        {4 << 20, 16},  {64 << 20, 16},  {1 << 30, 16},         {(1 << 30) + 1, 17},
    };
    for (const auto& [length, shift] : expected)
        EXPECT_EQ(block_shift_for(length), shift) << length;
}

// Large and small extents, holes and an end marker in one range, now and at a snapshot.
TEST_P(ArrayContract, ReadsThatNeedNotVerifySeeTheSame)
{
    const ObjectId oid = array_object(3);
    const ArrayAttributes attributes{1, 4 << 20};
    write_cells(*container, oid, attributes, 0, pattern(300'000, 1));
    write_cells(*container, oid, attributes, 400'000, pattern(100, 2));
    write_cells(*container, oid, attributes, 500'000, pattern(500'000, 3));
    const Epoch before = snapshot_or_latest();
    write_cells(*container, oid, attributes, 250'000, pattern(300'000, 4)); // cuts two, and replaces one
    container->array_set_size(oid, attributes, 1'200'000);
    for (const Epoch epoch : {before, latest}) {
        ReadResult verified, other;
        const auto cells = read_cells(*container, oid, attributes, 0, 1'500'000, epoch, &verified);
        EXPECT_EQ(read_cells(*container, oid, attributes, 0, 1'500'000, epoch, &other, Verify::no), cells);
        EXPECT_EQ(other.bytes, verified.bytes);
        EXPECT_EQ(other.cells_short, verified.cells_short);
    }
}

// Parts of extents with blocks of every size, read into one piece of memory and into many.
TEST_P(ArrayContract, PartsOfExtentsOfAllSizes)
{
    const ArrayAttributes attributes{1, 8 << 20};
    for (const std::size_t size :
         {65'536UL, 70'001UL, 262'145UL, 600'000UL, 1'048'576UL, 2'500'003UL, 5'000'000UL}) {
        const ObjectId oid = array_object(size);
        const auto data = pattern(size, size);
        write_cells(*container, oid, attributes, 0, data);
        for (const std::size_t at : {0UL, 1UL, 4'095UL, 8'192UL, size / 3, size - 5'000}) {
            for (const std::size_t bytes : {1UL, 1'500UL, 5'000UL, 40'000UL, 300'000UL}) {
                const std::size_t length = std::min(bytes, size - at);
                for (const Verify verify : {Verify::yes, Verify::no})
                    EXPECT_EQ(read_cells(*container, oid, attributes, at, length, latest, nullptr, verify),
                              std::vector(data.begin() + static_cast<std::ptrdiff_t>(at),
                                          data.begin() + static_cast<std::ptrdiff_t>(at + length)))
                        << size << ' ' << at << ' ' << length;
                // Into pieces of 700 bytes with gaps between them.
                constexpr std::size_t each = 700, apart = 1'000;
                std::vector<std::byte> room((length / each + 1) * apart);
                std::vector<MutableBytes> pieces;
                for (std::size_t done = 0; done < length; done += each)
                    pieces.emplace_back(room.data() + done / each * apart, std::min(each, length - done));
                const Range range{at, length};
                container->array_read(oid, attributes, {&range, 1}, pieces, latest,
                                      at % 2 == 0 ? Verify::yes : Verify::no);
                for (std::size_t done = 0; done < length; done += each)
                    ASSERT_TRUE(std::ranges::equal(
                        pieces[done / each], Bytes(data).subspan(at + done, std::min(each, length - done))))
                        << size << ' ' << at << ' ' << length << ' ' << done;
            }
        }
    }
}

} // namespace
} // namespace stepstore::testing
