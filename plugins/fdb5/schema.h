// The schema that a dataset was made with, and whether it agrees with the configured one.
// Threads: any, also for what is parsed once. Errors: a UserError, or FDB's own for a schema that it cannot
// parse.
#pragma once

#include "fields/dataset.h"

#include "fdb5/config/Config.h"
#include "fdb5/rules/Predicate.h"
#include "fdb5/rules/Schema.h"

#include <memory>

namespace stepstore::fdb_plugin {

std::string configured_schema(const fdb5::Config& config); // the text
// The dataset's schema; the configured one when the dataset has none (it was made by a store without our
// catalogue). Parsed once per process.
std::shared_ptr<const fdb5::Schema> schema_of(const fields::Dataset& dataset, const fdb5::Config& config);

// The rules of a schema, each by itself: fdb5::Schema keeps them to itself.
struct Rules {
    fdb5::TypesRegistry registry;
    fdb5::RuleList list;

    const fdb5::RuleDatabase& matching(const fdb5::Key& dataset) const; // a UserError when there is none
};

std::string schema_text(const fields::Dataset& dataset, const fdb5::Config& config);
std::shared_ptr<const Rules> rules_of(const std::string& schema_text); // parsed once per process
// A UserError when the dataset's rule in the configured schema differs from the one in its own.
void require_same_rule(const fields::Dataset& dataset, const fdb5::Config& config);

} // namespace stepstore::fdb_plugin
