// The object store: pools, containers, key-value and array objects, epochs and snapshots.
// src/daos turns this into the libdaos C API; nothing else includes it.
//
// There are two kinds of pools. Those of versioned.h keep epochs and snapshots, over any back end. Those of
// files/ keep each value in a file and each array in one, on a file system that machines share. They have the
// newest version alone: what needs another one is refused with DER_NOTSUPPORTED.
//
// Every method may be called from any thread. Failures are stepstore::Error with a DER_* code; what is
// normally absent (a key, an array) is a return value.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "store/backend.h"
#include "store/types.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::store {

class Container;

Uuid random_uuid(); // of version 4

struct PoolOptions {
    std::string backend = "lmdb"; // or another one of backend.h, or "files"
    std::string label;            // default: the last part of the path; else as a container's
    // At most 256; 0: as many as the machine has processors, at least 4 and at most 16. Of a pool in files:
    // no matter.
    unsigned targets = 0;
    Durability durability = Durability::process;
    // Existing ones, into which the targets go in turn; none: the pool's.
    std::vector<std::string> target_directories;
};

struct TargetInfo {
    std::uint64_t index_bytes = 0;
    std::uint64_t bulk_bytes = 0;
    Counters counters;
};

struct PoolInfo {
    Uuid uuid{};
    std::string label;
    std::string path;
    std::string backend;
    std::uint32_t format_version = 0;
    Durability durability = Durability::process;
    std::vector<TargetInfo> targets;
    std::uint64_t space_total = 0; // of the file system, bytes
    std::uint64_t space_free = 0;
    std::uint64_t containers = 0;
    std::uint64_t files = 0; // of a pool in files; see Pool::measure()
};

struct ContainerInfo {
    Uuid uuid{};
    std::string label; // may be empty
    Epoch created = 0;
    std::uint64_t snapshots = 0;
    Epoch latest_snapshot = 0;
};

struct SnapshotInfo {
    Epoch epoch = 0;
    std::string name; // may be empty
};

struct CheckFinding {
    enum class Severity : std::uint8_t { info, reclaimable, damage };
    Severity severity = Severity::damage;
    std::string where;  // pool path, target, container, object, key or range: whatever is known
    std::string what;   // what is wrong
    std::string advice; // what can be saved, and how
};

struct CheckReport {
    std::uint64_t containers = 0, objects = 0, records = 0, bytes = 0, extents = 0;
    std::uint64_t reclaimable_bytes = 0; // bulk bytes that nothing refers to
    std::uint64_t reclaimed_bytes = 0;   // of them, given back by repair
    std::vector<CheckFinding> findings;
    bool damaged() const;
};

// The bytes that one target takes, before and after space was given back.
struct Compaction {
    std::uint64_t index_before = 0, index_after = 0;
    std::uint64_t bulk_before = 0, bulk_after = 0;
    std::uint64_t files_before = 0, files_after = 0; // of a pool in files
};

struct CheckOptions {
    bool data = true;    // verify the checksum of every value and extent, not only the structure
    bool repair = false; // give back unreferenced space; never touches what is referenced
};

// A user attribute that is set, or read: a name of 1 to 511 bytes and a value of at most 1 MiB.
inline constexpr std::size_t longest_user_attribute_name = 511;
inline constexpr std::size_t longest_user_attribute = 1 << 20;
struct NewUserAttribute {
    std::string name;
    Bytes value;
};
struct UserAttributeRead {
    std::string name;
    MutableBytes into;                 // gets as much of the value as it has room for
    std::optional<std::uint64_t> size; // out: of the value; nullopt: there is no such attribute
};

// The user attributes of a pool or of a container, which are kept beside its data. A snapshot has none. Each
// call is one transaction. DER_INVAL: a name of another length. DER_OVERFLOW: a longer value. DER_NONEXIST:
// the container is gone.
class UserAttributes {
public:
    virtual ~UserAttributes() = default;
    virtual void set(std::span<const NewUserAttribute> attributes) = 0;
    virtual void get(std::span<UserAttributeRead> reads) = 0;
    virtual std::vector<std::string> names() = 0;
    virtual std::size_t remove(std::span<const std::string> names) = 0; // how many there were
};

class Pool {
public:
    // Makes a pool in the directory `path` (made when missing, with its parents). DER_EXIST when there is
    // one, also when another process makes it at the same time: exactly one caller succeeds.
    static std::shared_ptr<Pool> create(const std::string& path, const PoolOptions& options);
    // One open pool per path and process is shared by all who open it (and remade after fork).
    static std::shared_ptr<Pool> open(const std::string& path, Access access);
    static void destroy(const std::string& path); // DER_BUSY when open in this process
    // The pools below a root directory: their paths. Directories that are no pool are passed over.
    static std::vector<std::string> list(const std::string& root);
    // Walks a whole pool, also one that open() refuses.
    static CheckReport check(const std::string& path, const CheckOptions& options);

    virtual ~Pool() = default;
    virtual PoolInfo query() = 0; // opens every target
    // Adds what a walk over a pool in files tells: the bytes of keys (index) and arrays (bulk), and files.
    virtual void measure(PoolInfo&) {}
    virtual const Uuid& uuid() const = 0;
    virtual unsigned targets() const = 0;
    virtual std::vector<ContainerInfo> containers() = 0;
    // label: empty or unique in the pool, at most 127 characters of [A-Za-z0-9._:-], and no uuid. DER_EXIST,
    // DER_INVAL. properties: an opaque record kept with the container.
    virtual ContainerInfo create_container(const Uuid& uuid, std::string_view label, Bytes properties) = 0;
    // By label, or by uuid in its text form. DER_NONEXIST.
    virtual std::shared_ptr<Container> open_container(std::string_view label_or_uuid) = 0;
    // DER_BUSY when open in this process and not force.
    virtual void destroy_container(std::string_view label_or_uuid, bool force) = 0;
    // DER_NOTSUPPORTED: of a pool in files.
    virtual std::unique_ptr<UserAttributes> user_attributes() = 0;
    // Gives space back that nothing needs, while others use the pool. By target; the pool's metadata come
    // last. DER_CSUM where an index is damaged.
    virtual std::vector<Compaction> compact() = 0;
    // Everything acknowledged survives a power failure after this. With `own` only what this process did.
    virtual void sync(bool own) = 0;
    void sync() { sync(false); }
    Access access() const { return access_; }
    const std::string& path() const { return path_; }
    // The one check of who may update: DER_NO_PERM.
    void require_write(const char* what) const;

protected:
    Pool(std::string path, Access access) : path_(std::move(path)), access_(access) {}

private:
    const std::string path_;
    const Access access_;
};

struct ArrayAttributes {
    std::uint64_t cell_size = 1;        // bytes
    std::uint64_t chunk_size = 1 << 20; // cells: a chunk is one dkey and so lies on one target
};

struct ArrayStatus {
    std::uint64_t cells = 0;
    Epoch last_update = 0; // 0: never written
};

// A range of cells of an array.
struct Range {
    std::uint64_t index = 0;
    std::uint64_t length = 0;
};

// Whether a read of an array looks for its end where the ranges may lie beyond it.
enum class Ends : std::uint8_t { told, untold };

struct ReadResult {
    std::uint64_t cells_short = 0; // cells asked for that lie beyond the end of the array; untold: 0
    std::uint64_t bytes = 0;       // bytes that were stored, holes not counted
};

// What an update found in the place of a value that it replaced or removed, in the same transaction.
struct Replaced {
    MutableBytes into; // in: room for the old value, at most max_replaced bytes
    // Of the old value, which is in `into` where it fits there; 0: also a damaged one. nullopt: there was
    // none.
    std::optional<std::uint64_t> size;
};
inline constexpr std::size_t max_replaced = 4096;

// One of several keys that are read together.
struct KeyRead {
    Bytes key;
    MutableBytes into;                 // room; the value is copied there when it fits
    std::optional<std::uint64_t> size; // out: of the value; nullopt: no such key
};

// The part of a key-value object that a listing gives.
struct KeyFilter {
    Bytes prefix; // keys that begin with it
    // Where it is set, keys that have this byte (1 to 127) after the prefix are given as what they share up
    // to and including it. Each such part is given at least once, and what lies below it is passed over.
    char delimiter = '\0';
};

// What an update does to one akey.
struct AkeyUpdate {
    Bytes akey; // 1 byte to 1 MiB
    AkeyType type = AkeyType::single;
    // Bytes of the value, or of a record. 0: removes the value, or the records of the ranges.
    std::uint64_t record_size = 0;
    // Of an array, in records; they do not overlap. `memory` has their bytes, taken in order.
    std::span<const Range> ranges;
    std::span<const Bytes> memory;
    Condition condition = Condition::none; // of the akey; not must_equal
};

// What a fetch reads of one akey.
struct AkeyFetch {
    Bytes akey;
    AkeyType type = AkeyType::single;
    // In: bytes of a record, 0: not known. Out: of a record, or of the value; 0: there is no such akey.
    std::uint64_t record_size = 0;
    std::span<const Range> ranges; // of an array, in records
    // Room, filled in order. None: only the size is looked up.
    std::span<const MutableBytes> memory;
    bool must_exist = false;
    // Out: bytes that were stored, and so are in memory. Records of the ranges that are not are zeros there.
    std::uint64_t bytes = 0;
    // Where not nullptr, out: the parts of the ranges that are stored, by their index; neighbours are joined.
    std::vector<Range>* stored = nullptr;
};

// A part of an array under an akey that one update wrote.
struct StoredExtent {
    Range records;
    Epoch birth = 0; // of the update
};

// Where a listing goes on; lives in the caller's daos_anchor_t (104 bytes of its buffer).
struct ListPosition {
    std::uint32_t target = 0;
    bool done = false;
    std::uint8_t length = 0;         // of key
    std::array<std::byte, 96> key{}; // the stored key of the last entry given

    void stand_at(Bytes place)
    {
        length = static_cast<std::uint8_t>(place.size());
        std::memcpy(key.data(), place.data(), place.size());
    }
};

// What a program has noted of an object in the table of a snapshot.
inline constexpr std::size_t longest_object_marker = 32;
struct ObjectMarker {
    ObjectId oid;
    std::vector<std::byte> marker; // 1 byte or more
};

// Several operations on objects of a container that take effect together, or not at all
// (transaction/transaction.h). For one call at a time. A forked child leaves its parent's alone.
class Transaction {
public:
    // What the operations of a part see, and what becomes of what they change.
    enum class Part : std::uint8_t {
        read,     // what was committed; they change nothing
        update,   // that, and what the transaction has changed
        condition // what was committed; what they change is dropped, and only whether they throw counts
    };

    virtual ~Transaction() = default; // without a commit: nothing was done
    // Runs `body` on the container, as a part. What it throws undoes the part. DER_TX_RESTART: others have
    // changed what the transaction has seen, and only restart() and the end of it make sense. DER_OVERFLOW:
    // it is too large.
    virtual void run(Part part, FunctionRef<void(Container&)> body) = 0;
    // The epoch; 0: nothing was changed. DER_TX_RESTART as above, also for what the updates have seen.
    // DER_NOTSUPPORTED: the pool cannot change all of it at once. An error from the medium leaves open
    // whether it was done. The transaction is over, whatever comes of it.
    virtual Epoch commit() = 0;
    virtual void restart() = 0; // forgets all
};

class Container {
public:
    virtual ~Container() = default;

    // For reading alone where the pool is open so. Pools in files: DER_NOTSUPPORTED.
    virtual std::unique_ptr<Transaction> begin_transaction() = 0;

    virtual ContainerInfo query() = 0;
    virtual std::vector<std::byte> properties() = 0;
    // Puts what `change` makes of the record of properties in its place, and a new label unless it is empty,
    // at once. `change` may run again. DER_EXIST, DER_INVAL: of the label, as create_container(). Pools in
    // files: DER_NOTSUPPORTED if anything is to change.
    virtual void set_properties(FunctionRef<std::vector<std::byte>(Bytes record)> change,
                                std::string_view label = {}) = 0;
    virtual std::shared_ptr<Pool> pool() = 0;
    virtual std::unique_ptr<UserAttributes> user_attributes() = 0; // as the pool's

    // Fixes a point in time: what is acknowledged before the call is in it, what begins after it is not.
    // name: may be empty; else DER_EXIST when there is a snapshot of that name.
    virtual Epoch create_snapshot(std::string_view name) = 0;
    virtual std::vector<SnapshotInfo> snapshots() = 0;
    void destroy_snapshot(Epoch epoch); // DER_NONEXIST; versions that nothing else needs are dropped
    // Several by one walk over the history, and so in about the time of one. How many of them there were.
    virtual std::size_t destroy_snapshots(std::span<const Epoch> epochs) = 0;
    virtual bool has_snapshot(Epoch epoch) = 0;
    // The first of `count` consecutive numbers that no other call ever gets in this container. DER_OVERFLOW:
    // more than 2^48 at once, or than are left of 2^64.
    virtual std::uint64_t allocate_oids(std::uint64_t count) = 0;

    // ---- key-value objects: dkey = the key, one value per key. Keys: 1 byte to 1 MiB, values: 0 to 1 TiB.
    // By the condition: DER_EXIST, DER_NONEXIST, and DER_MISMATCH where the value is another one, or there is
    // none. DER_CSUM: the value to compare with is damaged.
    virtual void kv_put(const ObjectId& oid, Bytes key, Bytes value, const Precondition& condition = {},
                        Replaced* replaced = nullptr) = 0;
    // The size of the value, copied into `into` when it fits there; nothing is copied when it does not.
    // nullopt: no such key.
    virtual std::optional<std::uint64_t> kv_get(const ObjectId& oid, Bytes key, MutableBytes into,
                                                Epoch epoch = latest) = 0;
    // The same for several keys. Those of one target are read at one moment, with one request for all of
    // them where the store is behind a network.
    virtual void kv_get_many(const ObjectId& oid, std::span<KeyRead> reads, Epoch epoch = latest) = 0;
    // False: there was none, and the condition allows that.
    virtual bool kv_remove(const ObjectId& oid, Bytes key, const Precondition& condition = {},
                           Replaced* replaced = nullptr) = 0;
    // Calls `each` with the key, resuming at `position`. It ends when `each` returns false, or all were given
    // (position.done). The entry that `each` refused is given again next time. A key that exists during the
    // whole listing is given exactly once.
    virtual void kv_list(const ObjectId& oid, ListPosition& position, FunctionRef<bool(Bytes key)> each,
                         Epoch epoch = latest, const KeyFilter& filter = {}) = 0;

    // Tells those who watch the key to look again, and a waiter for that: Target::announce() and watch().
    virtual void kv_announce(const ObjectId& oid, Bytes key) = 0;
    virtual std::unique_ptr<Waiter> kv_watch(const ObjectId& oid, Bytes key) = 0;

    // ---- array objects. Offsets in cells; any offset up to 2^63 bytes.
    // Records the attributes in the object. DER_EXIST when it has some, DER_INVAL on a zero size,
    // DER_OVERFLOW on a chunk beyond 2^63 bytes.
    virtual void array_create(const ObjectId& oid, const ArrayAttributes& attributes) = 0;
    // nullopt: no array there.
    virtual std::optional<ArrayAttributes> array_attributes(const ObjectId& oid, Epoch epoch = latest) = 0;
    // `memory` and `ranges` cover the same number of bytes, taken in order, whatever their pieces. So in
    // array_read().
    virtual void array_write(const ObjectId& oid, const ArrayAttributes& attributes,
                             std::span<const Range> ranges, std::span<const Bytes> memory) = 0;
    // Holes are zero-filled.
    virtual ReadResult array_read(const ObjectId& oid, const ArrayAttributes& attributes,
                                  std::span<const Range> ranges, std::span<const MutableBytes> memory,
                                  Epoch epoch = latest, Verify verify = Verify::yes,
                                  Ends ends = Ends::told) = 0;
    // Cells.
    virtual std::uint64_t array_size(const ObjectId& oid, const ArrayAttributes& attributes,
                                     Epoch epoch = latest) = 0;
    // With the epoch of its latest write: it walks over the array's records.
    virtual ArrayStatus array_status(const ObjectId& oid, const ArrayAttributes& attributes,
                                     Epoch epoch = latest) = 0;
    virtual void array_set_size(const ObjectId& oid, const ArrayAttributes& attributes,
                                std::uint64_t cells) = 0;
    virtual void array_punch(const ObjectId& oid, const ArrayAttributes& attributes,
                             std::span<const Range> ranges) = 0;
    virtual Epoch last_update(const ObjectId& oid, Epoch epoch = latest) = 0; // 0: never written

    // ---- objects in general, which have values under a dkey and an akey. Key-value objects and arrays are
    // such objects with one akey, "0". The dkeys of an array are the numbers of its chunks plus 1, as 8 bytes
    // big-endian, and dkey 0 has its attributes. An array of records ends at 2^63 bytes.
    // Pools in files: DER_NOTSUPPORTED.
    //
    // All of an update is seen at once, or nothing of it. By the conditions: DER_EXIST, DER_NONEXIST.
    // DER_INVAL: the akey has the other type, or records of another size.
    virtual void akey_update(const ObjectId& oid, Bytes dkey, std::span<const AkeyUpdate> updates,
                             Condition of_dkey = Condition::none) = 0;
    // All at one moment. DER_REC2BIG: there is memory, and too little; record_size is set. DER_NONEXIST: by
    // must_exist, of an akey or of the dkey.
    virtual void akey_fetch(const ObjectId& oid, Bytes dkey, std::span<AkeyFetch> fetches,
                            Epoch epoch = latest, bool dkey_must_exist = false) = 0;
    // Removes these akeys at once; none: the dkey. must_exist: DER_NONEXIST where one is not there, and
    // nothing is removed.
    virtual void akey_punch(const ObjectId& oid, Bytes dkey, std::span<const Bytes> akeys,
                            bool must_exist = false) = 0;
    // Each dkey once, in an order of their bytes on each target; as kv_list().
    virtual void dkey_list(const ObjectId& oid, ListPosition& position, FunctionRef<bool(Bytes dkey)> each,
                           Epoch epoch = latest) = 0;
    // In the order of their bytes.
    virtual void akey_list(const ObjectId& oid, Bytes dkey, ListPosition& position,
                           FunctionRef<bool(Bytes akey, AkeyType type)> each, Epoch epoch = latest) = 0;
    // Where a listing begins with this key. If it is not there, the listing begins where it would be.
    virtual ListPosition dkey_position(const ObjectId& oid, Bytes dkey) = 0;
    virtual ListPosition akey_position(const ObjectId& oid, Bytes dkey, Bytes akey, Epoch epoch = latest) = 0;
    // The extents of an array that have records in `within`, ascending, cut to it, and the size of its
    // records; 0: there is no such array. It ends when `each` returns false.
    virtual std::uint64_t extent_list(const ObjectId& oid, Bytes dkey, Bytes akey, const Range& within,
                                      FunctionRef<bool(const StoredExtent&)> each, Epoch epoch = latest) = 0;

    // ---- any object
    virtual void
    punch(const ObjectId& oid) = 0; // everything in it, at one epoch per target; snapshots keep theirs
    // The objects that have a record at this epoch, in the order of their ids. For ls and check.
    virtual std::vector<ObjectId> objects(Epoch epoch = latest) = 0;
    virtual bool holds(const ObjectId& oid, Epoch epoch = latest) = 0; // whether objects() would name it
    // Notes of an object of a snapshot, which go with it. An empty marker removes one. DER_EP_OLD: the
    // snapshot is gone. DER_INVAL: a longer marker.
    virtual void mark_object(Epoch snapshot, const ObjectId& oid, Bytes marker) = 0;
    virtual std::vector<ObjectMarker> object_markers(Epoch snapshot, const ObjectId& first,
                                                     const ObjectId& last) = 0; // ascending
    virtual void clear_object_markers(Epoch snapshot) = 0;
};

} // namespace stepstore::store
