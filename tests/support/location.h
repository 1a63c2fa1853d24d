// Where a test's pool or stream goes: the same tests run on this machine and on clusters.
#pragma once

#include "support/temporary.h"

#include <cstdlib>
#include <string>

namespace stepstore::testing {

// With STEPSTORE_TEST_RADOS, the name of a pool of Ceph, tests go there; with STEPSTORE_TEST_DAOS_POOL, the
// label of a pool of a DAOS system, the streams of tests do. With STEPSTORE_TEST_SHARED pools are in files.
inline bool on_rados()
{
    return std::getenv("STEPSTORE_TEST_RADOS") != nullptr;
}
inline bool in_files()
{
    return std::getenv("STEPSTORE_TEST_SHARED") != nullptr;
}
inline bool on_cluster()
{
    return on_rados() || std::getenv("STEPSTORE_TEST_DAOS_POOL") != nullptr;
}

// A pool that is not there yet, called `name` in the directory; on Ceph a namespace called after both.
inline std::string new_pool(const TemporaryDirectory& directory, const std::string& name = "pool")
{
    const std::string own = directory.path().filename().string() + "-" + name;
    return on_rados() ? "rados://" + std::string(std::getenv("STEPSTORE_TEST_RADOS")) + "/" + own
                      : (in_files() ? "shared:" : "") + (directory / name);
}

// A stream that is not there yet: the first of a new pool, or on a DAOS system of a new container.
inline std::string new_stream(const TemporaryDirectory& directory)
{
    const char* pool = std::getenv("STEPSTORE_TEST_DAOS_POOL");
    return pool && !on_rados() ? "daos://" + std::string(pool) + "/" + directory.path().filename().string()
                               : new_pool(directory);
}

} // namespace stepstore::testing
