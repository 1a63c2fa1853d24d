// Many small files into few: the keys of each key-value object into one file (packed.h), without the names of
// removed keys and old versions.
//
// It is for a pool that no other process updates:
// 1. A mark is put: the file `compacting`, by link(). It says who compacts.
// 2. If another process has a directory in temporary/, and is not known to be dead, that is DER_BUSY.
// 3. A process makes its directory there before its first update or removal, and then looks for the mark
//    (Place::temporary()).
// So of the two one sees the other. The mark is removed at the end. That of a dead process does not count.
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
// Others may read meanwhile. Who knows the old entry finds nothing under the old token any more, and reads
// the entry again (objects.h). A listing goes on at the same place of the new data (Keys::list).
//
// An object of which fewer than two keys are left is not packed. Its old names are removed one by one, the
// newest last.
//
// Threads: no other thread of this process may update the pool meanwhile. Errors: DER_BUSY; DER_CSUM: a value
// is damaged, and the objects before it are packed.
#pragma once

#include "store/files/walk.h"

namespace stepstore::store::files {

struct Usage {
    Taken keys, arrays; // keys: all that is not cells of arrays
};
Usage usage_of(const Place& place);

void compact_files(const Place& place);

} // namespace stepstore::store::files
