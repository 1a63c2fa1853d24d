// Key-value objects and arrays, seen as objects of dkeys and akeys, as on DAOS: their one akey is "0". A key
// is a dkey with a single value. A chunk of an array is a dkey, its number plus 1, with the cells as records.
// The dkey 0 of an array has its attributes, a single value of three numbers.
// Threads and errors: as store.h. DER_NOTSUPPORTED: another akey, or another type of value.
#pragma once

#include "store/akey_key.h"
#include "store/store.h"

#include <optional>

namespace stepstore::store {

void flat_update(Container& container, const ObjectId& oid, Bytes dkey, std::span<const AkeyUpdate> updates,
                 Condition of_dkey);
void flat_fetch(Container& container, const ObjectId& oid, Bytes dkey, std::span<AkeyFetch> fetches,
                Epoch epoch, bool dkey_must_exist);
void flat_punch(Container& container, const ObjectId& oid, Bytes dkey, std::span<const Bytes> akeys,
                bool must_exist);

bool is_array(const ObjectId& oid);
inline constexpr char flat_akey[] = "0";
// The chunk that a dkey of an array names; nullopt: it has the attributes. DER_INVAL.
std::optional<std::uint64_t> chunk_of(const ObjectId& oid, Bytes dkey);

} // namespace stepstore::store
