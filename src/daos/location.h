// Names of pools. A name without a scheme is a path, also a bare one: ./NAME. After "local:" a name with a
// '/' is a path too, and a bare one a label or a UUID under the root directory.
// Threads: any. Errors: DER_INVAL, DER_NONEXIST, and those of a directory that cannot be read.
#pragma once

#include <string>

namespace stepstore::daos {

// The directory that `pool` names, for a pool that may not be there yet. A name of a back end's own, such as
// rados://..., is what it is. DER_INVAL: none of these.
std::string pool_path(const char* pool);

// The directory of a pool that is there: as above, and also by UUID, or by a label that differs from the
// directory's name. DER_NONEXIST: none under the root directory has that name. A path is not looked at, but a
// bare name where nothing is and that is a label: the error says so.
std::string find_pool(const char* pool);

// The same for daos_pool_connect. As on a DAOS system a bare name is a label or a UUID, as after "local:".
std::string find_pool_of_daos(const char* pool);

// Where labels live: $STEPSTORE_ROOT, else $XDG_DATA_HOME/stepstore, else ~/.local/share/stepstore.
std::string root_directory();

} // namespace stepstore::daos
