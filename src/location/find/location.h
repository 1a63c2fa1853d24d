// What lies at a location (location/location.h): the pool, and container and stream in it.
//
// Of a path the longest prefix that is an existing pool is the pool. If no prefix is one, all of the path
// names the pool, and a writer makes it. After `local:`, a first part that is the label of a pool under the
// root directory comes before a path. If there is none, and nothing follows it, a writer makes the pool with
// this label.
//
// Threads: any; there is no state. Errors: -DER_INVAL, -DER_NONEXIST, and those of a pool that cannot be
// opened.
#pragma once

#include "location/location.h"
#include "stepstore/client.h"

#include <memory>
#include <string>

namespace stepstore {

// So begin the names of files that ranks make for a moment, to see whether their machines share a directory
// (group.h). A job that is killed leaves them; a directory with nothing else counts as empty.
inline constexpr const char* probe_prefix = ".stepstore-";

struct FoundPool {
    std::string pool;         // as Pool::connect takes it
    bool pool_exists = false; // of a network: not looked at by find_pool()
    // The pool as it was found or made, kept open: to open it takes milliseconds, to connect to it again does
    // not.
    std::shared_ptr<const Pool> opened;
    std::string missing; // why there is no pool, where its library said more than that
};

struct Location : FoundPool, ContainerAndStream {
    std::string text() const; // "POOL/CONTAINER/STREAM": for messages
};

// The pool that a location names or lies in. Sets `rest` to what follows it, as it was given. Looks at the
// file system, makes nothing. A pool that cannot be opened is an error that says why.
FoundPool find_pool(const std::string& text, std::string& rest);
// That and its names. Looks at a cluster too. -DER_INVAL: as of parse_location() and parse_names().
Location resolve_location(const std::string& text);
// resolve_location(text) found no pool: -DER_NONEXIST, with the advice to check the location. Or -DER_INVAL:
// what lies there is something else (a file, a directory), so that no writer can make the pool.
void require_pool(const Location& location, const std::string& text);
// The latter alone: for a writer, which makes what is missing.
void require_place_for_pool(const Location& location, const std::string& text);
// Whether this names a pool or something in one, as far as the file system has nothing else by that name.
bool lies_in_pool(const std::string& text);

} // namespace stepstore
