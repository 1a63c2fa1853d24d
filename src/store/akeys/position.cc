// Where a listing begins with a key: the position just before its stored form.
//
// A stored form has at most 96 bytes. So the last one that could lie before it is known without a look. If it
// ends with a zero, that one is the rest. Else its last byte is less by one, and 0xff follow up to 96 bytes.
#include "store/akeys/akeys.h"
#include "store/akeys/flat.h"
#include "store/array/group_read.h"
#include "store/versioned.h"

#include <algorithm>

namespace stepstore::store {

namespace {

void stand_before(ListPosition& position, Bytes stored)
{
    position.stand_at(stored.first(stored.size() - 1));
    if (stored.back() == std::byte{0}) return;
    position.key[stored.size() - 1] = static_cast<std::byte>(static_cast<unsigned>(stored.back()) - 1);
    std::fill(position.key.begin() + static_cast<std::ptrdiff_t>(stored.size()), position.key.end(),
              std::byte{0xff});
    position.length = static_cast<std::uint8_t>(position.key.size());
}

// The bytes of a stored form by which keys are sorted. A long one ends with a digest, which has no order.
Bytes ordered(const AkeyKey& key)
{
    const Bytes stored = key.stored().view();
    return key.stored().is_long() ? stored.first(max_short_key) : stored;
}

} // namespace

ListPosition VersionedContainer::dkey_position(const ObjectId& oid, Bytes dkey)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, dkey);
    ListPosition position;
    if (is_array(oid)) {
        const auto chunk = chunk_of(oid, dkey);
        if (!chunk) return position;
        std::byte before[8];
        store_big(before, *chunk); // the dkey of the chunk before it
        position.target = group_of_chunk(object, *chunk);
        position.stand_at(before);
        return position;
    }
    position.target = object.placement.group_of(dkey);
    if (has_akeys(oid))
        stand_before(position, DkeyBeginning(dkey).stored());
    else
        stand_before(position, StoredKey(dkey).view());
    return position;
}

ListPosition VersionedContainer::akey_position(const ObjectId& oid, Bytes dkey, Bytes akey, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, dkey);
    require_key(object, akey);
    ListPosition position;
    if (!has_akeys(oid)) return position; // which have one akey
    // The key ends with its type, which is not known. So others may lie between its two forms.
    const AkeyKey first(dkey, akey, AkeyType::single);
    const AkeyKey last(dkey, akey, AkeyType::array);
    stand_before(position, ordered(first));
    ListPosition at = position;
    bool is_found = false;
    akey_list(
        oid, dkey, at,
        [&](Bytes listed, AkeyType type) {
            is_found = equal(listed, akey);
            return !is_found && compare(ordered(AkeyKey(dkey, listed, type)), ordered(last)) <= 0;
        },
        epoch);
    return is_found ? at : position;
}

} // namespace stepstore::store
