// Key-value objects: put, get, remove.
//
// put: 1. checksums, and for a large value the append, before any lock. 2. One write transaction: the
// container is there, the condition holds, the replaced record is retired, the new one written. 3. After the
// commit the replaced extent is released. A death after the append leaves bytes that nothing refers to; one
// after the commit, bytes that nothing refers to any more: check gives both back.
#include "store/bulk.h"
#include "store/key_value/place.h"
#include "store/object.h"
#include "store/removal.h"
#include "store/versioned.h"

#include <map>

namespace stepstore::store {

namespace {

// Tells what an update found. A bulk value never fits: the caller's room is smaller than the smallest one.
void tell(Replaced* replaced, Filled& filled, Presence presence, const Record& old)
{
    static_assert(max_replaced < bulk_threshold);
    if (replaced == nullptr) return;
    replaced->size.reset();
    filled.set(0);
    if (presence == Presence::absent) return;
    const bool fits = presence == Presence::present && old.length <= replaced->into.size();
    const bool damaged = presence == Presence::damaged || (fits && !payload_intact(old));
    replaced->size = damaged ? 0 : old.length;
    if (!fits || damaged || old.payload.empty()) return;
    filled.set(old.payload.size());
    std::memcpy(replaced->into.data(), old.payload.data(), old.payload.size());
}

void require_room(const ObjectAccess& object, const Replaced* replaced)
{
    if (replaced != nullptr && replaced->into.size() > max_replaced)
        fail(DER_INVAL, object.name() + ": room of " + std::to_string(replaced->into.size()) +
                            " bytes for a replaced value: give at most " + std::to_string(max_replaced));
}

// A read of one key, at its place.
struct PlacedRead {
    PlacedRead(const ObjectAccess& object, KeyRead& read) : place(object, read.key), read(&read) {}
    void expect(const ObjectAccess& object, ReadTransaction& transaction, Epoch epoch) const
    {
        const Bytes live = place.live.view();
        transaction.expect({&live, 1});
        if (epoch == latest) return;
        const OldVersions old(object, place, epoch);
        transaction.expect_from(old.all.view(), old.first.view(), 1);
    }

    KeyPlace place;
    KeyRead* read;
    Filled filled = {};
    MutableBytes into = {}; // the part of its room that is filled
};

// Reads keys of one group from one of its targets, at one moment.
void read_from(const ObjectAccess& object, unsigned index, bool may_write, std::span<PlacedRead> all,
               Epoch epoch)
{
    std::vector<const PlacedRead*> large;
    const auto find_one = [&](PlacedRead& one, ReadTransaction& transaction, std::vector<BulkRead>& reads) {
        Record record;
        one.read->size.reset();
        one.into = {};
        one.filled.set(0);
        if (!find_at(object, one.place, index, transaction, epoch, record)) return;
        one.read->size = record.length;
        if (record.length > one.read->into.size()) return;
        one.into = one.read->into.first(record.length);
        one.filled.set(record.length);
        if (record.type == RecordType::bulk) {
            reads.push_back({BulkSource(record), 0, record.length, Scattered({&one.into, 1}), 0});
            large.push_back(&one);
            return;
        }
        if (!payload_intact(record))
            object.damaged(index, one.place.named(), "the checksum of the value does not match");
        if (!record.payload.empty())
            std::memcpy(one.into.data(), record.payload.data(), record.payload.size());
    };
    const auto find = [&](ReadTransaction& transaction, std::vector<BulkRead>& reads) {
        large.clear();
        object.expect_epoch(transaction, epoch);
        for (const PlacedRead& one : all)
            one.expect(object, transaction, epoch);
        object.require_epoch(transaction, index, epoch);
        for (PlacedRead& one : all)
            find_one(one, transaction, reads);
    };
    read_with_bulk(
        object.target(index), may_write, Verify::yes, find,
        [&](std::size_t which, Unread why) { object.unread(index, large[which]->place.named(), why); },
        &object.core);
    std::uint64_t bytes = 0;
    for (const PlacedRead& one : all) {
        one.filled.clear_rest(Scattered({&one.read->into, 1}));
        bytes += one.into.size();
    }
    object.target(index).count({0, all.size(), 0, bytes});
}

// From the first copy that is not damaged: of all of them together, or else of each.
void read_group(const ObjectAccess& object, bool may_write, std::span<PlacedRead> all, Epoch epoch)
{
    const ReplicaSet& set = all.front().place.set;
    const auto read = [&](std::span<PlacedRead> some) {
        from_copies(set, [&](unsigned index) { read_from(object, index, may_write, some, epoch); });
    };
    try {
        return read(all);
    } catch (const Error& error) {
        if (!is_damage(error) || set.count == 1 || all.size() == 1) throw;
    }
    for (PlacedRead& one : all)
        read({&one, 1});
}

} // namespace

void VersionedContainer::kv_put(const ObjectId& oid, Bytes key, Bytes value, const Precondition& condition,
                                Replaced* replaced)
{
    pool_->require_write("kv_put");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, key);
    require_room(object, replaced);
    if (value.size() > max_value) {
        fail(DER_REC2BIG, object.where(0) + ": a value of " + std::to_string(value.size()) +
                              " bytes: at most 1 TiB is possible; use an array object");
    }
    const KeyPlace place(object, key);
    Filled filled;
    std::vector<Payload> bulk;
    NewValue record(value.size(), {&value, 1}, bulk);
    std::array<Appended, max_replicas> appended;
    for (unsigned copy = 0; copy < place.set.count && !bulk.empty(); ++copy)
        appended[copy].append(object.target(place.set.targets[copy]), bulk);
    object.update(place.set, appended, [&](auto transactions, auto released) {
        const Epoch birth = object.core.storage().next_epoch();
        for (unsigned copy = 0; copy < place.set.count; ++copy) {
            WriteTransaction& transaction = *transactions[copy];
            object.expect_with_state(transaction, place.live.view());
            const ContainerState state = object.state(transaction, place.set.targets[copy]);
            Bytes old_value;
            Record old;
            const Presence presence = find_to_update(object, place, transaction, old_value, old);
            // The first copy commits last: when this body runs again, only there nothing has happened yet.
            if (copy == 0) {
                require_condition(object, place, condition, presence, old, transaction);
                tell(replaced, filled, presence, old);
            }
            if (presence != Presence::absent) {
                retire(transaction, object.container, state, place.live.view(), old_value,
                       presence == Presence::present ? &old : nullptr, birth, released[copy]);
            }
            record.put(place, transaction, birth, appended[copy]);
        }
    });
    if (replaced != nullptr) filled.clear_rest(Scattered({&replaced->into, 1}));
    for (unsigned copy = 0; copy < place.set.count; ++copy)
        object.target(place.set.targets[copy]).count({1, 0, value.size(), 0});
}

std::optional<std::uint64_t> VersionedContainer::kv_get(const ObjectId& oid, Bytes key, MutableBytes room,
                                                        Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, key);
    KeyRead read{key, room, {}};
    PlacedRead placed(object, read);
    read_group(object, pool_->access() == Access::read_write, {&placed, 1}, epoch);
    return read.size;
}

void VersionedContainer::kv_get_many(const ObjectId& oid, std::span<KeyRead> reads, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    std::map<unsigned, std::vector<PlacedRead>> by_group;
    for (KeyRead& read : reads) {
        require_key(object, read.key);
        by_group[object.placement.group_of(read.key)].emplace_back(object, read);
    }
    std::vector<std::vector<PlacedRead>> groups;
    for (auto& [group, of_group] : by_group)
        groups.push_back(std::move(of_group));
    const bool may_write = pool_->access() == Access::read_write;
    object.target(0).at_once(groups.size(),
                             [&](std::size_t group) { read_group(object, may_write, groups[group], epoch); });
}

bool VersionedContainer::kv_remove(const ObjectId& oid, Bytes key, const Precondition& condition,
                                   Replaced* replaced)
{
    pool_->require_write("kv_remove");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, key);
    require_room(object, replaced);
    const KeyPlace place(object, key);
    Filled filled;
    bool removed = false;
    object.update(place.set, {}, [&](auto transactions, auto released) {
        const Epoch epoch = object.core.storage().next_epoch();
        for (unsigned copy = 0; copy < place.set.count; ++copy) {
            WriteTransaction& transaction = *transactions[copy];
            object.expect_with_state(transaction, place.live.view());
            const ContainerState state = object.state(transaction, place.set.targets[copy]);
            Bytes value;
            Record old;
            const Presence presence = find_to_update(object, place, transaction, value, old);
            if (copy == 0) {
                require_condition(object, place, condition, presence, old, transaction);
                removed = presence != Presence::absent;
                if (!removed) require_absence(object, place, place.set.targets[0], transaction);
                tell(replaced, filled, presence, old);
            }
            if (presence == Presence::absent) continue;
            retire(transaction, object.container, state, place.live.view(), value,
                   presence == Presence::present ? &old : nullptr, epoch, released[copy]);
            transaction.erase(place.live.view());
            note_removal(object, transaction, state, epoch, released[copy]);
        }
    });
    if (replaced != nullptr) filled.clear_rest(Scattered({&replaced->into, 1}));
    for (unsigned copy = 0; copy < place.set.count; ++copy)
        object.target(place.set.targets[copy]).count({1, 0, 0, 0});
    return removed;
}

void VersionedContainer::kv_announce(const ObjectId& oid, Bytes key)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, key);
    const KeyPlace place(object, key);
    object.target(place.set.targets[0]).announce(place.live.view());
}

std::unique_ptr<Waiter> VersionedContainer::kv_watch(const ObjectId& oid, Bytes key)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, key);
    const KeyPlace place(object, key);
    return object.target(place.set.targets[0]).watch(place.live.view());
}

} // namespace stepstore::store
