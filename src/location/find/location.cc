#include "location/find/location.h"

#include "base/text.h"
#include "stepstore/administration.h"

#include <daos_errno.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace stepstore {

namespace {

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

std::shared_ptr<const Pool> open_pool_directory(const std::string& scheme, const std::string& path)
{
    std::error_code ignored;
    std::string missing;
    return std::filesystem::is_directory(path, ignored) ? open_pool(scheme + path, missing) : nullptr;
}

// Whether labels can be looked up: without a root directory `local:NAME` is a path.
bool is_label_here(const std::string& label)
{
    try {
        return !label.empty() && (parse_uuid(label) || !pool_path("local:" + label).empty());
    } catch (const Error&) {
        return false;
    }
}

namespace fs = std::filesystem;

// Whether a pool is being made in the directory, or was made since it was looked for. The lock file comes
// before all else (docs/format.md), and in a pool in files a directory of its id.
bool is_pool_to_be(const fs::path& directory, const std::string& first)
{
    std::error_code ignored;
    const auto has = [&](const char* name) {
        return fs::exists(fs::symlink_status(directory / name, ignored));
    };
    return has("lock") || has(files_header) || parse_uuid(first);
}

// What lies at a path that is no pool. Empty: nothing that keeps a writer from making one there.
std::string occupant(const fs::path& path)
{
    std::error_code unreadable;
    const fs::file_status there = fs::status(path, unreadable);
    if (!fs::exists(there)) return {};
    if (!fs::is_directory(there)) return "a file";
    if (fs::exists(path / "md.idx", unreadable)) return "the output of ADIOS2's engine BP5 or BP4";
    for (fs::directory_iterator entry(path, unreadable), end; !unreadable && entry != end;
         entry.increment(unreadable)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(probe_prefix)) continue;
        if (is_pool_to_be(path, name)) return {};
        return "a directory that is no pool (it holds '" + name + "')";
    }
    return {};
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
    if (location.pool_exists || !capabilities_of(location.pool).directory) return;
    const fs::path path = parse_location(location.pool).path;
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
    if (!capabilities_of(text).directory) return true;
    const Location location = resolve_location(text);
    if (!location.pool_exists || !location.container_given) return location.pool_exists;
    std::error_code unreadable;
    return !fs::exists(fs::status(parse_location(text).path, unreadable));
}

std::string Location::text() const
{
    return pool + "/" + container + "/" + stream;
}

namespace {

// Users of labels may leave out `local:`.
std::string advice_for(const std::string& text)
{
    const std::string first = text.substr(0, text.find('/'));
    const std::string label = "local:" + first;
    try {
        if (is_label_here(first) && std::filesystem::exists(pool_path(label)))
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

FoundPool find_pool(const std::string& text, std::string& rest)
{
    c_text(text, "location");
    const LocationParts parts = parse_location(text);
    FoundPool found;
    rest = parts.rest;
    if (!parts.is_path()) {
        found.pool = parts.pool;
        return found;
    }
    if (is_label_here(parts.label)) {
        found.pool = "local:" + parts.label;
        found.opened = open_pool(found.pool, found.missing);
        found.pool_exists = found.opened != nullptr;
        const bool alone = rest.find_first_not_of('/') == std::string::npos;
        if (found.pool_exists || alone) return found;
        found.missing.clear();
    }
    const std::string& path = parts.path;
    const std::string scheme(parts.form.scheme);
    for (std::size_t end = path.size(); end > 0;) {
        const std::string prefix = without_empty_parts(path.substr(0, end));
        found.opened = open_pool_directory(scheme, prefix);
        if (found.opened) {
            found.pool = found.opened->location();
            found.pool_exists = true;
            rest = end == path.size() ? std::string() : path.substr(end + 1);
            return found;
        }
        // Several '/' are one.
        while (end > 0 && path[end - 1] == '/')
            --end;
        const std::size_t slash = end > 0 ? path.rfind('/', end - 1) : std::string::npos;
        end = slash == std::string::npos ? 0 : slash;
    }
    found.pool = scheme + without_empty_parts(path);
    rest.clear();
    return found;
}

Location resolve_location(const std::string& text)
{
    std::string rest;
    Location location{find_pool(text, rest), {}};
    static_cast<ContainerAndStream&>(location) = parse_names(rest, text);
    const Capabilities& can = capabilities_of(location.pool);
    if (!can.own_store) {
        if (!location.container_given) refuse_location(text, "names no container");
        location.pool_exists = true; // only dmg makes pools there
    } else if (can.network) {
        location.opened = open_pool(location.pool, location.missing);
        location.pool_exists = location.opened != nullptr;
    }
    return location;
}

} // namespace stepstore
