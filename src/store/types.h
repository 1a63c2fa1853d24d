// The words of the store: epochs, object ids, conditions, durability.
// Threads: any; pure.
#pragma once

#include "base/bytes.h"

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace stepstore::store {

// A point in a pool's history. Every update carries one; a read sees the newest version not later than its
// epoch.
using Epoch = std::uint64_t;
inline constexpr Epoch latest = UINT64_MAX;

using Uuid = std::array<std::uint8_t, 16>;

// As daos_obj_id_t: the upper 32 bits of hi are the system's (object type and class), see placement.h.
struct ObjectId {
    std::uint64_t hi = 0;
    std::uint64_t lo = 0;
    friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
};

// What an akey holds: one value, or an array of records that have one size (DAOS_IOD_SINGLE, DAOS_IOD_ARRAY).
enum class AkeyType : std::uint8_t { single, array };

// process: an acknowledged update survives the death of any process. power: it survives a power failure.
enum class Durability : std::uint8_t { process, power };

// What must hold of the key before the update, checked in the same transaction.
enum class Condition : std::uint8_t { none, must_not_exist, must_exist, must_equal };

// The same with the value that the key must have (must_equal). A value that lies in an extent is compared by
// its length and the checksums of its blocks, so nothing is read within the transaction.
struct Precondition {
    Precondition(Condition what = Condition::none) : what(what) {} // NOLINT(google-explicit-constructor)
    static Precondition equals(Bytes value)
    {
        Precondition equal(Condition::must_equal);
        equal.value = value;
        return equal;
    }
    Condition what;
    Bytes value;
};

// What an opener of a pool may do.
enum class Access : std::uint8_t { read_only, read_write };

// Whether a read compares large payloads with their checksums. Small ones, which lie in the index, always
// are.
enum class Verify : std::uint8_t { no, yes };

struct Counters {
    std::uint64_t updates = 0;       // update requests served
    std::uint64_t fetches = 0;       // fetch requests served
    std::uint64_t bytes_written = 0; // payload bytes
    std::uint64_t bytes_read = 0;
};

} // namespace stepstore::store
