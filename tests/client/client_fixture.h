// A new pool with a container, for the tests of the client.
#pragma once

#include "stepstore/client.h"
#include "stepstore/libdaos.h"
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace stepstore::testing {

class ClientTest : public ::testing::Test {
protected:
    ClientTest() : location(directory / "pool")
    {
        Pool::create(location);
        pool.emplace(Pool::connect(location));
        container.emplace(pool->create_container("container"));
    }

    KeyValue key_value(std::uint64_t lo = 1) const
    {
        return container->key_value(container->object_id(lo, 0, ObjectType::key_value, "S2"));
    }

    TemporaryDirectory directory;
    std::string location;
    std::optional<Pool> pool;
    std::optional<Container> container;
};

inline std::vector<std::byte> bytes(std::string_view text)
{
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

inline std::string text(const std::vector<std::byte>& bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The error that `body` throws; its code is 0 when it throws none.
template <class Body>
Error error_of(Body body)
{
    try {
        body();
    } catch (const Error& error) {
        return error;
    }
    return {0, "no error"};
}

#define EXPECT_ERROR(expected, statement)                                                                              \
    do {                                                                                                               \
        const ::stepstore::Error error_ = ::stepstore::testing::error_of([&] { statement; });                          \
        EXPECT_EQ(error_.code(), expected) << error_.what();                                                           \
    } while (0)

} // namespace stepstore::testing
