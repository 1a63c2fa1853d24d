// Updates on the condition of the value that is there, on every back end.
#include "support/store_fixture.h"

#include <array>
#include <thread>

namespace stepstore::testing {
namespace {

class PutIfContract : public StoreTest {
protected:
    int put_if(const ObjectId& oid, const Precondition& condition, Bytes value)
    {
        return der_of([&] { container->kv_put(oid, as_bytes("key"), value, condition); });
    }
    int remove_if(const ObjectId& oid, Bytes expected)
    {
        return der_of([&] { container->kv_remove(oid, as_bytes("key"), Precondition::equals(expected)); });
    }
    std::optional<std::vector<std::byte>> value_of(const ObjectId& oid, Epoch epoch = latest)
    {
        return kv_read(*container, oid, as_bytes("key"), epoch);
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, PutIfContract, every_store(), backend_name);

TEST_P(PutIfContract, OnlyTheExpectedValueIsReplaced)
{
    for (const auto object_class : {class_s1, class_sx, class_rp_2g1}) {
        const ObjectId oid = kv_object(1, object_class);
        for (const std::size_t size : {0UL, 1UL, 65535UL, 65536UL, 300000UL}) {
            const auto value = pattern(size, size), other = pattern(size + 1, 7);
            auto changed = value;
            if (!changed.empty()) changed.back() ^= std::byte{1};
            EXPECT_EQ(put_if(oid, Precondition::equals(value), other), DER_MISMATCH) << "no such key";
            EXPECT_EQ(remove_if(oid, value), DER_MISMATCH);
            EXPECT_EQ(value_of(oid), std::nullopt);
            EXPECT_EQ(put_if(oid, Condition::must_not_exist, value), 0);
            EXPECT_EQ(put_if(oid, Condition::must_not_exist, other), DER_EXIST);
            EXPECT_EQ(put_if(oid, Precondition::equals(other), other), DER_MISMATCH) << size;
            if (size != 0) {
                EXPECT_EQ(put_if(oid, Precondition::equals(changed), other), DER_MISMATCH) << size;
                EXPECT_EQ(remove_if(oid, changed), DER_MISMATCH) << size;
            }
            EXPECT_EQ(value_of(oid), value) << size;
            EXPECT_EQ(put_if(oid, Precondition::equals(value), other), 0) << size;
            EXPECT_EQ(value_of(oid), other) << size;
            EXPECT_EQ(put_if(oid, Precondition::equals(value), value), DER_MISMATCH) << "a second time";
            EXPECT_EQ(value_of(oid), other) << size;
            EXPECT_EQ(remove_if(oid, value), DER_MISMATCH);
            EXPECT_EQ(remove_if(oid, other), 0);
            EXPECT_EQ(value_of(oid), std::nullopt);
        }
    }
    std::string message;
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("a"));
    EXPECT_EQ(der_of(
                  [&] {
                      container->kv_put(kv_object(1), as_bytes("key"), {},
                                        Precondition::equals(as_bytes("b")));
                  },
                  &message),
              DER_MISMATCH);
    EXPECT_NE(message.find("\"key\""), std::string::npos) << message;
    std::uint64_t bulk = 0;
    for (const TargetInfo& target : pool->query().targets)
        bulk += target.bulk_bytes;
    EXPECT_EQ(bulk, 0U) << "values that were refused take room";
}

TEST_P(PutIfContract, SnapshotsKeepWhatIsReplaced)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no snapshots";
    const ObjectId oid = kv_object(1);
    const auto first = pattern(100000, 1), second = pattern(10, 2);
    ASSERT_EQ(put_if(oid, Condition::must_not_exist, first), 0);
    const Epoch before = container->create_snapshot("");
    EXPECT_EQ(put_if(oid, Precondition::equals(second), second), DER_MISMATCH);
    EXPECT_EQ(put_if(oid, Precondition::equals(first), second), 0);
    const Epoch between = container->create_snapshot("");
    // What a snapshot has is not what is there.
    EXPECT_EQ(put_if(oid, Precondition::equals(first), first), DER_MISMATCH);
    EXPECT_EQ(remove_if(oid, second), 0);
    EXPECT_EQ(put_if(oid, Precondition::equals(second), first), DER_MISMATCH);
    EXPECT_EQ(value_of(oid, before), first);
    EXPECT_EQ(value_of(oid, between), second);
    EXPECT_EQ(value_of(oid), std::nullopt);
}

TEST_P(PutIfContract, OfManyWhoCountAtOnceNoneIsLost)
{
    const ObjectId oid = kv_object(1);
    constexpr int threads = 4, rounds = 50;
    container->kv_put(oid, as_bytes("key"), as_bytes("0"));
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread)
        running.emplace_back([&] {
            for (int round = 0; round < rounds;) {
                const auto there = *value_of(oid);
                const std::string next = std::to_string(std::stoi(std::string(as_text(there))) + 1);
                const int code = put_if(oid, Precondition::equals(there), as_bytes(next));
                EXPECT_TRUE(code == 0 || code == DER_MISMATCH) << code;
                if (code == 0) ++round;
            }
        });
    for (std::thread& one : running)
        one.join();
    EXPECT_EQ(as_text(*value_of(oid)), std::to_string(threads * rounds));
}

} // namespace
} // namespace stepstore::testing
