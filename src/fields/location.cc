#include "fields/location.h"

#include <daos_errno.h>

#include <charconv>

namespace stepstore::fields {

std::string FieldLocation::text() const
{
    return std::to_string(object) + '.' + std::to_string(offset) + '.' + std::to_string(length);
}

FieldLocation FieldLocation::parse(std::string_view text)
{
    FieldLocation location;
    const char* at = text.data();
    const char* const end = at + text.size();
    bool good = true;
    for (std::uint64_t* number : {&location.object, &location.offset, &location.length}) {
        const auto [stop, error] = std::from_chars(at, end, *number);
        good = good && error == std::errc() &&
               (number == &location.length ? stop == end : stop != end && *stop == '.');
        at = stop == end ? end : stop + 1;
    }
    if (!good)
        throw Error(-DER_INVAL, "'" + std::string(text.substr(0, 200)) +
                                    "' is not the location of a field: give OBJECT.OFFSET.LENGTH in decimal");
    return location;
}

} // namespace stepstore::fields
