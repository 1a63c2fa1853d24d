// Names of pools: paths, labels and UUIDs.
#pragma once

#include <string>

namespace stepstore::daos {

// The directory that `pool` names, for a pool that may not be there yet: a path (with a '/') or a label, each
// perhaps after "local:". A name of a back end's own, such as rados://..., is what it is. DER_INVAL: neither.
std::string pool_path(const char* pool);

// The directory of a pool that is there: as above, and also by UUID, or by a label that differs from the
// directory's name. DER_NONEXIST: none under the root directory has that name. (A path is not looked at.)
std::string find_pool(const char* pool);

// Where labels live: $STEPSTORE_ROOT, else $XDG_DATA_HOME/stepstore, else ~/.local/share/stepstore.
std::string root_directory();

} // namespace stepstore::daos
