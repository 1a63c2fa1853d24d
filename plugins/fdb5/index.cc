#include "index.h"

#include "failure.h"
#include "field_location.h"
#include "keys.h"
#include "settings.h"
#include "statistics.h"
#include "uri.h"

#include "eckit/serialisation/Stream.h"
#include "fdb5/api/local/ListVisitor.h"

#include <ostream>
#include <set>

namespace stepstore::fdb_plugin {
namespace {

eckit::URI index_uri(const fields::Dataset& dataset, const fields::Key& collocation)
{
    PoolUri place = pool_uri_of(dataset, PoolUri::Kind::index);
    place.index = collocation.text();
    return to_uri(place);
}

using fdb5::api::local::ListVisitor;

} // namespace

void IndexLocation::print(std::ostream& out) const
{
    out << '(' << uri_.asRawString() << ')';
}

void IndexLocation::encode(eckit::Stream& stream) const
{
    stream << uri_.asRawString();
}

Index::Index(std::shared_ptr<fields::Dataset> dataset, const fdb5::Key& key, const fields::Axes& axes,
             std::uint64_t newest)
    : IndexBase(key, type_name), dataset_(std::move(dataset)), collocation_(to_fields(key)),
      location_(index_uri(*dataset_, collocation_))
{
    for (const auto& [keyword, values] : axes)
        axes_.insert(keyword, std::vector<std::string>(values.begin(), values.end()));
    axes_.sort();
    timestamp_ = static_cast<std::time_t>(newest);
}

fields::Request Index::wanted(const metkit::mars::MarsRequest& request, const fields::Key& collocation)
{
    fields::Request wanted;
    for (const auto& parameter : request.parameters()) {
        if (collocation.find(parameter.name()) != nullptr)
            continue; // FDB has matched it, and by a rule of its own
        for (const std::string& value : parameter.values())
            wanted.add(parameter.name(), value);
    }
    return wanted;
}

fields::Listing Index::fields(const metkit::mars::MarsRequest* request, bool masked) const
{
    return {dataset_,
            collocation_,
            request == nullptr ? fields::Request() : wanted(*request, collocation_),
            {.masked = masked, .removed = false}};
}

std::vector<eckit::URI> Index::dataURIs() const
{
    return translated([&] {
        std::set<eckit::URI> found;
        bool own = false;
        fields::Listing listing(dataset_, collocation_, {}, {.masked = true});
        for (fields::ListedField field; listing.next(field);)
            if (std::holds_alternative<fields::FieldLocation>(field.entry.location))
                own = true;
            else
                found.insert(to_fdb(field.entry.location, dataset_)->uri());
        if (own) found.insert(to_uri(pool_uri_of(*dataset_, PoolUri::Kind::data)));
        return std::vector<eckit::URI>(found.begin(), found.end());
    });
}

bool Index::get(const fdb5::Key& key, const fdb5::Key&, fdb5::Field& field) const
{
    return translated([&] {
        const auto entry = fields::CatalogueReader(dataset_).find(collocation_, to_fields(key));
        if (entry) field = to_field(*entry, dataset_);
        return entry.has_value();
    });
}

void Index::add(const fdb5::Key& key, const fdb5::Field&)
{
    refuse("cannot add " + to_fields(key).text() + " to an index by itself: the catalogue archives");
}

void Index::entries(fdb5::EntryVisitor& visitor, fdb5::EntryVisitor::IndexScope& scope) const
{
    translated([&] {
        // A list compares the values of the request with those of the element key; other visitors want
        // everything.
        auto* list = dynamic_cast<ListVisitor*>(&visitor);
        fields::Listing listing =
            fields(list == nullptr ? nullptr : &asked_by(*list)(scope.rule()), list != nullptr);
        for (fields::ListedField field; listing.next(field);)
            if (list != nullptr) // takes the key itself: FDB need not make it of the values' text
                list->visitDatum(scope, to_field(field.entry, dataset_), named_in(field.element));
            else
                visitor.visitDatum(scope, to_field(field.entry, dataset_), fingerprint(field.element));
    });
}

void Index::dump(std::ostream& out, const char* indent, bool simple, bool dump_fields) const
{
    out << indent << "Key: " << key_;
    if (!simple) {
        out << '\n';
        axes_.dump(out, indent);
    }
    if (!dump_fields) return;
    out << '\n' << indent << "Contents of index: \n";
    translated([&] {
        fields::Listing listing(dataset_, collocation_, {});
        for (fields::ListedField field; listing.next(field);) {
            out << indent << "  Fingerprint: " << fingerprint(field.element)
                << ", location: " << to_field(field.entry, dataset_).location().fullUri().asRawString()
                << '\n';
        }
    });
}

fdb5::IndexStats Index::statistics() const
{
    return translated([&] {
        auto counted = std::make_unique<IndexStatistics>();
        fields::Listing listing(dataset_, collocation_, {}, {.masked = true});
        for (fields::ListedField field; listing.next(field);) {
            counted->count(static_cast<std::uint64_t>(to_field(field.entry, dataset_).location().length()),
                           field.masked);
        }
        return fdb5::IndexStats(counted.release());
    });
}

void Index::print(std::ostream& out) const
{
    out << "StepstoreIndex" << location_;
}

fdb5::Field to_field(const fields::Entry& entry, const std::shared_ptr<fields::Dataset>& dataset)
{
    return {to_fdb(entry.location, dataset), static_cast<std::time_t>(entry.timestamp)};
}

} // namespace stepstore::fdb_plugin
