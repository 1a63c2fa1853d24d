// Wiping. FDB collects what goes and what stays (markIndexForWipe, finaliseWipeState), then has it removed.
// Here a whole dataset goes in one step (wipe_all: it vanishes from the root key-value first). When a part is
// wiped each index vanishes in one step, and a purge reclaims the space.
#include "catalogue.h"

#include "failure.h"
#include "index.h"
#include "keys.h"

#include "fields/maintenance.h"

#include "fdb5/database/WipeState.h"

#include <pwd.h>

namespace stepstore::fdb_plugin {

namespace {

std::string owner_of(const fields::Dataset& dataset)
{
    const passwd* user = getpwuid(static_cast<uid_t>(dataset.record().user));
    return user != nullptr ? user->pw_name : std::to_string(dataset.record().user);
}

} // namespace

bool Catalogue::uriBelongs(const eckit::URI& uri) const
{
    return dataset_ && uri.scheme() == type_name && parse_uri(uri).same_dataset(pool_uri_of(*dataset_));
}

fdb5::CatalogueWipeState Catalogue::wipeInit() const
{
    to_wipe_.clear();
    return {dbKey_, config_};
}

bool Catalogue::markIndexForWipe(const fdb5::Index& index, bool include,
                                 fdb5::CatalogueWipeState& state) const
{
    const eckit::URI uri = index.location().uri();
    if (include) {
        to_wipe_.push_back(index);
        state.markForDeletion(fdb5::WipeElementType::CATALOGUE_INDEX, uri);
    } else {
        state.markAsSafe({uri});
    }
    return include;
}

void Catalogue::finaliseWipeState(fdb5::CatalogueWipeState& state) const
{
    state.setInfo("[Database: " + to_fields(dbKey_).text() + ", FDB Owner: " + owner_of(dataset()) + "]");
    const bool everything = state.safeURIs().empty();
    bool elsewhere = false;
    for (const auto& [store, part] : state.storeStates())
        elsewhere = elsewhere || store.scheme() != type_name;
    if (everything)
        state.markForDeletion(fdb5::WipeElementType::CATALOGUE, uri());
    else
        state.markAsSafe({uri()});
    // The entries go before the bytes that they name. Where all that there is goes in one step, there is no
    // before.
    if (!everything || elsewhere)
        for (const auto& index : to_wipe_)
            state.markForMasking(index);
}

void Catalogue::maskIndexEntries(const std::set<fdb5::Index>& indexes) const
{
    translated([&] {
        const auto changed = indexes.empty() ? nullptr : writable();
        for (const auto& index : indexes)
            if (changed) fields::clear(changed, to_fields(index.key()));
    });
}

// A masked entry names no file that FDB could remove: purge removes it.
void Catalogue::allMasked(std::set<std::pair<eckit::URI, eckit::Offset>>&, std::set<eckit::URI>&) const
{
}

bool Catalogue::doWipeUnknowns(const std::set<eckit::URI>& unknown) const
{
    if (!unknown.empty()) { // finaliseWipeState reports none
        refuse("cannot remove " + unknown.begin()->asRawString() + ": it does not belong to " +
               dataset().name());
    }
    return true;
}

void Catalogue::wipe_all() const
{
    translated([&] {
        if (const auto changed = writable()) fields::wipe(changed->session(), changed->key());
    });
}

bool Catalogue::doWipeURIs(const fdb5::CatalogueWipeState& state) const
{
    if (state.safeURIs().empty()) {
        wipe_all();
        return true;
    }
    translated([&] {
        if (const auto changed = writable()) fields::purge(changed);
    });
    return true;
}

void Catalogue::doWipeEmptyDatabase() const
{
} // doWipeURIs has left nothing empty behind

bool Catalogue::doUnsafeFullWipe() const
{
    wipe_all();
    return true;
}

} // namespace stepstore::fdb_plugin
