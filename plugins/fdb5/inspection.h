// Finding the fields of a request, as FDB's Inspector does. What does not change from request to request is
// kept: the open datasets, the keys of their indexes, and what the rules make of values.
// Threads: many, which take turns. Errors: FDB's (failure.h); a dataset that was wiped meanwhile is looked
// for anew.
#pragma once

#include "catalogue_reader.h"
#include "expansion.h"
#include "schema.h"

#include "fdb5/api/helpers/ListElement.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace stepstore::fdb_plugin {

// For many threads, which take turns.
class Inspection {
public:
    explicit Inspection(const fdb5::Config& config);
    // The fields that are there, in the order of the request's values as the schema takes them. What is not
    // there is left out.
    std::vector<fdb5::ListElement> fields_of(const metkit::mars::MarsRequest& request);

private:
    struct IndexInUse {
        fdb5::Key key;
        fields::Key collocation;
        std::shared_ptr<const fields::Axes> axes; // with which `element` was filled
        std::unique_ptr<RuleExpansion> element;
    };
    struct IndexLevel {
        const fdb5::RuleIndex* rule;
        RuleExpansion expansion;
        std::unordered_map<std::string, IndexInUse> indexes; // by their values
    };
    struct OpenDataset {
        std::unique_ptr<CatalogueReader> catalogue;
        std::shared_ptr<const Rules> rules; // that it was made with
        std::vector<IndexLevel> levels;
    };
    using Elements = std::vector<fdb5::ListElement>;

    OpenDataset* opened(const fdb5::Key& key, const std::string& values);
    void inspect(OpenDataset& dataset, const metkit::mars::MarsRequest& request, Elements& found);
    void inspect(OpenDataset& dataset, IndexLevel& level, IndexInUse& index,
                 const metkit::mars::MarsRequest& request, Elements& found);

    const fdb5::Config config_;
    std::mutex mutex_;                                  // of OwnState::fdb_client: guards all below
    std::shared_ptr<const Rules> rules_;                // of the configuration
    std::vector<RuleExpansion> datasets_;               // for each of them
    std::unordered_map<std::string, OpenDataset> open_; // by their values
};

} // namespace stepstore::fdb_plugin
