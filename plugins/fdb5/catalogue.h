// The catalogue of one dataset, as FDB's tools and visitors use it: what reader and writer share.
// Threads: one at a time; its schema, rule and indexes may be asked by several. Errors: FDB's (failure.h).
#pragma once

#include "settings.h"

#include "fields/catalogue.h"

#include "fdb5/database/Catalogue.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stepstore::fdb_plugin {

class Catalogue : public fdb5::CatalogueImpl {
public:
    eckit::URI uri() const override;
    std::string type() const override { return type_name; }
    const fdb5::Key& indexKey() const override { return index_key_; }
    const fdb5::Schema& schema() const override;
    const fdb5::Rule& rule() const override;
    bool exists() const override;
    // The permissions of the pool's files, or its DAOS ACL, decide who may write. Throws when this user may
    // not.
    void checkUID() const override;

    bool enabled(const fdb5::ControlIdentifier& identifier) const override;
    void control(const fdb5::ControlAction& action,
                 const fdb5::ControlIdentifiers& identifiers) const override;

    std::vector<fdb5::Index> indexes(bool sorted) const override;
    // FDB matches a request with the axes of each index. A collocation key has one index here, whose axes
    // span all its flushes. A visitor that asks for axes or a list is shown the axes of the flushes that the
    // request matches.
    void visitEntries(fdb5::EntryVisitor& visitor, bool sorted) override;
    // The request in the spelling of a rule's types.
    using Spelled = std::function<const metkit::mars::MarsRequest&(const fdb5::Rule& rule)>;
    enum class AxesOf : std::uint8_t {
        all,      // the fields that match are looked for afterwards
        matching, // the axes are what is asked for
        any       // so it is asked whether there are any
    };
    // Those that can have what the request asks for; without one, all.
    std::vector<fdb5::Index> indexes(const Spelled& request, AxesOf axes) const;
    bool supportsConcurrentIndexReads() const override { return true; }
    // Removes every field from the catalogue; their space is reclaimed by purge.
    void hideContents() override;
    void dump(std::ostream& out, bool simple, const eckit::Configuration& options) const override;
    fdb5::StatsReportVisitor* statsReportVisitor() const override;
    fdb5::PurgeVisitor* purgeVisitor(const fdb5::Store& store) const override;
    fdb5::MoveVisitor* moveVisitor(const fdb5::Store& store, const metkit::mars::MarsRequest& request,
                                   const eckit::URI& destination,
                                   eckit::Queue<fdb5::MoveElement>& queue) const override;

    // Wiping: catalogue_wipe.cc.
    bool uriBelongs(const eckit::URI& uri) const override;
    void maskIndexEntries(const std::set<fdb5::Index>& indexes) const override;
    void allMasked(std::set<std::pair<eckit::URI, eckit::Offset>>& metadata,
                   std::set<eckit::URI>& data) const override;
    fdb5::CatalogueWipeState wipeInit() const override;
    bool markIndexForWipe(const fdb5::Index& index, bool include,
                          fdb5::CatalogueWipeState& state) const override;
    void finaliseWipeState(fdb5::CatalogueWipeState& state) const override;
    bool doWipeUnknowns(const std::set<eckit::URI>& unknown) const override;
    bool doWipeURIs(const fdb5::CatalogueWipeState& state) const override;
    void doWipeEmptyDatabase() const override;
    bool doUnsafeFullWipe() const override;

protected:
    Catalogue(const fdb5::Key& key, const fdb5::Config& config);
    Catalogue(const eckit::URI& uri, const fdb5::Config& config,
              Access access); // a DatabaseNotFoundException when it was wiped

    void loadSchema() override; // the dataset is another one: its schema is read when it is asked for
    void print(std::ostream& out) const override;
    fields::Dataset& dataset() const;                  // an error when there is none
    std::shared_ptr<fields::Dataset> writable() const; // the same, opened to change it; nullptr: it was wiped

    Settings settings_;
    std::shared_ptr<fields::Dataset> dataset_; // nullptr: there is none with this key
    fdb5::Key index_key_;                      // of the selected index

private:
    void wipe_all() const;

    std::function<std::vector<fdb5::Index>()> shown_; // to the visitor that is there; empty: all
    mutable std::mutex
        schema_mutex_; // guards the two below, which are there from when they are first asked for
    mutable std::shared_ptr<const fdb5::Schema> schema_;
    mutable const fdb5::Rule* rule_ = nullptr;
    mutable std::vector<fdb5::Index> to_wipe_; // indexes that a wipe of a part takes
};

} // namespace stepstore::fdb_plugin
