// Records that somebody put past the store, with the checksums right: an error, and no memory but that of the
// reader.
#include "store/pool_core.h"
#include "store/record.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <functional>
#include <sys/resource.h>

namespace stepstore::testing {
namespace {

class HostileRecords : public ::testing::Test {
protected:
    void SetUp() override
    {
        PoolOptions options;
        options.targets = 2;
        const auto pool = Pool::create(path_, options);
        pool->create_container(random_uuid(), "box", {});
        const auto container = pool->open_container("box");
        container->array_create(array_, large_);
        const std::vector<std::byte> bytes(10, std::byte{5});
        const Range range{terabyte - 10, 10};
        const Bytes memory = bytes;
        container->array_write(array_, large_, {&range, 1}, {&memory, 1});
    }

    // On each target.
    void change(const std::function<void(WriteTransaction&)>& body) const
    {
        const auto storage = backend_of(path_, "").open(path_);
        storage->claim();
        for (unsigned index = 0; index < storage->targets(); ++index)
            storage->target(index).write([&](WriteTransaction& transaction) { body(transaction); });
    }
    // Where a record lies, another one.
    void replace(const KeyBuffer& prefix, const NewRecord& record) const
    {
        change([&](WriteTransaction& transaction) {
            Entry entry;
            if (!transaction.seek_in(prefix.view(), prefix.view(), entry)) return;
            const std::vector<std::byte> key(entry.key.begin(), entry.key.end());
            record.encode(key, transaction.reserve(key, record.stored_size()));
        });
    }
    static int code_of(const std::function<void()>& body)
    {
        try {
            body();
        } catch (const Error& error) {
            return error.code();
        }
        return 0;
    }

    TemporaryDirectory directory_;
    const std::string path_ = directory_ / "pool";
    static constexpr std::uint64_t terabyte = std::uint64_t{1} << 40;
    const ObjectId array_ = array_object(7);
    const ArrayAttributes large_{1, 2 * terabyte}; // all in one chunk
};

// Bytes 0 to 15 of an inline value were read, which a record of another type has not.
TEST_F(HostileRecords, AttributesThatAreNoInlineValueAreDamage)
{
    const std::vector<std::byte> sums(8);
    NewRecord record;
    record.type = RecordType::bulk;
    record.birth = 1;
    record.block_shift = 16;
    record.length = 16;
    record.extent = {1, 0, 16};
    record.sums = sums;
    replace(kind_prefix(Space::live, 1, array_, Kind::attributes), record);
    const auto container = Pool::open(path_, Access::read_only)->open_container("box");
    EXPECT_EQ(code_of([&] { container->array_attributes(array_); }), -DER_CSUM);
}

// A record says how large the blocks of its payload are. Each was read at once.
TEST_F(HostileRecords, ALargeBlockTakesNoMemory)
{
    const std::vector<std::byte> sums(8);
    NewRecord record;
    record.type = RecordType::bulk;
    record.birth = 1;
    record.block_shift = 40;
    record.length = terabyte;
    record.extent = {1, 0, record.length};
    record.sums = sums;
    replace(kind_prefix(Space::live, 1, array_, Kind::array), record);
    EXPECT_EQ(run_in_child([&] {
                  const auto container = Pool::open(path_, Access::read_only)->open_container("box");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // these need room of their own
                  const rlimit limit{rlim_t{1} << 30, rlim_t{1} << 30};
                  if (setrlimit(RLIMIT_DATA, &limit) != 0) return 3;
#endif
                  std::vector<std::byte> first(10);
                  const Range range{5, first.size()};
                  const MutableBytes memory = first;
                  const int code =
                      code_of([&] { container->array_read(array_, large_, {&range, 1}, {&memory, 1}); });
                  return code == -DER_CSUM ? 0 : 4;
              }),
              0);
}

TEST_F(HostileRecords, AKeyOfAWrongLengthEndsNothing)
{
    change([](WriteTransaction& transaction) {
        KeyBuffer key = container_prefix(Space::live, 1);
        std::vector<std::byte> longest(key.view().begin(), key.view().end());
        longest.resize(ReadTransaction::max_key, std::byte{0x7f});
        transaction.put(longest, as_bytes("value"));
        // Shorter than what is taken out of it.
        KeyBuffer snapshot = container_prefix(Space::snapshot, 1);
        snapshot.add(std::uint8_t{1});
        transaction.put(snapshot.view(), as_bytes("value"));
    });
    const auto pool = Pool::open(path_, Access::read_write);
    code_of([&] { pool->open_container("box")->create_snapshot("now"); });
    code_of([&] { pool->destroy_container("box", true); });
}

TEST_F(HostileRecords, ALabelThatLeadsElsewhereIsDamage)
{
    const auto storage = backend_of(path_, "").open(path_);
    storage->claim();
    storage->meta().write([&](WriteTransaction& meta) {
        BodyWriter body;
        const Uuid uuid{1};
        body.bytes(std::as_bytes(std::span(uuid))).bytes(as_bytes("../../home")).number(1).bytes({});
        put_sealed(meta, meta_key(MetaSpace::container, 1).view(), body.view());
    });
    const auto pool = Pool::open(path_, Access::read_only);
    EXPECT_EQ(code_of([&] { pool->containers(); }), -DER_CSUM);
}

} // namespace
} // namespace stepstore::testing
