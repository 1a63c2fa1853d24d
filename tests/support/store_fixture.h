// A pool with a container in it, on any back end, and what tests of the store say often.
#pragma once

#include "stepstore/error.h"
#include "store/placement.h"
#include "store/store.h"
#include "support/backends.h"
#include "support/errors.h"
#include "support/temporary.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace stepstore::testing {

using namespace stepstore::store;

inline constexpr std::uint64_t class_s1 = 1ULL << 48 | 1ULL << 32;
inline constexpr std::uint64_t class_s2 = 1ULL << 48 | 2ULL << 32;
inline constexpr std::uint64_t class_s4 = 1ULL << 48 | 4ULL << 32;
inline constexpr std::uint64_t class_sx = 1ULL << 48 | 0xffffULL << 32;
inline constexpr std::uint64_t class_rp_2g1 = 8ULL << 48 | 1ULL << 32;
inline constexpr std::uint64_t class_rp_2gx = 8ULL << 48 | 0xffffULL << 32;
inline constexpr std::uint64_t type_kv = 8ULL << 56;
inline constexpr std::uint64_t type_array = 11ULL << 56;

inline ObjectId kv_object(std::uint64_t lo, std::uint64_t object_class = class_s1)
{
    return {type_kv | object_class, lo};
}

inline ObjectId array_object(std::uint64_t lo, std::uint64_t object_class = class_sx)
{
    return {type_array | object_class, lo};
}

inline std::vector<std::byte> to_bytes(std::string_view text)
{
    const Bytes bytes = as_bytes(text);
    return {bytes.begin(), bytes.end()};
}

// A whole value. nullopt: no such key.
inline std::optional<std::vector<std::byte>> kv_read(Container& container, const ObjectId& oid, Bytes key,
                                                     Epoch epoch = latest)
{
    std::vector<std::byte> value(256);
    for (;;) { // another one may be longer
        const auto size = container.kv_get(oid, key, value, epoch);
        if (!size) return std::nullopt;
        const bool whole = *size <= value.size();
        value.resize(*size);
        if (whole) return value;
    }
}

// Bytes that differ from place to place and from seed to seed.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed)
{
    std::vector<std::byte> bytes(size);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
    for (std::size_t i = 0; i < size; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = static_cast<std::byte>(state >> 32);
    }
    return bytes;
}

// DER_NONEXIST and so on, or 0.
template <class Call>
int der_of(Call call, std::string* message = nullptr)
{
    return -testing::code_of(call, message);
}

inline Uuid uuid_of(std::uint8_t number)
{
    Uuid uuid{};
    uuid[15] = number;
    return uuid;
}

inline void write_cells(Container& container, const ObjectId& oid, const ArrayAttributes& attributes,
                        std::uint64_t index, Bytes bytes)
{
    const Range range{index, bytes.size() / attributes.cell_size};
    container.array_write(oid, attributes, {&range, 1}, {&bytes, 1});
}

inline std::vector<std::byte> read_cells(Container& container, const ObjectId& oid,
                                         const ArrayAttributes& attributes, std::uint64_t index,
                                         std::uint64_t cells, Epoch epoch = latest,
                                         ReadResult* result = nullptr, Verify verify = Verify::yes)
{
    std::vector<std::byte> bytes(cells * attributes.cell_size, std::byte{0xee});
    const Range range{index, cells};
    const MutableBytes memory = bytes;
    const ReadResult got = container.array_read(oid, attributes, {&range, 1}, {&memory, 1}, epoch, verify);
    if (result != nullptr) *result = got;
    return bytes;
}

inline std::vector<std::string> list_keys(Container& container, const ObjectId& oid, Epoch epoch = latest)
{
    std::vector<std::string> keys;
    ListPosition position;
    container.kv_list(
        oid, position,
        [&](Bytes key) {
            keys.emplace_back(as_text(key));
            return true;
        },
        epoch);
    EXPECT_TRUE(position.done);
    return keys;
}

// No damage; says what was found otherwise.
inline ::testing::AssertionResult undamaged(const CheckReport& report)
{
    if (!report.damaged()) return ::testing::AssertionSuccess();
    auto result = ::testing::AssertionFailure();
    for (const CheckFinding& one : report.findings)
        result << one.where << ": " << one.what << "\n";
    return result;
}

class StoreTest : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override { open_pool(GetParam(), 4); }
    void TearDown() override
    {
        container.reset();
        pool.reset();
        if (path.empty()) return;
        EXPECT_TRUE(undamaged(Pool::check(path, {}))) << "at the end of the test";
        Pool::destroy(path);
    }
    void open_pool(const std::string& backend, unsigned targets)
    {
        path = pool_path(directory, backend, "pool");
        PoolOptions options;
        options.backend = backend;
        options.targets = targets;
        pool = Pool::create(path, options);
        pool->create_container(uuid_of(1), "test", {});
        container = pool->open_container("test");
    }

    bool has_versions() const { return GetParam() != "files"; }

    // A snapshot, or `latest` where there are none: the tests then look at the newest version again.
    Epoch snapshot_or_latest() { return has_versions() ? container->create_snapshot("") : latest; }

    TemporaryDirectory directory;
    std::string path;
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Container> container;
};

} // namespace stepstore::testing
