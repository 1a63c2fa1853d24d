// A copy is made in a container that the root does not name yet, under a claim to its label. Its root entry
// makes it a dataset. This entry is put last, on the condition that there is none. So nobody sees half of it.
// purge_pool() removes what a dead process has left.
#include "client/in_doubt.h"
#include "fields/listing.h"
#include "fields/maintenance.h"
#include "fields/record.h"
#include "fields/store_reader.h"
#include "fields/store_writer.h"

#include <daos_errno.h>

namespace stepstore::fields {

namespace {

constexpr std::uint64_t fields_per_flush = 10000;
constexpr std::uint64_t bytes_per_flush = 256 << 20;

std::uint64_t copy_fields(const std::shared_ptr<Dataset>& from, const std::shared_ptr<Dataset>& to)
{
    const StoreReader source(from);
    StoreWriter store(to, {.asynchronous = true});
    CatalogueWriter catalogue(to);
    std::uint64_t count = 0, bytes = 0, unflushed = 0;
    const auto flush = [&] {
        store.flush(false);
        catalogue.flush(false);
        bytes = unflushed = 0;
    };
    Listing listing(from, {}, {.masked = false, .even_if_locked = true});
    for (ListedField field; listing.next(field); ++count) {
        Location location = field.entry.location;
        if (const auto* own = std::get_if<FieldLocation>(&location)) {
            bytes += own->length;
            location = store.archive(source.read(*own));
        }
        catalogue.archive(*field.collocation, field.element, std::move(location), field.entry.timestamp);
        if (++unflushed == fields_per_flush || bytes >= bytes_per_flush) flush();
    }
    flush();
    return count;
}

void copy_flags(const Dataset& from, Dataset& to)
{
    for (const std::string& name : from.attributes())
        if (const auto value = from.attribute(name)) to.set_attribute(name, *value);
    for (const Control control : {Control::retrieve, Control::list, Control::archive, Control::wipe})
        if (!from.enabled(control)) to.set_enabled(control, false);
}

[[noreturn]] void already_there(const std::string& key, const Session& to)
{
    throw Error(-DER_EXIST, "copy to dataset " + key + " of pool " + to.location() +
                                ": it exists already: wipe it first, or give another key");
}

} // namespace

std::uint64_t copy(const std::shared_ptr<Dataset>& dataset, Session& to, const Key& as,
                   const std::vector<std::pair<std::string, std::string>>& attributes)
{
    const std::string key = as.text();
    if (to.root_entry(key)) already_there(key, to);
    const std::string label = to.make_label(as);
    Lease claim = to.claim(label);
    if (const auto other = claim.take())
        throw Error(-DER_BUSY, "copy to dataset " + key + " of pool " + to.location() + ": " +
                                   other->record.holder.text() + " makes or destroys its container " + label +
                                   ": wait for it, and copy again");
    std::uint64_t count = 0;
    bool naming = false;
    try {
        auto copied = to.make_dataset(label, as, dataset->options(), dataset->schema());
        count = copy_fields(dataset, copied);
        copy_flags(*dataset, *copied);
        for (const auto& [name, value] : attributes)
            copied->set_attribute(name, value);
        to.pool().sync();
        naming = true;
        if (!to.put_root_entry(key, label)) already_there(key, to);
    } catch (const Error& error) {
        // The root may still come to name it: then purge_pool() sees that, when this process is dead.
        if (naming && is_in_doubt(error)) throw;
        try {
            destroy_container(to.pool(), label);
        } catch (const Error&) { // the first error is told; purge_pool() removes the rest
        }
        throw;
    }
    to.pool().sync();
    return count;
}

} // namespace stepstore::fields
