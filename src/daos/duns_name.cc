#include "daos/duns_name.h"

#include "base/text.h"

#include <algorithm>

namespace stepstore::daos {
namespace {

struct Layout {
    const char* name;
    daos_cont_layout_t layout;
};
// The first one of a layout is the one that is written.
constexpr Layout layouts[] = {
    {"POSIX", DAOS_PROP_CO_LAYOUT_POSIX},       {"HDF5", DAOS_PROP_CO_LAYOUT_HDF5},
    {"PYTHON", DAOS_PROP_CO_LAYOUT_PYTHON},     {"SPARK", DAOS_PROP_CO_LAYOUT_SPARK},
    {"DATABASE", DAOS_PROP_CO_LAYOUT_DATABASE}, {"DB", DAOS_PROP_CO_LAYOUT_DATABASE},
    {"ROOT", DAOS_PROP_CO_LAYOUT_ROOT},         {"RNTuple", DAOS_PROP_CO_LAYOUT_ROOT},
    {"SEISMIC", DAOS_PROP_CO_LAYOUT_SEISMIC},   {"DSG", DAOS_PROP_CO_LAYOUT_SEISMIC},
    {"METEO", DAOS_PROP_CO_LAYOUT_METEO},       {"FDB", DAOS_PROP_CO_LAYOUT_METEO},
};

constexpr std::size_t uuid_length = DAOS_UUID_STR_SIZE - 1;

bool same_letters(std::string_view a, std::string_view b)
{
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_uuid(std::string_view text)
{
    return text.size() == uuid_length && parse_uuid(text).has_value();
}

bool is_name(std::string_view text)
{
    return is_uuid(text) ||
           (text.find('\0') == std::string_view::npos && daos_label_is_valid(std::string(text).c_str()));
}

// Takes what comes before the next '/' or the end.
std::string_view next_part(std::string_view& rest)
{
    const auto part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(part.size());
    return part;
}

// POOL/CONTAINER[/PATH]
std::optional<UnsName> parse_parts(std::string_view rest, bool labels)
{
    UnsName name;
    name.pool = next_part(rest);
    if (rest.empty()) return std::nullopt;
    rest.remove_prefix(1);
    name.container = next_part(rest);
    name.rest = rest;
    if (rest.find('\0') != std::string_view::npos) return std::nullopt;
    const auto good = labels ? is_name : is_uuid;
    if (!good(name.pool) || !good(name.container)) return std::nullopt;
    return name;
}

bool take(std::string_view& text, std::string_view start)
{
    if (!same_letters(text.substr(0, start.size()), start)) return false;
    text.remove_prefix(start.size());
    return true;
}

} // namespace

std::optional<UnsAttribute> parse_uns_attribute(std::string_view text)
{
    if (text.ends_with('\0')) text.remove_suffix(1);
    if (!text.starts_with("DAOS.")) return std::nullopt;
    text.remove_prefix(5);
    const auto colon = text.find(':');
    const auto* found = std::ranges::find_if(
        layouts, [&](const Layout& each) { return same_letters(each.name, text.substr(0, colon)); });
    if (colon == std::string_view::npos || found == std::end(layouts)) return std::nullopt;
    text.remove_prefix(colon);
    if (!take(text, "://") || text.size() != uuid_length + 1 + uuid_length || text[uuid_length] != '/')
        return std::nullopt;
    UnsAttribute attribute{found->layout, std::string(text.substr(0, uuid_length)),
                           std::string(text.substr(uuid_length + 1))};
    if (!is_uuid(attribute.pool) || !is_uuid(attribute.container)) return std::nullopt;
    return attribute;
}

std::string uns_attribute_text(const UnsAttribute& attribute)
{
    const auto* found = std::ranges::find(layouts, attribute.layout, &Layout::layout);
    return std::string("DAOS.") + found->name + "://" + attribute.pool + "/" + attribute.container;
}

std::optional<UnsName> parse_uns_name(std::string_view path)
{
    if (!take(path, "daos://")) return std::nullopt;
    const std::string_view pool = path.substr(0, path.find('/'));
    if (path == pool || path.substr(pool.size()) == "/") {
        if (!is_name(pool)) return std::nullopt;
        return UnsName{std::string(pool), {}, {}};
    }
    return parse_parts(path, true);
}

std::optional<UnsName> parse_bare_uns_name(std::string_view path, bool labels)
{
    if (!path.starts_with('/')) return std::nullopt;
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    return parse_parts(path, labels);
}

} // namespace stepstore::daos
