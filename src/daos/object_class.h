// Object classes: the names of libdaos, and which of them are stored here.
// Threads: any; pure. Errors: DER_INVAL, with the reason.
#pragma once

#include "daos/api.h"

#include <cstdint>
#include <string>

namespace stepstore::daos {

// The class that an object of this type gets by default and by hints. DER_INVAL on a senseless hint.
daos_oclass_id_t default_class(unsigned type, daos_oclass_hints_t hints, std::uint32_t redundancy_factor,
                               unsigned targets);
// Completes `oid`; see daos_obj_generate_oid().
daos_obj_id_t complete_oid(daos_obj_id_t oid, unsigned type, daos_oclass_id_t oclass,
                           std::uint32_t redundancy_factor, unsigned targets);
// DER_INVAL, with the reason, unless objects with this id can be stored in a pool of so many targets.
void require_stored_class(daos_obj_id_t oid, unsigned targets);

std::string class_name(daos_oclass_id_t oclass); // empty: no such class

} // namespace stepstore::daos
