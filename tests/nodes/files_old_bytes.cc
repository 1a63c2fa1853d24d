// Values of keys in a pool in files, on a machine that has old bytes of them: only bytes that stay wrong are
// damaged. Each in a file of its own, and packed; also for the check, for updates, and for compaction.
#include "support/old_bytes.h"
#include "support/store_fixture.h"

namespace stepstore::testing {
namespace {

TEST(KeysOfOldBytes, AreReadAgainBeforeTheyAreCalledDamaged)
{
    const TemporaryDirectory directory;
    const std::string path = directory / "pool";
    OldBytes old;
    PoolOptions options;
    options.backend = "files";
    Pool::create(path, options)->create_container(uuid_of(1), "test", {});
    const ObjectId oid = kv_object(1);
    constexpr int keys = 300; // packed they are more than one read of 64 KiB
    const auto key_of = [](int i) { return std::string(i % 20 == 0 ? 160 : 3, 'k') + std::to_string(i); };
    const auto value_of = [](int i) { return std::string(300, static_cast<char>('a' + i % 26)); };
    for (const bool packed : {false, true}) {
        SCOPED_TRACE(packed ? "packed" : "each in a file");
        {
            const auto container = Pool::open(path, Access::read_write)->open_container("test");
            for (int i = packed ? 0 : keys - 6; i < keys; ++i)
                container->kv_put(oid, as_bytes(key_of(i)), as_bytes(value_of(i)));
        }
        if (packed) Pool::open(path, Access::read_write)->compact();
        int turn = 0;
        const auto read = [&]() -> int {
            try {
                if (++turn % 3 == 0) {
                    for (const auto& one : Pool::check(path, {.data = true}).findings)
                        if (one.severity == CheckFinding::Severity::damage) return -DER_CSUM;
                    return 0;
                }
                const auto container = Pool::open(path, Access::read_write)->open_container("test");
                int found = 0;
                ListPosition position;
                while (!position.done)
                    container->kv_list(oid, position, [&](Bytes) { return ++found, true; });
                if (found != (packed ? keys : 6)) return -DER_CSUM;
                for (int i = keys - 6; i < keys; ++i) {
                    std::string value(300, ' ');
                    const auto size =
                        container->kv_get(oid, as_bytes(key_of(i)), std::as_writable_bytes(std::span(value)));
                    EXPECT_EQ(size, 300U);
                    EXPECT_EQ(value, value_of(i));
                }
                return 0;
            } catch (const Error& error) {
                return error.code();
            }
        };
        expect_second_looks(old, path, packed ? 60 : 20, 0, read);
    }
}

} // namespace
} // namespace stepstore::testing
