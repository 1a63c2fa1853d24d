// Blobs in a pool in files, on a machine that has old bytes of them: only bytes that stay wrong are damaged.
#include "support/old_bytes.h"
#include "blobs/fixture.h"

namespace stepstore::blobs::testing {
namespace {

TEST(BlobsOfOldBytes, AreReadAgainBeforeTheyAreCalledDamaged)
{
    const stepstore::testing::TemporaryDirectory directory;
    const std::string pool = directory / "pool", location = "shared:" + pool;
    stepstore::testing::OldBytes old;
    const std::map<std::string, std::size_t> sizes = {
        {"small", 500}, {"one piece", 40'000}, {"pieces", 900'000}};
    {
        const Blobs blobs = Blobs::open(location, Access::read_write);
        for (const auto& [key, size] : sizes)
            blobs.write(key, value(size));
    }
    const auto read = [&] {
        return stepstore::testing::code_of([&] {
            const Blobs blobs = Blobs::open(location, Access::read_only);
            for (const auto& [key, size] : sizes) {
                const auto found = blobs.read(key);
                if (!found) throw Error(-DER_CSUM, "there is no blob");
                EXPECT_TRUE(*found == value(size)) << key;
            }
        });
    };
    stepstore::testing::expect_second_looks(old, pool, 12, 15, read);
}

} // namespace
} // namespace stepstore::blobs::testing
