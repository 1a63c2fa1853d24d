// A new pool with a container, for the tests of the client. With STEPSTORE_TEST_DAOS_POOL, the label of a
// pool of a DAOS system, the container is in that pool. All others in it are destroyed.
#pragma once

#include "stepstore/client.h"
#include "stepstore/libdaos.h"
#include "support/errors.h"
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::testing {

class ClientTest : public ::testing::Test {
protected:
    ClientTest() : location(daos() ? "daos://" + std::string(daos()) : directory / "pool")
    {
        if (!daos()) Pool::create(location, {.label = {}, .targets = 8, .durability = Durability::process});
        pool.emplace(Pool::connect(location));
        if (daos()) remove_containers(); // of a test that was ended
        container.emplace(pool->create_container("container"));
    }
    ~ClientTest() override
    {
        if (daos()) remove_containers();
    }

    static const char* daos() { return std::getenv("STEPSTORE_TEST_DAOS_POOL"); }
    // A class that DAOS has on one target too.
    static const char* spread(const char* wanted) { return daos() ? "SX" : wanted; }

    KeyValue key_value(std::uint64_t lo = 1) const
    {
        return container->key_value(container->object_id(lo, 0, ObjectType::key_value, spread("S2")));
    }
    void remove_containers() const
    {
        const Pool all = Pool::connect(location); // a test may have closed its own
        for (const ContainerEntry& each : all.containers())
            all.destroy_container(each.uuid, true);
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
