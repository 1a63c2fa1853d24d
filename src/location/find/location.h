// Where a stream lives: pool, container, stream; the grammar of a location.
//
//   PATH, local:PATH             The longest prefix of PATH that is an existing pool is the pool. The rest is
//                                CONTAINER[/STREAM...]. Where no prefix is a pool, PATH itself names the
//                                pool, and a writer makes it. A bare name is a path too.
//   local:LABEL[/CONTAINER[...]] Only after `local:`, and before a path: a first part that is the label of a
//                                pool under the root directory ($STEPSTORE_ROOT). Where there is none, and
//                                nothing follows it, a writer makes the pool with this label.
//   daos://POOL/CONTAINER[/STREAM] On a real DAOS system.
//   rados://CEPHPOOL[/NAMESPACE[/CONTAINER[/STREAM]]]
//                                On a Ceph cluster: what lies in a namespace of a Ceph pool is a pool. The
//                                second part is the namespace, whatever there is. An empty one is the default
//                                namespace, as in rados://CEPHPOOL//CONTAINER.
//
// Without them CONTAINER is "default" and STREAM is "main". A stream's name may hold further '/'.
#pragma once

#include "stepstore/client.h"

#include <memory>
#include <string>

namespace stepstore::steps {

struct Location {
    std::string pool; // as Pool::connect takes it
    std::string container = "default";
    std::string stream = "main";
    bool pool_exists = false;     // found while resolving
    bool container_given = false; // not the default
    bool stream_given = false;
    // The pool as it was found or made, kept open: to open it takes milliseconds, to connect to it again does
    // not.
    std::shared_ptr<const Pool> opened;
    std::string missing; // why there is no pool, where its library said more than that

    std::string text() const; // "POOL/CONTAINER/STREAM": for messages
};

// Splits `text`; looks at the file system or cluster, makes nothing. -DER_INVAL: empty, an empty part,
// ".." below the pool, or a container's or stream's name longer than 127 or 1,024 bytes.
Location resolve_location(const std::string& text);
// resolve_location(text) found no pool: -DER_NONEXIST, with the advice to check the location. Or -DER_INVAL:
// what lies there is something else (a file, a directory), so that no writer can make the pool.
void require_pool(const Location& location, const std::string& text);
// The latter alone: for a writer, which makes what is missing.
void require_place_for_pool(const Location& location, const std::string& text);
// Whether this names a pool or something in one, as far as the file system has nothing else by that name.
bool lies_in_pool(const std::string& text);
bool is_on_daos(const std::string& text);
bool is_on_ceph(const std::string& text);
bool is_on_cluster(const std::string& text); // daos:// or rados://: no directory of one machine

} // namespace stepstore::steps
