// The experiment of `stepstore bench layouts`: its metadata, its points, and one rank of it.
#include "layouts/experiment.h"
#include "layouts/metadata.h"
#include "layouts/points.h"
#include "layouts/summary.h"
#include "stepstore/error.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

namespace stepstore::bench {
namespace {

TEST(MetadataSizes, OneSizeIsEveryRanks)
{
    const MetadataSizes sizes("56k");
    EXPECT_EQ(sizes.at(0, 0, 8), 56U << 10);
    EXPECT_EQ(sizes.at(7, 3, 8), 56U << 10);
    EXPECT_EQ(sizes.most(), 56U << 10);
    EXPECT_EQ(sizes.mean(), 56 << 10);
}

TEST(MetadataSizes, ARangeIsSpreadEvenlyOverStepsAndRanks)
{
    const MetadataSizes sizes("1000..2000"), again("1000..2000");
    std::uint64_t least = UINT64_MAX, most = 0, sum = 0;
    for (std::uint64_t step = 0; step < 1000; ++step) {
        for (std::uint32_t rank = 0; rank < 8; ++rank) {
            const std::uint64_t size = sizes.at(step, rank, 8);
            EXPECT_EQ(again.at(step, rank, 8), size);
            least = std::min(least, size);
            most = std::max(most, size);
            sum += size;
        }
    }
    EXPECT_GE(least, 1000U);
    EXPECT_LT(least, 1010U);
    EXPECT_LE(most, 2000U);
    EXPECT_GT(most, 1990U);
    EXPECT_NEAR(static_cast<double>(sum) / 8000, sizes.mean(), 20);
}

TEST(MetadataSizes, AFileGivesEachRankInTurnASize)
{
    const stepstore::testing::TemporaryDirectory directory;
    const std::string file = directory / "sizes";
    std::ofstream(file) << "100\n200\n1k\n";
    const MetadataSizes sizes("@" + file);
    EXPECT_EQ(sizes.at(0, 0, 2), 100U);
    EXPECT_EQ(sizes.at(0, 1, 2), 200U);
    EXPECT_EQ(sizes.at(1, 0, 2), 1024U);
    EXPECT_EQ(sizes.at(1, 1, 2), 100U);
    EXPECT_EQ(sizes.at(5, 1, 3), 200U); // as many lines as ranks: each has its own
    EXPECT_EQ(sizes.most(), 1024U);
}

TEST(MetadataSizes, WhatIsNoSizeIsRefused)
{
    const stepstore::testing::TemporaryDirectory directory;
    const std::string file = directory / "sizes";
    std::ofstream(file) << "\n";
    for (const std::string text : {"", "15", "65M", "5x", "-5", "5kk", "99999999999999999999", "200..100",
                                   "..", "1k..", "@/no/file", "18014398509481985M"})
        EXPECT_THROW(MetadataSizes{text}, std::runtime_error) << text;
    EXPECT_THROW(MetadataSizes{"@" + file}, std::runtime_error);
}

TEST(MetadataText, NoTwoAreAlike)
{
    MetadataText text(5000);
    std::set<std::string> seen;
    for (std::uint64_t step = 0; step < 50; ++step)
        for (std::uint32_t rank = 0; rank < 4; ++rank)
            for (const std::uint64_t size : {std::uint64_t{16}, std::uint64_t{5000}}) {
                const std::string one(text.text(step, rank, size));
                EXPECT_EQ(one.size(), size);
                EXPECT_TRUE(seen.insert(one).second);
                EXPECT_EQ(text.text(step, rank, size), one);
            }
}

TEST(Points, HaveEveryLayoutAndNothingThatIsRefused)
{
    const std::vector<std::string> writers = writer_points();
    const std::set<std::string> known(writers.begin(), writers.end());
    EXPECT_EQ(known.size(), writers.size());
    EXPECT_TRUE(known.contains("Layout=kv,Objects=per-writer,Steps=extend"));
    EXPECT_FALSE(known.contains("Layout=posix,Objects=per-step,Steps=extend"));
    for (const std::string& layout : steps::WriterOptions::choices("Layout"))
        EXPECT_TRUE(known.contains("Layout=" + layout + ",Objects=single,Steps=extend")) << layout;
    EXPECT_EQ(reader_points().size(), 6U); // three kinds of readers, with and without reading ahead
}

TEST(Points, AnUnknownParameterIsRefused)
{
    StreamOptions options;
    set_parameters(options, "Layout=kv,Readers=everyone,MinDeferredSize=1k");
    EXPECT_EQ(options.writer.layout, "kv");
    EXPECT_EQ(options.reader.readers, steps::Readers::everyone);
    EXPECT_THROW(set_parameters(options, "Colour=red"), std::runtime_error);
    EXPECT_THROW(set_parameters(options, "Layout"), std::runtime_error);
    EXPECT_THROW(set_parameters(options, "Layout=no"), Error);
}

// Metadata that a reader gives back, of one rank altered where `altered` says so.
class Fixed final : public StepReader {
public:
    Fixed(const Experiment& experiment, std::uint64_t steps, std::uint64_t altered)
        : experiment_(experiment), steps_(steps), altered_(altered), text_(experiment.sizes.most())
    {
    }
    bool begin_step() override { return ++begun_ <= steps_; }
    std::string_view metadata(std::uint32_t writer) override
    {
        const std::uint64_t step = begun_ - 1;
        metadata_ = text_.text(step, writer, experiment_.sizes.at(step, writer, experiment_.writers));
        if (step == altered_) metadata_.back() ^= 1;
        return metadata_;
    }
    void end_step() override {}
    void close() override {}

private:
    const Experiment& experiment_;
    std::uint64_t steps_, altered_, begun_ = 0;
    MetadataText text_;
    std::string metadata_;
};

RankTimes read_fixed(const Experiment& experiment, std::uint64_t steps, std::uint64_t altered)
{
    const auto ranks = self_communicator();
    return read_steps(experiment, *ranks, [&] { return std::make_unique<Fixed>(experiment, steps, altered); },
                      {});
}

TEST(Experiment, FindsMetadataAndStepsThatAreOther)
{
    const Experiment experiment{10, 2, MetadataSizes("100..200"), false};
    EXPECT_EQ(read_fixed(experiment, 10, UINT64_MAX).steps.size(), 10U);
    EXPECT_THROW(read_fixed(experiment, 10, 7), std::runtime_error);
    EXPECT_THROW(read_fixed(experiment, 9, UINT64_MAX), std::runtime_error);
    EXPECT_THROW(read_fixed(experiment, 11, UINT64_MAX), std::runtime_error);
}

class EachPoint : public ::testing::TestWithParam<std::string> {};

TEST_P(EachPoint, GoesThroughTheTimestepEngine)
{
    const stepstore::testing::TemporaryDirectory directory;
    const std::string location = directory / "pool";
    const Experiment experiment{12, 2, MetadataSizes("100..100k"), true};
    StreamOptions stream;
    set_parameters(stream, GetParam());
    std::atomic<unsigned> looks = 0;
    const Look look = [&] { ++looks; };
    stepstore::testing::run_ranks(2, [&](const std::shared_ptr<Communicator>& ranks) {
        const RankTimes written = write_steps(
            experiment, *ranks, [&] { return open_writer(location, stream.writer, ranks); }, look);
        const RankTimes read = read_steps(
            experiment, *ranks, [&] { return open_reader(location, stream.reader, 0, ranks); }, look);
        const auto rank = static_cast<std::uint32_t>(ranks->rank());
        std::uint64_t bytes = 0;
        for (std::uint64_t step = 0; step < 12; ++step)
            bytes += experiment.sizes.at(step, rank, 2);
        EXPECT_EQ(written.steps.size(), 12U);
        EXPECT_EQ(read.steps.size(), 12U);
        EXPECT_GT(written.metadata_bytes, bytes);
        EXPECT_LT(written.metadata_bytes, bytes + bytes / 10); // the volume is what was asked for
    });
    EXPECT_EQ(looks, 4U); // of rank 0 alone
}

std::string name_of_point(const ::testing::TestParamInfo<std::string>& point)
{
    std::string name = point.param;
    std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
    return name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, EachPoint, ::testing::ValuesIn(writer_points()), name_of_point);

Measured of(double open, std::initializer_list<double> seconds)
{
    Measured one;
    one.times.open = open;
    double begin = 100;
    for (const double each : seconds)
        one.times.steps.push_back({begin++, each, each / 4, each / 2, each / 8});
    return one;
}

TEST(Summary, TakesTheFirstStepAsAOneOffCostOfWriters)
{
    const Experiment experiment{3, 2, MetadataSizes("1000"), false};
    const Json found = stabilisation({of(5, {9, 1, 3}), of(7, {11, 2, 6})}, experiment);
    EXPECT_DOUBLE_EQ(found["mean"], 3);
    EXPECT_DOUBLE_EQ(found["most"], 6);
    EXPECT_DOUBLE_EQ(found["first"], 10);
    EXPECT_DOUBLE_EQ(found["open"], 6);
    EXPECT_DOUBLE_EQ(found["per_byte"], 0.003);
    EXPECT_DOUBLE_EQ(found["parts"]["encode"], 0.75);
    EXPECT_DOUBLE_EQ(found["whole"], (5 + 13 + 7 + 19) / 6.0);
    EXPECT_EQ(found["by_step"], (std::vector<double>{10, 1.5, 4.5}));
}

TEST(Summary, CountsAllStepsOfReadersAndWhatTheyReadWhenTheyOpen)
{
    const Experiment experiment{2, 4, MetadataSizes("1000"), false};
    const std::vector<Measured> readers = {of(6, {3, 1})};
    EXPECT_DOUBLE_EQ(acquisition(readers, experiment, false)["mean"], 2);
    EXPECT_DOUBLE_EQ(acquisition(readers, experiment, true)["mean"], 5);
    EXPECT_DOUBLE_EQ(acquisition(readers, experiment, true)["parts"]["opening"], 3);
    EXPECT_DOUBLE_EQ(acquisition(readers, experiment, false)["per_byte"], 0.0005);
}

TEST(Summary, LatencyIsFromTheLastWritersBeginning)
{
    Measured early = of(0, {1, 1}), late = of(0, {1, 1}), reader = of(0, {1, 1});
    late.times.steps[1].begin += 2;
    reader.times.steps[1].begin += 4;
    EXPECT_DOUBLE_EQ(latency({early, late}, {reader})["mean"], 3);
}

TEST(Summary, IsGatheredAsItWasMeasured)
{
    Measured one = of(5, {9, 1, 3});
    one.times.metadata_bytes = 77;
    one.targets.push_back({1, 2, 3, 4, 5, 6});
    const auto found = gather_times(*self_communicator(), one);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].times.steps[2].second, 1.5);
    EXPECT_EQ(found[0].times.metadata_bytes, 77U);
    EXPECT_EQ(found[0].targets.at(0).bytes_read, 6U);
    EXPECT_EQ(targets(found)[0]["updates"], 3);
}

} // namespace
} // namespace stepstore::bench
