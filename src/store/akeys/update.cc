// Updates and punches of akeys. All that an update does is one transaction on the targets of the dkey.
#include "store/akeys/akeys.h"
#include "store/akeys/flat.h"
#include "store/array/prepared.h"
#include "store/removal.h"
#include "store/versioned.h"

#include "base/checksum.h"

namespace stepstore::store {

namespace {

constexpr std::size_t cleared_at_once = 1000; // extents in one transaction

// One akey of an update, made ready outside the transaction.
struct Item : NotCopied {
    Item(const ObjectAccess& object, Bytes dkey, const AkeyUpdate& update, std::vector<Payload>& bulk)
        : asked(update), at(object, dkey, update.akey, update.type)
    {
        if (update.record_size == 0) return;
        if (update.type == AkeyType::single) {
            require_size(object, update);
            value.emplace(update.record_size, update.memory, bulk);
            return;
        }
        const ArrayShape shape = shape_of_records(object, update.record_size, update.ranges);
        request.emplace(object, shape, update.ranges, update.memory);
        pieces.emplace(object.target(at.place.set.targets[0]), bulk);
        for (const Piece<Bytes>& piece : request->pieces())
            pieces->add(piece);
    }

    bool removes() const { return asked.record_size == 0; }
    std::uint64_t bytes() const { return value ? asked.record_size : pieces ? pieces->bytes() : 0; }

    const AkeyUpdate& asked;
    AkeyPlace at;
    std::optional<NewValue> value;           // a single value
    std::optional<Request<Bytes>> request;   // an array
    std::optional<PreparedPieces> pieces;    // of it
    std::optional<ArrayDescription> array{}; // as the first copy has it, or gets it
    std::optional<std::uint64_t> chunk{}; // of a new one: the same in each run, as a copy may have committed

private:
    static void require_size(const ObjectAccess& object, const AkeyUpdate& update)
    {
        const std::uint64_t given = room_in(update.memory);
        if (update.record_size > max_value)
            fail(DER_REC2BIG, object.name() + ": a value of " + std::to_string(update.record_size) +
                                  " bytes: at most 1 TiB is possible");
        if (given != update.record_size)
            fail(DER_IO_INVAL, object.name() + ", akey " + quoted(update.akey) + ": the value has " +
                                   std::to_string(update.record_size) + " bytes and the memory has " +
                                   std::to_string(given) + ": both must be the same");
    }
};

// The targets of one copy, in the transaction of an update or punch.
struct Copy {
    unsigned number; // 0 decides
    unsigned target;
    WriteTransaction& transaction;
    const ContainerState state;
    const Epoch epoch;
    std::vector<ExtentRef>& released;
};

// The description under the akey of an array. nullopt: there is none. DER_CSUM.
std::optional<ArrayDescription> description_of(const ObjectAccess& object, const AkeyPlace& at,
                                               unsigned target, Presence presence, const Record& record)
{
    if (presence == Presence::absent) return std::nullopt;
    ArrayDescription found;
    const char* reason = presence == Presence::damaged ? "its record is damaged: punch the akey"
                                                       : parse_description(record, found);
    if (reason != nullptr) object.damaged(target, at.place.named(), reason);
    return found;
}

class AkeyWrite {
public:
    AkeyWrite(const ObjectAccess& object, Bytes dkey, std::span<const AkeyUpdate> updates)
        : object_(object), dkey_(dkey), group_(object.placement.group_of(dkey)),
          set_(object.placement.group(group_))
    {
        for (const AkeyUpdate& update : updates)
            items_.add(object, dkey, update, bulk_);
        for (unsigned copy = 0; copy < set_.count && !bulk_.empty(); ++copy)
            appended_[copy].append(object.target(set_.targets[copy]), bulk_);
    }

    void commit(Condition of_dkey)
    {
        object_.update(set_, appended_, [&](auto transactions, auto released) {
            const Epoch epoch = object_.core.storage().next_epoch();
            for (unsigned number = 0; number < set_.count; ++number) {
                WriteTransaction& transaction = *transactions[number];
                expect(transaction);
                const unsigned target = set_.targets[number];
                const Copy copy{number, target,          transaction, object_.state(transaction, target),
                                epoch,  released[number]};
                if (number == 0) {
                    left_.clear();
                    require_dkey(copy, of_dkey);
                }
                items_.for_each([&](Item& item) {
                    if (item.asked.type == AkeyType::single)
                        put_value(copy, item);
                    else
                        put_array(copy, item);
                });
            }
        });
        for (const std::uint64_t chunk : left_)
            clear_chunk(object_, set_, chunk);
        std::uint64_t bytes = 0;
        items_.for_each([&](const Item& item) { bytes += item.bytes(); });
        for (unsigned copy = 0; copy < set_.count; ++copy)
            object_.target(set_.targets[copy]).count({1, 0, bytes, 0});
    }

private:
    void expect(WriteTransaction& transaction)
    {
        if (transaction.network() == nullptr) return;
        const KeyBuffer state = container_key(object_.container);
        std::vector<Bytes> keys{state.view()};
        items_.for_each([&](const Item& item) { keys.push_back(item.at.place.live.view()); });
        transaction.expect(keys);
    }

    void require_dkey(const Copy& copy, Condition condition) const
    {
        if (condition == Condition::none) return;
        const DkeyBeginning beginning(dkey_);
        const bool there =
            has_key(object_, copy.target, copy.transaction, latest, of_dkey(beginning, group_));
        if (there == (condition == Condition::must_exist)) return;
        fail(there ? DER_EXIST : DER_NONEXIST,
             object_.name() + ", dkey " + quoted(dkey_) +
                 (there ? ": it exists, and the update requires that it does not"
                        : ": it does not exist, and the update requires that it does"));
    }

    // An akey has one type.
    void require_type(const Copy& copy, const Item& item) const
    {
        const bool single = item.asked.type == AkeyType::single;
        const AkeyPlace other(object_, dkey_, item.asked.akey, single ? AkeyType::array : AkeyType::single);
        Bytes value;
        Record record;
        if (find_live(object_, other.place, copy.transaction, value, record) == Presence::absent) return;
        fail(DER_INVAL, object_.name() + ", " + item.at.place.named() + " holds " +
                            (single ? "an array of records, and a single value was given"
                                    : "a single value, and records were given") +
                            ": punch the akey first");
    }

    void retire_old(const Copy& copy, const Item& item, Presence presence, Bytes value, const Record& old)
    {
        retire(copy.transaction, object_.container, copy.state, item.at.place.live.view(), value,
               presence == Presence::present ? &old : nullptr, copy.epoch, copy.released);
    }

    void put_value(const Copy& copy, Item& item)
    {
        Bytes old_value;
        Record old;
        const KeyPlace& place = item.at.place;
        const Presence presence = find_to_update(object_, place, copy.transaction, old_value, old);
        if (copy.number == 0) {
            require_condition(object_, place, item.asked.condition, presence, old, copy.transaction);
            if (presence == Presence::absent && !item.removes()) require_type(copy, item);
        }
        if (presence != Presence::absent) retire_old(copy, item, presence, old_value, old);
        if (!item.removes()) {
            item.value->put(place, copy.transaction, copy.epoch, appended_[copy.number]);
        } else if (presence != Presence::absent) {
            copy.transaction.erase(place.live.view());
            note_removal(object_, copy.transaction, copy.state, copy.epoch, copy.released);
        }
    }

    void put_array(const Copy& copy, Item& item)
    {
        Bytes old_value;
        Record old;
        const KeyPlace& place = item.at.place;
        const Presence presence = find_to_update(object_, place, copy.transaction, old_value, old);
        auto found = description_of(object_, item.at, copy.target, presence, old);
        if (copy.number == 0) {
            require_condition(object_, place, item.asked.condition, presence, old, copy.transaction);
            item.array = found;
            if (!found && !item.removes()) {
                require_type(copy, item);
                item.array = {item.asked.record_size, unused_chunk(copy, item)};
            }
            require_record_size(item);
        }
        if (!item.array) return; // there is nothing to remove
        ArrayUpdate update(object_, copy.target, copy.transaction, copy.epoch, copy.released);
        const std::uint64_t chunk = item.array->chunk;
        // This copy is ahead of the first: a run that saw an older array there has committed here.
        if (found && found->chunk != chunk &&
            !update.clear({found->chunk, 0}, {found->chunk, UINT64_MAX}, cleared_at_once))
            left_.push_back(found->chunk);
        if (item.removes()) {
            const ArrayShape shape = shape_of_records(object_, item.array->record_size, item.asked.ranges);
            for (const Range& range : item.asked.ranges) {
                const ByteRange bounds(object_, shape, range);
                if (bounds.begin != bounds.end) update.clear({chunk, bounds.begin}, {chunk, bounds.end});
            }
            update.note_removals();
            return;
        }
        if (found != item.array) {
            if (presence != Presence::absent) retire_old(copy, item, presence, old_value, old);
            const auto bytes = encoded(*item.array);
            const Bytes piece(bytes);
            std::vector<Payload> none;
            NewValue(bytes.size(), {&piece, 1}, none).put(place, copy.transaction, copy.epoch, {});
        }
        item.pieces->put_into(chunk, update, appended_[copy.number]);
    }

    void require_record_size(const Item& item) const
    {
        if (!item.array || item.removes() || item.array->record_size == item.asked.record_size) return;
        fail(DER_INVAL, object_.name() + ", " + item.at.place.named() + " has records of " +
                            std::to_string(item.array->record_size) + " bytes, and records of " +
                            std::to_string(item.asked.record_size) +
                            " were given: an array has records of one size");
    }

    // One that no other array has, and in each run the same: one copy may have committed in a run before. By
    // the epoch no two arrays of one akey have the same. By the checksum others do not, except by chance, and
    // then the chunk has extents.
    std::uint64_t unused_chunk(const Copy& copy, Item& item) const
    {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
        const std::uint64_t sum = checksum(item.at.key.whole());
        for (;; item.chunk.reset()) {
            if (!item.chunk) {
                const Epoch epoch = object_.core.storage().next_epoch();
                item.chunk = (sum + epoch * odd) & static_cast<std::uint64_t>(INT64_MAX);
            }
            const KeyBuffer extents = object_.prefix(Space::live, Kind::array).add(*item.chunk);
            Entry entry;
            if (!copy.transaction.seek_in(extents.view(), extents.view(), entry) ||
                !starts_with(entry.key, extents.view()))
                return *item.chunk;
        }
    }

    const ObjectAccess& object_;
    const Bytes dkey_;
    const unsigned group_;
    const ReplicaSet set_;
    std::vector<Payload> bulk_;
    Few<Item> items_;
    std::array<Appended, max_replicas> appended_;
    std::vector<std::uint64_t> left_; // chunks of replaced arrays that have extents yet
};

// ---- punches

struct Punch {
    const ObjectAccess& object;
    Bytes dkey;
    std::span<const Bytes> akeys; // none: the dkey
    bool must_exist;
    std::vector<std::uint64_t> left{}; // chunks that have extents yet

    void run()
    {
        const ReplicaSet set = object.placement.group(object.placement.group_of(dkey));
        object.update(set, {}, [&](auto transactions, auto released) {
            const Epoch epoch = object.core.storage().next_epoch();
            left.clear();
            for (unsigned number = 0; number < set.count; ++number) {
                WriteTransaction& transaction = *transactions[number];
                const unsigned target = set.targets[number];
                const Copy copy{number, target,          transaction, object.state(transaction, target),
                                epoch,  released[number]};
                const bool removed = akeys.empty() ? remove_dkey(copy) : remove_akeys(copy);
                if (removed) note_removal(object, transaction, copy.state, epoch, copy.released);
            }
        });
        for (unsigned copy = 0; copy < set.count; ++copy)
            object.target(set.targets[copy]).count({1, 0, 0, 0});
        for (const std::uint64_t chunk : left)
            clear_chunk(object, set, chunk);
    }

private:
    // A record, and of an array as many extents as one transaction takes. record: nullptr for a damaged one.
    void remove(const Copy& copy, Bytes live_key, AkeyType type, Bytes value, const Record* record)
    {
        ArrayDescription array;
        const bool has_chunk =
            type == AkeyType::array && record != nullptr && parse_description(*record, array) == nullptr;
        retire(copy.transaction, object.container, copy.state, live_key, value, record, copy.epoch,
               copy.released);
        copy.transaction.erase(live_key);
        if (!has_chunk) return;
        ArrayUpdate update(object, copy.target, copy.transaction, copy.epoch, copy.released);
        if (!update.clear({array.chunk, 0}, {array.chunk, UINT64_MAX}, cleared_at_once))
            left.push_back(array.chunk);
    }

    // Damaged records too: this is how one gets rid of them. False: there were none.
    bool remove_dkey(const Copy& copy)
    {
        const DkeyBeginning beginning(dkey);
        const KeyBuffer prefix = object.prefix(Space::live, Kind::keyvalue).add(beginning.stored());
        KeyBuffer behind = prefix;
        behind.make_successor();
        for (const KeyBuffer& border : {prefix, behind}) // else they would come back later
            put_back(copy.transaction, border.view());
        std::vector<std::vector<std::byte>> keys;
        Entries entries(copy.transaction, prefix.view(), prefix.view());
        for (Entry entry; entries.next(entry);)
            keys.emplace_back(entry.key.begin(), entry.key.end());
        if (keys.empty() && must_exist && copy.number == 0) refuse("");
        for (const auto& key : keys) {
            Bytes value;
            Record record;
            if (!copy.transaction.get(key, value)) continue;
            const bool damaged = parse_record(key, value, record) != nullptr;
            const Bytes whole =
                damaged || record.long_key.empty() ? Bytes(key).subspan(kind_prefix_size) : record.long_key;
            SplitKey parts;
            const AkeyType type = split(whole, parts) ? parts.type : AkeyType::single;
            remove(copy, key, type, value, damaged ? nullptr : &record);
        }
        return !keys.empty();
    }

    bool remove_akeys(const Copy& copy)
    {
        bool removed = false;
        for (const Bytes akey : akeys) {
            const AkeyPlace single(object, dkey, akey, AkeyType::single);
            const AkeyPlace array(object, dkey, akey, AkeyType::array);
            const bool single_there = remove_at(copy, single.place, AkeyType::single);
            const bool array_there = remove_at(copy, array.place, AkeyType::array);
            removed = removed || single_there || array_there;
            if (single_there || array_there || copy.number != 0) continue;
            for (const AkeyPlace* place : {&single, &array})
                require_absence(object, place->place, copy.target, copy.transaction);
            if (must_exist) refuse(", akey " + quoted(akey));
        }
        return removed;
    }

    bool remove_at(const Copy& copy, const KeyPlace& place, AkeyType type)
    {
        Bytes value;
        Record record;
        const Presence presence = find_to_update(object, place, copy.transaction, value, record);
        if (presence == Presence::absent) return false;
        remove(copy, place.live.view(), type, value, presence == Presence::present ? &record : nullptr);
        return true;
    }

    [[noreturn]] void refuse(const std::string& akey) const
    {
        fail(DER_NONEXIST, object.name() + ", dkey " + quoted(dkey) + akey +
                               ": it does not exist, and the punch requires that it does");
    }
};

} // namespace

void VersionedContainer::akey_update(const ObjectId& oid, Bytes dkey, std::span<const AkeyUpdate> updates,
                                     Condition of_dkey)
{
    pool_->require_write("akey_update");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, dkey);
    for (const AkeyUpdate& update : updates)
        require_key(object, update.akey);
    if (!has_akeys(oid)) return flat_update(*this, oid, dkey, updates, of_dkey);
    AkeyWrite(object, dkey, updates).commit(of_dkey);
}

void VersionedContainer::akey_punch(const ObjectId& oid, Bytes dkey, std::span<const Bytes> akeys,
                                    bool must_exist)
{
    pool_->require_write("akey_punch");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, dkey);
    for (const Bytes akey : akeys)
        require_key(object, akey);
    if (!has_akeys(oid)) return flat_punch(*this, oid, dkey, akeys, must_exist);
    Punch{object, dkey, akeys, must_exist}.run();
}

} // namespace stepstore::store
