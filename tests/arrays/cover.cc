// Whether blocks make up an array, compared with counting every element.
#include "arrays/model.h"

namespace stepstore::arrays::testing {
namespace {

// How often the blocks have each element: 1 everywhere?
bool covers(const Extents& shape, unsigned dimensions, const std::vector<Box>& blocks)
{
    std::vector<int> times(volume(shape, dimensions));
    for (std::uint64_t i = 0; i < times.size(); ++i) {
        Extents at{};
        std::uint64_t rest = i;
        for (unsigned d = dimensions; d-- > 0;) {
            at[d] = rest % shape[d];
            rest /= shape[d];
        }
        for (const Box& box : blocks) {
            bool in = true;
            for (unsigned d = 0; d < dimensions; ++d)
                in = in && at[d] >= box.start[d] && at[d] < box.start[d] + box.count[d];
            times[i] += in ? 1 : 0;
        }
    }
    return std::ranges::all_of(times, [](int n) { return n == 1; });
}

TEST(Cover, FindsEveryOverlapAndEveryGap)
{
    std::mt19937 random(1);
    int sound = 0;
    for (int round = 0; round < 3000; ++round) {
        const unsigned dimensions = 1 + below(random, 4);
        Extents shape{};
        for (unsigned d = 0; d < dimensions; ++d)
            shape[d] = 1 + below(random, 6);
        std::vector<Box> blocks = decomposition(shape, dimensions, 1 + below(random, 6), random);
        if (below(random, 2) == 0) { // one of them moved, or larger, or smaller
            Box& box = blocks[below(random, blocks.size())];
            const unsigned d = below(random, dimensions);
            if (below(random, 2) == 0 && box.start[d] > 0) --box.start[d];
            if (below(random, 2) == 0 && box.start[d] + box.count[d] < shape[d]) ++box.count[d];
            if (below(random, 2) == 0 && box.count[d] > 0) --box.count[d];
        }
        const bool whole = covers(shape, dimensions, blocks);
        bool accepted = true;
        try {
            require_cover({Order::row_major, dimensions}, shape, blocks);
        } catch (const Error& error) {
            accepted = false;
            EXPECT_EQ(error.code(), -DER_INVAL);
        }
        ASSERT_EQ(accepted, whole) << "round " << round;
        sound += whole ? 1 : 0;
    }
    EXPECT_GT(sound, 500);
}

TEST(Cover, SaysWhatIsWrongInTheProgramsOrder)
{
    const Naming c{Order::row_major, 2};
    const Naming fortran{Order::column_major, 2};
    const Extents shape{4, 6};
    const std::vector<Box> overlapping{{{0, 0}, {4, 4}}, {{0, 3}, {4, 3}}};
    expect_error(-DER_INVAL, {"rank 0, [0:4, 0:4]", "rank 1, [0:4, 3:6]", "overlap in [0:4, 3:4]"},
                 [&] { require_cover(c, shape, overlapping); });
    expect_error(-DER_INVAL, {"rank 1, (4:6, 1:4)"}, [&] { require_cover(fortran, shape, overlapping); });
    const std::vector<Box> gap{{{0, 0}, {4, 4}}, {{}, {}}, {{1, 4}, {3, 2}}};
    expect_error(-DER_INVAL, {"no rank's block covers [0:1, 4:6]", "2 elements", "{4, 6}", "rank 1"},
                 [&] { require_cover(c, shape, gap); });
    const std::vector<Box> outside{{{0, 0}, {4, 6}}, {{2, 5}, {1, 2}}};
    expect_error(-DER_INVAL, {"rank 1: dimension 1: the block begins at 5 and has 2 elements", "has 6"},
                 [&] { require_cover(c, shape, outside); });
    expect_error(-DER_INVAL, {"rank 1: dimension 1: the block begins at 6"},
                 [&] { require_cover(fortran, shape, outside); });
}

// As many ranks as a large job has.
TEST(Cover, OfManyRanks)
{
    constexpr unsigned parts = 16;
    const Extents shape{parts * 8, parts * 8, parts * 8};
    std::vector<Box> blocks;
    for (std::uint64_t x = 0; x < parts; ++x)
        for (std::uint64_t y = 0; y < parts; ++y)
            for (std::uint64_t z = 0; z < parts; ++z)
                blocks.push_back({{x * 8, y * 8, z * 8}, {8, 8, 8}});
    const Naming naming{Order::row_major, 3};
    require_cover(naming, shape, blocks);
    blocks[1234].count[1] = 7;
    expect_error(-DER_INVAL, {"64 elements"}, [&] { require_cover(naming, shape, blocks); });
}

} // namespace
} // namespace stepstore::arrays::testing
