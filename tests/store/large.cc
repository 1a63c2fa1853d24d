// Values and arrays of 1 GiB. The memory they are written from is 16 MiB, mapped again and again.
#include "base/checksum.h"
#include "support/store_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

namespace stepstore::testing {
namespace {

constexpr std::size_t window = 16 << 20;
constexpr std::size_t whole = 1 << 30;

// `whole` bytes of address space over `window` bytes of memory.
class Repeated {
public:
    Repeated()
    {
        const int file = memfd_create("repeated", 0);
        if (file < 0 || ftruncate(file, window) != 0) throw std::runtime_error("no memory file");
        base_ = static_cast<std::byte*>(mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        for (std::size_t at = 0; at < whole; at += window)
            mmap(base_ + at, window, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
        close(file);
    }
    ~Repeated() { munmap(base_, whole); }
    MutableBytes all() const { return {base_, whole}; }
    MutableBytes memory() const { return {base_, window}; }

private:
    std::byte* base_;
};

class Large : public StoreTest {
protected:
    void SetUp() override { open_pool("lmdb", 4); }
    void TearDown() override // what the tests wrote was verified by them
    {
        container.reset();
        pool.reset();
        Pool::destroy(path);
    }
};

TEST_F(Large, AValueOf1GiB)
{
    const Repeated memory;
    const auto content = pattern(window, 1);
    std::memcpy(memory.memory().data(), content.data(), window);
    container->kv_put(kv_object(1), as_bytes("huge"), memory.all());
    std::memset(memory.memory().data(), 0, window);
    EXPECT_EQ(container->kv_get(kv_object(1), as_bytes("huge"), {}), whole);
    EXPECT_EQ(container->kv_get(kv_object(1), as_bytes("huge"), memory.all()),
              whole); // each block verified as it comes
    EXPECT_TRUE(std::memcmp(memory.memory().data(), content.data(), window) == 0);
    const CheckReport report = Pool::check(path, {false, false});
    EXPECT_TRUE(undamaged(report));
    EXPECT_EQ(report.bytes, whole);
    EXPECT_TRUE(container->kv_remove(kv_object(1), as_bytes("huge")));
}

TEST_F(Large, AnArrayOf1GiBInOneWrite)
{
    const Repeated memory;
    const auto content = pattern(window, 2);
    std::memcpy(memory.memory().data(), content.data(), window);
    const ObjectId oid = array_object(1);
    const ArrayAttributes attributes{8, (1 << 20) / 8};
    const std::uint64_t far = (1ULL << 60) - whole / 8; // its last cell is the last one possible
    write_cells(*container, oid, attributes, far, memory.all());
    EXPECT_EQ(container->array_size(oid, attributes), 1ULL << 60);
    for (std::uint64_t at = 0; at < whole; at += window) {
        const auto part = read_cells(*container, oid, attributes, far + at / 8, window / 8);
        ASSERT_TRUE(std::memcmp(part.data(), content.data(), window) == 0) << at;
    }
    // A small range touches a small part: the rest may be gone.
    const auto little = read_cells(*container, oid, attributes, far + 1000, 4);
    EXPECT_TRUE(std::memcmp(little.data(), content.data() + 8000, 32) == 0);
    container->punch(oid);
    EXPECT_EQ(container->array_size(oid, attributes), 0U);
}

} // namespace
} // namespace stepstore::testing
