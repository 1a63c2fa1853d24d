// Which chunks a step of array-adaptive takes. Its places meet each target about as often as the others. A
// rank finds its own as a reader finds all. A stream whose record names no targets takes one chunk after the
// other.
#include "steps/layouts/adaptive_rows.h"

#include "base/dkey_group.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace stepstore::steps {
namespace {

constexpr std::uint64_t chunk = 256 << 10;

StreamRecord record_of(std::uint32_t ranks, std::uint32_t groups, GroupHash hash = GroupHash::stepstore)
{
    StreamRecord record;
    record.ranks = ranks;
    record.chunk_size = chunk;
    record.groups = groups;
    record.group_hash = hash;
    return record;
}

unsigned group_of(const StreamRecord& record, std::uint64_t at)
{
    return record.group_hash == GroupHash::daos ? chunk_group_on_daos(at / chunk, record.groups)
                                                : chunk_group(at / chunk, record.groups);
}

// Of the ranks that share a target with the usual rank, itself among them.
double neighbours(const StreamRecord& record, const std::vector<std::uint64_t>& places)
{
    std::map<unsigned, double> ranks;
    for (const std::uint64_t at : places)
        ++ranks[group_of(record, at)];
    double squares = 0;
    for (const auto& [group, count] : ranks)
        squares += count * count;
    return squares / static_cast<double>(places.size());
}

TEST(ChunkChoice, RanksOfAStepMeetFewOthersAtATarget)
{
    for (const GroupHash hash : {GroupHash::stepstore, GroupHash::daos}) {
        const StreamRecord record = record_of(1024, 160, hash);
        const Row row(record, 64, std::vector<std::uint64_t>(1024, 5760), {7 * chunk});
        double mean = 0;
        for (std::uint64_t step = 64; step < 84; ++step)
            mean += neighbours(record, row.places(step)) / 20;
        EXPECT_LT(mean, 8.5) << static_cast<int>(hash); // 8 share a chunk
        EXPECT_GE(mean, 8) << static_cast<int>(hash);
        // As they come, others lie on the same target: (128 - 1) * 8 / 160 more.
        StreamRecord old = record;
        old.groups = 0;
        const Row dense(old, 64, row.sizes(), row.begins());
        EXPECT_GT(neighbours(record, dense.places(64)), 11) << static_cast<int>(hash);
    }
}

TEST(ChunkChoice, ARankFindsItsSlotWhereAReaderFindsIt)
{
    for (const std::uint32_t groups : {0, 1, 4, 160})
        for (const std::uint32_t ranks : {1, 3, 40, 4000}) {
            const StreamRecord record = record_of(ranks, groups);
            std::vector<std::uint64_t> sizes;
            for (std::uint32_t rank = 0; rank < ranks; ++rank)
                sizes.push_back(64 * (rank % 700 + 2));
            const Row row(record, 8, sizes, {5 * chunk});
            const std::vector<std::uint64_t> places = row.places(9), before = row.places(8);
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                ASSERT_EQ(row.of(rank).at(9), places[rank]) << groups << " " << rank;
                ASSERT_LE(places[rank] % chunk + sizes[rank], chunk);
                const std::uint64_t end = rank == 0 ? 0 : places[rank - 1] + sizes[rank - 1];
                ASSERT_GE(places[rank], end);
            }
            EXPECT_GE(before.front(), 5 * chunk);
            EXPECT_GE(places.front(), before.back() + sizes.back());
            EXPECT_GE(row.ends().front(), row.places(row.end() - 1).back() + sizes.back());
        }
}

TEST(ChunkChoice, WithoutTargetsInTheRecordChunksFollowOneAnother)
{
    const StreamRecord record = record_of(40, 0); // three ranks in a chunk
    const Row row(record, 1, std::vector<std::uint64_t>(40, 6400), {0});
    EXPECT_EQ(row.places(1)[3], chunk);
    EXPECT_EQ(row.places(1)[39], 13 * chunk);
    EXPECT_EQ(row.places(2)[1], 14 * chunk + 6400);
}

TEST(ChunkChoice, TheHashOfDaosSpreadsEvenly)
{
    std::vector<int> chunks(10);
    for (std::uint64_t one = 0; one < 10'000; ++one)
        ++chunks[chunk_group_on_daos(one, 10)];
    EXPECT_GT(std::ranges::min(chunks), 850);
    EXPECT_LT(std::ranges::max(chunks), 1150);
    int moved = 0; // one target more takes its share, and no other chunk moves
    for (std::uint64_t one = 0; one < 10'000; ++one)
        moved += chunk_group_on_daos(one, 11) != chunk_group_on_daos(one, 10);
    EXPECT_NEAR(moved, 10'000 / 11, 150);
}

} // namespace
} // namespace stepstore::steps
