#include "fuzz.h"

#include "daos/duns_name.h"
#include "daos/properties.h"

namespace stepstore::daos {

FUZZ(daos, properties)
{
    const Properties properties = Properties::decode(fuzz::Copy(input.rest()));
    properties.redundancy_factor();
    Properties::decode(properties.encode());
}

FUZZ(daos, uns)
{
    const fuzz::Copy copy(input.rest());
    const Bytes bytes = copy;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const auto attribute = parse_uns_attribute(text)) {
        fuzz::require(attribute->pool.size() == DAOS_UUID_STR_SIZE - 1, "the length of a UUID");
        const auto again = parse_uns_attribute(uns_attribute_text(*attribute));
        fuzz::require(again && again->layout == attribute->layout && again->container == attribute->container,
                      "what is written is what was read");
    }
    for (const auto& name :
         {parse_uns_name(text), parse_bare_uns_name(text, true), parse_bare_uns_name(text, false)}) {
        if (!name) continue;
        fuzz::require(name->pool.size() <= DAOS_PROP_LABEL_MAX_LEN &&
                          name->container.size() <= DAOS_PROP_LABEL_MAX_LEN,
                      "the length of a name");
        fuzz::require(name->rest.empty() || name->rest.front() == '/', "what follows");
    }
}

} // namespace stepstore::daos
