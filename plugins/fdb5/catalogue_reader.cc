#include "catalogue_reader.h"

#include "expansion.h"
#include "failure.h"
#include "field_location.h"
#include "index.h"
#include "keys.h"
#include "statistics.h"

#include "fields/maintenance.h"

#include "daos_errno.h"

#include "fdb5/database/DatabaseNotFoundException.h"

namespace stepstore::fdb_plugin {

CatalogueReader::CatalogueReader(const fdb5::Key& key, const fdb5::Config& config) : Catalogue(key, config)
{
    dataset_ = translated([&] { return find_dataset(settings_, to_fields(key), Access::read_only); });
}

CatalogueReader::CatalogueReader(const eckit::URI& uri, const fdb5::Config& config)
    : Catalogue(uri, config, Access::read_only), was_there_(true)
{
}

bool CatalogueReader::open()
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

bool CatalogueReader::selectIndex(const fdb5::Key& key)
{
    if (index_key_ != key || collocation_.empty()) {
        collocation_ = to_fields(key);
        index_key_ = key;
    }
    try {
        show_axes(reader().axes(collocation_));
    } catch (const Error& error) {
        if (error.code() != -DER_STALE) rethrow(error);
        show_axes(open_anew() ? translated([&] { return reader().axes(collocation_); }) : nullptr);
    }
    if (axes_ == nullptr || axes_->empty()) {
        keywords_of(
            schema().matchingRule(dbKey_, key)); // who failed to archive with this schema has left no index
        return false;
    }
    return true;
}

void CatalogueReader::deselectIndex()
{
    index_key_ = fdb5::Key();
    show_axes(nullptr);
}

void CatalogueReader::show_axes(std::shared_ptr<const fields::Axes> axes)
{
    if (axes_ != axes) {
        axes_ = std::move(axes);
        invalidateAxis();
    }
}

bool CatalogueReader::retrieve(const fdb5::Key& key, fdb5::Field& field) const
{
    // selectIndex() has looked for what is new
    const auto entry = translated([&] { return reader().find(collocation_, to_fields(key), false); });
    if (entry) field = to_field(*entry, dataset_);
    return entry.has_value();
}

fdb5::DbStats CatalogueReader::stats() const
{
    dataset();
    return new DatasetStatistics(
        translated([&] { return fields::statistics(dataset_, {}, length_elsewhere); }));
}

std::optional<fdb5::Axis> CatalogueReader::computeAxis(const std::string& keyword) const
{
    if (!axes_) return std::nullopt;
    const auto found = axes_->find(keyword);
    if (found == axes_->end()) return std::nullopt;
    fdb5::Axis axis;
    for (const auto& value : found->second)
        axis.insert(value);
    axis.sort();
    return axis;
}

bool CatalogueReader::open_anew()
{
    dataset_ = translated([&] { return find_dataset(settings_, to_fields(dbKey_), Access::read_only); });
    return open();
}

fields::CatalogueReader& CatalogueReader::reader() const
{
    if (!reader_) refuse("the catalogue of " + to_fields(dbKey_).text() + " was read before it was opened");
    return *reader_;
}

namespace {
const fdb5::CatalogueReaderBuilder<CatalogueReader> reader_builder(type_name);
} // namespace

} // namespace stepstore::fdb_plugin
