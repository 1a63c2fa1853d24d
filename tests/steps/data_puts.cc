// How blocks get to the data object: in few requests, without copies that are not needed, and again after an
// error. Blocks that are fetched take bounded memory.
#include "steps/write/data_puts.h"

#include "base/call_threads.h"
#include "stepstore/error.h"
#include "support/processes.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <sys/resource.h>
#include <unistd.h>

namespace stepstore::steps {
namespace {

// What a data object would hold, and from where it came.
class Recorder final : public DataWriter {
public:
    void write(std::span<const Range> ranges, std::span<const Bytes> memory) override
    {
        ++requests;
        if (before_write) before_write();
        if (failures > 0) {
            --failures;
            throw Error(-DER_NOSPACE, "full");
        }
        std::vector<std::byte> all;
        for (const Bytes piece : memory) {
            pieces.push_back(piece);
            all.insert(all.end(), piece.begin(), piece.end());
        }
        std::size_t at = 0;
        all_ranges.insert(all_ranges.end(), ranges.begin(), ranges.end());
        for (const Range& range : ranges) {
            if (content.size() < range.index + range.length) content.resize(range.index + range.length);
            std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), range.length,
                        content.begin() + static_cast<std::ptrdiff_t>(range.index));
            at += range.length;
        }
        EXPECT_EQ(at, all.size());
    }
    bool took(const void* memory, std::size_t bytes) const
    {
        return std::ranges::any_of(
            pieces, [&](Bytes piece) { return piece.data() == memory && piece.size() == bytes; });
    }

    int requests = 0;
    int failures = 0;
    std::function<void()> before_write;
    std::vector<Bytes> pieces;
    std::vector<Range> all_ranges;
    std::vector<std::byte> content;
};

class Puts : public ::testing::Test {
protected:
    Puts() { encoder.begin_step(0); }

    DataPuts::Block block(const std::vector<double>& values,
                          CompressionMethod method = CompressionMethod::none)
    {
        const std::uint64_t count[] = {values.size()};
        const std::uint64_t bytes = values.size() * 8, at = encoder.data_length();
        const auto entry = encoder.add_block(id, {}, {}, count, bytes, method != CompressionMethod::none);
        return {at,         bytes,         std::as_bytes(std::span(values)).data(),
                entry,      Type::float64, encoder.placing(),
                {method, 0}};
    }
    void expect_at(std::uint64_t at, const std::vector<double>& values) const
    {
        ASSERT_LE(at + values.size() * 8, recorder.content.size());
        EXPECT_EQ(std::memcmp(recorder.content.data() + at, values.data(), values.size() * 8), 0);
    }
    static std::vector<double> numbers(std::size_t count, double first)
    {
        std::vector<double> values(count);
        std::iota(values.begin(), values.end(), first);
        return values;
    }

    Encoder encoder{7, 0, true};
    VariableId id = encoder.define("x", Type::float64, ShapeKind::local_array);
    DataPuts puts;
    Recorder recorder;
    Profile profile;
};

TEST_F(Puts, AllGoInOneRequestDeferredBlocksFromTheProgramsMemory)
{
    const auto large = numbers(20000, 0), other = numbers(30000, 5);
    std::vector<std::uint64_t> places;
    for (int i = 0; i < 50; ++i) {
        if (i == 10) puts.defer(block(large));
        auto small = numbers(100, i);
        const auto one = block(small);
        places.push_back(one.at);
        puts.copy(one, encoder, recorder, profile);
        std::ranges::fill(small, -1); // the program's again
    }
    puts.defer(block(other));
    EXPECT_EQ(recorder.requests, 0);
    puts.perform(true, encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, 1);
    EXPECT_EQ(profile.data_requests, 1u);
    EXPECT_EQ(profile.data_bytes, recorder.content.size());
    EXPECT_TRUE(recorder.took(large.data(), large.size() * 8)); // these very bytes: no copy in between
    EXPECT_TRUE(recorder.took(other.data(), other.size() * 8));
    EXPECT_LE(recorder.pieces.size(), 4u); // the small ones lie together
    for (std::size_t i = 0; i < places.size(); ++i)
        expect_at(places[i], numbers(100, static_cast<double>(i)));
    expect_at(10 * 800, large);
    puts.perform(true, encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, 1); // nothing twice
}

TEST_F(Puts, CopiesTakeBoundedMemoryAndLeaveDeferredBlocksAlone)
{
    auto kept = numbers(70000, -1);
    puts.defer(block(kept));
    std::vector<std::uint64_t> places;
    for (int i = 0; i < 100; ++i) {
        auto values = numbers(100000, i); // 800 kB
        const auto one = block(values);
        places.push_back(one.at);
        puts.copy(one, encoder, recorder, profile);
        std::ranges::fill(values, -1);
        if (i == 60) puts.perform(false, encoder, recorder, profile);
        if (i < 60) {
            EXPECT_FALSE(recorder.took(kept.data(), kept.size() * 8));
        }
    }
    EXPECT_GE(recorder.requests, 80 / 20);
    EXPECT_LT(profile.data_bytes, 560000u + 100 * 800000); // some copies wait, and never more than 16 MiB
    EXPECT_GT(profile.data_bytes + (17 << 20), 560000u + 100 * 800000);
    puts.perform(true, encoder, recorder, profile);
    EXPECT_TRUE(recorder.took(kept.data(), kept.size() * 8));
    expect_at(0, kept);
    for (std::size_t i = 0; i < places.size(); ++i)
        expect_at(places[i], numbers(100000, static_cast<double>(i)));
}

// So that the store keeps it as its memory lies, and a get of it reads whole extents.
TEST_F(Puts, ABlockFrom256KiBOnIsARangeOfItsOwn)
{
    const std::size_t least = (256 << 10) / sizeof(double);
    const auto small = numbers(100, 0), below = numbers(least - 1, 1);
    const auto large = numbers(least, 2), other = numbers(least, 3);
    for (const auto* values : {&small, &below, &large, &other, &below, &small})
        puts.defer(block(*values));
    puts.perform(true, encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, 1);
    std::vector<std::uint64_t> lengths;
    for (const Range& range : recorder.all_ranges)
        lengths.push_back(range.length / sizeof(double));
    EXPECT_EQ(lengths, (std::vector<std::uint64_t>{100 + least - 1, least, least, least - 1 + 100}));
}

TEST_F(Puts, BlocksThatAreCopiedOrPutNowAreFreeAtOnce)
{
    auto large = numbers(20000, 0), small = numbers(10, 1);
    puts.copy(block(small), encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, 0);
    puts.put_now(block(large), encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, 1);
    EXPECT_TRUE(recorder.took(large.data(), large.size() * 8));
    std::ranges::fill(large, -1);
    std::ranges::fill(small, -1);
    puts.perform(true, encoder, recorder, profile);
    expect_at(0, numbers(10, 1));
    expect_at(80, numbers(20000, 0));
}

TEST_F(Puts, SpansWaitForTheEndOfTheStep)
{
    const auto values = numbers(20000, 3);
    const std::span<std::byte> span = puts.span(block(values));
    puts.perform(false, encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, 0);
    ASSERT_EQ(span.size(), values.size() * 8);
    std::memcpy(span.data(), values.data(), span.size());
    puts.perform(true, encoder, recorder, profile);
    EXPECT_TRUE(recorder.took(span.data(), span.size()));
    expect_at(0, values);
}

TEST_F(Puts, ASpanOfOneElementGoesIntoTheMetadataAndIsReadAtTheEnd)
{
    const std::uint64_t one[] = {1};
    const auto entry = encoder.add_block(id, {}, {}, one, 8);
    const std::span<std::byte> span = puts.span_element(entry, 8);
    ASSERT_EQ(span.size(), 8u);
    puts.perform(false, encoder, recorder, profile);
    const double late = 4;
    std::memcpy(span.data(), &late, 8);
    puts.perform(true, encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, 0);
    EXPECT_EQ(encoder.data_length(), 0u);
    double stored = 0;
    const Bytes metadata = encoder.finish(0); // the fixed section is its end
    std::memcpy(&stored, metadata.data() + metadata.size() - sizeof stored, sizeof stored);
    EXPECT_EQ(stored, 4);
}

TEST_F(Puts, SpansAreZerosUntilTheyAreFilledAndLieAsTheirTypeMust)
{
    const VariableId bytes_id = encoder.define("bytes", Type::uint8, ShapeKind::local_array);
    std::vector<std::span<std::byte>> spans;
    for (int time = 0; time < 2; ++time) { // the second time in memory that was used
        for (const std::size_t bytes :
             {std::size_t{3}, std::size_t{48}, std::size_t{8}, std::size_t{5 << 20}}) {
            const std::uint64_t count[] = {bytes}, at = encoder.data_length();
            const auto entry = encoder.add_block(bytes_id, {}, {}, count, bytes, false);
            spans.push_back(puts.span({at, bytes, nullptr, entry, Type::uint8, false, {}}));
        }
        for (const std::span<std::byte> one : spans) {
            EXPECT_EQ(std::ranges::count(one, std::byte{0}), static_cast<std::ptrdiff_t>(one.size()));
            const std::size_t alignment = std::min(one.size() & (0 - one.size()), std::size_t{16});
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.data()) % alignment, 0u);
            std::ranges::fill(one, std::byte{7});
        }
        puts.perform(true, encoder, recorder, profile);
        spans.clear();
    }
}

TEST_F(Puts, AfterAnErrorEverythingThatWaitsCanBeTriedAgain)
{
    const auto large = numbers(20000, 0), small = numbers(10, 1), squeezed = numbers(50000, 2);
    puts.copy(block(small), encoder, recorder, profile);
    puts.defer(block(large));
    puts.defer(block(squeezed, CompressionMethod::none));
    std::vector<double> late = numbers(100, 9);
    const std::span<std::byte> span = puts.span(block(late));
    std::memcpy(span.data(), late.data(), span.size());
    recorder.failures = 2;
    EXPECT_THROW(puts.perform(true, encoder, recorder, profile), Error);
    EXPECT_THROW(puts.perform(false, encoder, recorder, profile), Error);
    puts.perform(true, encoder, recorder, profile);
    expect_at(0, small);
    expect_at(80, large);
    expect_at(80 + 160000, squeezed);
    expect_at(80 + 160000 + 400000, late);
}

TEST_F(Puts, CompressedBlocksTakeBoundedMemory)
{
    const auto method = compression_method_names().back();
    if (method == "none") GTEST_SKIP() << "this build compresses nothing";
    std::vector<std::vector<double>> blocks;
    for (int i = 0; i < 6; ++i) {
        blocks.push_back(numbers(500000, i)); // 4 MB each
        puts.defer(block(blocks.back(), compression_method_named(method)));
    }
    puts.perform(true, encoder, recorder, profile);
    EXPECT_LT(encoder.data_length(), 12u << 20);
    EXPECT_EQ(encoder.data_length(), profile.data_bytes);
    EXPECT_EQ(recorder.content.size(), profile.data_bytes); // without gaps
}

// A block that is fetched, and how it was.
class Fetched : public Puts {
protected:
    static constexpr std::uint64_t chunk = 1 << 20;
    Fetched() { puts.put_in(Pieces(), chunk); }

    void put(const DataPuts::Block& one, bool measured = false)
    {
        puts.put_from(
            one, measured,
            [&](MutableBytes to, std::uint64_t at) {
                if (on_fetch) on_fetch();
                ++fetches;
                EXPECT_EQ(at, fetched);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to.data()) % 8, 0u);
                memory.insert(to.data() - at % 64);
                std::memcpy(to.data(), one.memory + at, to.size());
                fetched = at + to.size();
                largest = std::max(largest, to.size());
            },
            encoder, recorder, profile);
        EXPECT_EQ(std::exchange(fetched, 0), one.bytes);
    }
    MinMax extremes_of(std::uint32_t entry)
    {
        MinMax found;
        std::memcpy(found.min.bytes.data(), encoder.minmax_slot(entry), 8);
        std::memcpy(found.max.bytes.data(), encoder.minmax_slot(entry) + 8, 8);
        return found;
    }

    std::function<void()> on_fetch;
    int fetches = 0;
    std::size_t fetched = 0, largest = 0;
    std::set<const std::byte*> memory;
};

TEST_F(Fetched, ALargeBlockIsWrittenAtOnceInPiecesThatEndWithChunks)
{
    auto small = numbers(77, 1), large = numbers((19 << 20) / 8 + 5, -3);
    large[100] = std::numeric_limits<double>::quiet_NaN();
    large[2 << 20] = -700; // in another piece than the first
    large[1 << 20] = 1e9;
    puts.copy(block(small), encoder, recorder, profile);
    const auto one = block(large);
    put(one);
    EXPECT_EQ(recorder.requests, 5);
    EXPECT_EQ(profile.data_requests, 5u);
    EXPECT_EQ(profile.data_bytes, large.size() * 8);
    EXPECT_EQ(memory.size(), 2u);
    EXPECT_LE(largest, Pieces::usual);
    for (std::size_t i = 0; i + 1 < recorder.all_ranges.size(); ++i) {
        const Range& range = recorder.all_ranges[i];
        EXPECT_EQ((range.index + range.length) % chunk, 0u) << i;
        EXPECT_EQ(recorder.all_ranges[i + 1].index, range.index + range.length);
    }
    EXPECT_EQ(extremes_of(one.entry).min.as<double>(), -700);
    EXPECT_EQ(extremes_of(one.entry).max.as<double>(), 1e9);
    put(block(large)); // in the same memory
    EXPECT_EQ(memory.size(), 2u);
    const int before = recorder.requests;
    puts.perform(true, encoder, recorder, profile);
    EXPECT_EQ(recorder.requests, before + 1); // the small one
    expect_at(0, small);
    expect_at(77 * 8, large);
    expect_at(77 * 8 + large.size() * 8, large);
}

// The block begins at a byte that no number of it may begin at: pieces have whole numbers all the same.
TEST_F(Fetched, PiecesHaveWholeNumbers)
{
    const VariableId bytes_id = encoder.define("bytes", Type::uint8, ShapeKind::local_array);
    const std::uint64_t three[] = {3};
    std::vector<std::byte> odd(3);
    puts.copy({0, 3, odd.data(), encoder.add_block(bytes_id, {}, {}, three, 3, false), Type::uint8}, encoder,
              recorder, profile);
    auto large = numbers((9 << 20) / 8, 10);
    large.back() = 5;
    const auto one = block(large);
    put(one);
    EXPECT_EQ(fetches, 3);
    EXPECT_EQ(extremes_of(one.entry).min.as<double>(), 5);
    EXPECT_EQ(extremes_of(one.entry).max.as<double>(), 9 + (9 << 20) / 8 - 1);
    expect_at(3, large);
}

TEST_F(Fetched, KnownExtremesAreKept)
{
    const auto large = numbers((9 << 20) / 8, 10);
    const auto one = block(large);
    const double known[] = {-1, 2};
    std::memcpy(encoder.minmax_slot(one.entry), known, sizeof known);
    put(one, true);
    EXPECT_EQ(extremes_of(one.entry).min.as<double>(), -1);
    EXPECT_EQ(extremes_of(one.entry).max.as<double>(), 2);
}

// Each write waits until the piece after it is being fetched.
TEST_F(Fetched, APieceIsWrittenWhileTheNextOneIsFetched)
{
    std::mutex mutex;
    std::condition_variable changed;
    int begun = 0, written = 0;
    on_fetch = [&] {
        const std::lock_guard lock(mutex);
        ++begun;
        changed.notify_all();
    };
    recorder.before_write = [&] {
        std::unique_lock lock(mutex);
        const int wanted = std::min(++written + 1, 4);
        EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return begun >= wanted; }));
    };
    const auto large = numbers((16 << 20) / 8, 0);
    put(block(large));
    EXPECT_EQ(written, 4);
    expect_at(0, large);
}

TEST_F(Fetched, AFetchThatThrowsEndsThePut)
{
    const auto large = numbers((20 << 20) / 8, 0);
    for (const int last : {0, 1, 3}) {
        recorder.requests = fetches = 0;
        on_fetch = [&] {
            if (fetches == last) throw std::runtime_error("no device");
        };
        EXPECT_THROW(put(block(large)), std::runtime_error);
        fetched = 0;
        EXPECT_EQ(recorder.requests, std::max(0, last)) << "what was fetched was written";
    }
    on_fetch = nullptr;
    const std::uint64_t at = encoder.data_length();
    put(block(large)); // nothing is at work
    expect_at(at, large);
}

TEST_F(Fetched, AWriteThatFailsEndsThePut)
{
    const auto large = numbers((20 << 20) / 8, 0);
    for (const int last : {1, 3, 5}) {
        recorder.requests = fetches = 0;
        recorder.before_write = [&] {
            if (recorder.requests == last) throw Error(-DER_NOSPACE, "full");
        };
        EXPECT_THROW(put(block(large)), Error);
        fetched = 0;
        EXPECT_EQ(recorder.requests, last);
        EXPECT_EQ(fetches, std::min(last + 1, 5));
    }
}

TEST_F(Fetched, WithoutAThreadOnePieceComesAfterTheOther)
{
    EXPECT_EQ(stepstore::testing::run_in_child([&] {
                  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 2; // root has no limit
                  const rlimit none{0, 0};
                  setrlimit(RLIMIT_NPROC, &none);
                  if (CallThreads().start([] {})) return 3;
                  const auto large = numbers((20 << 20) / 8, 0);
                  put(block(large));
                  expect_at(0, large);
                  EXPECT_EQ(fetches, 5);
                  return HasFailure() ? 1 : 0;
              }),
              0);
}

TEST_F(Fetched, SmallerBlocksAreCopiedAndTakeBoundedMemory)
{
    std::vector<std::vector<double>> blocks;
    std::vector<DataPuts::Block> places;
    for (int i = 0; i < 12; ++i) {
        blocks.push_back(numbers((3 << 20) / 8, i));
        places.push_back(block(blocks.back()));
        put(places.back());
    }
    EXPECT_EQ(recorder.requests, 2); // whenever there are 16 MiB
    EXPECT_LE(memory.size(), 6u);
    puts.perform(true, encoder, recorder, profile);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        expect_at(places[i].at, blocks[i]);
        EXPECT_EQ(extremes_of(places[i].entry).max.as<double>(), blocks[i].back());
    }
}

TEST_F(Fetched, WhereAllIsKeptNothingIsWrittenBeforePerform)
{
    puts.keep_memory();
    const auto large = numbers((20 << 20) / 8, 0);
    const auto one = block(large);
    put(one);
    EXPECT_EQ(fetches, 1);
    EXPECT_EQ(recorder.requests, 0);
    puts.perform(true, encoder, recorder, profile);
    expect_at(0, large);
    EXPECT_EQ(extremes_of(one.entry).max.as<double>(), large.back());
}

TEST_F(Fetched, WhatIsCompressedIsFetchedWhole)
{
    const auto method = compression_method_names().back();
    if (method == "none") GTEST_SKIP() << "this build compresses nothing";
    const std::vector<double> large((20 << 20) / 8, 4);
    const auto one = block(large, compression_method_named(method));
    put(one);
    EXPECT_EQ(fetches, 1);
    EXPECT_EQ(extremes_of(one.entry).min.as<double>(), 4);
    puts.perform(true, encoder, recorder, profile);
    EXPECT_EQ(encoder.data_length(), recorder.content.size());
    EXPECT_LT(encoder.data_length(), 1u << 20);
}

TEST_F(Fetched, TheSumsAreThoseOfAllPieces)
{
    puts.keep_sums();
    const auto large = numbers((20 << 20) / 8 + 3, 0), small = numbers(10, 1);
    puts.copy(block(small), encoder, recorder, profile);
    put(block(large));
    puts.perform(true, encoder, recorder, profile);
    std::vector<std::byte> encoded;
    puts.sums()->encode(0, encoded);
    const std::uint64_t bytes = recorder.content.size();
    const DataSums sums = DataSums::decode(encoded, {0, bytes}, "test");
    EXPECT_FALSE(sums.mismatch(0, recorder.content));
    for (std::uint64_t at = 0; at < bytes; at += 1 << 20) {
        recorder.content[at] ^= std::byte{1};
        EXPECT_TRUE(sums.mismatch(0, recorder.content)) << at;
        recorder.content[at] ^= std::byte{1};
    }
}

} // namespace
} // namespace stepstore::steps
