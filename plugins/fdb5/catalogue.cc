#include "catalogue.h"

#include "control.h"
#include "failure.h"
#include "index.h"
#include "keys.h"
#include "move.h"
#include "purge.h"
#include "schema.h"
#include "statistics.h"

#include "fields/maintenance.h"

#include "eckit/config/Configuration.h"
#include "fdb5/api/local/AxesVisitor.h"
#include "fdb5/api/local/ListVisitor.h"
#include "fdb5/database/DatabaseNotFoundException.h"
#include "fdb5/rules/Rule.h"

#include <algorithm>
#include <ostream>

namespace stepstore::fdb_plugin {

Catalogue::Catalogue(const fdb5::Key& key, const fdb5::Config& config)
    : CatalogueImpl(key, fdb5::ControlIdentifiers(), config), settings_(settings_of(config))
{
}

Catalogue::Catalogue(const eckit::URI& uri, const fdb5::Config& config, Access access)
    : CatalogueImpl(fdb5::Key(), fdb5::ControlIdentifiers(), config), settings_(settings_of(config))
{
    dataset_ = translated([&] { return find_dataset(parse_uri(uri), access); });
    if (!dataset_) {
        throw fdb5::DatabaseNotFoundException("Stepstore: there is no dataset " + uri.asRawString() + ": " +
                                              translated([&] { return why_not_there(parse_uri(uri)); }));
    }
    dbKey_ = to_fdb(dataset_->key());
}

fields::Dataset& Catalogue::dataset() const
{
    if (!dataset_) {
        refuse("there is no dataset " + to_fields(dbKey_).text() + " in pool " +
               settings_.pools.all().front().location);
    }
    return *dataset_;
}

std::shared_ptr<fields::Dataset> Catalogue::writable() const
{
    if (dataset_ && dataset_->session().access() == Access::read_write) return dataset_;
    return dataset_ ? find_dataset(pool_uri_of(*dataset_), Access::read_write) : nullptr;
}

eckit::URI Catalogue::uri() const
{
    return to_uri(pool_uri_of(dataset()));
}

bool Catalogue::exists() const
{
    return dataset_ && translated([&] { return dataset_->is_there(); });
}

void Catalogue::checkUID() const
{
    translated([&] { fields::Session::open(dataset().session().location(), Access::read_write); });
}

void Catalogue::loadSchema()
{
    const std::lock_guard lock(schema_mutex_);
    schema_.reset();
}

const fdb5::Schema& Catalogue::schema() const
{
    const std::lock_guard lock(schema_mutex_);
    if (!schema_) {
        auto schema = translated([&] { return schema_of(dataset(), config_); });
        rule_ = &schema->matchingRule(dbKey_);
        schema_ = std::move(schema);
    }
    return *schema_;
}

const fdb5::Rule& Catalogue::rule() const
{
    schema();
    const std::lock_guard lock(schema_mutex_);
    return *rule_;
}

bool Catalogue::enabled(const fdb5::ControlIdentifier& identifier) const
{
    const ConfiguredPool* pool = dataset_ ? settings_.pools.find(dataset_->session().location()) : nullptr;
    return CatalogueImpl::enabled(identifier) && (pool == nullptr || pool->allows(identifier)) &&
           (!dataset_ || translated([&] { return is_enabled(*dataset_, identifier); }));
}

void Catalogue::control(const fdb5::ControlAction& action, const fdb5::ControlIdentifiers& identifiers) const
{
    translated([&] {
        const auto changed = writable();
        if (changed && action != fdb5::ControlAction::None) {
            set_enabled(*changed, identifiers, action == fdb5::ControlAction::Enable);
        } else if (action == fdb5::ControlAction::Disable) {
            refuse("cannot lock " + to_fields(dbKey_).text() + ": the dataset does not exist");
        } // what was wiped has nothing switched off: FDB enables it again after a wipe
    });
}

std::vector<fdb5::Index> Catalogue::indexes(bool sorted) const
{
    auto found = shown_ ? shown_() : indexes(Spelled(), AxesOf::all);
    if (sorted) {
        std::sort(found.begin(), found.end(),
                  [](const fdb5::Index& a, const fdb5::Index& b) { return a.key() < b.key(); });
    }
    return found;
}

std::vector<fdb5::Index> Catalogue::indexes(const Spelled& request, AxesOf axes) const
{
    std::vector<fdb5::Index> found;
    if (!dataset_) return found;
    translated([&] {
        fields::CatalogueReader reader(dataset_);
        reader.indexes({}, [&](const fields::IndexSummary& summary) {
            const fdb5::Key key = to_fdb(summary.collocation);
            auto shown = summary.axes;
            if (request) {
                const fdb5::Rule& rule = schema().matchingRule(dbKey_, key);
                if (!key.partialMatch(request(rule.parent()))) return true;
                const fields::Request wanted = Index::wanted(request(rule), summary.collocation);
                if (axes == AxesOf::matching)
                    shown = reader.axes(summary.collocation, wanted);
                else if (axes == AxesOf::any && !reader.may_have(summary.collocation, wanted))
                    shown = nullptr;
            }
            if (shown != nullptr) found.emplace_back(new Index(dataset_, key, *shown, summary.newest));
            return true;
        });
    });
    return found;
}

void Catalogue::visitEntries(fdb5::EntryVisitor& visitor, bool sorted)
{
    if (auto* axes = dynamic_cast<fdb5::api::local::AxesVisitor*>(&visitor))
        shown_ = [this, axes] { return indexes(asked_by(*axes), AxesOf::matching); };
    else if (auto* list = dynamic_cast<fdb5::api::local::ListVisitor*>(&visitor))
        shown_ = [this, list] { return indexes(asked_by(*list), AxesOf::any); };
    try {
        fdb5::Catalogue::visitEntries(visitor, sorted);
    } catch (...) {
        shown_ = nullptr;
        throw;
    }
    shown_ = nullptr;
}

void Catalogue::hideContents()
{
    translated([&] {
        if (const auto changed = writable())
            for (const auto& index : indexes(false))
                fields::clear(changed, to_fields(index.key()));
    });
}

void Catalogue::dump(std::ostream& out, bool simple, const eckit::Configuration&) const
{
    translated([&] {
        fields::dump(std::shared_ptr<fields::Dataset>(dataset_), !simple,
                     [&](std::string_view line) { out << line << '\n'; });
    });
}

fdb5::StatsReportVisitor* Catalogue::statsReportVisitor() const
{
    dataset();
    return new StatisticsVisitor(dataset_);
}

fdb5::PurgeVisitor* Catalogue::purgeVisitor(const fdb5::Store& store) const
{
    dataset();
    return new PurgeVisitor(dataset_, store);
}

fdb5::MoveVisitor* Catalogue::moveVisitor(const fdb5::Store&, const metkit::mars::MarsRequest& request,
                                          const eckit::URI& destination,
                                          eckit::Queue<fdb5::MoveElement>& queue) const
{
    dataset();
    return new MoveVisitor(dataset_, settings_, request, destination, queue);
}

void Catalogue::print(std::ostream& out) const
{
    out << "StepstoreCatalogue(" << (dataset_ ? uri().asRawString() : to_fields(dbKey_).text()) << ')';
}

} // namespace stepstore::fdb_plugin
