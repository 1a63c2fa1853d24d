// The key of what lies under a dkey and an akey, among the object's key-value records (docs/format.md).
//
// The whole key is the dkey, escaped so that it has no zero byte, a zero byte, the akey, and its type. So all
// of a dkey lie together, in the order of dkeys and then of akeys. The stored form is at most 96 bytes, as
// that of other keys. All stored forms of a dkey begin with the same bytes up to the first zero byte, and
// those of two dkeys with others. So a listing passes over a dkey by one seek.
//
// Threads: any; pure. Errors: none; false says that bytes are no such key.
#pragma once

#include "base/not_copied.h"
#include "store/keys.h"
#include "store/types.h"

#include <string>
#include <vector>

namespace stepstore::store {

// Whether the object's keys are of this form: those of a key-value object are not, and an array has none.
bool has_akeys(const ObjectId& oid);

// Bytes that are mostly few.
class ShortBytes : NotCopied {
public:
    void add(std::byte byte) { add(Bytes(&byte, 1)); }
    void add(Bytes bytes);
    Bytes view() const { return large_.empty() ? Bytes(small_.data(), size_) : Bytes(large_); }

private:
    std::array<std::byte, 192> small_; // not initialised: only what was added is read
    std::size_t size_ = 0;
    std::vector<std::byte> large_; // where it is more
};

// What all keys of a dkey begin with.
class DkeyBeginning : NotCopied {
public:
    explicit DkeyBeginning(Bytes dkey);
    Bytes whole() const { return whole_.view(); }
    // Of the stored forms: at most 63 bytes, ended by the only zero byte.
    Bytes stored() const { return stored_.view(); }

private:
    ShortBytes whole_;
    KeyBuffer stored_;
};

class AkeyKey : NotCopied {
public:
    AkeyKey(Bytes dkey, Bytes akey, AkeyType type);
    Bytes whole() const { return whole_.view(); }
    const StoredKey& stored() const { return stored_; }

private:
    ShortBytes whole_;
    StoredKey stored_;
};

// A whole key, taken apart.
struct SplitKey {
    std::vector<std::byte> dkey;
    Bytes akey; // in the whole key
    AkeyType type{};
};
bool split(Bytes whole, SplitKey& key);
// The dkey alone, from a whole key or its beginning.
bool dkey_of(Bytes whole, std::vector<std::byte>& dkey);
// For messages: key "x", or dkey "x", akey "y".
std::string key_text(const ObjectId& oid, Bytes whole);

} // namespace stepstore::store
