// Fields in a pool in files, on a machine that has old bytes of them: only bytes that stay wrong are damaged.
#include "support/old_bytes.h"
#include "fields/fixture.h"

namespace stepstore::fields::testing {
namespace {

TEST(FieldsOfOldBytes, AreReadAgainBeforeTheyAreCalledDamaged)
{
    const TemporaryDirectory directory;
    const std::string pool = directory / "pool", location = "shared:" + pool;
    stepstore::testing::OldBytes old;
    constexpr int each = 4;
    const auto content = [](int step) {
        return pattern(step % 2 == 0 ? 300'000 : 9'000, static_cast<std::uint64_t>(step));
    };
    {
        create_pool(location, "files");
        Fields fields(Session::open(location, Access::read_write)->create(dataset_key()));
        for (int step = 0; step < each; ++step)
            fields.archive(collocation_key(), element_key(step), content(step));
        fields.flush();
    }
    Session::release();
    bool together = false; // one after the other, and many at once
    const auto read = [&] {
        together = !together;
        const Error error = error_of([&] {
            const auto dataset = Session::open(location, Access::read_only)->find(dataset_key());
            if (!dataset) throw Error(-DER_CSUM, "there is no dataset");
            std::vector<FieldLocation> locations;
            std::vector<std::vector<std::byte>> found;
            for (int step = 0; step < each; ++step) {
                const auto entry = CatalogueReader(dataset).find(collocation_key(), element_key(step));
                if (!entry) throw Error(-DER_CSUM, "there is no field");
                locations.push_back(std::get<FieldLocation>(entry->location));
                ASSERT_TRUE(locations.back().checksum);
                found.emplace_back(locations.back().length);
            }
            const StoreReader store(dataset);
            const std::vector<MutableBytes> memory(found.begin(), found.end());
            if (together) {
                store.read(locations, memory);
            } else {
                for (int step = 0; step < each; ++step)
                    store.read(locations[static_cast<std::size_t>(step)],
                               memory[static_cast<std::size_t>(step)]);
            }
            for (int step = 0; step < each; ++step)
                EXPECT_TRUE(found[static_cast<std::size_t>(step)] == content(step)) << step;
        });
        Session::release();
        return error.code();
    };
    stepstore::testing::expect_second_looks(old, pool, 11, 10, read);
}

} // namespace
} // namespace stepstore::fields::testing
