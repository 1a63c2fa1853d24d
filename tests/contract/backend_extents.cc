// The contract of store/backend.h for bulk extents.
#include "backend_fixture.h"

#include <array>
#include <mutex>
#include <thread>

namespace stepstore::store {

namespace {

class Extents : public BackendContract {
protected:
    std::vector<std::byte> read(const ExtentRef& extent)
    {
        std::vector<std::byte> bytes(extent.length);
        target().read_extent(extent, 0, bytes);
        return bytes;
    }
    std::uint64_t bulk() { return target().usage().bulk; }
};

TEST_P(Extents, ComeBackAsTheyWereWritten)
{
    for (const std::size_t length :
         {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{1'000'003}}) {
        const auto bytes = pattern(length, length);
        const ExtentRef extent = append(target(), {bytes});
        EXPECT_EQ(extent.length, length);
        EXPECT_EQ(read(extent), bytes);
    }
}

TEST_P(Extents, JoinTheirPieces)
{
    // More pieces than one system call takes.
    const auto bytes = pattern(300'000, 5);
    std::vector<Bytes> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = std::min(bytes.size() - at, at % 250);
        pieces.push_back(Bytes(bytes).subspan(at, length));
        at += length;
        if (length == 0) pieces.push_back(Bytes(bytes).subspan(at++, 1));
    }
    ASSERT_GT(pieces.size(), 2048U);
    const ExtentRef extent = append(target(), pieces);
    EXPECT_EQ(read(extent), bytes);
    std::vector<std::byte> part(1000);
    target().read_extent(extent, 123'457, part);
    EXPECT_TRUE(std::ranges::equal(part, Bytes(bytes).subspan(123'457, 1000)));
}

TEST_P(Extents, MayBeEmpty)
{
    const ExtentRef extent = append(target(), {});
    EXPECT_EQ(extent.length, 0U);
    target().read_extent(extent, 0, {});
    target().release(extent);
}

TEST_P(Extents, Hold256MebibytesAndMore)
{
    const auto bytes = pattern(std::size_t{256} << 20, 7);
    const ExtentRef extent = append(target(), {Bytes(bytes).first(100), Bytes(bytes).subspan(100)});
    EXPECT_EQ(checksum(read(extent)), checksum(bytes));
}

TEST_P(Extents, AreReadOnlyWithinTheirBounds)
{
    const auto bytes = pattern(10'000, 9);
    const ExtentRef extent = append(target(), {bytes});
    std::vector<std::byte> into(200);
    EXPECT_EQ(code_of([&] { target().read_extent(extent, 9'900, into); }), -DER_CSUM);
    EXPECT_EQ(code_of([&] { target().read_extent(extent, UINT64_MAX - 10, into); }), -DER_CSUM);
    ExtentRef beyond = extent;
    beyond.length += 1'000'000'000;
    EXPECT_EQ(code_of([&] { target().read_extent(beyond, 900'000'000, into); }), -DER_CSUM);
    beyond = {extent.file, UINT64_MAX - 100, 300};
    EXPECT_EQ(code_of([&] { target().read_extent(beyond, 0, into); }), -DER_CSUM);
    beyond = {extent.file + 12345, 0, 300};
    EXPECT_EQ(code_of([&] { target().read_extent(beyond, 0, into); }), -DER_CSUM);
}

TEST_P(Extents, GiveTheirSpaceBackAndLeaveTheirNeighbours)
{
    std::vector<ExtentRef> extents;
    for (unsigned n = 0; n < 8; ++n)
        extents.push_back(append(target(), {pattern(100'000, n)}));
    const auto before = bulk();
    EXPECT_GE(before, 800'000U);
    for (unsigned n = 1; n < 8; n += 2)
        target().release(extents[n]);
    EXPECT_LE(bulk(), before - 400'000);
    for (unsigned n = 0; n < 8; n += 2)
        EXPECT_EQ(read(extents[n]), pattern(100'000, n));
    for (unsigned n = 0; n < 8; n += 2)
        target().release(extents[n]);
    EXPECT_EQ(bulk(), 0U);
    target().release(extents[0]); // once more does no harm
    const ExtentRef later = append(target(), {pattern(5'000, 99)});
    EXPECT_EQ(read(later), pattern(5'000, 99));
}

// A repair gives back all that lies between what is referred to, released before or not.
TEST_P(Extents, OfWhichAPartIsReleasedAgainLeaveTheirNeighbours)
{
    const auto bytes = pattern(100'000, 1);
    const Bytes piece = bytes;
    std::array<Payload, 3> payloads{Payload{{&piece, 1}}, Payload{{&piece, 1}}, Payload{{&piece, 1}}};
    const ExtentRef all = target().append(payloads);
    target().write([&](WriteTransaction& transaction) {
        transaction.put(as_bytes("reference"), as_bytes("all"));
        target().entering(all);
    });
    const ExtentRef first = reservation_of(payloads[0].extent), last = payloads[2].extent;
    target().release(payloads[0].extent);
    target().release({first.file, first.offset, reservation_of(last).offset - first.offset});
    EXPECT_EQ(read(last), bytes);
    EXPECT_GE(target().allocated(reservation_of(last)), bytes.size());
    target().release(last);
}

TEST_P(Extents, AreListedByFile)
{
    const ExtentRef extent = append(target(), {pattern(100'000, 1)});
    bool found = false;
    for (const auto& file : target().extent_files()) {
        if (file.file != extent.file) continue;
        found = true;
        EXPECT_GE(file.length, extent.offset + extent.length);
        EXPECT_GE(file.allocated, 100'000U);
    }
    EXPECT_TRUE(found);
    EXPECT_TRUE(target(1).extent_files().empty());
}

TEST_P(Extents, OfManyThreadsDoNotMeet)
{
    std::mutex guard;
    std::vector<std::pair<ExtentRef, std::uint64_t>> written;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (unsigned n = 0; n < 50; ++n) {
                const std::uint64_t seed = thread * 1000 + n;
                const auto bytes = pattern(1 + seed * 37 % 50'000, seed);
                const ExtentRef extent = append(target(), {bytes});
                std::lock_guard lock(guard);
                written.emplace_back(extent, seed);
            }
        });
    }
    for (auto& thread : threads)
        thread.join();
    ASSERT_EQ(written.size(), 200U);
    for (const auto& [extent, seed] : written)
        EXPECT_EQ(read(extent), pattern(1 + seed * 37 % 50'000, seed));
}

TEST_P(Extents, SurviveASync)
{
    const ExtentRef extent = append(target(), {as_bytes("bulk")});
    put(target(), "key", "value");
    target().sync(false);
    pool().meta().sync(false);
    EXPECT_EQ(read(extent).size(), 4U);
    EXPECT_GT(target().usage().index, 0U);
}

INSTANTIATE_TEST_SUITE_P(Backends, Extents, every_kind(), ::testing::PrintToStringParamName());

} // namespace

} // namespace stepstore::store
