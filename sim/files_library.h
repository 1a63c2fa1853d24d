// The table of a pool in files (src/store/files) on the simulated file system. The pool's own code runs, on a
// directory of this machine. What it asks of the file system (stepstore/admin.h) then takes the time that it
// takes on the cluster.
//
// 1. A call of the library runs at once, and notes its requests. So of several processes that want the same
//    name the first to call gets it; nobody finds out late that another process was faster.
// 2. Then the requests pass through the file system (file_system.h), one after the other, in the name of the
//    caller, or of a helper if the call has an event.
// 3. All ranks are one process here. What each process or machine has for itself on a cluster is told apart:
//    each rank has a directory for its temporary files, and makes it with its first one. Each node has a
//    directory for the data of the objects that it has made.
//
// Threads: the actors of the simulation, of which one runs at a time. Errors: the codes of the calls.
#pragma once

#include "stepstore/libdaos.h"

#include <cstdint>
#include <string>

namespace stepstore::sim {

// What pools in files have asked for, of the metadata servers and of the data servers.
struct FileCounts {
    std::uint64_t looks = 0;   // for names, and at files
    std::uint64_t changes = 0; // of names
    std::uint64_t listings = 0;
    std::uint64_t reads = 0, writes = 0;
    std::uint64_t syncs = 0; // of files and of directories
};

// pool: its directory. Until end_files_library() it watches the file calls of this process.
Library files_library(const std::string& pool);
void end_files_library();
FileCounts file_counts();

} // namespace stepstore::sim
