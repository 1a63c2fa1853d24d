#include "location/location.h"

#include "base/text.h"

#include <daos_prop.h>

#include <algorithm>
#include <charconv>

namespace stepstore {
namespace {

constexpr std::string_view local_scheme = "local:";
constexpr std::string_view url_scheme = "stepstore://";
constexpr std::size_t longest_container = 127;
constexpr std::size_t longest_stream = 1024;

constexpr LocationForm forms[] = {
    {"",
     0,
     {.own_store = true,
      .directory = true,
      .versions = true,
      .one_machine = true,
      .network = false,
      .keeps_copies = false,
      .watches = false,
      .verifies_keys = false,
      .verifies_cells = true}},
    {"shared:",
     0,
     {.own_store = true,
      .directory = true,
      .versions = false,
      .one_machine = false,
      .network = false,
      .keeps_copies = false,
      .watches = false,
      .verifies_keys = true,
      .verifies_cells = false}},
    {"rados://",
     2,
     {.own_store = true,
      .directory = false,
      .versions = true,
      .one_machine = false,
      .network = true,
      .keeps_copies = true,
      .watches = true,
      .verifies_keys = true,
      .verifies_cells = true}},
    {"daos://",
     1,
     {.own_store = false,
      .directory = false,
      .versions = true,
      .one_machine = false,
      .network = true,
      .keeps_copies = true,
      .watches = false,
      .verifies_keys = true,
      .verifies_cells = true}},
};

std::string_view without_url(std::string_view location)
{
    if (location.starts_with(url_scheme)) location.remove_prefix(url_scheme.size());
    return location;
}

// SCHEME://..., with a scheme as URLs have it.
bool has_scheme(std::string_view location)
{
    const auto is_of_scheme = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
               c == '.' || c == '-';
    };
    const std::size_t colon = location.find("://");
    return colon != std::string_view::npos && colon > 0 &&
           std::ranges::all_of(location.substr(0, colon), is_of_scheme);
}

// The part up to the next '/', which goes with it.
std::string_view take_part(std::string_view& rest)
{
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    return part;
}

bool is_control(char c)
{
    return static_cast<unsigned char>(c) < 0x20;
}

} // namespace

const LocationForm& path_form = forms[0];
const LocationForm& shared_form = forms[1];
const LocationForm& rados_form = forms[2];

void refuse_location(std::string_view location, const std::string& why)
{
    throw Error(-DER_INVAL, "the location '" + std::string(location) + "' " + why +
                                "; a location is PATH, POOL/CONTAINER or POOL/CONTAINER/STREAM, shared: and "
                                "one of these, or daos://POOL/CONTAINER[/STREAM], or "
                                "rados://CEPHPOOL[/NAMESPACE[/CONTAINER[/STREAM]]]");
}

const LocationForm& form_of(std::string_view location)
{
    const std::string_view inner = without_url(location);
    for (const LocationForm& form : forms)
        if (!form.scheme.empty() && inner.starts_with(form.scheme)) return form;
    if (has_scheme(inner)) refuse_location(location, "begins with a scheme that Stepstore does not know");
    return path_form;
}

LocationParts parse_location(std::string_view location)
{
    LocationParts parts{form_of(location)};
    std::string_view left = without_url(location);
    left.remove_prefix(parts.form.scheme.size());
    if (!parts.is_path()) {
        parts.pool = parts.form.scheme;
        for (unsigned name = 0; name < parts.form.names; ++name)
            parts.pool += (name > 0 ? "/" : "") + parts.names.emplace_back(take_part(left));
        if (parts.names.front().empty()) refuse_location(location, "names no pool");
        if (std::ranges::any_of(parts.pool, is_control))
            refuse_location(location, "has a control character in the name of its pool");
        parts.rest = left;
        return parts;
    }
    parts.after_local = parts.form.scheme.empty() && left.starts_with(local_scheme);
    if (parts.after_local) left.remove_prefix(local_scheme.size());
    if (left.empty()) refuse_location(location, "is empty");
    parts.path = left;
    if (!parts.after_local) return parts;
    const std::string_view first = take_part(left);
    if (!is_pool_label(first)) return parts;
    parts.label = first;
    parts.rest = left;
    return parts;
}

bool is_pool_label(std::string_view name)
{
    return (name != "." && name != ".." && daos_label_is_valid(std::string(name).c_str()) &&
            name.find('\0') == std::string_view::npos) ||
           parse_uuid(name);
}

std::string without_empty_parts(std::string_view path)
{
    std::string clean;
    for (const char c : path)
        if (c != '/' || clean.empty() || clean.back() != '/') clean += c;
    while (clean.size() > 1 && clean.back() == '/')
        clean.pop_back();
    return clean;
}

std::string absolute_location(std::string_view location, std::string_view directory)
{
    const LocationParts parts = parse_location(location);
    const bool is_path = parts.is_path() && parts.label.empty();
    std::string whole = parts.is_path() ? std::string(parts.form.scheme) : parts.pool;
    if (!parts.label.empty()) whole = std::string(local_scheme) + parts.label;
    const std::string path =
        is_path && !parts.path.starts_with('/') ? std::string(directory) + "/" + parts.path : parts.path;
    for (std::string_view left = is_path ? path : parts.rest; !left.empty();) {
        const std::string_view part = take_part(left);
        if (part.empty() || part == ".") continue;
        whole += '/';
        whole += part;
    }
    if (is_path && whole.size() == parts.form.scheme.size()) return whole + "/";
    if (whole.ends_with('/')) whole.pop_back(); // an empty namespace, with nothing after it
    return whole;
}

ContainerAndStream parse_names(std::string_view rest, std::string_view location)
{
    ContainerAndStream names;
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    const std::string clean = without_empty_parts(rest);
    if (clean.empty()) return names;
    std::string_view left = clean;
    names.container = take_part(left);
    names.container_given = true;
    names.stream_given = !left.empty();
    if (names.stream_given) names.stream = left;
    if (names.container.size() > longest_container)
        refuse_location(location,
                        "has a container name of more than " + std::to_string(longest_container) + " bytes");
    if (names.stream.size() > longest_stream)
        refuse_location(location,
                        "has a stream name of more than " + std::to_string(longest_stream) + " bytes");
    for (left = clean; !left.empty();)
        if (const std::string_view part = take_part(left); part == "." || part == "..")
            refuse_location(location, "has a '.' or '..' part after its pool");
    return names;
}

std::optional<ObjectPart> parse_object(std::string_view rest)
{
    constexpr std::size_t most_digits = 20;
    const std::size_t slash = rest.find('/');
    const std::string_view id = rest.substr(0, slash);
    const std::size_t dot = id.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    ObjectPart object;
    bool fits = true;
    const auto number = [&](std::string_view digits, std::uint64_t& into) {
        if (digits.empty() || digits.size() > most_digits ||
            !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
            return false;
        fits &= std::from_chars(digits.data(), digits.data() + digits.size(), into).ec == std::errc();
        return true;
    };
    if (!number(id.substr(0, dot), object.hi) || !number(id.substr(dot + 1), object.lo)) return std::nullopt;
    if (!fits)
        throw Error(-DER_INVAL, "'" + std::string(rest) +
                                    "': an object id is two numbers below 2^64 with a dot between them");
    if (slash != std::string_view::npos) object.key = rest.substr(slash + 1);
    return object;
}

} // namespace stepstore
