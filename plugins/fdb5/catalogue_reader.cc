// The catalogue to read from.
#include "catalogue.h"
#include "failure.h"
#include "index.h"
#include "keys.h"
#include "statistics.h"

#include "fields/maintenance.h"

#include "daos_errno.h"

#include "fdb5/database/DatabaseNotFoundException.h"

namespace stepstore::fdb_plugin {
namespace {

class CatalogueReader final : public Catalogue, public fdb5::CatalogueReader {
public:
    CatalogueReader(const fdb5::Key& key, const fdb5::Config& config) : Catalogue(key, config)
    {
        dataset_ = translated([&] { return find_dataset(settings_, to_fields(key), Access::read_only); });
    }
    CatalogueReader(const eckit::URI& uri, const fdb5::Config& config)
        : Catalogue(uri, config, Access::read_only), was_there_(true)
    {
    }

    bool open() override
    {
        if (!exists()) {
            if (was_there_) { // FDB would say no more than that an assertion failed
                throw fdb5::DatabaseNotFoundException("Stepstore: the dataset " + to_fields(dbKey_).text() +
                                                      " was wiped just now");
            }
            return false;
        }
        loadSchema();
        reader_ = std::make_unique<fields::CatalogueReader>(dataset_);
        return true;
    }

    // Also the same index again looks at the axes anew: a reader that stays sees what was flushed meanwhile, and a
    // dataset that was wiped and made anew.
    bool selectIndex(const fdb5::Key& key) override
    {
        if (index_key_ != key || collocation_.empty()) {
            collocation_ = to_fields(key);
            index_key_ = key;
        }
        const auto known = axes_;
        try {
            axes_ = reader().axes(collocation_);
        } catch (const Error& error) {
            if (error.code() != -DER_STALE) {
                rethrow(error);
            }
            axes_ = open_anew() ? translated([&] { return reader().axes(collocation_); }) : nullptr;
        }
        if (axes_ != known) {
            invalidateAxis();
        }
        return axes_ != nullptr && !axes_->empty();
    }

    void deselectIndex() override
    {
        index_key_ = fdb5::Key();
        axes_.reset();
        invalidateAxis();
    }

    bool retrieve(const fdb5::Key& key, fdb5::Field& field) const override
    {
        // selectIndex() has looked for what is new
        const auto entry = translated([&] { return reader().find(collocation_, to_fields(key), false); });
        if (entry) {
            field = to_field(*entry, dataset_);
        }
        return entry.has_value();
    }

    fdb5::DbStats stats() const override
    {
        dataset();
        return new DatasetStatistics(translated([&] { return fields::statistics(dataset_); }));
    }

    // A reader has nothing to write or to let go of.
    void flush(std::size_t) override {}
    void clean() override {}
    void close() override {}

private:
    std::optional<fdb5::Axis> computeAxis(const std::string& keyword) const override
    {
        if (!axes_) {
            return std::nullopt;
        }
        const auto found = axes_->find(keyword);
        if (found == axes_->end()) {
            return std::nullopt;
        }
        fdb5::Axis axis;
        for (const auto& value : found->second) {
            axis.insert(value);
        }
        axis.sort();
        return axis;
    }

    bool open_anew()
    {
        dataset_ = translated([&] { return find_dataset(settings_, to_fields(dbKey_), Access::read_only); });
        return open();
    }

    fields::CatalogueReader& reader() const
    {
        if (!reader_) {
            refuse("the catalogue of " + to_fields(dbKey_).text() + " was read before it was opened");
        }
        return *reader_;
    }

    const bool was_there_ = false; // when FDB asked for it by its URI
    std::unique_ptr<fields::CatalogueReader> reader_;
    fields::Key collocation_;
    std::shared_ptr<const fields::Axes> axes_; // of the selected index; nullptr: it has none
};

const fdb5::CatalogueReaderBuilder<CatalogueReader> reader_builder(type_name);

} // namespace
} // namespace stepstore::fdb_plugin
