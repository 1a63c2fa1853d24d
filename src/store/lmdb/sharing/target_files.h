// What all parts of one target know of it: where its files lie, and what it shares with the pool's other
// targets. It lives longer than they do, and does not change.
// Threads: any. Errors: those of WritersFile::require_line().
#pragma once

#include "store/lmdb/sharing/reservations.h"

#include <string>

namespace stepstore::store::lmdb {

struct TargetFiles {
    RootedPath directory; // of the index and the extents
    std::string where;    // "pool /p, target 3": the beginning of messages
    Durability durability;
    WritersFile& writers; // of the pool
    Reservations& reservations;
    unsigned number; // of the target, in both of them

    WriterLine& line() const { return writers.require_line(number, where); } // throws why there is none
};

} // namespace stepstore::store::lmdb
