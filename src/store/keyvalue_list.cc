// Listing a key-value object: target by target, in the order of the stored keys, in batches.
//
// The position is the stored key of the last entry given. A listing goes on from there in O(log n), whatever
// was put or removed in between. A key that exists all the time is given exactly once. Entries
// are collected in a read transaction and given to the caller after it: the caller may use the store.
#include "store/object.h"
#include "store/store.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::size_t keys_at_once = 256;

struct Listed {
    std::vector<std::byte> key;
    std::vector<std::byte> place; // the stored key
    std::uint64_t size = 0;
};

struct Batch {
    std::vector<Listed> entries;
    bool more = false;
    std::string damage; // what ended the batch early, if anything
    std::vector<std::byte> damaged_place;
    bool at_border = false; // the damage is outside of the object's records: nothing is left to list here
};

// Walks the records of one space behind a place, for listings at an epoch.
class Walk {
public:
    Walk(const ObjectAccess& object, Space space)
        : prefix_(object.prefix(space, Kind::keyvalue)), history_(space == Space::history)
    {
    }
    // The first record, visible at `epoch`, with a place greater than `after` (any place when it is empty).
    // False: none. A record that is damaged counts as visible; `reason` says so.
    bool advance(ReadTransaction& transaction, Bytes after, Epoch epoch)
    {
        KeyBuffer from = prefix_;
        if (!after.empty()) {
            if (history_)
                from.add_escaped(after).add(UINT64_MAX);
            else
                from.add(after).add(std::uint8_t{0});
        }
        Entries entries(transaction, from.view(), prefix_.view());
        for (Entry entry; entries.next(entry);) {
            ParsedKey parsed;
            const bool key_good =
                parse_key(entry.key, parsed) && (!history_ || unescape(parsed.place, stored_));
            reason =
                key_good ? parse_record(entry.key, entry.value, record) : "the record's key is malformed";
            if (!key_good) {
                stored_.truncate(0);
                stored_.add(entry.key.subspan(prefix_.size())
                                .first(std::min(entry.key.size() - prefix_.size(), max_stored_key)));
            } else if (!history_) {
                stored_.truncate(0);
                stored_.add(parsed.place);
            }
            if (reason != nullptr || (record.birth <= epoch && (!history_ || epoch < parsed.death)))
                return true;
        }
        damage_behind = entries.damage_behind();
        return false;
    }
    const char* damage_before(ReadTransaction& transaction) const
    {
        return store::damage_before(transaction, prefix_.view());
    }
    Bytes place() const { return stored_.view(); }

    Record record; // valid until the transaction ends
    const char* reason = nullptr;
    const char* damage_behind = nullptr; // once advance() found none

private:
    KeyBuffer prefix_;
    KeyBuffer stored_;
    bool history_;
};

void take(Batch& found, const ObjectAccess& object, unsigned target, const Walk& walk)
{
    const Bytes place = walk.place();
    if (walk.reason != nullptr) {
        found.damage =
            object.where(target) + ", key " + quoted(place) + ": " + walk.reason +
            ". The stored bytes are damaged: run a check of the pool. The listing can go on after this key";
        found.damaged_place.assign(place.begin(), place.end());
        return;
    }
    const Bytes key = walk.record.long_key.empty() ? place : walk.record.long_key;
    found.entries.push_back({{key.begin(), key.end()}, {place.begin(), place.end()}, walk.record.length});
}

// At the end: a damaged record before the object's first or behind its last one may have been one of its
// keys.
void require_border(Batch& found, const ObjectAccess& object, unsigned target, const char* behind,
                    const char* before)
{
    const char* reason = behind != nullptr ? behind : before;
    if (reason == nullptr || found.at_border) return;
    found.at_border = true;
    found.damage = object.where(target) +
                   ", a record beside the object's first or last key, which may be one of them: " + reason +
                   ". The stored bytes are damaged: run a check of the pool. The listing can go on";
}

bool less(Bytes a, Bytes b)
{
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

void collect_latest(Batch& found, const ObjectAccess& object, unsigned target, ReadTransaction& transaction,
                    Bytes after)
{
    const KeyBuffer prefix = object.prefix(Space::live, Kind::keyvalue);
    KeyBuffer from = prefix;
    if (!after.empty()) from.add(after).add(std::uint8_t{0});
    Entries entries(transaction, from.view(), prefix.view());
    for (Entry entry; entries.next(entry);) {
        if (found.entries.size() == keys_at_once) {
            found.more = true;
            return;
        }
        const Bytes place = entry.key.subspan(prefix.size());
        Record record;
        if (const char* reason = parse_record(entry.key, entry.value, record)) {
            found.damage =
                object.where(target) + ", key " + quoted(place) + ": " + reason +
                ". The stored bytes are damaged: the listing can go on behind this key; run a check of the "
                "pool";
            const Bytes kept = place.first(std::min(place.size(), max_stored_key));
            found.damaged_place.assign(kept.begin(), kept.end());
            return;
        }
        const Bytes key = record.long_key.empty() ? place : record.long_key;
        found.entries.push_back({{key.begin(), key.end()}, {place.begin(), place.end()}, record.length});
    }
    require_border(found, object, target, entries.damage_behind(), damage_before(transaction, prefix.view()));
}

// Live records and history, merged; of a place they never both have a record for the same epoch.
void collect_at(Batch& found, const ObjectAccess& object, unsigned target, ReadTransaction& transaction,
                Bytes after, Epoch epoch)
{
    Walk live(object, Space::live);
    Walk history(object, Space::history);
    bool in_live = live.advance(transaction, after, epoch);
    bool in_history = history.advance(transaction, after, epoch);
    while (in_live || in_history) {
        if (found.entries.size() == keys_at_once) {
            found.more = true;
            return;
        }
        const bool from_live = in_live && (!in_history || !less(history.place(), live.place()));
        Walk& walk = from_live ? live : history;
        take(found, object, target, walk);
        if (!found.damage.empty()) return;
        const std::vector<std::byte> place(walk.place().begin(), walk.place().end());
        (from_live ? in_live : in_history) = walk.advance(transaction, place, epoch);
    }
    for (const Walk* walk : {&live, &history})
        require_border(found, object, target, walk->damage_behind, walk->damage_before(transaction));
}

} // namespace

void Container::kv_list(const ObjectId& oid, ListPosition& position,
                        FunctionRef<bool(Bytes, std::uint64_t)> each, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    if (position.length > position.key.size()) {
        fail(DER_INVAL, "pool " + object.path + ", object " + text(oid) +
                            ": the position of the listing is damaged or belongs to another listing: begin "
                            "the listing again");
    }
    const auto stand_at = [&position](Bytes place) {
        position.length = static_cast<std::uint8_t>(place.size());
        std::memcpy(position.key.data(), place.data(), place.size());
    };
    while (!position.done) {
        if (position.target >= object.placement.groups()) {
            position.done = true;
            return;
        }
        const ReplicaSet set = object.placement.group(position.target);
        Batch found;
        for (unsigned copy = 0; copy < set.count; ++copy) {
            const unsigned index = set.targets[copy];
            object.target(index).read([&](ReadTransaction& transaction) {
                found = {};
                object.require_epoch(transaction, index, epoch);
                const Bytes after(position.key.data(), position.length);
                if (epoch == latest)
                    collect_latest(found, object, index, transaction, after);
                else
                    collect_at(found, object, index, transaction, after, epoch);
            });
            object.target(index).count({0, 1, 0, 0});
            if (found.damage.empty()) break; // else the other copy, where there is one
        }
        for (const Listed& one : found.entries) {
            if (!each(one.key, one.size)) return;
            stand_at(one.place);
        }
        if (!found.damage.empty() && !found.at_border) {
            stand_at(found.damaged_place);
            fail(DER_CSUM, found.damage);
        }
        if (found.more) continue;
        ++position.target;
        position.length = 0;
        if (!found.damage.empty()) fail(DER_CSUM, found.damage);
    }
}

} // namespace stepstore::store
