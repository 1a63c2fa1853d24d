// Leases that this process has let go of, and whose records may still say that it holds them.
//
// Its own process knows their tokens, so to it they are free. For others the record decides. A call that got
// no answer may have been carried out: then the record stays until the process ends (lease.h). But if there
// was no space for the record, nothing was done, and nothing will be unless it is tried again:
//
// 1. To end a lease is an update of its key, which needs space: a new file in a pool in files, new pages in
//    an LMDB pool. So does the removal of the key. A full file system of several machines may refuse every
//    new name. So the end waits here until there is space.
// 2. A thread tries again after 1 s, then after 2, 4, 8, 8, ... s. It opens the pool for each try, and keeps
//    nothing open between two. So the process can destroy the pool meanwhile.
// 3. Each try reads the record. It changes it only if it has the token of the lease and is not over, and only
//    if it is still as it was read. So a lease that others have taken over is left to them. If the pool, the
//    container or the key is gone, so is the lease.
//
// If the process ends before that, the lease is one of a dead process: free for all who can see that. For
// other machines the signs of life have ended, and its time-out runs. The thread ends with the process: at
// exit() its try under way is waited for.
//
// Threads: any. A forked child begins with none (OwnState::leases_let_go). Errors: these throw nothing.
#pragma once

#include "stepstore/client.h"

#include <cstdint>
#include <string>

namespace stepstore {

// The token of a lease that may have a record.
void let_go_of(std::uint64_t token) noexcept;
bool is_let_go(std::uint64_t token);

// How a lease that could not be ended is ended later.
struct LeaseEnd {
    std::string key;
    std::uint64_t token;
    bool remove; // the record; otherwise it says that the lease is over
};
void end_later(const KeyValue& object, LeaseEnd end) noexcept;

} // namespace stepstore
