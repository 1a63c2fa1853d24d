// Listing in the thread that asks, a field at a time: no queue, no second thread, and memory that does not
// grow with the number of fields.
// Threads: one at a time. Errors: FDB's (failure.h).
#pragma once

#include "catalogue_reader.h"
#include "index.h"

#include "fields/listing.h"

#include "eckit/filesystem/URI.h"
#include "fdb5/api/helpers/APIIterator.h"
#include "fdb5/api/helpers/FDBToolRequest.h"
#include "fdb5/api/helpers/ListElement.h"
#include "metkit/mars/MarsRequest.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stepstore::fdb_plugin {

// What FDB's ListVisitor lists, with the same meaning of request and level (1: datasets, 2: indexes, 3:
// fields). A dataset that is wiped while it is listed is an error, one that is wiped before its turn is not
// there.
class Lister final : public fdb5::APIIteratorBase<fdb5::ListElement> {
public:
    Lister(const fdb5::Config& config, const fdb5::FDBToolRequest& request, int level);
    bool next(fdb5::ListElement& element) override;

private:
    bool open_dataset(const eckit::URI& uri);
    bool open_index(const fdb5::Index& index);
    bool next_field(fdb5::ListElement& element);
    // The request in the spelling of the rule's types.
    const metkit::mars::MarsRequest& spelled(const fdb5::Rule& rule);

    const fdb5::Config config_;
    const metkit::mars::MarsRequest request_;
    const int level_;
    std::map<const fdb5::Rule*, metkit::mars::MarsRequest> spelled_;
    std::vector<eckit::URI> datasets_;
    std::size_t next_dataset_ = 0;
    std::unique_ptr<CatalogueReader> catalogue_;
    std::vector<fdb5::Index> indexes_;
    std::size_t next_index_ = 0;
    fdb5::Key index_key_;
    std::optional<fields::Listing> fields_; // of the index
    fields::ListedField field_;
    std::set<std::string> unnamed_; // keywords of the request that no key had yet
};

} // namespace stepstore::fdb_plugin
