// What a field costs on a Ceph cluster, in round trips.
#include "support/rados_trips.h"
#include "fields/fixture.h"

namespace stepstore::fields::testing {
namespace {

using stepstore::testing::Counted;
using stepstore::testing::trips_of;

constexpr std::size_t small = 5000, large = 1 << 20;

class FieldTrips : public FieldsTest {};
INSTANTIATE_FIELDS(FieldTrips);

// The first fields of a process open what they need on each target, and find out what it may suppose.
void warm_up(Fields& fields)
{
    for (int step = 100; step < 140; ++step) {
        for (const std::size_t size : {small, large})
            fields.archive(collocation_key(), element_key(step, 130, static_cast<int>(size)),
                           pattern(size, 1));
        fields.flush();
    }
}

TEST_P(FieldTrips, OfALargeFieldThatIsArchived)
{
    Fields fields(make());
    warm_up(fields);
    for (int step = 0; step < 5; ++step) {
        const auto archive = [&] { fields.archive(collocation_key(), element_key(step), pattern(large, 1)); };
        EXPECT_EQ(trips_of(archive), (Counted{0, 2})) << step; // its bytes, and that they are there
    }
}

// Small ones are written together, with one page of the index for all.
TEST_P(FieldTrips, OfAFlush)
{
    Fields fields(make());
    warm_up(fields);
    for (int round = 0; round < 4; ++round) {
        const auto archive = [&] {
            for (int field = 0; field < 8; ++field)
                fields.archive(collocation_key(), element_key(8 * round + field), pattern(small, 1));
        };
        EXPECT_EQ(trips_of(archive), Counted{}) << round;
        EXPECT_EQ(trips_of([&] { fields.store.flush(false); }), (Counted{0, 1})) << round;
        EXPECT_EQ(trips_of([&] { fields.catalogue.flush(); }), (Counted{1, 1})) << round;
    }
}

TEST_P(FieldTrips, OfAFieldThatIsRetrieved)
{
    Fields fields(make());
    for (int step = 0; step < 5; ++step) {
        fields.archive(collocation_key(), element_key(step, 130), pattern(small, 1));
        fields.archive(collocation_key(), element_key(step, 131), pattern(large, 2));
        fields.archive(collocation_key(), element_key(step, 132), pattern(6 << 20, 3)); // several chunks
    }
    fields.flush();
    const auto dataset = Session::open(location, Access::read_only)->find(dataset_key());
    CatalogueReader catalogue(dataset);
    const StoreReader store(dataset);
    (void)catalogue.find(collocation_key(), element_key(0));
    (void)store.read(std::get<FieldLocation>(catalogue.find(collocation_key(), element_key(0))->location));
    for (int step = 1; step < 5; ++step) {
        for (const int param : {130, 131, 132}) {
            std::optional<Entry> entry;
            const auto find = [&](bool refresh) {
                return trips_of(
                    [&] { entry = catalogue.find(collocation_key(), element_key(step, param), refresh); });
            };
            const Counted found = find(true); // whether there is anything new
            EXPECT_EQ(found.reads, 1U) << step;
            EXPECT_EQ(find(false), Counted{}) << step;
            ASSERT_TRUE(entry);
            const auto& location = std::get<FieldLocation>(entry->location);
            const auto read = trips_of([&] { (void)store.read(location); });
            // Of a field of several chunks in a shared array: the blocks in which it begins and ends.
            const std::uint64_t most = param == 130 ? 1 : param == 131 ? 2 : 5;
            EXPECT_GE(read.reads, param == 130 ? 1U : 2U) << step;
            EXPECT_LE(read.reads, most) << step;
        }
    }
}

} // namespace
} // namespace stepstore::fields::testing
