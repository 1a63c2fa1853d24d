// The store: fields' bytes in array objects of a dataset's container. It works under our catalogue and under
// FDB's catalogue in files.
#include "failure.h"
#include "field_location.h"
#include "keys.h"
#include "settings.h"
#include "uri.h"

#include "fields/record.h"
#include "fields/store_writer.h"

#include "eckit/exception/Exceptions.h"
#include "fdb5/database/Store.h"
#include "fdb5/database/WipeState.h"

#include <map>
#include <ostream>

namespace stepstore::fdb_plugin {
namespace {

// Whether fields were archived in it that a catalogue of another kind, or of another server, knows.
bool indexed_elsewhere(const fields::Dataset& dataset)
{
    return dataset.key_value().get_into(fields::elsewhere_key, {}).has_value();
}

class Store final : public fdb5::Store {
public:
    Store(const fdb5::Key& key, const fdb5::Config& config)
        : settings_(settings_of(config)), key_(to_fields(key))
    {
    }
    Store(const eckit::URI& uri, const fdb5::Config& config)
        : settings_(settings_of(config)), place_(parse_uri(uri))
    {
        place_->kind = PoolUri::Kind::dataset;
    }

    // The store that a field's URI belongs to.
    static eckit::URI uri(const eckit::URI& data)
    {
        PoolUri place = parse_uri(data);
        place.kind = PoolUri::Kind::dataset;
        return to_uri(place);
    }

    std::string type() const override { return type_name; }
    bool open() override { return true; } // archive() and the handles open what they need
    void close() override {}
    bool exists() const override
    {
        return translated([&] { return dataset(Access::read_only) != nullptr; });
    }
    void checkUID() const override
    {
        translated([&] { fields::Session::open(pool(), Access::read_write); });
    }
    eckit::URI uri() const override
    {
        return translated([&] {
            const auto found = dataset(Access::read_only);
            return found ? to_uri(pool_uri_of(*found))
                         : to_uri(place_.value_or(PoolUri{.pool = pool(), .container = ""}));
        });
    }
    bool uriBelongs(const eckit::URI& uri) const override
    {
        return uri.scheme() == type_name && translated([&] {
                   const auto found = dataset(Access::read_only);
                   return found ? parse_uri(uri).same_dataset(pool_uri_of(*found))
                                : place_ && parse_uri(uri).same_dataset(*place_);
               });
    }
    bool uriExists(const eckit::URI& uri) const override { return there_is(uri); }
    std::set<eckit::URI> collocatedDataURIs() const override
    {
        return translated([&] {
            std::set<eckit::URI> all;
            if (const auto found = dataset(Access::read_only))
                all.insert(to_uri(pool_uri_of(*found, PoolUri::Kind::data)));
            return all;
        });
    }
    std::set<eckit::URI> asCollocatedDataURIs(const std::set<eckit::URI>& uris) const override
    {
        return uris;
    }
    // There are no files beside a field that could hold more about it.
    std::vector<eckit::URI> getAuxiliaryURIs(const eckit::URI&, bool) const override { return {}; }

    eckit::DataHandle* retrieve(fdb5::Field& field) const override { return field.dataHandle(); }
    std::unique_ptr<const fdb5::FieldLocation> archive(const fdb5::Key& index, const void* data,
                                                       eckit::Length length) override
    {
        return translated([&] {
            const Bytes bytes(static_cast<const std::byte*>(data),
                              static_cast<std::size_t>(static_cast<long long>(length)));
            fields::StoreWriter& to = writer(index);
            const fields::FieldLocation location = to.archive(bytes);
            ++archived_;
            return std::make_unique<const StepstoreFieldLocation>(to.dataset(), location);
        });
    }
    std::size_t flush() override
    {
        for (auto& [index, writer] :
             writers_) { // our catalogue's flush, which follows, syncs the pool for both
            translated([&] { writer->flush(!settings_.whole); });
        }
        return std::exchange(archived_, 0);
    }

    void remove(const eckit::URI& uri, std::ostream& always, std::ostream& verbose, bool doit) const override
    {
        verbose << "Removing: ";
        always << uri.asRawString() << '\n';
        if (doit) translated([&] { remove_object(uri); });
    }

    void finaliseWipeState(fdb5::StoreWipeState& state, bool doit, bool unsafe) override;
    bool doWipeUnknowns(const std::set<eckit::URI>& unknown) const override;
    bool doWipeURIs(const fdb5::StoreWipeState& state) const override;
    void doWipeEmptyDatabase() const override {} // a dataset goes as a whole
    bool doUnsafeFullWipe() const override;

private:
    const std::string& pool() const { return place_ ? place_->pool : settings_.pools.all().front().location; }

    std::shared_ptr<fields::Dataset> dataset(Access access) const
    {
        return place_ ? find_dataset(*place_, access) : find_dataset(settings_, key_, access);
    }

    // Where the catalogue has put the dataset, or, under a catalogue in files, a dataset without entries.
    std::shared_ptr<fields::Dataset> dataset_to_write() const
    {
        if (place_) {
            if (auto found = dataset(Access::read_write)) return found;
            refuse("cannot archive to " + to_uri(*place_).asRawString() + ": " + why_not_there(*place_));
        }
        return find_or_make_dataset(settings_, key_, std::string());
    }

    // One for all indexes; under a catalogue in files one for each, so that an object holds fields of one
    // index, as a file does.
    fields::StoreWriter& writer(const fdb5::Key& index)
    {
        auto& writer = writers_[settings_.whole ? std::string() : index.valuesToString()];
        if (!writer) writer = std::make_unique<fields::StoreWriter>(dataset_to_write(), settings_.writer);
        return *writer;
    }

    // FDB removes what no field of its catalogue refers to: the whole object.
    static void remove_object(const eckit::URI& uri)
    {
        const auto changed = find_dataset(parse_uri(uri), Access::read_write);
        if (changed && !indexed_elsewhere(*changed)) {
            refuse("cannot remove " + uri.asRawString() + " by its name: the catalogue of " +
                   changed->name() + " refers to its fields: use fdb-wipe or fdb-purge");
        }
        if (changed) changed->data_array(parse_uri(uri).object).destroy();
    }

    void print(std::ostream& out) const override
    {
        out << "StepstoreStore(" << pool() << ", " << (place_ ? place_->container : key_.text()) << ')';
    }

    Settings settings_;
    std::optional<PoolUri> place_; // of a store that was made from a URI
    fields::Key key_;              // of the others
    std::map<std::string, std::unique_ptr<fields::StoreWriter>> writers_;
    std::size_t archived_ = 0;
};

// Only what is indexed elsewhere is wiped by name. What our catalogue has indexed goes with its entries: so
// another catalogue that refers to it as well (fdb-reindex) takes nothing away from it. An object that holds
// fields of several indexes stays until none of them is kept.
void Store::finaliseWipeState(fdb5::StoreWipeState& state, bool, bool)
{
    translated([&] {
        const auto found = dataset(Access::read_only);
        if (!found) {
            state.markAllMissing();
            return;
        }
        const std::set<eckit::URI> included = state.includedDataURIs(); // a copy: markAsMissing changes it
        for (const auto& uri : included) {
            const PoolUri place = parse_uri(uri);
            if (!place.same_dataset(pool_uri_of(*found))) {
                throw eckit::SeriousBug("Stepstore: FDB asks the wipe of " + this->uri().asRawString() +
                                        " to remove " + uri.asRawString() +
                                        ", which lies elsewhere; nothing was wiped");
            }
            if (place.kind == PoolUri::Kind::object &&
                (!indexed_elsewhere(*found) || state.isMarkedSafe(uri) || !there_is(uri))) {
                state.markAsMissing(uri);
            }
        }
    });
}

bool Store::doWipeUnknowns(const std::set<eckit::URI>& unknown) const
{
    if (!unknown.empty()) { // finaliseWipeState reports none
        refuse("cannot remove " + unknown.begin()->asRawString() + ": it does not belong to " +
               uri().asRawString());
    }
    return true;
}

bool Store::doWipeURIs(const fdb5::StoreWipeState& state) const
{
    for (const auto& uri : state.includedDataURIs())
        if (parse_uri(uri).kind == PoolUri::Kind::object) translated([&] { remove_object(uri); });
    return true;
}

// Our catalogue's own full wipe takes the container, with all that is in it.
bool Store::doUnsafeFullWipe() const
{
    return translated([&] {
        const auto found = dataset(Access::read_only);
        return !found || !indexed_elsewhere(*found);
    });
}

const fdb5::StoreBuilder<Store> store_builder(type_name);

} // namespace
} // namespace stepstore::fdb_plugin
