// What FDB's configuration says about us, and the pools that it names. The section `stepstore`:
//
//   engine: stepstore            # the catalogue
//   store: stepstore             # the fields' bytes
//   stepstore:
//     pool: /data/pool           # or `pools`: a list (pools.h)
//     ...                        # docs/fdb.md lists the other keys
//
// Threads: any. Errors: a UserError for the configuration; stepstore::Error for a pool that cannot be used.
#pragma once

#include "pools.h"
#include "uri.h"

#include "fields/session.h"

#include "fdb5/config/Config.h"

#include <memory>
#include <string>
#include <vector>

namespace stepstore::fdb_plugin {

struct Settings {
    Pools pools;
    PoolOptions pool;               // for a pool that archive() makes
    fields::DatasetOptions dataset; // for a dataset that archive() makes
    fields::WriterOptions writer;
    bool whole = false; // catalogue and store are both ours
};

// A UserError when the section is missing, or has a key or value that it should not have: it lists the valid
// ones.
Settings settings_of(const fdb5::Config& config);

// The process's session on a pool. nullptr: there is no such pool (yet).
std::shared_ptr<fields::Session> session_if_there(const std::string& pool, Access access);
// The same; a pool that is not there is made.
std::shared_ptr<fields::Session> session_to_write(const std::string& pool, const PoolOptions& options);

// The dataset in the first of the pools that has it. nullptr: none has.
std::shared_ptr<fields::Dataset> find_dataset(const Settings& settings, const fields::Key& key,
                                              Access access);
// To write to: in the pool that has it, or made.
std::shared_ptr<fields::Dataset> find_or_make_dataset(const Settings& settings, const fields::Key& key,
                                                      const std::string& schema);
PoolUri pool_uri_of(const fields::Dataset& dataset, PoolUri::Kind kind = PoolUri::Kind::dataset);
// Why find_dataset() finds nothing there: it was wiped, or is not whole.
std::string why_not_there(const PoolUri& place);
// The dataset that a URI names. nullptr: it was wiped.
std::shared_ptr<fields::Dataset> find_dataset(const PoolUri& place, Access access);

} // namespace stepstore::fdb_plugin
