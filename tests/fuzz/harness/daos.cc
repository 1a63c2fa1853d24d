#include "fuzz.h"

#include "daos/properties.h"

namespace stepstore::daos {

FUZZ(daos, properties)
{
    const Properties properties = Properties::decode(fuzz::Copy(input.rest()));
    properties.redundancy_factor();
    Properties::decode(properties.encode());
}

} // namespace stepstore::daos
