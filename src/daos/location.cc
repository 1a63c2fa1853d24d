#include "daos/location.h"

#include "daos/api.h"

#include "base/text.h"
#include "daos/failure.h"
#include "location/location.h"
#include "store/backend.h"
#include "store/store.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace stepstore::daos {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view local_scheme = "local:";

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

// As the back end takes it. DER_INVAL: no pool is named after the scheme.
std::string of_backend(const std::string& pool)
{
    parse_location(pool);
    return without_last_slashes(pool);
}

// What it says of a pool of this machine: all that follows `local:` is a path or, without a '/', a label.
struct Named {
    std::string path, label; // one of them
    std::string scheme = {}; // before the path
};
Named named(const std::string& pool)
{
    const LocationParts parts = parse_location(pool);
    if (!parts.form.capabilities.directory)
        invalid(
            "'" + pool +
            "' is not a pool of this machine, and this call serves no other: give a path, shared:PATH, "
            "local:LABEL, or rados://CEPHPOOL[/NAMESPACE]; for a DAOS system use its own tools (daos, dmg)");
    if (parts.after_local && parts.path.find('/') == std::string::npos) return {"", parts.path};
    return {parts.path, "", std::string(parts.form.scheme)};
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
    if (is_pool_label(label) && (uuid_too || !parse_uuid(label))) return;
    invalid("'local:" + std::string(label) +
            "' names no pool: a label has 1 to 127 characters of A-Z a-z 0-9 . _ : -, and is not '.' or "
            "'..'; a path stands alone");
}

// Users of labels may leave out `local:`.
void look_for_label(std::string name, const std::string& path)
{
    std::error_code ignored;
    if (name.starts_with("./")) name.erase(0, 2);
    if (name.find('/') != std::string::npos || !is_pool_label(name) || fs::exists(path, ignored)) return;
    std::string root;
    try {
        root = root_directory();
    } catch (const Error&) {
        return;
    }
    if (fs::exists(root + "/" + name, ignored))
        throw Error(-DER_NONEXIST,
                    "there is no pool " + path + ": the pool in " + root + "/" + name + " is local:" + name);
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
    if (is_of_backend(pool)) return of_backend(pool);
    const auto [path, label, scheme] = named(pool);
    if (label.empty()) return scheme + absolute(path);
    require_label(label, false);
    return root_directory() + "/" + label;
}

std::string find_pool(const char* pool)
{
    require(pool, "the pool's name");
    if (is_of_backend(pool)) return of_backend(pool);
    const std::string name = named(pool).label;
    if (name.empty()) {
        std::string directory = pool_path(pool);
        look_for_label(pool, directory);
        return directory;
    }
    require_label(name, true);
    const std::string root = root_directory();
    const auto uuid = parse_uuid(name);
    std::error_code ignored;
    if (!uuid && fs::exists(root + "/" + name, ignored)) return root + "/" + name;
    for (const std::string& found : store::Pool::list(root)) {
        try {
            const auto info = store::Pool::open(found, store::Access::read_only)->query();
            if (uuid ? info.uuid == *uuid : info.label == name) return found;
        } catch (const Error&) {
            continue; // one that cannot be opened is not the one looked for
        }
    }
    throw Error(-DER_NONEXIST, "there is no pool " + name + " under " + root +
                                   ": create it with 'stepstore pool create local:" + name +
                                   "', or give a path, such as ./" + name);
}

std::string find_pool_of_daos(const char* pool)
{
    require(pool, "the pool's name");
    const std::string name(pool);
    const bool bare = !name.empty() && name.find('/') == std::string::npos;
    if (!bare || name.starts_with(local_scheme) || !form_of(name).scheme.empty()) return find_pool(pool);
    return find_pool((std::string(local_scheme) + name).c_str());
}

} // namespace stepstore::daos
