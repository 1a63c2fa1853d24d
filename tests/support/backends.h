// Tests over every back end that is registered, so that a new one runs them unchanged.
#pragma once

#include "store/backend.h"
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace stepstore::testing {

// The Ceph pool that tests may use (tests/CMakeLists.txt gives one); nullptr: there is no cluster.
inline const char* ceph_pool()
{
    return std::getenv("STEPSTORE_TEST_RADOS");
}

// Those that can be tried here: with a cluster the one on it alone, as the others are tried without.
inline std::vector<std::string> backends_here()
{
    std::vector<std::string> names;
    for (const store::Backend& backend : store::backends())
        if ((backend.name == "rados") == (ceph_pool() != nullptr)) names.push_back(backend.name);
    return names;
}

inline auto every_backend()
{
    return ::testing::ValuesIn(backends_here());
}

// The same, and pools in files, which are no back end, and have no versions and one target.
inline auto every_store()
{
    std::vector<std::string> names = backends_here();
    if (ceph_pool() == nullptr) names.emplace_back("files");
    return ::testing::ValuesIn(names);
}

// Where a test may make a pool called `name`: in its directory, or in a namespace called after it.
inline std::string pool_path(const TemporaryDirectory& directory, const std::string& backend,
                             const std::string& name)
{
    if (backend != "rados") return directory / name;
    return std::string("rados://") + ceph_pool() + "/" + directory.path().filename().string() + "-" + name;
}

inline std::string backend_name(const ::testing::TestParamInfo<std::string>& info)
{
    return info.param;
}

} // namespace stepstore::testing
