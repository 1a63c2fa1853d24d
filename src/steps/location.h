// Where a stream lives: pool, container, stream; the grammar of a location.
//
//   PATH, local:PATH             The longest prefix of PATH that is an existing pool is the pool. The rest is
//                                CONTAINER[/STREAM...]. Where no prefix is a pool, PATH itself names the
//                                pool, and a writer makes it.
//   local:LABEL[/CONTAINER[...]] A first part that is no pool directory may be the label of a pool under the
//                                root directory ($STEPSTORE_ROOT). Only after `local:`: a bare name is a
//                                directory, as for files, whatever labels there are.
//   daos://POOL/CONTAINER[/STREAM] On a real DAOS system.
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

    std::string text() const; // "POOL/CONTAINER/STREAM": for messages
};

// Splits `text`; looks at the file system, makes nothing. -DER_INVAL: empty, an empty part, ".." below the
// pool, or a container's or stream's name longer than 127 or 1,024 bytes.
Location resolve_location(const std::string& text);
bool is_on_daos(const std::string& text); // so on no machine of ours

} // namespace stepstore::steps
