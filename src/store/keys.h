// The keys of the records in a target (docs/format.md): where a record lies is a function of what it is.
//
//   01                                             the target's header
//   02 container                                   the container exists on this target; its newest snapshot
//   03 container epoch                             a snapshot of the container
//   04 container number                            a record as it was before an unfinished transaction
//   05 container epoch random                      the decision of such a one (transaction/pending.h)
//   10 container oid.hi oid.lo kind place          a live record: what `latest` sees
//   11 container oid.hi oid.lo kind place death    history: a record that was replaced at epoch `death`, and
//                                                  that a snapshot still needs
//
// place: nothing (attributes, removal), the stored form of the dkey (key-value), chunk and end of the extent
// (array).
//
// Threads: any; a KeyBuffer is a value. Errors: none; false says that a key is of no known form.
#pragma once

#include "store/types.h"

#include <cstdint>

namespace stepstore::store {

enum class Space : std::uint8_t {
    header = 0x01,
    container = 0x02,
    snapshot = 0x03,
    undo = 0x04,     // transaction/pending.h
    decision = 0x05, // the same
    live = 0x10,
    history = 0x11
};
// removal: the object's latest removal on this target, so that the epoch of its last update never falls. It
// is the last kind, so an object whose first live record is one holds nothing.
enum class Kind : std::uint8_t { attributes = 1, keyvalue = 2, array = 3, removal = 4 };

// A key under construction, on the stack.
class KeyBuffer {
public:
    static constexpr std::size_t capacity = 256;
    KeyBuffer() = default;
    explicit KeyBuffer(Space space) { add(static_cast<std::uint8_t>(space)); }

    KeyBuffer& add(std::uint8_t byte)
    {
        bytes_[size_++] = static_cast<std::byte>(byte);
        return *this;
    }
    KeyBuffer& add(std::uint32_t number)
    {
        store_big(bytes_.data() + size_, number);
        size_ += 4;
        return *this;
    }
    KeyBuffer& add(std::uint64_t number)
    {
        store_big(bytes_.data() + size_, number);
        size_ += 8;
        return *this;
    }
    KeyBuffer& add(Bytes bytes)
    {
        if (!bytes.empty()) std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
        return *this;
    }
    // Prefix-free and in the order of `bytes`: 00 becomes 00 ff, and 00 00 ends it.
    KeyBuffer& add_escaped(Bytes bytes);
    // The smallest key greater than every key that begins with this one; false when there is none.
    bool make_successor();

    void truncate(std::size_t size) { size_ = size; }
    std::size_t size() const { return size_; }
    Bytes view() const { return {bytes_.data(), size_}; }

private:
    std::array<std::byte, capacity> bytes_; // not initialised: only what was added is read
    std::size_t size_ = 0;
};

constexpr std::uint32_t no_container = 0; // the numbers of containers begin at 1

inline KeyBuffer container_key(std::uint32_t container)
{
    return KeyBuffer(Space::container).add(container);
}
// Under it a target keeps the greatest number of a container that was marked on it.
inline KeyBuffer last_marked_key()
{
    return container_key(no_container);
}
inline KeyBuffer snapshot_key(std::uint32_t container, Epoch epoch)
{
    return KeyBuffer(Space::snapshot).add(container).add(epoch);
}
inline KeyBuffer container_prefix(Space space, std::uint32_t container)
{
    return KeyBuffer(space).add(container);
}
inline KeyBuffer object_prefix(Space space, std::uint32_t container, const ObjectId& oid)
{
    return KeyBuffer(space).add(container).add(oid.hi).add(oid.lo);
}
inline KeyBuffer kind_prefix(Space space, std::uint32_t container, const ObjectId& oid, Kind kind)
{
    return object_prefix(space, container, oid).add(static_cast<std::uint8_t>(kind));
}

inline constexpr std::size_t object_prefix_size = 1 + 4 + 16;
inline constexpr std::size_t kind_prefix_size = object_prefix_size + 1;

// How many bytes at the beginning of a key name the keys among which updates seek (backend.h); 0: updates
// that put it are not sought among. The extents of a chunk, and the snapshots of a container.
inline std::size_t scope_size(Bytes key)
{
    if (key.size() >= 5 && static_cast<Space>(key[0]) == Space::snapshot) return 5;
    const std::size_t chunk = kind_prefix_size + sizeof(std::uint64_t);
    return key.size() >= chunk && static_cast<Space>(key[0]) == Space::live &&
                   static_cast<Kind>(key[object_prefix_size]) == Kind::array
               ? chunk
               : 0;
}

inline bool equal(Bytes a, Bytes b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}
inline bool starts_with(Bytes key, Bytes prefix)
{
    return key.size() >= prefix.size() && equal(key.first(prefix.size()), prefix);
}

// The stored form of a dkey, at most 96 bytes. Keys of up to 80 bytes are stored as they are. A longer key is
// stored as its first 80 bytes and a digest of 128 bits, and its record keeps the whole key.
inline constexpr std::size_t max_short_key = 80;
inline constexpr std::size_t max_stored_key = 96;
inline constexpr std::size_t max_key_length = 1 << 20;
struct StoredKey {
    StoredKey() = default; // of no key
    explicit StoredKey(Bytes key);
    // Of a long key, with what is stored of it before its digest: max_short_key bytes.
    StoredKey(Bytes shown, Bytes key);
    bool is_long() const { return size == max_stored_key; }
    Bytes view() const { return {bytes.data(), size}; }
    std::array<std::byte, max_stored_key> bytes; // not initialised: only `size` of them are read
    std::size_t size = 0;
};

// A record's key, taken apart.
struct ParsedKey {
    Space space{};
    std::uint32_t container = 0;
    ObjectId oid;
    Kind kind{};
    Bytes place;     // as stored; for history without the death, for key-values there still escaped
    Epoch death = 0; // history only
    // arrays
    std::uint64_t chunk = 0;
    std::uint64_t end = 0;
};
// False: no record's key. Only for keys of the spaces live and history.
bool parse_key(Bytes key, ParsedKey& parsed);
// Turns the place of a key-value in history back into the stored form. False: not one.
bool unescape(Bytes place, KeyBuffer& stored);

} // namespace stepstore::store
