// After a sync that failed. The system has then marked as written what it could not write: no later sync
// writes it, and a later sync succeeds all the same. As long as it is in memory, it can be written once more.
//
// 1. What a read() gives is compared with what lies on the medium: a read that passes the system's memory by
//    (O_DIRECT), which also writes what waits to be written.
// 2. What differs is written past the system's memory. Writing it as usual is not enough: ext4 takes such a
//    page for one that has its blocks, and never marks the blocks as filled.
// 3. With the write the system drops from memory what lies around it, in units of many pages. So one piece of
//    the file is taken at a time, which no such unit crosses, and the whole piece is read before any of it is
//    written. What cannot be written goes back into the system's memory.
//
// A reader in the moment between dropping and writing can meet old bytes of the medium. Checksums show it.
// What the system has dropped before is lost. The caller finds that out by checksums too.
//
// A failed sync is told once to each open descriptor, and not to those opened later. So it is counted on the
// target's line of the file `writers` (FailedSyncs). Each process sees it there, also when the one that met
// it has ended, and mends it before its own sync.
//
// Threads: one at a time for each file. Errors: false, and errno.
#pragma once

#include "base/files.h"

#include <atomic>
#include <sys/types.h>

namespace stepstore::store::lmdb {

// may_write: nobody else writes to the file meanwhile. False: errno says why. ENOSPC: there is still no room.
// EBUSY: something differs, and it may not write. EINVAL: the file system has no such reads.
// first: a byte of the piece that is taken first; where it fails, of the piece that failed.
[[nodiscard]] bool write_again(const RootedPath& path, bool may_write, std::atomic<off_t>& first);

} // namespace stepstore::store::lmdb
