// Many small files into few: the keys of each key-value object into one file (packed.h), without the names of
// removed keys and old versions.
//
// It is for a pool that no other process updates:
// 1. A mark is put: a file below compacting/, with a name that nobody uses again. It says who compacts.
// 2. If there is another mark, or another directory in temporary/, whose process is not known to be dead,
//    that is DER_BUSY. The mark of a dead process is removed.
// 3. A process makes its directory in temporary/ before its first update or removal, and then looks for
//    marks (Place::temporary()).
// So of any two at least one sees the other. The mark is removed at the end. Threads of one process see each
// other by Place::InUse.
//
// An object is packed so:
// 1. The newest versions of its keys are written into a file in temporary/, and verified as they are read.
// 2. The directory of that file is moved to data/HOST/TOKEN, with a fresh token.
// 3. A new entry is moved over that of the object. It names the new data.
// 4. The old data are moved away, and removed.
// Killed at any instant: the entry names the old data, whole, or the new data, whole. They have the same keys
// and values. What no entry names is removed by a repair. A repair that runs meanwhile takes nothing from
// data/ while it sees the mark.
//
// Others may read meanwhile. Who knows the old entry finds nothing under the old token any more. A directory
// of it that was opened before step 4 is empty when it is listed, or has some of its names. But no file is
// opened by them, as the directory has another path now. So a reader that does not find a key reads the entry
// again, before it says so. A listing does it for each bucket, and goes on at the same place of the new data
// (Keys::list).
//
// An object of which fewer than two keys are left is not packed. Its old names are removed one by one, the
// newest last.
//
// Threads: any. Errors: DER_BUSY; DER_CSUM: a value is damaged, and the objects before it are packed.
#pragma once

#include "store/files/walk.h"

namespace stepstore::store::files {

struct Usage {
    Taken keys, arrays; // keys: all that is not cells of arrays
};
Usage usage_of(const Place& place);

void compact_files(const Place& place);

} // namespace stepstore::store::files
