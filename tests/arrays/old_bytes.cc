// Arrays by name in a pool in files, on a machine that has old bytes of them: only bytes that stay wrong are
// damaged.
#include "support/old_bytes.h"
#include "arrays/model.h"
#include "support/errors.h"

namespace stepstore::arrays::testing {
namespace {

TEST(ArraysOfOldBytes, AreReadAgainBeforeTheyAreCalledDamaged)
{
    const TemporaryDirectory directory;
    const std::string pool = directory / "pool", location = "shared:" + pool;
    stepstore::testing::OldBytes old;
    constexpr std::int64_t rows = 300, columns = 200;
    {
        std::vector<std::int64_t> all(rows * columns);
        std::iota(all.begin(), all.end(), 0);
        Store store(location, Mode::write, self_communicator());
        DataLayout layout;
        layout.chunk_size = 16384;
        store.write({.name = "T",
                     .type = {Kind::int64},
                     .shape = {rows, columns},
                     .start = {0, 0},
                     .count = {rows, columns},
                     .data = all.data(),
                     .layout = layout});
        store.close();
    }
    bool whole = false; // one request straight into the memory, and parts of windows
    const auto read = [&] {
        whole = !whole;
        return stepstore::testing::code_of([&] {
            Store store(location, Mode::read, self_communicator());
            const std::int64_t first = whole ? 0 : 1;
            std::vector<std::int64_t> found(rows * (columns - first));
            store.read({.name = "T",
                        .type = {Kind::int64},
                        .dimensions = 2,
                        .start = {0, first},
                        .count = {rows, columns - first},
                        .data = found.data()});
            for (std::int64_t i = 0; i < std::ssize(found); ++i)
                ASSERT_EQ(found[static_cast<std::size_t>(i)],
                          i / (columns - first) * columns + first + i % (columns - first));
        });
    };
    stepstore::testing::expect_second_looks(old, pool, 31, 20, read);
}

} // namespace
} // namespace stepstore::arrays::testing
