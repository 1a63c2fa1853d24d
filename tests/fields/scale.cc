// Many fields, many datasets.
#include "fields/fixture.h"

#include <fstream>

namespace stepstore::fields::testing {
namespace {

// Of its own: the store's mapped files are not in it.
std::uint64_t resident_bytes()
{
    std::uint64_t total = 0, resident = 0, shared = 0;
    std::ifstream("/proc/self/statm") >> total >> resident >> shared;
    return (resident - shared) * 4096;
}

class Scale : public ::testing::Test {
protected:
    Scale() : location(new_pool(directory)) { create_pool(location, default_backend()); }
    ~Scale() override { Session::release(); }

    // Of all targets, ever.
    std::uint64_t fetches() const
    {
        std::uint64_t sum = 0;
        for (const TargetInfo& target : describe_pool(location).targets)
            sum += target.fetches;
        return sum;
    }

    TemporaryDirectory directory;
    std::string location;
};

TEST_F(Scale, AHundredThousandFieldsInADataset)
{
    constexpr int steps = 20, levels = 50, params = 100;
    const auto dataset = Session::open(location, Access::read_write)->create(dataset_key());
    Fields fields(dataset);
    const auto data = pattern(100, 1);
    for (int step = 0; step < steps; ++step) {
        for (int param = 0; param < params; ++param)
            for (int level = 0; level < levels; ++level)
                fields.archive(collocation_key(step % 2), element_key(step, param, level), data);
        fields.flush();
    }
    Session::release();
    const auto reading = Session::open(location, Access::read_only)->find(dataset_key());
    // Not a request per field: the pool counts them.
    const std::uint64_t before = fetches();
    std::uint64_t count = 0;
    Listing listing(reading, {});
    for (ListedField field; listing.next(field);)
        ++count;
    EXPECT_EQ(count, steps * levels * params);
    EXPECT_LT(fetches() - before, 1000U);
    // Pages of other steps are not read.
    const std::uint64_t at_step = fetches();
    EXPECT_EQ(list(reading, {{"step", {"7"}}}).size(), levels * params);
    EXPECT_LT(fetches() - at_step, 60U);
    EXPECT_EQ(retrieve(reading, collocation_key(1), element_key(19, 99, 49)), data);
}

TEST_F(Scale, ListingTakesMemoryOfItsPagesAtHandOnly)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer keeps memory of its own for all that was touched";
#endif
    const auto dataset = Session::open(location, Access::read_write)->create(dataset_key());
    CatalogueWriter catalogue(dataset);
    const std::string place(200, 'x'); // 60 MB of index in all
    for (int page = 0; page < 10; ++page) {
        for (int i = 0; i < 30000; ++i)
            catalogue.archive(collocation_key(), element_key(page, i), place + std::to_string(i));
        catalogue.flush(false);
    }
    const std::uint64_t before = resident_bytes();
    std::uint64_t count = 0;
    Listing listing(dataset, {});
    for (ListedField field; listing.next(field);)
        ++count;
    EXPECT_EQ(count, 300000U);
    EXPECT_LT(resident_bytes() - std::min(before, resident_bytes()), 25U << 20);
}

TEST_F(Scale, FourHundredDatasetsInAPool)
{
    const auto session = Session::open(location, Access::read_write);
    for (int i = 0; i < 400; ++i) {
        Fields fields(session->create(dataset_key(std::to_string(i))));
        fields.archive(collocation_key(), element_key(1), pattern(1000, static_cast<std::uint64_t>(i)));
        fields.store.flush(false);
        fields.catalogue.flush(false);
    }
    session->pool().sync();
    Session::release();
    const auto reading = Session::open(location, Access::read_only);
    std::set<std::string> found;
    reading->datasets(
        {}, [&](const DatasetEntry& entry) { return found.insert(*entry.key.find("expver")).second; });
    EXPECT_EQ(found.size(), 400U);
    std::size_t some = 0;
    reading->datasets({{"expver", {"7", "70", "500"}}}, [&](const DatasetEntry&) { return ++some > 0; });
    EXPECT_EQ(some, 2U);
    for (int i = 0; i < 400; i += 57)
        EXPECT_EQ(retrieve(reading->find(dataset_key(std::to_string(i))), collocation_key(), element_key(1)),
                  pattern(1000, static_cast<std::uint64_t>(i)));
}

} // namespace
} // namespace stepstore::fields::testing
