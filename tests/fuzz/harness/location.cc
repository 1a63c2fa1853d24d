#include "fuzz.h"

#include "location/location.h"

namespace stepstore {

FUZZ(location, parse)
{
    const Bytes bytes = input.rest();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    parse_object(text);
    const LocationParts parts = parse_location(text);
    parse_names(parts.rest, text);
    const std::string one = absolute_location(text, "/home");
    if (absolute_location(one, "/home") != one) std::abort();
}

} // namespace stepstore
