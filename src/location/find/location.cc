#include "steps/location.h"

#include "base/text.h"
#include "stepstore/administration.h"

#include <daos_errno.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

namespace stepstore::steps {

namespace {

constexpr std::string_view local_scheme = "local:";
constexpr std::string_view daos_scheme = "daos://";
constexpr std::string_view rados_scheme = "rados://";
constexpr std::size_t longest_container = 127;
constexpr std::size_t longest_stream = 1024;

[[noreturn]] void invalid(const std::string& text, const std::string& why)
{
    throw Error(-DER_INVAL, "the location '" + text + "' " + why +
                                "; a location is PATH, POOL/CONTAINER or POOL/CONTAINER/STREAM, or "
                                "daos://POOL/CONTAINER[/STREAM], or "
                                "rados://CEPHPOOL[/NAMESPACE[/CONTAINER[/STREAM]]]");
}

// nullptr: there is none, and `missing` says why.
std::shared_ptr<const Pool> open_pool(const std::string& candidate, std::string& missing)
{
    try {
        return std::make_shared<const Pool>(Pool::connect(candidate, Access::read_only));
    } catch (const Error& error) {
        if (error.code() != -DER_NONEXIST) throw; // a pool, but one that cannot be opened
        missing = error.what();
        return nullptr;
    }
}

std::shared_ptr<const Pool> open_pool_directory(const std::string& path)
{
    std::error_code ignored;
    std::string missing;
    return std::filesystem::is_directory(path, ignored) ? open_pool(path, missing) : nullptr;
}

// Of a pool, or its UUID.
bool is_label(const std::string& name)
{
    try {
        return parse_uuid(name) || !pool_path(std::string(local_scheme) + name).empty();
    } catch (const Error&) {
        return false;
    }
}

void set_names(Location& location, const std::string& text, std::string_view rest)
{
    if (rest.empty()) return;
    const std::size_t slash = rest.find('/');
    location.container = rest.substr(0, slash);
    location.container_given = true;
    location.stream_given = slash != std::string_view::npos;
    if (location.stream_given) location.stream = rest.substr(slash + 1);
    if (location.container.size() > longest_container)
        invalid(text, "has a container name of more than " + std::to_string(longest_container) + " bytes");
    if (location.stream.size() > longest_stream)
        invalid(text, "has a stream name of more than " + std::to_string(longest_stream) + " bytes");
    std::string_view left = rest;
    while (true) {
        const std::size_t end = left.find('/');
        const std::string_view part = left.substr(0, end);
        if (part.empty() || part == "." || part == "..")
            invalid(text, "has an empty, '.' or '..' part after its pool");
        if (end == std::string_view::npos) return;
        left.remove_prefix(end + 1);
    }
}

// "a//b/" -> "a/b"; a leading '/' stays.
std::string without_empty_parts(std::string_view path)
{
    std::string clean;
    for (const char c : path)
        if (c != '/' || clean.empty() || clean.back() != '/') clean += c;
    while (clean.size() > 1 && clean.back() == '/')
        clean.pop_back();
    return clean;
}

Location resolve_daos(const std::string& text)
{
    const std::string_view rest = std::string_view(text).substr(daos_scheme.size());
    const std::size_t slash = rest.find('/');
    if (slash == 0 || rest.empty()) invalid(text, "names no pool");
    if (slash == std::string_view::npos || slash + 1 == rest.size()) invalid(text, "names no container");
    Location location;
    location.pool = std::string(daos_scheme) + std::string(rest.substr(0, slash));
    location.pool_exists = true; // only dmg makes pools there
    set_names(location, text, rest.substr(slash + 1));
    return location;
}

// The part up to the next '/', which goes with it.
std::string_view take_part(std::string_view& rest)
{
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    return part;
}

Location resolve_rados(const std::string& text)
{
    std::string_view rest = std::string_view(text).substr(rados_scheme.size());
    const std::string_view ceph_pool = take_part(rest);
    const std::string_view name_space = take_part(rest);
    if (ceph_pool.empty()) invalid(text, "names no Ceph pool");
    Location location;
    // Of the default namespace rados://CEPHPOOL/, so that what follows a further '/' is a container.
    location.pool = std::string(rados_scheme) + std::string(ceph_pool) + "/" + std::string(name_space);
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    set_names(location, text, without_empty_parts(rest));
    location.opened = open_pool(location.pool, location.missing);
    location.pool_exists = location.opened != nullptr;
    return location;
}

namespace fs = std::filesystem;

// Whether a pool is being made in the directory: its lock file comes before all else (docs/format.md).
bool is_pool_to_be(const fs::path& directory)
{
    std::error_code ignored;
    return fs::exists(fs::symlink_status(directory / "lock", ignored));
}

// What lies at a path that is no pool. Empty: nothing that keeps a writer from making one there.
std::string occupant(const fs::path& path)
{
    std::error_code unreadable;
    const fs::file_status there = fs::status(path, unreadable);
    if (!fs::exists(there)) return {};
    if (!fs::is_directory(there)) return "a file";
    if (fs::exists(path / "md.idx", unreadable)) return "the output of ADIOS2's engine BP5 or BP4";
    const fs::directory_iterator first(path, unreadable);
    if (unreadable || first == fs::directory_iterator()) return {};
    const std::string name = first->path().filename().string();
    return is_pool_to_be(path) ? std::string() : "a directory that is no pool (it holds '" + name + "')";
}

[[noreturn]] void refuse_place(const std::string& text, const fs::path& path, const std::string& what)
{
    const std::string other =
        what.starts_with("the output")
            ? "To read it name no engine, or BP5. `stepstore copy` makes a stream of it. "
              "To write choose another location, or move it away"
            : "Choose another location, or move it away";
    throw Error(-DER_INVAL, "the location '" + text + "' cannot be a pool: at " + path.string() + " lies " +
                                what + ". " + other);
}

} // namespace

void require_place_for_pool(const Location& location, const std::string& text)
{
    if (location.pool_exists || is_on_cluster(location.pool)) return;
    const fs::path path = location.pool;
    if (const std::string what = occupant(path); !what.empty()) refuse_place(text, path, what);
    // No directory can be made below a file.
    for (fs::path above = path.parent_path(); !above.empty() && above != above.root_path();
         above = above.parent_path()) {
        std::error_code unreadable;
        const fs::file_status there = fs::status(above, unreadable);
        if (!fs::exists(there)) continue;
        if (!fs::is_directory(there)) refuse_place(text, above, "a file");
        return;
    }
}

bool lies_in_pool(const std::string& text)
{
    if (is_on_cluster(text)) return true;
    const Location location = resolve_location(text);
    if (!location.pool_exists || !location.container_given) return location.pool_exists;
    std::error_code unreadable;
    return !fs::exists(fs::status(text, unreadable));
}

std::string Location::text() const
{
    return pool + "/" + container + "/" + stream;
}

bool is_on_daos(const std::string& text)
{
    return text.starts_with(daos_scheme);
}

bool is_on_ceph(const std::string& text)
{
    return text.starts_with(rados_scheme);
}

bool is_on_cluster(const std::string& text)
{
    return is_on_daos(text) || is_on_ceph(text);
}

namespace {

// Users of labels may leave out `local:`.
std::string advice_for(const std::string& text)
{
    const std::string first = text.substr(0, text.find('/'));
    const std::string label = std::string(local_scheme) + first;
    try {
        if (is_label(first) && std::filesystem::exists(pool_path(label)))
            return "the pool with the label " + first + " is " + label;
    } catch (const std::exception&) { // there is no root directory, or not for this user
    }
    return "check the location, or run the writer first";
}

} // namespace

void require_pool(const Location& location, const std::string& text)
{
    if (location.pool_exists) return;
    require_place_for_pool(location, text);
    if (!location.missing.empty()) throw Error(-DER_NONEXIST, location.missing);
    throw Error(-DER_NONEXIST,
                "there is no pool at '" + text + "', nor at any directory above it: " + advice_for(text));
}

Location resolve_location(const std::string& text)
{
    c_text(text, "location");
    if (is_on_daos(text)) return resolve_daos(text);
    if (is_on_cluster(text)) return resolve_rados(text);
    const bool after_local = text.starts_with(local_scheme);
    std::string path = after_local ? text.substr(local_scheme.size()) : text;
    if (path.empty()) invalid(text, "is empty");
    path = without_empty_parts(path);
    Location location;
    const std::string first = path.substr(0, path.find('/'));
    const bool may_be_label = after_local && is_label(first);
    if (may_be_label) {
        location.pool = std::string(local_scheme) + first;
        location.opened = open_pool(location.pool, location.missing);
        location.pool_exists = location.opened != nullptr;
        if (location.pool_exists)
            set_names(location, text, path.substr(std::min(first.size() + 1, path.size())));
        if (location.pool_exists || first == path) return location;
        location.missing.clear();
    }
    for (std::size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
        const std::string prefix = path.substr(0, end);
        location.opened = open_pool_directory(prefix);
        if (!location.opened) continue;
        location.pool = prefix;
        location.pool_exists = true;
        set_names(location, text,
                  end == path.size() ? std::string_view() : std::string_view(path).substr(end + 1));
        return location;
    }
    location.pool = path;
    return location;
}

} // namespace stepstore::steps
