// A disk fills up while fields are archived. An error says so, what was flushed before stays, nothing of the
// rest is seen, and its space comes back. A program that goes on once there is room loses nothing that it
// archived. Played by a limit on the size of files, in a process of its own.
#include "fields/fixture.h"
#include "support/processes.h"

#include <csignal>
#include <sys/resource.h>

namespace stepstore::fields::testing {
namespace {

using stepstore::testing::run_in_child;

constexpr std::size_t size = 1 << 20;

void limit_files(rlim_t bytes)
{
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    setrlimit(RLIMIT_FSIZE, &limit);
}

class FullDisk : public ::testing::TestWithParam<bool> {
protected:
    FullDisk() : location(directory / "pool") { create_pool(location, "lmdb"); }
    ~FullDisk() override { Session::release(); }
    std::shared_ptr<Dataset> dataset() const
    {
        return Session::open(location, Access::read_write)->create(dataset_key());
    }
    // Archives until the disk is full, and then, given_up, no more.
    int fill(std::size_t bytes, bool given_up) const
    {
        std::signal(SIGXFSZ, SIG_IGN);
        Fields fields(dataset(), {.asynchronous = GetParam(), .in_flight = 4 * size});
        const auto archive = [&](int step) {
            fields.archive(collocation_key(), element_key(step),
                           pattern(bytes, static_cast<std::uint64_t>(step)));
        };
        int step = 0;
        for (; step < flushed; ++step)
            archive(step);
        fields.flush();
        limit_files(24 << 20);
        const Error error = error_of([&] {
            for (; step < 100000; ++step)
                archive(step);
            fields.flush();
        });
        EXPECT_EQ(error.code(), -DER_NOSPACE) << error.what();
        EXPECT_GT(fields.catalogue.pending(), 0U);
        if (!given_up) {
            limit_files(RLIM_INFINITY);
            const int lost = step; // its archive() threw
            for (++step; step < lost + 10; ++step)
                archive(step);
            fields.flush();
            EXPECT_EQ(list(fields.dataset).size(), static_cast<std::size_t>(step - 1));
            for (int one = 0; one < step; ++one) {
                if (one == lost) continue;
                EXPECT_EQ(retrieve(fields.dataset, collocation_key(), element_key(one)),
                          pattern(bytes, static_cast<std::uint64_t>(one)));
            }
        }
        limit_files(RLIM_INFINITY);
        return HasFailure() ? 1 : 0;
    }

    static constexpr int flushed = 5;
    TemporaryDirectory directory;
    std::string location;
};
INSTANTIATE_TEST_SUITE_P(Ways, FullDisk, ::testing::Bool(), [](const auto& info) {
    return std::string(info.param ? "asynchronous" : "synchronous");
});

TEST_P(FullDisk, LeavesWhatWasFlushedAndNothingElse)
{
    ASSERT_EQ(run_in_child([&] { return fill(size, true); }), 0);
    const auto now = dataset();
    ASSERT_EQ(list(now).size(), 5U);
    for (int step = 0; step < 5; ++step)
        EXPECT_EQ(retrieve(now, collocation_key(), element_key(step)),
                  pattern(size, static_cast<std::uint64_t>(step)));
    const PurgeReport report = purge(now);
    EXPECT_GT(report.unreferenced, 0U);
    EXPECT_EQ(report.objects, report.unreferenced);
    EXPECT_EQ(arrays_in(location, now->container_label()), 5U);
    EXPECT_EQ(list(now).size(), 5U);
}

TEST_P(FullDisk, LosesNothingOfWhoGoesOn)
{
    EXPECT_EQ(run_in_child([&] { return fill(size, false); }), 0);
}

TEST_P(FullDisk, LosesNothingOfSmallFields)
{
    EXPECT_EQ(run_in_child([&] { return fill(20000, false); }), 0);
}

} // namespace
} // namespace stepstore::fields::testing
