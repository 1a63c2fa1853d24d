// Looking through a pool in files, and giving back what nobody needs.
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

struct CompactedFiles {
    std::uint64_t before = 0, after = 0; // bytes that the pool's files take
};
// Removes the names of keys that were removed, and old versions. For a pool that no other process uses: a
// process that updates such a key meanwhile could lose its update. DER_BUSY: another process of this machine
// has temporary files, or one of another machine that gave no sign of its end.
CompactedFiles compact_files(const Place& place);

} // namespace stepstore::store::files
