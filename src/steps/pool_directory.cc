#include "steps/pool_directory.h"

#include "base/system_error.h"
#include "location/find/location.h"
#include "stepstore/administration.h"

namespace stepstore::steps {

std::optional<RootedPath> pool_directory(const std::string& pool)
{
    if (!capabilities_of(pool).directory) return std::nullopt;
    const std::string path = pool_path(pool);
    RootedPath directory = RootedPath::directory(path);
    if (!directory) fail_errno("pool " + path, "cannot open the directory");
    return directory;
}

bool survives_power_failure(const std::string& pool)
{
    return describe_pool(pool).durability == Durability::power;
}

} // namespace stepstore::steps
