// The walk over an object's key-value records that listings share.
// Threads: of one call. Errors: DER_CSUM for damage, DER_INVAL for a position that belongs to no listing.
#pragma once

#include "store/object.h"
#include "store/store.h"

#include <optional>

namespace stepstore::store {

// Which keys a walk gives, and how.
struct Walked {
    Bytes prefix; // whole keys that begin with it
    Bytes place;  // what the stored forms of these keys begin with
    // A key that has this byte after the prefix is given as what it has up to and including it, and the
    // walk passes over all others with this beginning.
    std::optional<std::byte> delimiter = {};
    // Stored forms have the delimiter wherever whole keys have it. So each beginning is given exactly once.
    bool delimiter_is_stored = false;
    std::optional<unsigned> group = {}; // only this one
};

void walk_keys(const ObjectAccess& object, ListPosition& position, FunctionRef<bool(Bytes key)> each,
               Epoch epoch, const Walked& walked);

// Whether the object has a key with this beginning at the epoch, on one target.
bool has_key(const ObjectAccess& object, unsigned target, ReadTransaction& transaction, Epoch epoch,
             const Walked& walked);

} // namespace stepstore::store
