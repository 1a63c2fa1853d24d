// The pools of a configuration: what FDB may do with the datasets in each, and which one gets a new dataset.
// The words are those of FDB's roots and file spaces.
// Threads: Pools do not change, and may be shared; a FolderLock may go in any. Errors: a UserError, which
// names the key of the configuration.
#pragma once

#include "fields/key.h"

#include "eckit/utils/Regex.h"
#include "fdb5/api/helpers/ControlIterator.h"
#include "fdb5/config/Config.h"

#include <memory>
#include <string>
#include <vector>

namespace stepstore::fdb_plugin {

struct ConfiguredPool {
    std::string location;
    fdb5::ControlIdentifiers off; // what is not done with the datasets in it, whatever their own flags say
    eckit::Regex regex{".*"};     // of a new dataset's values, joined by ':', as FDB's spaces have it

    bool allows(fdb5::ControlIdentifier identifier) const
    {
        return off.enabled(identifier);
    } // FDB's "enabled": not in
};

class Pools {
public:
    // From `pool`, or `pools` and `handler`, of the section. A UserError when they say nothing of use.
    Pools(const fdb5::Config& config, const eckit::LocalConfiguration& section);

    const std::vector<ConfiguredPool>& all() const { return pools_; } // never empty
    // By any spelling. nullptr: the configuration does not name it.
    const ConfiguredPool* find(const std::string& location) const;
    // The one that gets a new dataset. A UserError when none does.
    const std::string& choose(const fields::Key& dataset) const;
    // Two writers that make a dataset at once could choose different pools. So who chooses by anything but
    // the order holds this, from looking whether there is such a dataset to having made it. Empty: there is
    // nothing to hold.
    using FolderLock = std::shared_ptr<const int>;
    FolderLock lock_folder() const;

private:
    std::vector<ConfiguredPool> pools_;
    std::string handler_ = "Default";
};

// Whether both name the same pool: as text, or as directories that are the same.
bool same_pool(const std::string& pool, const std::string& other);

} // namespace stepstore::fdb_plugin
