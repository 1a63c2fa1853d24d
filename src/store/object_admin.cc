// What holds for objects of either kind: array attributes, the last update, enumeration.
#include "store/array/array.h"
#include "store/object.h"
#include "store/removal.h"
#include "store/versioned.h"

#include <algorithm>
#include <set>

namespace stepstore::store {

void for_each_visible(const ObjectAccess& object, unsigned target, ReadTransaction& transaction, Epoch epoch,
                      FunctionRef<bool(const ParsedKey&, const Record&)> each)
{
    for (const Space space : {Space::live, Space::history}) {
        if (space == Space::history && epoch == latest) return;
        const KeyBuffer prefix = object_prefix(space, object.container, object.oid);
        Entries entries(transaction, prefix.view(), prefix.view());
        for (Entry entry; entries.next(entry);) {
            ParsedKey parsed;
            Record record;
            const char* reason = parse_entry(entry, parsed, record);
            if (reason != nullptr)
                object.damaged(target, "record " + quoted(entry.key.subspan(prefix.size())), reason);
            if (visible_at(parsed, record, epoch) && !each(parsed, record)) return;
        }
        if (const char* reason = entries.damage_beside()) object.damaged_beside(target, "a record", reason);
    }
}

namespace {

// Whether anything of the object is there at the epoch, on one target.
bool holds_here(const ObjectAccess& object, unsigned target, ReadTransaction& transaction, Epoch epoch)
{
    object.require_epoch(transaction, target, epoch);
    bool any = false;
    for_each_visible(object, target, transaction, epoch, [&](const ParsedKey& parsed, const Record&) {
        any = parsed.kind != Kind::removal;
        return !any;
    });
    return any;
}

// The next object of the container on this target at or after `from` that holds something. False: none. An
// object's only record may lie under a damaged key, as the last one of the object before or the first one of
// the object after.
bool next_object(ReadTransaction& transaction, Space space, std::uint32_t container, KeyBuffer& from,
                 ObjectId& oid, const std::string& where)
{
    const KeyBuffer prefix = container_prefix(space, container);
    for (;;) {
        Entry entry;
        if (const char* reason = damage_at_miss(transaction, from.view())) {
            fail_damaged(where + ", a record by which an object is listed: " + reason +
                         ". The stored bytes are damaged");
        }
        if (!transaction.seek_in(prefix.view(), from.view(), entry) || entry.key.size() < kind_prefix_size) {
            return false;
        }
        oid = {load_big<std::uint64_t>(entry.key.data() + 5), load_big<std::uint64_t>(entry.key.data() + 13)};
        from = object_prefix(space, container, oid);
        from.make_successor();
        if (static_cast<Kind>(entry.key[object_prefix_size]) != Kind::removal) return true;
    }
}

} // namespace

void VersionedContainer::array_create(const ObjectId& oid, const ArrayAttributes& attributes)
{
    pool_->require_write("array_create");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes); // one that reads and writes take
    std::byte payload[16];
    store_little(payload, attributes.cell_size);
    store_little(payload + 8, attributes.chunk_size);
    const Bytes piece(payload);
    NewRecord record;
    record.length = sizeof payload;
    record.pieces = {&piece, 1};
    record.payload_sum = checksum_of(record.pieces);
    const ReplicaSet set = object.placement.group(0);
    const KeyBuffer key = object.prefix(Space::live, Kind::attributes);
    std::optional<Removal> unfinished; // what it leaves would come back in the new array
    const auto put = [&](unsigned copy, WriteTransaction& transaction) {
        object.expect_attributes(transaction);
        object.state(transaction, set.targets[copy]);
        Bytes value;
        Record old;
        put_back(transaction, key.view());
        if (copy == 0 && transaction.get(key.view(), value) &&
            parse_record(key.view(), value, old) == nullptr) {
            fail(DER_EXIST, "pool " + object.path + ": array " + text(oid) +
                                " has attributes already: open it, or destroy it first");
        }
        if (copy == 0) unfinished = latest_removal(object, set.targets[copy], transaction).going_on;
        if (!unfinished) record.encode(key.view(), transaction.reserve(key.view(), record.stored_size()));
    };
    do {
        if (unfinished) store::finish_removal(object, *unfinished);
        object.update(set, {}, [&](auto transactions, auto) {
            record.birth = object.core.storage().next_epoch();
            for (unsigned copy = 0; copy < set.count; ++copy)
                put(copy, *transactions[copy]);
        });
    } while (unfinished);
    for (unsigned copy = 0; copy < set.count; ++copy)
        object.target(set.targets[copy]).count({1, 0, sizeof payload, 0});
}

std::optional<ArrayAttributes> VersionedContainer::array_attributes(const ObjectId& oid, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    return from_copies(object.placement.group(0), [&](unsigned index) {
        const auto look = [&](ReadTransaction& transaction) -> std::optional<ArrayAttributes> {
            object.expect_with_state(transaction, object.prefix(Space::live, Kind::attributes).view());
            object.require_epoch(transaction, index, epoch);
            Record record;
            constexpr char what[] = "the array's attributes";
            if (!object.find_single(index, transaction, Kind::attributes, epoch, record, what))
                return std::nullopt;
            if (record.type != RecordType::inlined || record.length != 16 || !payload_intact(record))
                object.damaged(index, what, "the checksum of the attributes does not match");
            return ArrayAttributes{load_little<std::uint64_t>(record.payload.data()),
                                   load_little<std::uint64_t>(record.payload.data() + 8)};
        };
        std::optional<ArrayAttributes> found;
        read_past(object.core, object.target(index),
                  [&](ReadTransaction& transaction) { found = look(transaction); });
        object.target(index).count({0, 1, 0, found ? 16U : 0U});
        return found;
    });
}

Epoch VersionedContainer::last_update(const ObjectId& oid, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    Epoch newest = 0;
    for (unsigned group = 0; group < object.placement.groups(); ++group) {
        const auto look = [&](unsigned index, ReadTransaction& transaction) {
            Epoch here = 0;
            object.require_epoch(transaction, index, epoch);
            for_each_visible(object, index, transaction, epoch, [&](const ParsedKey&, const Record& record) {
                here = std::max(here, record.birth);
                return true;
            });
            return here;
        };
        newest = std::max(newest, look_at_copies(object, group, look));
    }
    return newest;
}

bool VersionedContainer::holds(const ObjectId& oid, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    for (unsigned group = 0; group < object.placement.groups(); ++group) {
        const bool any = look_at_copies(object, group, [&](unsigned index, ReadTransaction& transaction) {
            return holds_here(object, index, transaction, epoch);
        });
        if (any) return true;
    }
    return false;
}

std::vector<ObjectId> VersionedContainer::objects(Epoch epoch)
{
    std::set<ObjectId> found;
    Storage& storage = pool_->core().storage();
    const auto container = static_cast<std::uint32_t>(id_);
    storage.meta().read([&](ReadTransaction& meta) { read_container(meta, pool_->core().path(), id_); });
    for (unsigned index = 0; index < storage.targets(); ++index) {
        std::vector<ObjectId> here;
        const std::string where =
            "pool " + pool_->core().path() + ", target " + std::to_string(index) + ", " + opened_->name;
        read_past(pool_->core(), pool_->core().target(index), [&](ReadTransaction& transaction) {
            require_no_note(transaction, pool_->core().path(), index, container);
            here.clear();
            for (const Space space : {Space::live, Space::history}) {
                if (space == Space::history && epoch == latest) break;
                KeyBuffer from = container_prefix(space, container);
                for (ObjectId oid; next_object(transaction, space, container, from, oid, where);)
                    here.push_back(oid);
            }
            if (epoch == latest) return;
            std::erase_if(here, [&](const ObjectId& oid) {
                return found.contains(oid) || !holds_here(ObjectAccess(pool_->core(), id_, oid, *opened_),
                                                          index, transaction, epoch);
            });
        });
        found.insert(here.begin(), here.end());
    }
    return {found.begin(), found.end()};
}

} // namespace stepstore::store
