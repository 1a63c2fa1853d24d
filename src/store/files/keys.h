// Keys and their values in a directory: the key-value objects of a pool in files, its names of containers,
// and its numbers.
//
// The directory has up to 64 buckets, named 00 to 3f by the key's checksum. A version of a value is a name
// in the key's bucket: NAME@N. NAME is the key, with other characters than A-Z a-z 0-9 _ - as %xx. If that
// is longer than 150 bytes, NAME is ~ and a checksum of 128 bits. N counts from 1. The version with the
// greatest N is the key's value. It is a file, which also holds the key. Or it is a note (files.h), and the
// key is removed.
//
// Update:
// 1. List the bucket: h is the greatest N of the key, 0 if it has none.
// 2. If h > 0, pin version h: link() it to a temporary name. Then list again. If h is not the greatest any
//    more, begin again at 1. If the update has a condition or tells what it replaces, read version h.
// 3. Write the value into a temporary file.
// 4. link() it to NAME@h+1, or make a note of that name to remove the key. If the name is there already,
//    another process was faster: begin at 1 again. Otherwise the update is done: all who list from now on
//    find it. Remove the pin.
// 5. Cut version h off to length 0, if it is long. Nobody needs it.
// 6. Remove old versions: from 2 to h + 1 - `kept`, in ascending order, and none from a pinned one on.
//    Whether a version is pinned, its number of links says. Version 1 stays.
//
// Why it holds:
// - Of those who make the same name one succeeds. So each version replaces the one before it, unless its
//   number was used before and removed by 6. That cannot be: (a) Version 1 is not removed. (b) When a
//   process lists in 2., version h is pinned and is the greatest. Version h + 1 is removed only by a process
//   that found more than `kept` versions from h on, and version h not pinned. The versions are made after
//   the listing, so that process looks at the links after the pin was made, and stops there.
// - So a condition that was true of version h is true when version h + 1 is made.
// - Killed at any instant: before 4. nothing was changed but temporary names. After it the update is done;
//   5. and 6. are done by the next update. A pin that was left keeps old versions from being removed, until
//   a repair removes what the process has left.
// - Readers list, then open version h. If it is gone, or cut off (5., 6.), it was replaced. So they list
//   again. A version that was found twice, and cannot be read, is damaged (found_twice.h). Each time its
//   file is read a second time, without this machine's copy of it (second_look.h).
// - A key stays, with two names, when it was removed: if its numbers began at 1 again, a slow process could
//   put its version into the new row. Pool::compact() drops them (compact.h).
//
// An object that was compacted has a file with the values of all keys that it had then (packed.h). Such a
// value is the key's version 0: the value while the bucket has no version of the key. It never changes, so it
// needs no pin, as h = 0 of a key that is not there needs none. The first update makes version 1, and the
// rest is as above. The object's entry says that there is such a file. So nobody looks for one elsewhere.
//
// - The listing of a bucket may miss a name that is made or removed meanwhile. A key that is there all the
//   time is found by some version, unless it is replaced `kept` times during the listing.
//
// Threads: any; a Keys has no state. Fork: nothing is kept open. Errors: those of store.h.
#pragma once

#include "base/function_ref.h"
#include "store/files/place.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::store::files {

class PackedFile;

inline constexpr std::uint64_t kept = 8; // versions of a key, while it is replaced
inline constexpr unsigned buckets = 64;

// The name of a key without @N, and back; nullopt: no key has this name, or it is a checksum.
std::string name_of_key(Bytes key);
std::optional<std::vector<std::byte>> key_of_name(std::string_view name);
std::string bucket_of_name(std::string_view name);
// NAME@N, taken apart. False: no version has this name.
bool parse_version(std::string_view file, std::string_view& name, std::uint64_t& number);

// What a file of a value holds before the value: magic (4), version (4), version that a reader must know (4),
// checksum of what follows (8), length of the key (4), key.
inline constexpr std::size_t value_head = 24;
struct StoredValue {
    std::vector<std::byte> key;
    std::vector<std::byte> value;
};
// nullopt: damaged, or cut off.
std::optional<StoredValue> decode_value(Bytes file);
// Whether it is the file of a value of a key with this name, and which one. Throws nothing.
bool holds_value(Bytes file, std::string_view name, std::optional<StoredValue>& value);
// The value in a file. nullopt: the file has none of a key of this name, at a second look either
// (base/second_look.h). nullopt and `error`: it cannot be read.
std::optional<StoredValue> read_value(const RootedPath& file, std::string_view name, int& error);

class Keys {
public:
    // what: for messages, as in "object 1.2 in container x". The directory need not be there.
    // packed: the directory has a file of packed keys.
    Keys(const Place& place, RootedPath directory, std::string what, bool packed = false)
        : place_(place), directory_(std::move(directory)), what_(std::move(what)), packed_(packed)
    {
    }

    struct Update {
        Bytes key;
        std::optional<Bytes> value; // nullopt: remove
        const Precondition& condition;
        Replaced* replaced = nullptr;
        // Asked after 4.: whether the directory still belongs to what it is updated for. If not, `update`
        // gives `moved`.
        FunctionRef<bool()> still_here;
    };
    enum class Done : std::uint8_t {
        yes,
        absent, // there was nothing to remove
        moved   // to no effect: there is no such directory any more, or it belongs to nothing
    };
    // make: makes the directory where it is missing.
    Done update(const Update& update, bool make) const;

    // If a key is not there, ask whether the directory still belongs to the object. A directory that was
    // opened before its keys were packed, and listed after that, is empty.
    struct Got {
        std::uint64_t size = 0;
        bool there = false;
        bool lost = false; // the file of packed keys is not there
    };
    Got get(Bytes key, MutableBytes into) const;
    // From `position` on, as Container::kv_list(). still_here: as of Update. False: it is not, so the listing
    // goes on from `position` where the keys are now.
    bool list(ListPosition& position, FunctionRef<bool(Bytes key)> each, const KeyFilter& filter,
              FunctionRef<bool()> still_here) const;
    [[noreturn]] void require_packed() const; // DER_CSUM: the file of packed keys is not there
    // Whether there is a key. nullopt: not still_here.
    std::optional<bool> any(FunctionRef<bool()> still_here) const;

private:
    struct Versions;
    struct Seen;
    Versions look(const RootedPath& bucket, const std::string& name) const;
    std::optional<StoredValue> read(const RootedPath& bucket, const std::string& name, Bytes key,
                                    Versions& versions) const;
    std::optional<PackedFile> packed_file() const;
    std::optional<StoredValue> read_packed(const Versions& versions, Bytes key) const;
    bool pin(const RootedPath& bucket, const std::string& name, const Versions& versions,
             const RootedPath& to) const;
    void retire(const RootedPath& bucket, const std::string& name, const Versions& versions) const;
    void write(const Update& update, const RootedPath& draft) const;
    [[noreturn]] void damaged(Bytes key) const;

    const Place& place_;
    const RootedPath directory_;
    const std::string what_;
    const bool packed_;
};

} // namespace stepstore::store::files
