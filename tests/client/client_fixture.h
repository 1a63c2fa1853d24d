// A new pool with a container, for the tests of the client.
#pragma once

#include "stepstore/client.h"
#include "stepstore/libdaos.h"
#include "support/errors.h"
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
        Pool::create(location, {.label = {}, .targets = 8, .durability = Durability::process});
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

} // namespace stepstore::testing
