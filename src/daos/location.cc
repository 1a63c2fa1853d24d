#include "daos/location.h"

#include "daos/api.h"

#include "base/text.h"
#include "daos/failure.h"
#include "store/backend.h"
#include "store/store.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace stepstore::daos {
namespace {

namespace fs = std::filesystem;

// In the form of a back end's own: no path, and no label.
bool is_of_backend(const std::string& pool)
{
    return std::ranges::any_of(store::backends(), [&](const store::Backend& one) {
        return one.names != nullptr && one.names(pool);
    });
}

std::string without_last_slashes(std::string path)
{
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
    return path;
}

std::string_view without_scheme(std::string_view pool)
{
    constexpr std::string_view local = "local:";
    if (pool.starts_with(local)) return pool.substr(local.size());
    if (pool.find("://") != std::string_view::npos)
        invalid(
            "'" + std::string(pool) +
            "' is not a pool of this machine, and this call serves no other: give a path, a label or "
            "local:..., or rados://CEPHPOOL[/NAMESPACE]; for a DAOS system use its own tools (daos, dmg)");
    return pool;
}

bool is_path(std::string_view name)
{
    return name.find('/') != std::string_view::npos;
}

std::string absolute(std::string_view path)
{
    return without_last_slashes(fs::absolute(fs::path(path)).lexically_normal().string());
}

const char* environment(const char* name)
{
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
}

void require_label(std::string_view label, bool uuid_too)
{
    const std::string text(label);
    if (label == "." || label == "..")
        invalid("'" + text +
                "' is not a pool label: to name a directory give a path with a '/', such as ./pool");
    if (!daos_label_is_valid(text.c_str()) && !(uuid_too && parse_uuid(label)))
        invalid("'" + text +
                "' is not a pool's name: give a path with a '/', or a label of 1 to 127 characters of A-Z "
                "a-z 0-9 . _ : -");
}

} // namespace

std::string root_directory()
{
    if (const char* root = environment("STEPSTORE_ROOT")) return absolute(root);
    if (const char* data = environment("XDG_DATA_HOME")) return absolute(std::string(data) + "/stepstore");
    if (const char* home = environment("HOME"))
        return absolute(std::string(home) + "/.local/share/stepstore");
    invalid("there is no root directory for pool labels: set STEPSTORE_ROOT, or give the pool as a path");
}

std::string pool_path(const char* pool)
{
    require(pool, "the pool's name");
    if (is_of_backend(pool)) return without_last_slashes(pool);
    const std::string_view name = without_scheme(pool);
    if (is_path(name)) return absolute(name);
    require_label(name, false);
    return root_directory() + "/" + std::string(name);
}

std::string find_pool(const char* pool)
{
    require(pool, "the pool's name");
    if (is_of_backend(pool)) return without_last_slashes(pool);
    const std::string name(without_scheme(pool));
    if (is_path(name)) return absolute(name);
    require_label(name, true);
    const std::string root = root_directory();
    const auto uuid = parse_uuid(name);
    std::error_code ignored;
    if (!uuid && fs::exists(root + "/" + name, ignored)) return root + "/" + name;
    for (const std::string& path : store::Pool::list(root)) {
        try {
            const auto info = store::Pool::open(path, store::Access::read_only)->query();
            if (uuid ? info.uuid == *uuid : info.label == name) return path;
        } catch (const Error&) {
            continue; // one that cannot be opened is not the one looked for
        }
    }
    throw Error(-DER_NONEXIST, "there is no pool " + name + " under " + root +
                                   ": create it with 'stepstore pool create " + name +
                                   "', or give a path with a '/'");
}

} // namespace stepstore::daos
