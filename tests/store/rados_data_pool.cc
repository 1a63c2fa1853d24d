// A pool on Ceph whose bulk data go to an erasure-coded pool: what lies where, and what becomes of it.
#include "store/rados/module.h"
#include "support/store_fixture.h"

#include <cstdio>
#include <cstdlib>

namespace stepstore::testing {
namespace {

std::string output_of(const std::string& command)
{
    std::string text;
    FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
    if (pipe == nullptr) return text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
        text += static_cast<char>(c);
    pclose(pipe);
    return text;
}

class DataPool : public StoreTest {
protected:
    void SetUp() override
    {
        if (std::system("rados --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no command rados";
        StoreTest::SetUp();
    }
    // The names of the pool's objects in a Ceph pool.
    std::string objects_in(const std::string& ceph_pool) const
    {
        const std::string name_space = path.substr(path.rfind('/') + 1);
        return output_of("rados -p " + ceph_pool + " -N " + name_space + " ls");
    }
    std::string data() const { return objects_in(std::string(ceph_pool()) + "-data"); }
    std::string indexes() const { return objects_in(ceph_pool()); }
    void write(const ObjectId& oid, const std::vector<std::byte>& bytes)
    {
        const Range all{0, bytes.size()};
        const Bytes memory = bytes;
        container->array_write(oid, whole, {&all, 1}, {&memory, 1});
    }
    std::vector<std::byte> read(const ObjectId& oid, std::size_t size)
    {
        std::vector<std::byte> bytes(size);
        const Range all{0, size};
        const MutableBytes memory = bytes;
        container->array_read(oid, whole, {&all, 1}, {&memory, 1});
        return bytes;
    }
    const ArrayAttributes whole{1, 64 << 20};
};
INSTANTIATE_TEST_SUITE_P(Backends, DataPool, every_backend(), backend_name);

TEST_P(DataPool, HoldsExtentsAndNoIndexes)
{
    const ObjectId oid = array_object(1, class_s1);
    const auto bytes = pattern(9 << 20, 1);
    write(oid, bytes);
    EXPECT_NE(data().find(".x."), std::string::npos) << data();
    EXPECT_EQ(data().find(".t."), std::string::npos) << data();
    EXPECT_EQ(indexes().find(".x."), std::string::npos) << indexes();
    EXPECT_EQ(read(oid, bytes.size()), bytes);
}

TEST_P(DataPool, GivesBackWhatIsReplacedInParts)
{
    const ObjectId oid = array_object(1, class_s1);
    write(oid, pattern(3 << 20, 1));
    auto expected = pattern(3 << 20, 2);
    for (std::size_t at = 0; at < expected.size(); at += 1 << 20) {
        const Range part{at, 1 << 20};
        const Bytes memory = Bytes(expected).subspan(at, 1 << 20);
        container->array_write(oid, whole, {&part, 1}, {&memory, 1});
    }
    EXPECT_EQ(read(oid, expected.size()), expected);
    std::uint64_t taken = 0;
    for (const TargetInfo& target : pool->query().targets)
        taken += target.bulk_bytes;
    EXPECT_GE(taken, expected.size());
    EXPECT_LT(taken, expected.size() * 4 / 3);
    const CheckReport report = Pool::check(path, {});
    EXPECT_FALSE(report.damaged());
    EXPECT_EQ(report.reclaimable_bytes, 0U);
}

TEST_P(DataPool, IsEmptyWhenThePoolIsDestroyed)
{
    write(array_object(1), pattern(1 << 20, 1));
    ASSERT_FALSE(data().empty());
    container.reset();
    pool.reset();
    Pool::destroy(path);
    EXPECT_EQ(data(), "");
    EXPECT_EQ(indexes(), "");
    path.clear();
}

} // namespace
} // namespace stepstore::testing
