// A disk fills up while a step is written. An error says so, every step before it stays, and nothing of the
// half one is seen. Played by a limit on the size of files, in a process of its own.
#include "steps/check/check.h"
#include "steps/model.h"
#include "support/processes.h"
#include "support/report.h"
#include "support/temporary.h"

#include <sys/resource.h>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_in_child;
using stepstore::testing::TemporaryDirectory;

void limit_files(rlim_t bytes)
{
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    setrlimit(RLIMIT_FSIZE, &limit);
}

class FullDisk : public ::testing::TestWithParam<std::string> {
protected:
    static constexpr std::size_t elements = 400'000; // 3.2 MB a step: not a quarter of what fits
    static constexpr rlim_t limit = 16 << 20;

    static std::vector<double> field(std::uint64_t step)
    {
        std::vector<double> values(elements);
        std::iota(values.begin(), values.end(), static_cast<double>(step) * 1e6);
        return values;
    }

    static void write_step(Writer& writer)
    {
        const std::uint64_t step = writer.begin_step();
        const auto id = writer.define("field", Type::float64, ShapeKind::global_array);
        const std::vector<double> values = field(step);
        writer.put(id, Dims{elements}, Dims{0}, Dims{elements}, values.data(), Mode::sync);
        writer.end_step();
    }

    // The step at which there was no space.
    std::uint64_t fill() const
    {
        Writer writer(location, options_of(GetParam()), self_communicator());
        write_step(writer);
        limit_files(limit);
        for (std::uint64_t step = 1; step < 1000; ++step) {
            try {
                write_step(writer);
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), -DER_NOSPACE) << error.what();
                EXPECT_NE(std::string(error.what()).find(location), std::string::npos) << error.what();
                limit_files(RLIM_INFINITY);
                EXPECT_NE(std::string(error.what()).find("step " + std::to_string(writer.steps())),
                          std::string::npos)
                    << error.what();
                EXPECT_EQ(writer.steps() + under_way(GetParam()), step);
                return writer.steps();
            }
        }
        return 0;
    }

    int fill_and_look() const
    {
        signal(SIGXFSZ, SIG_IGN);
        const std::uint64_t whole = fill();
        EXPECT_GE(whole, 2U);
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        Reader reader(location, options, self_communicator());
        EXPECT_EQ(reader.steps(), whole);
        for (std::uint64_t step = 0; step < reader.steps(); ++step) {
            std::vector<double> values(elements);
            reader.get(*reader.find("field"), Dims{0}, Dims{elements}, values.data(), Mode::sync, step);
            EXPECT_EQ(values, field(step));
        }
        const StreamReport report = check_streams(location, true);
        EXPECT_FALSE(report.damaged()) << report;
        // With space again a new stream can take its place.
        Writer writer(location, options_of(GetParam()), self_communicator());
        write_step(writer);
        writer.close();
        EXPECT_EQ(Reader(location, options, self_communicator()).steps(), 1U);
        return HasFailure() ? 1 : 0;
    }

    TemporaryDirectory directory;
    std::string location = directory / "pool";
};

TEST_P(FullDisk, EndsAStepWithAnErrorAndKeepsThoseBefore)
{
    EXPECT_EQ(run_in_child([&] { return fill_and_look(); }), 0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, FullDisk, ::testing::ValuesIn(all_designs), name_of_design);
INSTANTIATE_TEST_SUITE_P(BesideTheProgram, FullDisk, ::testing::ValuesIn(async_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing
