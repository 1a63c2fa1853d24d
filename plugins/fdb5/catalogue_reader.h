// The catalogue to read from.
// Threads: one at a time, as FDB uses a catalogue. Errors: FDB's (failure.h); a dataset that was wiped is
// opened anew, or has no fields.
#pragma once

#include "catalogue.h"

#include <memory>
#include <optional>
#include <string>

namespace stepstore::fdb_plugin {

class CatalogueReader final : public Catalogue, public fdb5::CatalogueReader {
public:
    CatalogueReader(const fdb5::Key& key, const fdb5::Config& config);
    CatalogueReader(const eckit::URI& uri, const fdb5::Config& config);

    bool open() override;
    // Selecting the same index again reads the axes again. So a long-lived reader sees what was flushed
    // meanwhile, and a dataset that was wiped and made again.
    bool selectIndex(const fdb5::Key& key) override;
    void deselectIndex() override;
    bool retrieve(const fdb5::Key& key, fdb5::Field& field) const override;
    fdb5::DbStats stats() const override;

    // A reader has nothing to write or to let go of.
    void flush(std::size_t) override {}
    void clean() override {}
    void close() override {}

    // For who knows more than FDB's interface says; of an open one.
    fields::CatalogueReader& reader() const;
    const std::shared_ptr<fields::Dataset>& dataset_shared() const { return dataset_; }
    // As if the index that they are of was selected.
    void show_axes(std::shared_ptr<const fields::Axes> axes);

private:
    std::optional<fdb5::Axis> computeAxis(const std::string& keyword) const override;
    bool open_anew();

    const bool was_there_ = false; // when FDB asked for it by its URI
    std::unique_ptr<fields::CatalogueReader> reader_;
    fields::Key collocation_;
    std::shared_ptr<const fields::Axes> axes_; // of the selected index; nullptr: it has none
};

} // namespace stepstore::fdb_plugin
