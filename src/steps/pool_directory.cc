#include "steps/pool_directory.h"

#include "base/system_error.h"
#include "stepstore/admin.h"
#include "stepstore/error.h"

#include <nlohmann/json.hpp>

#include <cstring>

namespace stepstore::steps {

std::optional<Place> pool_directory(const std::string& pool)
{
    if (pool.starts_with("daos://")) return std::nullopt;
    std::size_t size = 0;
    stepstore_pool_path(pool.c_str(), nullptr, &size);
    std::string path(size + 1, '\0');
    size = path.size();
    if (const int code = stepstore_pool_path(pool.c_str(), path.data(), &size); code != 0)
        throw Error(code, stepstore_last_message());
    path.resize(std::strlen(path.c_str()));
    Place directory = Place::directory(path);
    if (!directory) fail_errno("pool " + path, "cannot open the directory");
    return directory;
}

std::string describe_pool(const std::string& pool)
{
    std::string described;
    const auto keep = [](const char* json, void* to) { return *static_cast<std::string*>(to) = json, 0; };
    if (const int code = stepstore_pool_describe(pool.c_str(), keep, &described); code != 0)
        throw Error(code, stepstore_last_message());
    return described;
}

bool survives_power_failure(const std::string& pool)
{
    return nlohmann::json::parse(describe_pool(pool)).at("durability") == "power";
}

} // namespace stepstore::steps
