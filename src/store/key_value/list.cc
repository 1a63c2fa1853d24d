// Listing a key-value object: target by target, in the order of the stored keys, in batches.
//
// The position is the stored key of the last entry given. A listing goes on from there in O(log n), whatever
// was put or removed in between. A key that exists all the time is given exactly once. Entries
// are collected in a read transaction and given to the caller after it: the caller may use the store.
//
// A filter bounds the walk: it begins at the prefix and ends after it. With a delimiter, a key that has it
// after the prefix is *cut* there. The walk then goes on after all keys with that beginning, by one seek. A
// position whose key ends with the delimiter stands after them too. So n parts cost n seeks, whatever lies
// below them. Of a long key only the stored beginning is in order. A cut after it is given again and again.
#include "store/key_value/list.h"
#include "store/akey_key.h"
#include "store/object.h"
#include "store/versioned.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace stepstore::store {

namespace {

constexpr std::size_t keys_at_once = 256;

struct Listed {
    std::vector<std::byte> place; // the stored key
    std::vector<std::byte> key;
    const char* reason = nullptr; // what is wrong with the record, if anything
};

struct Batch {
    std::vector<Listed> entries; // a damaged one ends it
    bool more = false;
    // What is wrong with a record before the object's first or after its last one, which may have been one
    // of its keys. Then nothing is left to list here.
    const char* border = nullptr;
    unsigned target = 0; // where it was read
};

std::vector<std::byte> copied(Bytes bytes)
{
    return {bytes.begin(), bytes.end()};
}

// The smallest key that a record can have whose place begins with `beginning`.
KeyBuffer first_with(const KeyBuffer& prefix, bool history, Bytes beginning)
{
    KeyBuffer key = prefix;
    if (!history) return key.add(beginning);
    key.add_escaped(beginning);
    key.truncate(key.size() - 2); // without its end
    return key;
}

// The size of what a key, or a stored form, is cut to; 0: it is not cut. prefix: bytes that are passed over.
std::size_t cut_of(Bytes key, std::size_t prefix, const Walked& walked)
{
    if (!walked.delimiter || key.size() < prefix) return 0;
    const auto at = std::ranges::find(key.subspan(prefix), *walked.delimiter);
    return at == key.end() ? 0 : static_cast<std::size_t>(at - key.begin()) + 1;
}

// Where a walk goes on that has given `after` (nothing when it is empty).
KeyBuffer first_behind(const KeyBuffer& prefix, bool history, Bytes after, const Walked& walked)
{
    if (after.empty()) return first_with(prefix, history, walked.place);
    if (after.size() <= max_short_key && after.size() > walked.place.size() &&
        cut_of(after, walked.place.size(), walked) == after.size()) {
        KeyBuffer behind;
        const auto next = static_cast<std::uint8_t>(static_cast<unsigned>(*walked.delimiter) + 1);
        behind.add(after.first(after.size() - 1)).add(next);
        return first_with(prefix, history, behind.view());
    }
    KeyBuffer from = prefix;
    if (history) return from.add_escaped(after).add(UINT64_MAX);
    return from.add(after).add(std::uint8_t{0});
}

// The body is going to walk over these.
void expect(const ObjectAccess& object, ReadTransaction& transaction, Space space, Bytes after,
            const Walked& walked)
{
    const bool history = space == Space::history;
    const KeyBuffer prefix = object.prefix(space, Kind::keyvalue);
    transaction.expect_from(first_behind(prefix, history, {}, walked).view(),
                            first_behind(prefix, history, after, walked).view(),
                            walked.delimiter ? 1 : keys_at_once);
}

// The records of one space that are visible at `epoch`, with a place greater than `after` (any place when it
// is empty).
Batch collect(const ObjectAccess& object, ReadTransaction& transaction, Space space, Bytes after, Epoch epoch,
              const Walked& walked)
{
    const bool history = space == Space::history;
    const KeyBuffer prefix = object.prefix(space, Kind::keyvalue);
    const KeyBuffer bounds = first_behind(prefix, history, {}, walked);
    KeyBuffer from = first_behind(prefix, history, after, walked);
    Batch found;
    std::optional<Entries> entries(std::in_place, transaction, from.view(), bounds.view());
    for (Entry entry; entries->next(entry);) {
        ParsedKey parsed;
        Record record;
        KeyBuffer stored;
        const bool key_good = parse_key(entry.key, parsed) && (!history || unescape(parsed.place, stored));
        const char* reason =
            key_good ? parse_record(entry.key, entry.value, record) : "the record's key is malformed";
        if (reason == nullptr && !visible_at(parsed, record, epoch)) continue;
        Bytes place = history && key_good ? stored.view() : entry.key.subspan(prefix.size());
        place = place.first(std::min(place.size(), max_stored_key));
        // Other versions of a key that was found.
        if (history && !found.entries.empty() && equal(found.entries.back().place, place)) continue;
        if (found.entries.size() == keys_at_once) {
            found.more = true;
            return found;
        }
        const bool is_long = reason == nullptr && !record.long_key.empty();
        Bytes key = is_long ? record.long_key : place;
        if (reason == nullptr && !starts_with(key, walked.prefix)) continue; // a long prefix
        const std::size_t cut = reason == nullptr ? cut_of(key, walked.prefix.size(), walked) : 0;
        if (cut > 0) key = key.first(cut);
        const std::size_t stands =
            walked.delimiter_is_stored ? cut_of(place, walked.place.size(), walked) : cut;
        const bool skips = cut > 0 && stands > 0 && stands <= max_short_key;
        found.entries.push_back({copied(skips ? place.first(stands) : place), copied(key), reason});
        if (reason != nullptr) return found;
        if (!skips) continue;
        from = first_behind(prefix, history, found.entries.back().place, walked);
        entries.emplace(transaction, from.view(), bounds.view());
    }
    found.border = entries->damage_behind();
    if (found.border == nullptr) found.border = damage_before(transaction, bounds.view());
    return found;
}

// Live records and history; of a place they never both have a record for the same epoch. Each is whole up to
// its own end, so the first ones of both together are.
Batch merged(Batch live, Batch history)
{
    Batch all;
    std::ranges::merge(
        live.entries, history.entries, std::back_inserter(all.entries),
        [](Bytes a, Bytes b) { return compare(a, b) < 0; }, &Listed::place, &Listed::place);
    // What keys were cut to may be in both.
    const auto again = std::ranges::unique(all.entries, [](const Listed& a, const Listed& b) {
        return a.reason == nullptr && b.reason == nullptr && equal(a.place, b.place);
    });
    all.entries.erase(again.begin(), again.end());
    all.more = live.more || history.more || all.entries.size() > keys_at_once;
    if (all.entries.size() > keys_at_once) all.entries.resize(keys_at_once);
    const auto damaged = std::ranges::find_if(all.entries, [](const Listed& one) { return one.reason; });
    if (damaged != all.entries.end()) all.entries.erase(damaged + 1, all.entries.end());
    if (!all.more) all.border = live.border != nullptr ? live.border : history.border;
    return all;
}

// The batch of a group that begins after `after`, from its first copy that is not damaged.
Batch batch_of(const ObjectAccess& object, unsigned group, Bytes after, Epoch epoch, const Walked& walked)
{
    const ReplicaSet set = object.placement.group(group);
    Batch found;
    for (unsigned copy = 0; copy < set.count; ++copy) {
        const unsigned index = set.targets[copy];
        read_past(object.core, object.target(index), [&](ReadTransaction& transaction) {
            object.expect_epoch(transaction, epoch);
            expect(object, transaction, Space::live, after, walked);
            if (epoch != latest) expect(object, transaction, Space::history, after, walked);
            object.require_epoch(transaction, index, epoch);
            found = collect(object, transaction, Space::live, after, epoch, walked);
            if (epoch == latest) return;
            found =
                merged(std::move(found), collect(object, transaction, Space::history, after, epoch, walked));
        });
        found.target = index;
        object.target(index).count({0, 1, 0, 0});
        const bool damaged = !found.entries.empty() && found.entries.back().reason != nullptr;
        if (!damaged && found.border == nullptr) break; // else the other copy, where there is one
    }
    return found;
}

// The first batches of the groups from `first` on, read together. A key-value with few keys is listed so by
// one call that waits once. One with many is not: it gets one batch for each wait.
class FirstBatches {
public:
    FirstBatches(const ObjectAccess& object, Epoch epoch, const Walked& walked)
        : object_(object), epoch_(epoch), walked_(walked)
    {
    }
    Batch take(unsigned group)
    {
        if (group < first_ || group - first_ >= batches_.size()) {
            first_ = group;
            Target& target = object_.target(0);
            batches_.assign(std::min(object_.placement.groups() - group, target.most_at_once()), {});
            target.at_once(batches_.size(), [&](std::size_t one) {
                batches_[one] = batch_of(object_, group + static_cast<unsigned>(one), {}, epoch_, walked_);
            });
        }
        return std::move(batches_[group - first_]);
    }

private:
    const ObjectAccess& object_;
    const Epoch epoch_;
    const Walked& walked_;
    unsigned first_ = 0;
    std::vector<Batch> batches_;
};

} // namespace

bool has_key(const ObjectAccess& object, unsigned target, ReadTransaction& transaction, Epoch epoch,
             const Walked& walked)
{
    for (const Space space : {Space::live, Space::history}) {
        if (space == Space::history && epoch == latest) break;
        const Batch found = collect(object, transaction, space, {}, epoch, walked);
        const char* damage = found.entries.empty() ? found.border : found.entries.front().reason;
        if (damage != nullptr) object.damaged_beside(target, "a key", damage);
        if (!found.entries.empty()) return true;
    }
    return false;
}

void walk_keys(const ObjectAccess& object, ListPosition& position, FunctionRef<bool(Bytes)> each, Epoch epoch,
               const Walked& walked)
{
    if (position.length > position.key.size()) {
        fail(DER_INVAL, object.name() +
                            ": the position of the listing is damaged or belongs to another listing: begin "
                            "the listing again");
    }
    FirstBatches first_batches(object, epoch, walked);
    while (!position.done) {
        if (position.target >= (walked.group ? 1 : object.placement.groups())) {
            position.done = true;
            return;
        }
        const Bytes after(position.key.data(), position.length);
        Batch found;
        if (walked.group || !after.empty())
            found = batch_of(object, walked.group.value_or(position.target), after, epoch, walked);
        else
            found = first_batches.take(position.target);
        for (const Listed& one : found.entries) {
            if (one.reason == nullptr && !each(one.key)) return;
            position.stand_at(one.place);
            if (one.reason == nullptr) continue;
            fail(DER_CSUM, object.where(found.target) + ", " + key_text(object.oid, one.place) + ": " +
                               one.reason +
                               ". The stored bytes are damaged: the listing can go on behind this key; run a "
                               "check of the pool");
        }
        if (found.more) continue;
        ++position.target;
        position.length = 0;
        if (found.border == nullptr) continue;
        fail(DER_CSUM, object.where(found.target) +
                           ", a record beside the object's first or last key, which may be one of them: " +
                           found.border +
                           ". The stored bytes are damaged: run a check of the pool. The listing can go on");
    }
}

void VersionedContainer::kv_list(const ObjectId& oid, ListPosition& position, FunctionRef<bool(Bytes)> each,
                                 Epoch epoch, const KeyFilter& filter)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    Walked walked{filter.prefix, filter.prefix.first(std::min(filter.prefix.size(), max_short_key))};
    if (filter.delimiter != '\0') walked.delimiter = static_cast<std::byte>(filter.delimiter);
    walk_keys(object, position, each, epoch, walked);
}

} // namespace stepstore::store
