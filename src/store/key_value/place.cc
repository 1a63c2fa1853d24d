#include "store/key_value/place.h"

namespace stepstore::store {

void require_key(const ObjectAccess& object, Bytes key)
{
    if (key.empty()) fail(DER_INVAL, object.name() + ": the key is empty: give at least one byte");
    if (key.size() > max_key_length) {
        fail(DER_KEY2BIG, object.name() + ": a key of " + std::to_string(key.size()) +
                              " bytes: at most 1,048,576 are possible");
    }
}

Presence find_live(const ObjectAccess& object, const KeyPlace& place, ReadTransaction& transaction,
                   Bytes& value, Record& record)
{
    if (!transaction.get(place.live.view(), value)) return Presence::absent;
    if (parse_record(place.live.view(), value, record) != nullptr) return Presence::damaged;
    if (!place.is_of_key(record)) {
        fail(DER_KEY2BIG, object.name() + ", " + place.named() +
                              ": another key has the same first 80 bytes and the same 128-bit digest: change "
                              "the key, or shorten it to 80 bytes");
    }
    return Presence::present;
}

Presence find_to_update(const ObjectAccess& object, const KeyPlace& place, WriteTransaction& transaction,
                        Bytes& value, Record& record)
{
    const Presence presence = find_live(object, place, transaction, value, record);
    if (presence == Presence::present || !put_back(transaction, place.live.view())) return presence;
    return find_live(object, place, transaction, value, record);
}

void require_absence(const ObjectAccess& object, const KeyPlace& place, unsigned target,
                     ReadTransaction& transaction)
{
    if (const char* reason = damage_at_miss(transaction, place.live.view()))
        object.damaged_beside(target, place.named(), reason);
}

namespace {

bool has_value(const Record& record, Bytes value)
{
    if (record.length != value.size()) return false;
    if (record.type != RecordType::bulk) return equal(record.payload, value);
    std::vector<std::byte> sums;
    append_block_sums({&value, 1}, record.block_shift, sums);
    return equal(record.sums, sums);
}

} // namespace

void require_condition(const ObjectAccess& object, const KeyPlace& place, const Precondition& condition,
                       Presence presence, const Record& record, WriteTransaction& transaction)
{
    const unsigned target = place.set.targets[0];
    const bool needed = condition.what == Condition::must_exist || condition.what == Condition::must_equal;
    if (needed && presence == Presence::absent) require_absence(object, place, target, transaction);
    const auto refuse = [&](int code, const char* why) {
        fail(code, object.name() + ", " + place.named() + ": " + why);
    };
    switch (condition.what) {
    case Condition::none: return;
    case Condition::must_not_exist:
        if (presence == Presence::absent) return;
        refuse(DER_EXIST, "it exists, and the update requires that it does not");
        return;
    case Condition::must_exist:
        if (presence != Presence::absent) return;
        refuse(DER_NONEXIST, "it does not exist, and the update requires that it does");
        return;
    case Condition::must_equal: break;
    }
    if (presence == Presence::absent)
        refuse(DER_MISMATCH, "it does not exist, and the update requires a value");
    if (presence == Presence::damaged)
        object.damaged(target, place.named(),
                       "its record is damaged, and the update requires a value: put it without a condition");
    if (record.type != RecordType::bulk && !payload_intact(record))
        object.damaged(target, place.named(), "the checksum of the value does not match");
    if (!has_value(record, condition.value))
        refuse(DER_MISMATCH, "it has another value than the update requires: get it again");
}

bool find_at(const ObjectAccess& object, const KeyPlace& place, unsigned target, ReadTransaction& transaction,
             Epoch epoch, Record& record)
{
    Bytes value;
    switch (find_live(object, place, transaction, value, record)) {
    case Presence::damaged:
        object.damaged(target, place.named(), parse_record(place.live.view(), value, record));
    case Presence::present:
        if (record.birth <= epoch) return true;
        break;
    case Presence::absent: require_absence(object, place, target, transaction);
    }
    if (epoch == latest) return false;
    const OldVersions old(object, place, epoch);
    const auto what = [&] { return place.named() + " at epoch " + std::to_string(epoch); };
    Entry entry;
    if (transaction.seek_in(old.all.view(), old.first.view(), entry)) {
        if (const char* reason = parse_record(entry.key, entry.value, record))
            object.damaged(target, what(), reason);
        if (record.birth <= epoch) return place.is_of_key(record);
    }
    if (const char* reason = damage_at_miss(transaction, old.first.view()))
        object.damaged_beside(target, what(), reason);
    return false;
}

NewValue::NewValue(std::uint64_t length, std::span<const Bytes> pieces, std::vector<Payload>& bulk)
{
    record_.length = length;
    if (length < bulk_threshold) {
        record_.payload_sum = checksum_of(pieces);
        record_.pieces = pieces;
        return;
    }
    record_.type = RecordType::bulk;
    record_.block_shift = block_shift_for(length);
    append_block_sums(pieces, record_.block_shift, sums_);
    record_.sums = sums_;
    payload_ = bulk.size();
    bulk.push_back({pieces});
}

void NewValue::put(const KeyPlace& place, WriteTransaction& transaction, Epoch birth,
                   const Appended& appended)
{
    record_.birth = birth;
    record_.long_key = place.long_key();
    if (record_.type == RecordType::bulk) record_.extent = appended.extent(payload_);
    record_.encode(place.live.view(), transaction.reserve(place.live.view(), record_.stored_size()));
}

} // namespace stepstore::store
