// What a reader that need not verify sees when the record changes between its look-up and the end of its
// read. Each moment is hit exactly, by a target that changes the record within read_extent().
#include "store/bulk.h"
#include "base/checksum.h"
#include "support/backends.h"
#include "support/forwarding.h"
#include "support/temporary.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>

namespace stepstore::testing {
namespace {

using namespace stepstore::store;

constexpr std::size_t size = 256 << 10; // bytes of a payload, four blocks

std::vector<std::byte> all(std::byte value)
{
    return std::vector<std::byte>(size, value);
}

struct Overtaken {};

// To be run once, by any thread.
class Hook {
public:
    Hook& operator=(std::function<void()> hook)
    {
        const std::lock_guard lock(guard_);
        hook_ = std::move(hook);
        return *this;
    }
    void run()
    {
        std::function<void()> once;
        {
            const std::lock_guard lock(guard_);
            once = std::exchange(hook_, nullptr);
        }
        if (once) once();
    }

private:
    std::mutex guard_;
    std::function<void()> hook_; // guarded
};

// Passes everything on, after `meddle` where an extent is read. Reads may go on several threads (at_once).
class MeddledTarget : public ForwardingTarget {
public:
    using ForwardingTarget::ForwardingTarget;
    Hook meddle;
    std::atomic<int> reads = 0;

    void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) override
    {
        ++reads;
        meddle.run();
        real_.read_extent(extent, skip, into);
    }
};

class Bulk : public ::testing::TestWithParam<std::string> {
protected:
    std::string path() const { return pool_path(directory_, GetParam(), "pool"); }
    void SetUp() override
    {
        for (const Backend& backend : backends()) {
            if (backend.name != GetParam()) continue;
            destroy_ = backend.destroy;
            pool_ = backend.create(path(), {.targets = 1, .durability = Durability::process});
        }
        target.emplace(pool_->target(0));
        put(std::byte{1}, 1);
    }
    void TearDown() override
    {
        pool_.reset();
        destroy_(path());
    }

    // The record: payload and birth in a form of this test's own.
    void put(std::byte value, Epoch birth)
    {
        const auto bytes = all(value);
        BulkSource source;
        const Bytes piece(bytes);
        Payload payload{{&piece, 1}};
        target->append({&payload, 1});
        source.extent = payload.extent;
        source.birth = birth;
        for (std::size_t at = 0; at < size; at += 1 << 16) {
            source.sums.resize(source.sums.size() + 8);
            store_little(source.sums.data() + source.sums.size() - 8,
                         checksum(Bytes(bytes).subspan(at, 1 << 16)));
        }
        set(source);
    }
    // Replaces what there is, and gives its room back.
    void set(const std::optional<BulkSource>& source)
    {
        const auto old = std::exchange(source_, source);
        target->write([&](WriteTransaction& transaction) {
            if (source)
                transaction.put(as_bytes("record"), as_bytes(std::to_string(source->birth)));
            else
                transaction.erase(as_bytes("record"));
        });
        if (old && !(source && old->extent == source->extent)) target->release(old->extent);
    }
    // The bytes of the first one are gone afterwards: given back, or written over by the second.
    void replace_twice(Epoch& birth)
    {
        for (int one = 0; one < 2; ++one) {
            ++birth;
            put(static_cast<std::byte>(birth), birth);
        }
        target->extent_files(); // a back end may remove behind
    }
    void damage() { source_->sums[0] ^= std::byte{1}; }
    // What a read of the whole payload finds; nothing where there is no record.
    std::vector<std::byte> read(Verify verify, std::size_t pieces = 1, bool may_write = true)
    {
        std::vector<std::byte> bytes(size, std::byte{0xee});
        std::vector<MutableBytes> memory;
        for (std::size_t i = 0; i < pieces; ++i)
            memory.push_back(MutableBytes(bytes).subspan(i * size / pieces, size / pieces));
        bool there = false;
        found = 0;
        read_with_bulk(
            *target, may_write, verify,
            [&](ReadTransaction& transaction, std::vector<BulkRead>& reads) {
                ++found;
                Bytes value;
                there = transaction.get(as_bytes("record"), value);
                if (there) reads.push_back({*source_, 0, size, Scattered(memory), 0});
            },
            [](std::size_t, Unread why) {
                if (why == Unread::overtaken) throw Overtaken();
                throw std::runtime_error("damaged");
            });
        return there ? bytes : std::vector<std::byte>{};
    }

    std::optional<MeddledTarget> target;
    int found = 0; // how often the record was looked up

private:
    TemporaryDirectory directory_;
    void (*destroy_)(const std::string&) = nullptr;
    std::unique_ptr<Storage> pool_;
    std::optional<BulkSource> source_;
};
INSTANTIATE_TEST_SUITE_P(Backends, Bulk, every_backend(), backend_name);

TEST_P(Bulk, OneReadAndNoVerifyingWhereNothingChanges)
{
    EXPECT_EQ(read(Verify::no), all(std::byte{1}));
    EXPECT_EQ(target->reads, 1);
}

TEST_P(Bulk, AnotherRecordsChangeIsNone)
{
    target->meddle = [&] {
        target->write(
            [](WriteTransaction& transaction) { transaction.put(as_bytes("other"), as_bytes("new")); });
    };
    EXPECT_EQ(read(Verify::no), all(std::byte{1}));
    EXPECT_EQ(target->reads, 1);
    EXPECT_EQ(found, 2);
}

TEST_P(Bulk, AReplacedPayloadIsReadAgain)
{
    target->meddle = [&] { put(std::byte{2}, 2); };
    EXPECT_EQ(read(Verify::no), all(std::byte{2}));
    EXPECT_EQ(target->reads, 2);
    // Who verifies may see what was there when it was found, as long as that is whole.
    target->meddle = [&] { put(std::byte{3}, 3); };
    const auto seen = read(Verify::yes);
    EXPECT_TRUE(seen == all(std::byte{2}) || seen == all(std::byte{3}));
}

TEST_P(Bulk, IntoSeveralPiecesItIsVerified)
{
    EXPECT_EQ(read(Verify::no, 4), all(std::byte{1}));
    target->meddle = [&] { put(std::byte{2}, 2); };
    const auto seen = read(Verify::no, 4);
    EXPECT_TRUE(seen == all(std::byte{1}) || seen == all(std::byte{2}));
}

TEST_P(Bulk, TheSamePlaceOfAnotherBirthIsAnotherPayload)
{
    target->meddle = [&] {
        put(std::byte{4}, 4);
        put(std::byte{5}, 5);
    };
    EXPECT_EQ(read(Verify::no), all(std::byte{5}));
    BulkSource older, newer;
    newer.birth = 1;
    EXPECT_TRUE(older.is_same(older));
    EXPECT_FALSE(older.is_same(newer));
    newer = older;
    newer.extent.length = 1; // what a cut leaves
    EXPECT_FALSE(older.is_same(newer));
}

// Only what was found twice is damaged. A value that is replaced while it is read is another one each time.
TEST_P(Bulk, AValueThatIsReplacedAgainAndAgainIsNoDamage)
{
    Epoch birth = 1, last = 1;
    const std::function<void()> again = [&] {
        if (birth == last) return;
        replace_twice(birth);
        target->meddle = again;
    };
    for (const bool may_write : {false, true}) {
        last += may_write ? 20 : 80; // in its sixteenth round a reader that may keeps writers off
        target->meddle = again;
        EXPECT_TRUE(read(Verify::yes, 1, may_write) == all(static_cast<std::byte>(last)));
        EXPECT_EQ(birth, last);
    }
}

TEST_P(Bulk, ADamagedValueIsSaidToBeDamaged)
{
    damage();
    EXPECT_THROW(read(Verify::yes), std::runtime_error);
    EXPECT_THROW(read(Verify::no, 4), std::runtime_error);
}

TEST_P(Bulk, AReaderThatIsOvertakenAllTheTimeIsToldSo)
{
    Epoch birth = 1;
    const std::function<void()> again = [&] {
        replace_twice(birth);
        target->meddle = again;
    };
    target->meddle = again;
    EXPECT_THROW(read(Verify::yes, 1, false), Overtaken);
    target->meddle = nullptr;
}

TEST_P(Bulk, ARemovedPayloadIsNotThere)
{
    target->meddle = [&] { set(std::nullopt); };
    EXPECT_EQ(read(Verify::no), std::vector<std::byte>{});
}

} // namespace
} // namespace stepstore::testing
