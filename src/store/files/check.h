// Looking through a pool in files, and giving back what killed processes have left.
// Threads: of one call. Errors: damage becomes a finding; what says nothing of the pool is thrown.
#pragma once

#include "store/files/place.h"
#include "store/store.h"

#include <cstdint>

namespace stepstore::store::files {

// Walks over all objects. With options.repair it removes what killed processes have left: temporary files of
// processes that are dead on this machine, and what was moved away to be removed. Also containers that were
// never finished, and data that no object has. What processes of other machines have left stays: nobody can
// see from here whether they live.
void check_files(const Place& place, const CheckOptions& options, CheckReport& report);

} // namespace stepstore::store::files
