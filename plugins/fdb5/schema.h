// The schema that a dataset was made with, and whether it agrees with the configured one.
#pragma once

#include "fields/dataset.h"

#include "fdb5/config/Config.h"
#include "fdb5/rules/Schema.h"

#include <memory>

namespace stepstore::fdb_plugin {

std::string configured_schema(const fdb5::Config& config); // the text
// The dataset's schema; the configured one when the dataset has none (it was made by a store without our catalogue).
// Parsed once per process.
std::shared_ptr<const fdb5::Schema> schema_of(const fields::Dataset& dataset, const fdb5::Config& config);
// A UserError when the dataset's rule in the configured schema differs from the one in its own.
void require_same_rule(const fields::Dataset& dataset, const fdb5::Config& config);

} // namespace stepstore::fdb_plugin
