// The objects of a container in files: where their data are.
//
// The entry of an object is a note objects/XX/HI.LO. Its text is HOST/TOKEN. Of an array that keeps its
// attributes CELL and CHUNK follow; of a key-value object that was compacted, the word `packed` (packed.h).
// Then comes a checksum. So the data of a key-value object are the directory data/HOST/TOKEN (keys.h), and
// those of an array are the file of that name: its cells, one after the other, with holes. HOST made the
// object: so that machines do not make names in one directory, which is slow. TOKEN is random: no two objects
// ever have the same.
//
// 1. To make an object is to make its entry. Of several processes one succeeds, and all use its text. The
//    data are made by the first update that needs them; until then the object is empty.
// 2. To remove one is to move its entry away, and then to remove the data that the entry names. A new object
//    of the same id has another token, so it has nothing of the old one.
// 3. Who has read an entry before may go on with it: reads find data, or that they are gone, and then read
//    the entry again. An update of a key looks at the entry again after it has put its version (keys.h). If
//    the entry has changed, the version went where nobody looks, and the update is done again.
// Killed at any instant: data without an entry are left, which `pool check --repair` removes.
//
// Threads: an Objects may be shared. Fork: a child uses the descriptors that its parent has open, which have
// no position. Errors: those of store.h; DER_CSUM: an entry is damaged.
#pragma once

#include "base/not_copied.h"
#include "store/files/keys.h"
#include "store/files/place.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace stepstore::store::files {

struct ObjectEntry {
    std::string data; // HOST/TOKEN
    std::optional<ArrayAttributes> attributes;
    bool packed = false; // a key-value object with a file of packed keys (packed.h)
    friend bool operator==(const ObjectEntry& one, const ObjectEntry& other)
    {
        return one.data == other.data;
    }
};
std::string encode_entry(const ObjectEntry& entry);
std::optional<ObjectEntry> decode_entry(std::string_view text); // nullopt: damaged
// HI.LO; nullopt: not the name of an entry.
std::optional<ObjectId> object_of_name(std::string_view name);

// The data of an array, opened.
class OpenArray : NotCopied {
public:
    OpenArray(ObjectEntry of, Descriptor opened, bool for_update);
    ~OpenArray();
    static std::size_t of_process(); // how many there are

    const ObjectEntry entry;
    const Descriptor fd;
    const bool writable;
};

class Objects {
public:
    Objects(std::shared_ptr<Place> place, const Uuid& container);

    const Place& place() const { return *place_; }
    RootedPath data(const ObjectEntry& entry) const { return directory_ / "data" / entry.data; }
    // nullopt: there is no object of this id.
    std::optional<ObjectEntry> find(const ObjectId& oid) const; // as it is now
    // The same, from what was read before.
    std::optional<ObjectEntry> known(const ObjectId& oid);
    void forget(const ObjectId& oid);
    // Makes the entry where it is missing. Gives the one that is there.
    ObjectEntry make(const ObjectId& oid, const std::optional<ArrayAttributes>& attributes,
                     bool* made = nullptr);
    bool remove(const ObjectId& oid); // false: there was none

    // The file of an array. nullptr: it has none yet, and is not to be made.
    std::shared_ptr<const OpenArray> open(const ObjectId& oid, bool for_update);

    std::vector<ObjectId> all() const;
    // DER_NONEXIST: the container was destroyed; DER_STALE: the pool was.
    void require_there() const;

private:
    RootedPath entry_of(const ObjectId& oid) const;

    const std::shared_ptr<Place> place_;
    const RootedPath directory_; // of the container

    static constexpr std::size_t most_known = 1024;
    static constexpr std::size_t most_open = 128; // and fewer where the process has many containers open
    // Both guarded by ForkLock::containers.
    std::map<ObjectId, ObjectEntry> known_;
    std::map<ObjectId, std::shared_ptr<const OpenArray>> open_;
};

} // namespace stepstore::store::files
