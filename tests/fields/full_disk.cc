// A disk that fills up while fields are archived: an error that says so, what was flushed before stays, nothing of the
// rest is seen, and its space comes back. Played by a limit on the size of files, in a process of its own.
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
    // 0, or what went wrong.
    int fill() const
    {
        std::signal(SIGXFSZ, SIG_IGN);
        Fields fields(dataset(), {.asynchronous = GetParam(), .in_flight = 4 * size});
        for (int step = 0; step < 5; ++step)
            fields.archive(collocation_key(), element_key(step), pattern(size, static_cast<std::uint64_t>(step)));
        fields.flush();
        limit_files(24 << 20);
        const auto archive_more = [&] {
            for (int step = 0; step < 400; ++step)
                fields.archive(collocation_key(), element_key(step), pattern(size, 1000));
            fields.flush();
        };
        const Error error = error_of(archive_more);
        limit_files(RLIM_INFINITY);
        EXPECT_EQ(error.code(), -DER_NOSPACE) << error.what();
        // There is room again, but which of the fields are there nobody knows.
        EXPECT_ERROR(-DER_NOSPACE, fields.store.archive(pattern(100, 1)));
        EXPECT_ERROR(-DER_NOSPACE, fields.store.flush());
        EXPECT_GT(fields.catalogue.pending(), 0U);
        return HasFailure() ? 1 : 0;
    }

    TemporaryDirectory directory;
    std::string location;
};
INSTANTIATE_TEST_SUITE_P(Ways, FullDisk, ::testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "asynchronous" : "synchronous"); });

TEST_P(FullDisk, LeavesWhatWasFlushedAndNothingElse)
{
    ASSERT_EQ(run_in_child([&] { return fill(); }), 0);
    const auto now = dataset();
    ASSERT_EQ(list(now).size(), 5U);
    for (int step = 0; step < 5; ++step)
        EXPECT_EQ(retrieve(now, collocation_key(), element_key(step)), pattern(size, static_cast<std::uint64_t>(step)));
    const PurgeReport report = purge(now);
    EXPECT_GT(report.unreferenced, 0U);
    EXPECT_EQ(report.objects, report.unreferenced);
    EXPECT_EQ(arrays_in(location, now->container_label()), 5U);
    EXPECT_EQ(list(now).size(), 5U);
}

} // namespace
} // namespace stepstore::fields::testing
