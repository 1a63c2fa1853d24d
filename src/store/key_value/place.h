// The place of a value among an object's key-value records: of a key, or of a dkey and an akey.
// Threads: of one call, so of one thread. Errors: DER_CSUM for damage, DER_KEY2BIG for two keys with one
// digest, and those of a condition: DER_EXIST, DER_NONEXIST, DER_MISMATCH.
#pragma once

#include "store/akey_key.h"
#include "store/object.h"
#include "store/store.h"

#include <string>
#include <vector>

namespace stepstore::store {

// DER_INVAL, DER_KEY2BIG.
void require_key(const ObjectAccess& object, Bytes key);

// Of one key on its targets.
struct KeyPlace {
    KeyPlace(const ObjectAccess& object, Bytes key) // of a key-value object
        : KeyPlace(object, StoredKey(key), key, object.placement.group_of(key))
    {
    }
    // Of an akey. `key` stays as long as this.
    KeyPlace(const ObjectAccess& object, const AkeyKey& key, unsigned group)
        : KeyPlace(object, key.stored(), key.whole(), group)
    {
    }
    Bytes long_key() const { return stored.is_long() ? key : Bytes{}; }
    // False when the record is of another key with the same digest.
    bool is_of_key(const Record& record) const { return equal(record.long_key, long_key()); }
    std::string named() const { return key_text(oid, key); } // for messages

    StoredKey stored;
    KeyBuffer live;
    Bytes key; // whole
    ObjectId oid;
    ReplicaSet set;

private:
    KeyPlace(const ObjectAccess& object, const StoredKey& stored, Bytes key, unsigned group)
        : stored(stored), live(object.prefix(Space::live, Kind::keyvalue).add(stored.view())), key(key),
          oid(object.oid), set(object.placement.group(group))
    {
    }
};

enum class Presence { absent, present, damaged };

// The live record of a key, on one target.
Presence find_live(const ObjectAccess& object, const KeyPlace& place, ReadTransaction& transaction,
                   Bytes& value, Record& record);
// The same for an update, which puts a record under a damaged key back first.
Presence find_to_update(const ObjectAccess& object, const KeyPlace& place, WriteTransaction& transaction,
                        Bytes& value, Record& record);
// A key that is not there may be one whose stored form was damaged.
void require_absence(const ObjectAccess& object, const KeyPlace& place, unsigned target,
                     ReadTransaction& transaction);
// Of what an update found on the key's first target.
void require_condition(const ObjectAccess& object, const KeyPlace& place, const Precondition& condition,
                       Presence presence, const Record& record, WriteTransaction& transaction);

// The places of a key's old versions, and the first of those that a snapshot may see.
struct OldVersions {
    OldVersions(const ObjectAccess& object, const KeyPlace& place, Epoch epoch)
        : all(object.prefix(Space::history, Kind::keyvalue).add_escaped(place.stored.view())), first(all)
    {
        first.add(epoch + 1);
    }
    KeyBuffer all, first;
};

// Finds the record of a key as it is at `epoch`. False: there is none.
bool find_at(const ObjectAccess& object, const KeyPlace& place, unsigned target, ReadTransaction& transaction,
             Epoch epoch, Record& record);

// A value that is going to be put, made ready outside the transaction.
class NewValue : NotCopied {
public:
    // A large one goes among `bulk`, which is then appended on each target. The pieces stay as they are.
    NewValue(std::uint64_t length, std::span<const Bytes> pieces, std::vector<Payload>& bulk);
    void put(const KeyPlace& place, WriteTransaction& transaction, Epoch birth, const Appended& appended);

private:
    NewRecord record_;
    std::vector<std::byte> sums_;
    std::size_t payload_ = 0; // among `bulk`
};

inline constexpr std::uint64_t max_value = std::uint64_t{1} << 40;

} // namespace stepstore::store
