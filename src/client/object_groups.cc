#include "client/object_groups.h"

#include <daos.h>

#include <algorithm>

namespace stepstore {

unsigned object_groups(const ObjectId& id, unsigned targets)
{
    const unsigned copies = (id.hi >> OID_FMT_CLASS_SHIFT & OID_FMT_CLASS_MAX) == OR_RP_2 ? 2 : 1;
    const std::uint64_t groups = id.hi >> OID_FMT_META_SHIFT & OID_FMT_META_MAX;
    return static_cast<unsigned>(std::min<std::uint64_t>(groups, targets / copies));
}

} // namespace stepstore
