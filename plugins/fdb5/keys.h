// FDB's keys as the catalogue's, and back: the names in their order, so that a key is found again with them.
#pragma once

#include "fields/key.h"

#include "fdb5/database/Key.h"

#include <string>

namespace stepstore::fdb_plugin {

fields::Key to_fields(const fdb5::Key& key);
fdb5::Key to_fdb(const fields::Key& key);
// The values, joined by ':': what FDB calls the key's fingerprint.
std::string fingerprint(const fields::Key& key);

} // namespace stepstore::fdb_plugin
