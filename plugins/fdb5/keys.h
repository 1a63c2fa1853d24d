// FDB's keys as the catalogue's, and back: the names in their order, so that a key is found again with them.
// Threads: any; pure.
#pragma once

#include "fields/key.h"

#include "fdb5/database/Key.h"

#include <string>

namespace stepstore::fdb_plugin {

fields::Key to_fields(const fdb5::Key& key);
fdb5::Key to_fdb(const fields::Key& key);
// As FDB shows a field's own key: without the optional keywords that it has no value of.
fdb5::Key named_in(const fields::Key& element);
// The values, joined by ':': what FDB calls the key's fingerprint.
std::string fingerprint(const fields::Key& key);

} // namespace stepstore::fdb_plugin
