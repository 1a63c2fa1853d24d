// Several processes on one dataset, killed at any moment.
#include "support/processes.h"
#include "fields/fixture.h"

#include <atomic>
#include <random>
#include <sys/mman.h>

namespace stepstore::fields::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::start_child;

constexpr std::size_t large = 150000;
constexpr std::size_t small = 900;

struct Shared {
    std::atomic<std::uint64_t> flushed[8];
    std::atomic<bool> go;
    std::atomic<bool> stop;
};

// The bytes of a field say who wrote it, in which round.
std::vector<std::byte> data_of(int writer, std::uint64_t round, int step)
{
    auto data = pattern(step % 2 == 0 ? large : small, static_cast<std::uint64_t>(writer) << 40 |
                                                           round << 10 | static_cast<std::uint64_t>(step));
    data[0] = static_cast<std::byte>(writer);
    data[1] = static_cast<std::byte>(round & 0xff);
    data[2] = static_cast<std::byte>(round >> 8);
    return data;
}

bool is_whole(const std::vector<std::byte>& data, int step, int* writer = nullptr,
              std::uint64_t* round = nullptr)
{
    if (data.size() < 3) return false;
    const int who = static_cast<int>(data[0]);
    const auto when = static_cast<std::uint64_t>(data[1]) | static_cast<std::uint64_t>(data[2]) << 8;
    if (writer != nullptr) *writer = who;
    if (round != nullptr) *round = when;
    return data == data_of(who, when, step);
}

class Processes : public ::testing::Test {
protected:
    Processes() : location(new_pool(directory))
    {
        create_pool(location, default_backend());
        void* memory =
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
        shared = new (memory) Shared{};
    }
    ~Processes() override
    {
        Session::release();
        EXPECT_EQ(pool_damage(location), "");
        munmap(shared, sizeof(Shared));
    }
    std::shared_ptr<Dataset> make() const
    {
        return Session::open(location, Access::read_write)->create(dataset_key());
    }

    TemporaryDirectory directory;
    std::string location;
    Shared* shared = nullptr;
};

TEST_F(Processes, WritersOfTheirOwnFieldsMakeTheDatasetTogether)
{
    constexpr int writers = 4, steps = 50;
    std::vector<pid_t> children;
    for (int writer = 0; writer < writers; ++writer)
        children.push_back(start_child([&, writer] {
            while (!shared->go)
                usleep(100);
            Fields fields(make());
            for (int step = 0; step < steps; ++step) {
                fields.archive(collocation_key(writer % 2), element_key(step, 130 + writer),
                               data_of(writer, 0, step));
                if (step % 10 == 9) fields.flush();
            }
            return 0;
        }));
    shared->go = true;
    for (const pid_t child : children)
        ASSERT_EQ(end_of(child), 0);
    const auto dataset = make();
    EXPECT_EQ(list(dataset).size(), writers * steps);
    for (int writer = 0; writer < writers; ++writer)
        for (int step = 0; step < steps; ++step)
            ASSERT_EQ(retrieve(dataset, collocation_key(writer % 2), element_key(step, 130 + writer)),
                      data_of(writer, 0, step));
    std::size_t datasets = 0;
    Session::open(location, Access::read_write)->datasets({}, [&](const DatasetEntry&) {
        return ++datasets > 0;
    });
    EXPECT_EQ(datasets, 1U);
    EXPECT_TRUE(purge_pool(*Session::open(location, Access::read_write)).empty());
}

// Two processes replace the same fields again and again, and purges run now and then. Readers always get one
// of the fields, whole. They never get an older round of a writer after a newer one.
TEST_F(Processes, ReplacingIsAtomicForReaders)
{
    constexpr int fields_each = 6;
    {
        Fields fields(make());
        for (int step = 0; step < fields_each; ++step)
            fields.archive(collocation_key(), element_key(step), data_of(0, 0, step));
        fields.flush();
    }
    Session::release();
    std::vector<pid_t> writers, readers;
    for (int writer = 0; writer < 2; ++writer)
        writers.push_back(start_child([&, writer] {
            Fields fields(make());
            for (std::uint64_t round = 1; round <= 60; ++round) {
                for (int step = 0; step < fields_each; ++step)
                    fields.archive(collocation_key(), element_key(step), data_of(writer, round, step));
                fields.flush();
                shared->flushed[writer] = round;
            }
            return 0;
        }));
    for (int reader = 0; reader < 2; ++reader)
        readers.push_back(start_child([&, reader] {
            const auto dataset = make();
            std::map<std::pair<int, int>, std::uint64_t> last;
            const auto check = [&](int step, const std::vector<std::byte>& data) {
                int writer = 0;
                std::uint64_t round = 0;
                if (!is_whole(data, step, &writer, &round)) throw std::runtime_error("a torn field");
                auto& newest = last[{writer, step}];
                if (round < newest) throw std::runtime_error("an older field after a newer one");
                newest = round;
            };
            for (std::uint64_t loop = 0; !shared->stop; ++loop) {
                for (int step = 0; step < fields_each; ++step) {
                    try {
                        const auto data = retrieve(dataset, collocation_key(), element_key(step));
                        if (!data) throw std::runtime_error("a field is missing");
                        check(step, *data);
                    } catch (const Error& error) { // replaced, and purged, between the look-up and the read
                        if (error.code() != -DER_STALE) throw;
                    }
                }
                if (list(dataset).size() != fields_each)
                    throw std::runtime_error("the listing is not complete");
                if (loop % 5 == static_cast<std::uint64_t>(4 * reader))
                    purge(dataset); // at times both at once
            }
            return 0;
        }));
    for (const pid_t child : writers)
        EXPECT_EQ(end_of(child), 0);
    shared->stop = true;
    for (const pid_t child : readers)
        EXPECT_EQ(end_of(child), 0);
    const auto dataset = make();
    int writer = 0;
    std::uint64_t round = 0;
    for (int step = 0; step < fields_each; ++step) {
        const auto data = retrieve(dataset, collocation_key(), element_key(step));
        ASSERT_TRUE(data && is_whole(*data, step, &writer, &round));
        EXPECT_EQ(round, 60U);
    }
    purge(dataset);
    const Statistics statistics = fields::statistics(dataset);
    EXPECT_EQ(statistics.fields, fields_each);
    EXPECT_EQ(statistics.masked_fields, 0U);
}

// What was flushed is there, what was not is not, and its space comes back.
TEST_F(Processes, KilledWritersLeaveWhatTheyFlushedAndNothingElse)
{
    std::mt19937 random(20261122u);
    constexpr int per_flush = 7;
    std::map<int, std::uint64_t> done; // by writer
    PurgeOptions dry;
    dry.dry_run = true;
    // On a busy machine none of them may have been killed before a flush. Then some more are.
    for (int writer = 0; writer < 25 || (writer < 150 && purge(make(), dry).objects == 0); ++writer) {
        shared->flushed[0] = 0;
        const pid_t child = start_child([&, writer] {
            Fields fields(make(), {.asynchronous = writer % 2 == 1});
            for (std::uint64_t round = 0;; ++round) {
                for (int step = 0; step < per_flush; ++step)
                    fields.archive(collocation_key(writer), element_key(step, static_cast<int>(round)),
                                   data_of(writer, round, step));
                fields.flush();
                shared->flushed[0] = round + 1;
            }
            return 0;
        });
        while (shared->flushed[0] < 1 + random() % 3)
            usleep(50);
        usleep(static_cast<useconds_t>(random() % 3000));
        ASSERT_EQ(kill(child, SIGKILL), 0);
        ASSERT_EQ(end_of(child), -SIGKILL);
        done[writer] = shared->flushed[0];
    }
    const auto dataset = make();
    const auto verify = [&] {
        for (const auto& [writer, rounds] : done) {
            std::uint64_t listed = 0;
            Listing listing(dataset, collocation_key(writer), {});
            for (ListedField field; listing.next(field); ++listed) {
                const auto round = std::stoull(*field.element.find("param"));
                const int step = std::stoi(*field.element.find("step"));
                ASSERT_EQ(StoreReader(dataset).read(std::get<FieldLocation>(field.entry.location)),
                          data_of(writer, round, step));
            }
            // The last flush may have been published before it could be told.
            EXPECT_EQ(listed % per_flush, 0U);
            EXPECT_GE(listed, rounds * per_flush);
            EXPECT_LE(listed, (rounds + 1) * per_flush);
        }
    };
    verify();
    const PurgeReport expected = purge(dataset, dry);
    const PurgeReport report = purge(dataset);
    EXPECT_EQ(report.objects, expected.objects);
    EXPECT_EQ(report.unreferenced, report.objects);
    EXPECT_GT(report.unreferenced, 0U);
    verify();
    EXPECT_EQ(purge(dataset).objects, 0U);
    EXPECT_LE(fields::statistics(dataset).writers,
              1U); // this process's own, where the purge had pages to merge
}

} // namespace
} // namespace stepstore::fields::testing
