// FDB's control identifiers of a dataset: what fdb-lock switches off. Each is a named value stored with the
// dataset, so two processes that switch at once do not undo each other.
// Threads: those that may use the Dataset. Errors: stepstore::Error, or a UserError for an unknown
// identifier.
#pragma once

#include "fields/dataset.h"

#include "fdb5/api/helpers/ControlIterator.h"

namespace stepstore::fdb_plugin {

bool is_enabled(const fields::Dataset& dataset, fdb5::ControlIdentifier identifier);
void set_enabled(fields::Dataset& dataset, const fdb5::ControlIdentifiers& identifiers, bool enabled);

} // namespace stepstore::fdb_plugin
