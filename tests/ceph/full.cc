// A cluster that is full: every update that needs room fails at once, what was published stays, removing
// gives room, and programs go on where there is some again.
#include "fields/fixture.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/ceph_cluster.h"

namespace stepstore::testing {
namespace {

using fields::testing::collocation_key;
using fields::testing::dataset_key;
using fields::testing::element_key;
using fields::testing::Fields;
using fields::testing::pattern;

constexpr double at_once = 2; // seconds

class FullCluster : public ::testing::Test {
protected:
    // The OSDs tell the monitor, and that the clients.
    void fill() const
    {
        cluster.tell("full", "0.000001");
        sleep_for(3);
    }
    void make_room() const
    {
        cluster.tell("full", "0.95");
        sleep_for(3);
    }

    CephCluster cluster{"--osds 2"};
};

template <class Action>
void expect_full(const char* what, Action action)
{
    Error error(0, "");
    EXPECT_LT(seconds_of([&] { error = error_of(action); }), at_once) << what;
    EXPECT_EQ(error.code(), -DER_NOSPACE) << what << ": " << error.what();
    EXPECT_NE(std::string(error.what()).find("full"), std::string::npos) << error.what();
}

void write_step(steps::Writer& writer, std::uint64_t value)
{
    writer.begin_step();
    const std::vector<std::uint64_t> values(100000, value);
    const std::uint64_t shape[] = {values.size()}, start[] = {0};
    writer.put(writer.define("x", steps::Type::uint64, steps::ShapeKind::global_array), shape, start, shape,
               values.data());
    writer.end_step();
}

std::uint64_t steps_in(const std::string& location)
{
    steps::Reader reader(location, {}, self_communicator());
    std::uint64_t count = 0;
    for (; reader.begin_step(0) == steps::StepStatus::ok; reader.end_step()) {
        std::vector<std::uint64_t> values(100000);
        const std::uint64_t start[] = {0}, shape[] = {values.size()};
        reader.get(reader.find("x").value(), start, shape, values.data(), steps::Mode::sync);
        EXPECT_EQ(values, std::vector<std::uint64_t>(values.size(), count));
        ++count;
    }
    return count;
}

TEST_F(FullCluster, RefusesWhatNeedsRoomAndKeepsAndReadsTheRest)
{
    run_user("", [&] {
        const std::string location = "rados://test/all";
        const Pool pool = Pool::connect_or_create(location);
        Container box = pool.create_container("box");
        KeyValue keys = box.key_value(box.object_id(1, 0, ObjectType::key_value));
        Array array = box.create_array(box.object_id(2, 0, ObjectType::array), {1, 1 << 20});
        const auto small = pattern(1000, 1), large = pattern(3 << 20, 2);
        keys.put("small", small);
        keys.put("large", large);
        array.write(0, large);
        auto writer =
            std::make_unique<steps::Writer>(location + "/run", steps::WriterOptions{}, self_communicator());
        write_step(*writer, 0);
        fields::testing::create_pool("rados://test/fields", "rados");
        Fields archive(
            fields::Session::open("rados://test/fields", Access::read_write)->create(dataset_key()));
        archive.archive(collocation_key(), element_key(0), large);
        archive.flush();

        pool.create_container("unneeded");
        const auto snapshot = box.create_snapshot("unneeded");

        fill();
        for (int round = 0; round < 3; ++round) {
            const std::string key = std::to_string(round);
            expect_full("a small value", [&] { keys.put(key, small); });
            expect_full("a large value", [&] { keys.put(key, large); });
            expect_full("a longer value", [&] { keys.put("small", pattern(2000, 1)); });
            expect_full("cells", [&] { array.write(8 << 20, small); });
            expect_full("many cells", [&] { array.write(0, pattern(3 << 20, 7)); });
        }
        expect_full("a container", [&] { pool.create_container("other"); });
        expect_full("a pool", [] { Pool::create("rados://test/other"); });
        expect_full("a step", [&] { write_step(*writer, 1); });
        expect_full("a field", [&] {
            archive.archive(collocation_key(), element_key(1), small);
            archive.flush();
        });
        EXPECT_EQ(keys.get("small"), small);
        EXPECT_EQ(keys.get("large"), large);
        EXPECT_EQ(keys.list().size(), 2U);
        std::vector<std::byte> cells(large.size());
        array.read(0, cells);
        EXPECT_EQ(cells, large);
        EXPECT_EQ(steps_in(location + "/run"), 1U);
        EXPECT_EQ(fields::testing::retrieve(archive.dataset, collocation_key(), element_key(0)), large);
        // What takes less room is done.
        box.destroy_snapshot(snapshot);
        EXPECT_TRUE(box.snapshots().empty());
        pool.destroy_container("unneeded");
        EXPECT_EQ(pool.containers().size(), 2U);
        EXPECT_TRUE(keys.remove("large"));
        keys.put("small", pattern(1000, 9));

        make_room();
        keys.put("after", large);
        EXPECT_EQ(keys.get("after"), large);
        EXPECT_EQ(keys.list().size(), 2U);
        array.write(8 << 20, small);
        writer->close();
        steps::WriterOptions appending;
        appending.append = true;
        writer = std::make_unique<steps::Writer>(location + "/run", appending, self_communicator());
        write_step(*writer, 1);
        writer->close();
        EXPECT_EQ(steps_in(location + "/run"), 2U);
        archive.archive(collocation_key(), element_key(2), large);
        archive.flush();
        EXPECT_EQ(fields::testing::retrieve(archive.dataset, collocation_key(), element_key(2)), large);
    });
}

TEST_F(FullCluster, LetsAPoolBeDestroyed)
{
    run_user("", [&] {
        Pool::create("rados://test/gone");
        fill();
        Pool::destroy("rados://test/gone");
        EXPECT_EQ(error_of([] { Pool::connect("rados://test/gone", Access::read_only); }).code(),
                  -DER_NONEXIST);
        make_room();
        Pool::create("rados://test/gone");
    });
}

} // namespace
} // namespace stepstore::testing
