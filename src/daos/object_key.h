// The keys of an object as the store has them. Where a type has keys of 64 bits, callers give 8 bytes in the
// machine's order. The store has them big-endian, so that their bytes sort as the numbers do.
// Threads: that of the call, and then the worker that carries it out. Errors: DER_INVAL.
#pragma once

#include "base/not_copied.h"
#include "daos/caller_bytes.h"
#include "daos/resources.h"

#include <array>

namespace stepstore::daos {

enum class Level : std::uint8_t { dkey, akey };
inline const char* level_name(Level level)
{
    return level == Level::dkey ? "dkey" : "akey";
}

// Whether the keys are numbers: what DAOS checks.
bool has_number_keys(const store::ObjectId& oid, Level level);
// Whether the store has them big-endian. Not those of key-value objects, since daos_kv_put() takes text.
bool is_turned(const store::ObjectId& oid, Level level);

// A key of a listing, as the caller gets it. It refers to `turned` or to `stored`.
Bytes key_for_caller(Bytes stored, bool is_turned, std::array<std::byte, 8>& turned);

// One key that the caller gave.
class ObjectKey : NotCopied {
public:
    ObjectKey() = default;
    // runs_later: the caller may use its memory for something else meanwhile.
    ObjectKey(const store::ObjectId& oid, Level level, const daos_key_t* key, bool runs_later)
    {
        take(oid, level, key, runs_later);
    }
    void take(const store::ObjectId& oid, Level level, const daos_key_t* key, bool runs_later);
    Bytes view() const { return is_number_ ? Bytes(number_) : bytes_.view(); }

private:
    CallerBytes bytes_{{}, false};
    std::array<std::byte, 8> number_{}; // big-endian
    bool is_number_ = false;
};

} // namespace stepstore::daos
