#include "fuzz.h"

#include "steps/layouts/metadata_objects.cc"

namespace stepstore::steps {

FUZZ(steps, reach)
{
    decode_reach(fuzz::Copy(input.rest()));
}

} // namespace stepstore::steps
