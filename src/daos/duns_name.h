// What paths and attributes of the unified namespace say (daos_uns.h). Their form is DAOS's own, and no
// location (src/location). Both are foreign: anybody who may write to a directory sets them.
// Threads: pure. Errors: nullopt says that a text has another form.
#pragma once

#include "daos/api.h"

#include <optional>
#include <string>
#include <string_view>

namespace stepstore::daos {

struct UnsAttribute {
    daos_cont_layout_t layout = DAOS_PROP_CO_LAYOUT_UNKNOWN;
    std::string pool, container; // UUIDs
};
// DAOS.LAYOUT://UUID/UUID, perhaps with a zero after it.
std::optional<UnsAttribute> parse_uns_attribute(std::string_view text);
std::string uns_attribute_text(const UnsAttribute& attribute);

struct UnsName {
    std::string pool, container; // labels or UUIDs; container: may be empty
    std::string rest;            // what follows, with its '/'; or empty
};
// daos://POOL[/CONTAINER[/PATH]]
std::optional<UnsName> parse_uns_name(std::string_view path);
// /POOL/CONTAINER[/PATH]. labels: not by UUIDs alone.
std::optional<UnsName> parse_bare_uns_name(std::string_view path, bool labels);

} // namespace stepstore::daos
