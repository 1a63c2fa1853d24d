// Listings of dkeys, akeys and extents.
#include "store/akeys/akeys.h"
#include "store/akeys/flat.h"
#include "store/array/group_read.h"
#include "store/versioned.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::size_t extents_at_once = 1024;

// ---- the chunks of an array object

// The first chunk from `from` on that has a record at the epoch, on one target.
std::optional<std::uint64_t> next_chunk(const ObjectAccess& object, unsigned target,
                                        ReadTransaction& transaction, std::uint64_t from, Epoch epoch)
{
    std::optional<std::uint64_t> next;
    for (const Space space : {Space::live, Space::history}) {
        if (space == Space::history && epoch == latest) break;
        const KeyBuffer prefix = object.prefix(space, Kind::array);
        const KeyBuffer first = KeyBuffer(prefix).add(from);
        Entries entries(transaction, first.view(), prefix.view());
        for (Entry entry; entries.next(entry);) {
            ParsedKey parsed;
            Record record;
            const char* reason = parse_entry(entry, parsed, record);
            if (reason != nullptr) object.damaged(target, "an extent", reason);
            if (!visible_at(parsed, record, epoch)) continue;
            next = std::min(next.value_or(UINT64_MAX), parsed.chunk);
            break;
        }
        if (const char* reason = entries.damage_beside()) object.damaged_beside(target, "an extent", reason);
    }
    return next;
}

void list_chunks(const ObjectAccess& object, Container& container, ListPosition& position,
                 FunctionRef<bool(Bytes)> each, Epoch epoch)
{
    std::byte dkey[8];
    if (position.target == 0 && position.length == 0 && container.array_attributes(object.oid, epoch)) {
        store_big(dkey, std::uint64_t{0});
        if (!each(dkey)) return;
        position.stand_at(dkey);
    }
    while (!position.done) {
        if (position.target >= object.placement.groups()) {
            position.done = true;
            return;
        }
        // The dkey of a chunk is the number of the next one.
        const std::uint64_t from = position.length == 8 ? load_big<std::uint64_t>(position.key.data()) : 0;
        const auto chunk =
            look_at_copies(object, position.target, [&](unsigned target, ReadTransaction& transaction) {
                object.require_epoch(transaction, target, epoch);
                return next_chunk(object, target, transaction, from, epoch);
            });
        if (!chunk) {
            ++position.target;
            position.length = 0;
            continue;
        }
        store_big(dkey, *chunk + 1);
        if (!each(dkey)) return;
        position.stand_at(dkey);
    }
}

// ---- extents

// What has the records of an array under an akey.
struct Records {
    ArrayDescription array;
    unsigned group = 0;
};

std::optional<Records> records_of(const ObjectAccess& object, Container& container, Bytes dkey, Bytes akey,
                                  Epoch epoch)
{
    if (!has_akeys(object.oid)) {
        if (!is_array(object.oid) || !equal(akey, as_bytes(flat_akey))) return std::nullopt;
        const auto chunk = chunk_of(object.oid, dkey);
        if (!chunk) return std::nullopt;
        const auto kept = container.array_attributes(object.oid, epoch);
        return Records{{kept ? kept->cell_size : 1, *chunk}, group_of_chunk(object, *chunk)};
    }
    const AkeyPlace at(object, dkey, akey, AkeyType::array);
    const unsigned group = object.placement.group_of(dkey);
    return look_at_copies(object, group, [&](unsigned target, ReadTransaction& transaction) {
        std::optional<Records> found;
        object.require_epoch(transaction, target, epoch);
        Record record;
        if (!find_at(object, at.place, target, transaction, epoch, record)) return found;
        found.emplace();
        found->group = group;
        if (const char* reason = parse_description(record, found->array))
            object.damaged(target, at.place.named(), reason);
        return found;
    });
}

} // namespace

void VersionedContainer::dkey_list(const ObjectId& oid, ListPosition& position, FunctionRef<bool(Bytes)> each,
                                   Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    if (is_array(oid)) return list_chunks(object, *this, position, each, epoch);
    if (!has_akeys(oid)) return kv_list(oid, position, each, epoch, {});
    std::vector<std::byte> dkey;
    const auto give = [&](Bytes beginning) {
        if (dkey_of(beginning, dkey)) return each(dkey);
        fail(DER_CSUM, object.name() + ": a record has the key " + quoted(beginning) +
                           ", which is not that of a dkey. The stored bytes are damaged");
    };
    walk_keys(object, position, give, epoch, {{}, {}, std::byte{0}, true});
}

void VersionedContainer::akey_list(const ObjectId& oid, Bytes dkey, ListPosition& position,
                                   FunctionRef<bool(Bytes, AkeyType)> each, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, dkey);
    if (!has_akeys(oid)) {
        AkeyFetch fetch;
        fetch.akey = as_bytes(flat_akey);
        const bool chunk = is_array(oid) && chunk_of(oid, dkey);
        if (chunk) fetch.type = AkeyType::array;
        if (!chunk && !is_array(oid)) {
            if (!position.done && kv_get(oid, dkey, {}, epoch) && !each(fetch.akey, fetch.type)) return;
        } else if (!position.done) {
            flat_fetch(*this, oid, dkey, {&fetch, 1}, epoch, false);
            if (fetch.record_size != 0 && !each(fetch.akey, fetch.type)) return;
        }
        position.done = true;
        return;
    }
    const DkeyBeginning beginning(dkey);
    const auto give = [&](Bytes whole) {
        SplitKey key;
        if (split(whole, key)) return each(key.akey, key.type);
        fail(DER_CSUM, object.name() + ": a record has the key " + quoted(whole) +
                           ", which is not that of an akey. The stored bytes are damaged");
    };
    walk_keys(object, position, give, epoch, of_dkey(beginning, object.placement.group_of(dkey)));
}

std::uint64_t VersionedContainer::extent_list(const ObjectId& oid, Bytes dkey, Bytes akey,
                                              const Range& within,
                                              FunctionRef<bool(const StoredExtent&)> each, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, dkey);
    require_key(object, akey);
    const auto records = records_of(object, *this, dkey, akey, epoch);
    if (!records) return 0;
    const std::uint64_t size = records->array.record_size;
    const std::uint64_t end = farthest / size;
    std::uint64_t from = std::min(within.index, end);
    const std::uint64_t to = (from + std::min(within.length, end - from)) * size;
    from *= size;
    const auto give = [&](const FoundExtent& one) {
        return each({{one.begin / size, (one.end - one.begin) / size}, one.birth});
    };
    std::vector<FoundExtent> found; // the last one may go on in the next batch
    while (from < to) {
        std::vector<FoundExtent> more;
        look_at_copies(object, records->group, [&](unsigned target, ReadTransaction& transaction) {
            more.clear();
            object.require_epoch(transaction, target, epoch);
            const ReadPiece piece{records->array.chunk, from, to, 0, {}};
            std::vector<BulkRead> none;
            GroupRead(object, {&piece, 1}, target, epoch, Verify::yes, nullptr)
                .find(transaction, none, &more, extents_at_once);
            return 0;
        });
        const bool last = epoch != latest || more.size() < extents_at_once;
        found.insert(found.end(), more.begin(), more.end());
        found = joined(std::move(found), true);
        if (last) break;
        from = found.back().end;
        for (const FoundExtent& one : std::span(found).first(found.size() - 1))
            if (!give(one)) return size;
        found.erase(found.begin(), found.end() - 1);
    }
    for (const FoundExtent& one : found)
        if (!give(one)) return size;
    return size;
}

} // namespace stepstore::store
