#include "steps/location.h"

#include "base/text.h"

#include <daos_errno.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

namespace stepstore::steps {

namespace {

constexpr std::string_view local_scheme = "local:";
constexpr std::string_view daos_scheme = "daos://";
constexpr std::size_t longest_container = 127;
constexpr std::size_t longest_stream = 1024;

[[noreturn]] void invalid(const std::string& text, const std::string& why)
{
    throw Error(-DER_INVAL, "the location '" + text + "' " + why +
                                "; a location is PATH, POOL/CONTAINER or POOL/CONTAINER/STREAM, or "
                                "daos://POOL/CONTAINER[/STREAM]");
}

// nullptr: there is none.
std::shared_ptr<const Pool> open_pool(const std::string& candidate)
{
    try {
        return std::make_shared<const Pool>(Pool::connect(candidate, Access::read_only));
    } catch (const Error& error) {
        if (error.code() == -DER_NONEXIST) return nullptr;
        throw; // a pool, but one that cannot be opened: the error says why
    }
}

// What Pool::connect takes for the directory at `path`: with a '/', so that it is no label.
std::string as_path(const std::string& path)
{
    return path.find('/') == std::string::npos ? "./" + path : path;
}

std::shared_ptr<const Pool> open_pool_directory(const std::string& path)
{
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored) ? open_pool(as_path(path)) : nullptr;
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

} // namespace

std::string Location::text() const
{
    return pool + "/" + container + "/" + stream;
}

bool is_on_daos(const std::string& text)
{
    return text.starts_with(daos_scheme);
}

Location resolve_location(const std::string& text)
{
    c_text(text, "location");
    if (is_on_daos(text)) return resolve_daos(text);
    const bool may_be_label = text.starts_with(local_scheme);
    std::string path = may_be_label ? text.substr(local_scheme.size()) : text;
    if (path.empty()) invalid(text, "is empty");
    path = without_empty_parts(path);
    Location location;
    for (std::size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
        const std::string prefix = path.substr(0, end);
        const bool first_part = prefix.find('/') == std::string::npos;
        location.opened = open_pool_directory(prefix);
        const bool by_path = location.opened != nullptr;
        if (!by_path && may_be_label && first_part && prefix != "." && prefix != "..")
            location.opened = open_pool(prefix);
        if (!location.opened) continue;
        location.pool = by_path ? as_path(prefix) : prefix;
        location.pool_exists = true;
        set_names(location, text,
                  end == path.size() ? std::string_view() : std::string_view(path).substr(end + 1));
        return location;
    }
    location.pool = as_path(path);
    return location;
}

} // namespace stepstore::steps
