// A pool with a container of blobs, and what its tests look at.
#pragma once

#include "blobs/blobs.h"
#include "blobs/entry.h"
#include "blobs/numbers.h"
#include "stepstore/administration.h"
#include "support/errors.h"
#include "support/location.h"
#include "support/temporary.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace stepstore::blobs::testing {

inline std::vector<std::byte> value(std::size_t size, unsigned seed = 1)
{
    std::mt19937_64 dice(seed);
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(dice());
    return bytes;
}

// The numbers of the array objects that there are.
inline std::set<std::uint64_t> arrays_in(const Blobs& blobs)
{
    const std::uint64_t hi = blobs.container().object_id(0, data_hi, ObjectType::array_bytes, "S1").hi;
    std::set<std::uint64_t> found;
    for (const ObjectInfo& one : list_objects(blobs.container(), false))
        if (one.id.hi == hi) found.insert(one.id.lo);
    return found;
}

inline std::vector<std::string> marks_in(const Blobs& blobs)
{
    const Container& container = blobs.container();
    return container.key_value(container.object_id(0, writers_hi, ObjectType::key_value, "S1")).list();
}

class BlobsTest : public ::testing::Test {
protected:
    BlobsTest() { Pool::create(location, {.label = {}, .targets = 4, .durability = Durability::process}); }
    Blobs open(Access access = Access::read_write) const { return Blobs::open(location + "/box", access); }

    stepstore::testing::TemporaryDirectory directory;
    std::string location = stepstore::testing::new_pool(directory);
};

} // namespace stepstore::blobs::testing
