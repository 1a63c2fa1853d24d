// Tests over every back end that is registered, so that a new one runs them unchanged.
#pragma once

#include "store/backend.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepstore::testing {

inline auto every_backend()
{
    std::vector<std::string> names;
    for (const store::Backend& backend : store::backends())
        names.push_back(backend.name);
    return ::testing::ValuesIn(names);
}

inline std::string backend_name(const ::testing::TestParamInfo<std::string>& info)
{
    return info.param;
}

} // namespace stepstore::testing
