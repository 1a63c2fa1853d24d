// A disk fills up while fields are archived. An error says so, what was flushed before stays, nothing of the
// rest is seen, and its space comes back. A program that goes on once there is room loses nothing that it
// archived. Played by a limit on the size of files, in a process of its own.
#include "base/files.h"
#include "fields/fixture.h"
#include "support/damage.h"
#include "support/full_device.h"
#include "support/processes.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace stepstore::fields::testing {
namespace {

using stepstore::testing::files_with;
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

// Only a sync fails: see support/full_device.h.
class FullDevice : public ::testing::TestWithParam<std::size_t> {
protected:
    void SetUp() override
    {
        if (!device.usable()) GTEST_SKIP() << "there is no tmpfs, ext4 or loop device here, or no root";
        create_pool(location, "lmdb");
    }
    ~FullDevice() override { Session::release(); }
    void make_anew() const
    {
        Session::release();
        ASSERT_EQ(stepstore_pool_destroy(location.c_str()), 0);
        create_pool(location, "lmdb");
    }
    std::vector<std::byte> content(int step) const
    {
        return pattern(GetParam(), static_cast<std::uint64_t>(step));
    }
    void archive(Fields& fields, int from, int end) const
    {
        for (int step = from; step < end; ++step)
            fields.archive(collocation_key(), element_key(step), content(step));
    }
    int flush_first() const
    {
        Fields fields(Session::open(location, Access::read_write)->create(dataset_key()));
        archive(fields, 0, each);
        fields.flush();
        return 0;
    }
    std::shared_ptr<Dataset> dataset(Access access) const
    {
        return Session::open(location, access)->find(dataset_key());
    }

    stepstore::testing::FullDevice device;
    const std::string location = device.disk() + "/pool";
    const int each = std::max(5, (3 << 20) / static_cast<int>(GetParam())); // fields of a flush
};
INSTANTIATE_TEST_SUITE_P(Sizes, FullDevice, ::testing::Values(300, 20000, 1 << 20));

TEST_P(FullDevice, LosesNothingOfWhoFlushesAgain)
{
    ASSERT_EQ(run_in_child([&] { return flush_first(); }), 0);
    ASSERT_TRUE(device.take_all_room());
    const auto second = [&] {
        Fields fields(dataset(Access::read_write));
        archive(fields, each, 2 * each);
        for (int tries = 0; tries < 2; ++tries) { // the second has something to write again, and no room
            const Error error = error_of([&] { fields.flush(); });
            EXPECT_EQ(error.code(), -DER_NOSPACE) << error.what();
        }
        device.give_room();
        fields.flush();
        return HasFailure() ? 1 : 0;
    };
    EXPECT_EQ(run_in_child(second), 0);
    ASSERT_TRUE(device.mount_again());
    const auto now = dataset(Access::read_only);
    ASSERT_TRUE(now);
    EXPECT_EQ(list(now).size(), static_cast<std::size_t>(2 * each));
    int lost = 0;
    for (int step = 0; step < 2 * each; ++step)
        if (retrieve(now, collocation_key(), element_key(step)) != content(step)) ++lost;
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(pool_damage(location), "");
}

// As under a catalogue of another kind. written_back: the system writes all files back while there is no
// room, as it does after some seconds. Then the failure of a file that a flush had not come to yet is told
// once there is room, by the flush after it.
TEST_P(FullDevice, LosesNothingOfAStoreThatFlushesAgain)
{
    for (const bool written_back : {false, true}) {
        SCOPED_TRACE(written_back ? "written back" : "not written back");
        if (written_back) make_anew();
        ASSERT_EQ(run_in_child([&] { return flush_first(); }), 0);
        ASSERT_TRUE(device.take_all_room());
        const std::string names = device.beside() / "locations";
        const auto second = [&] {
            StoreWriter store(dataset(Access::read_write));
            std::ofstream out(names);
            for (int step = 0; step < each; ++step) {
                const FieldLocation one = store.archive(content(step));
                out << one.object << ' ' << one.offset << ' ' << one.length << '\n';
            }
            if (written_back) device.write_back();
            EXPECT_EQ(error_of([&] { store.flush(); }).code(), -DER_NOSPACE);
            device.give_room();
            if (written_back)
                for (int tries = 0; tries < 3; ++tries) // extents, indices, the pool's metadata
                    (void)error_of([&] { store.flush(); });
            store.flush();
            return HasFailure() ? 1 : 0;
        };
        ASSERT_EQ(run_in_child(second), 0);
        ASSERT_TRUE(device.mount_again());
        const StoreReader reader(dataset(Access::read_only));
        std::ifstream in(names);
        int read = 0;
        for (FieldLocation one; in >> one.object >> one.offset >> one.length; ++read)
            EXPECT_TRUE(reader.read(one) == content(read)) << read;
        EXPECT_EQ(read, each);
    }
}

TEST_P(FullDevice, IsReportedAsALossWhereTheSystemHasDroppedWhatItDidNotWrite)
{
    ASSERT_EQ(run_in_child([&] { return flush_first(); }), 0);
    ASSERT_TRUE(device.take_all_room());
    const auto second = [&] {
        Fields fields(dataset(Access::read_write));
        archive(fields, each, 2 * each);
        EXPECT_EQ(error_of([&] { fields.flush(); }).code(), -DER_NOSPACE);
        device.give_room();
        for (const auto& file : files_with(location, ".ext")) {
            const Descriptor fd = open_file(file.string(), O_RDONLY);
            EXPECT_EQ(posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
        }
        for (int tries = 0; tries < 2; ++tries)
            EXPECT_EQ(error_of([&] { fields.flush(); }).code(), -DER_CSUM);
        return HasFailure() ? 1 : 0;
    };
    EXPECT_EQ(run_in_child(second), 0);
}

} // namespace
} // namespace stepstore::fields::testing
