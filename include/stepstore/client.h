// Stepstore's C++ client: RAII over the libdaos C API. It calls through a table of functions. The table comes
// from Stepstore's own library, or from a real libdaos.so found at run time. So the same program runs on a
// laptop and on a DAOS system.
//
// Every failure is a stepstore::Error with a DER_* code and a message that says what was tried on what.
// Handles are move-only and close themselves; a moved-from one may only be destroyed or assigned to. A handle
// may be used by several threads at once.
//
// Locations: a path, also a bare name, or "local:LABEL" is a pool of Stepstore on this
// machine. "rados://CEPHPOOL[/NAMESPACE]" is one on a Ceph cluster. "daos://POOL" is a pool of a real DAOS
// system.
#pragma once

#include "stepstore/error.h"
#include "stepstore/export.h"

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

enum class Access : std::uint8_t { read_only, read_write };
enum class Durability : std::uint8_t { process, power };
enum class Condition : std::uint8_t { none, must_not_exist, must_exist };
// Whether reads of an array compare large payloads with their checksums (STEPSTORE_OO_UNVERIFIED of
// stepstore/admin.h). On a DAOS system the container's property DAOS_PROP_CO_CSUM decides instead.
enum class Verify : std::uint8_t { no, yes };

struct ObjectId {
    std::uint64_t hi = 0;
    std::uint64_t lo = 0;
    friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
};

// array: keeps its attributes itself; array_bytes: opened with attributes; akeys: has dkeys and akeys
enum class ObjectType : std::uint8_t { key_value, array, array_bytes, akeys };

struct PoolOptions {
    std::string label;    // default: the last part of the path
    unsigned targets = 0; // storage targets, at most 256; 0: one per processor of this machine, 4 to 16
    Durability durability = Durability::process;
    // existing ones, into which targets go in turn; none: the pool's
    std::vector<std::string> target_directories = {};
};

struct ArrayAttributes {
    std::uint64_t cell_size = 1;        // bytes
    std::uint64_t chunk_size = 1 << 20; // cells in one chunk, which lies on one target
};

struct Range {
    std::uint64_t index = 0; // cells
    std::uint64_t length = 0;
};

// What an akey holds: one value, or an array of records of one size.
enum class AkeyType : std::uint8_t { single, array };

// What an update does to one akey.
struct AkeyUpdate {
    Bytes akey;
    AkeyType type = AkeyType::single;
    std::uint64_t record_size = 0;  // bytes of the value or of a record; 0: removes the value or the records
    std::span<const Range> records; // of an array; they do not overlap
    std::span<const Bytes> memory;  // what is written, taken in order
    Condition condition = Condition::none;
};

// What a fetch reads of one akey.
struct AkeyFetch {
    Bytes akey;
    AkeyType type = AkeyType::single;
    // In: bytes of a record, 0: not known. Out: of the value or a record; 0: nothing is stored.
    std::uint64_t record_size = 0;
    std::span<const Range> records;       // of an array
    std::span<const MutableBytes> memory; // room, filled in order; zeroes where nothing is stored
};

struct AkeyInfo {
    AkeyType type = AkeyType::single;
    std::uint64_t size = 0; // bytes of the value, or of a record
};

struct ContainerEntry {
    std::string uuid;
    std::string label;
};

struct SnapshotEntry {
    std::uint64_t epoch = 0;
    std::string name;
};

struct ReadResult {
    // Cells asked for beyond the end of the array. Stepstore fills them with zeroes, a DAOS system leaves
    // them.
    std::uint64_t cells_short = 0;
    std::uint64_t bytes = 0; // bytes transferred
};

class Library;        // the function table (include/stepstore/libdaos.h)
struct ContainerInfo; // administration.h
struct ObjectInfo;
class EventQueue;
class KeyPages;

// The completion of one asynchronous call. Memory that the call uses must stay until wait() returned.
class STEPSTORE_API Pending {
public:
    Pending();
    ~Pending(); // waits, and drops an error
    Pending(Pending&&) noexcept;
    Pending& operator=(Pending&&) noexcept;
    void wait();                       // throws the call's Error; a second wait returns at once
    bool ready();                      // does not block
    std::uint64_t cells_short() const; // of an array's read, after wait(): as in ReadResult
    bool tells_cells_short() const;    // no: a DAOS system does not say, and cells_short() is 0
    // What EventQueue::poll gives of this call. Null: there is nothing to wait for.
    using Id = const void*;
    Id id() const;
    struct State;

private:
    friend class EventQueue;
    class KeyPages;
    friend class KeyValue;
    friend class Array;
    std::unique_ptr<State> state_;
};

class STEPSTORE_API EventQueue {
public:
    ~EventQueue();
    EventQueue(EventQueue&&) noexcept;
    EventQueue& operator=(EventQueue&&) noexcept;
    // Waits for calls of the queue to complete, up to `timeout` (0: looks once), and returns those that have.
    // Their wait() returns at once then. Calls may be launched meanwhile. A queue that is polled is polled by
    // one thread at a time, and that thread alone waits for its calls. Not on a simulated cluster.
    std::vector<Pending::Id> poll(std::chrono::microseconds timeout);
    struct State;

private:
    friend class Pool;
    friend class KeyValue;
    friend class Array;
    explicit EventQueue(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
};

// The keys of a key-value, page by page. A key that is put or removed meanwhile may be given or not.
class STEPSTORE_API KeyPages {
public:
    ~KeyPages();
    KeyPages(KeyPages&&) noexcept;
    KeyPages& operator=(KeyPages&&) noexcept;
    // The next keys, up to about a thousand, in no promised order. They stay valid until the next call.
    // Empty: there are no more.
    std::span<const std::string_view> next();
    struct State;

private:
    friend class KeyValue;
    KeyPages();
    std::unique_ptr<State> state_;
};

// Waits for announcements of a key. For one thread at a time.
class STEPSTORE_API KeyWatch {
public:
    ~KeyWatch();
    KeyWatch(KeyWatch&&) noexcept;
    KeyWatch& operator=(KeyWatch&&) noexcept;
    // lost: look again, and watch anew, since none may come any more.
    enum class Got : std::uint8_t { nothing, announced, lost };
    // At most so long. What was announced since the watch began, or since the last wait, counts.
    Got wait(std::chrono::microseconds most);
    struct State;

private:
    friend class KeyValue;
    KeyWatch();
    std::unique_ptr<State> state_;
};

class STEPSTORE_API KeyValue {
public:
    ~KeyValue();
    KeyValue(KeyValue&&) noexcept;
    KeyValue& operator=(KeyValue&&) noexcept;
    const ObjectId& id() const;

    void put(std::string_view key, Bytes value,
             Condition condition = Condition::none); // DER_EXIST / DER_NONEXIST by the condition
    std::optional<std::vector<std::byte>> get(std::string_view key) const; // nullopt: no such key
    // The same for values that are never empty (an empty one counts as missing). Then a missing key is no
    // error of libdaos, which costs Stepstore a tenth. For keys that are looked for again and again.
    std::optional<std::vector<std::byte>> get_nonempty(std::string_view key) const;
    // Of the first of the keys: at least one, and then up to so many bytes together and 256 keys. A pool on
    // a cluster is asked for all of them at once, and once more for those above 4 KiB; a DAOS system is asked
    // for one after the other. They need not be of one moment.
    std::vector<std::optional<std::vector<std::byte>>>
    get_many(std::span<const std::string_view> keys, std::size_t most_bytes = std::size_t{16} << 20) const;
    bool asks_for_many() const; // whether it is one request
    // The value's size; the value itself is copied when it fits into `into`. nullopt: no such key.
    std::optional<std::size_t> get_into(std::string_view key, MutableBytes into) const;
    bool remove(std::string_view key, Condition condition = Condition::none); // with none: returns true
    // Puts a value, and tells what it replaced: its size, and in `old` its bytes where they fit; nullopt:
    // there was none. old: at most 4,096 bytes. Of several who do this at once each is told of another value.
    // On a DAOS system two of them may be told of the same one, and none of another.
    std::optional<std::size_t> exchange(std::string_view key, Bytes value, MutableBytes old);
    std::optional<std::size_t> take(std::string_view key, MutableBytes old); // the same, and removes the key
    // Puts a value, or removes the key, if the key has the expected value at that moment (nullopt: if it is
    // not there). False: it has not, and nothing was changed. So a process that was stopped between a look
    // and its put does not overwrite what others put meanwhile. DER_TIMEDOUT leaves it in doubt: admin.h says
    // how to settle it. On a DAOS system it is a transaction; DER_NOSYS: its libdaos has none.
    bool put_if(std::string_view key, std::optional<Bytes> expected, Bytes value);
    bool remove_if(std::string_view key, Bytes expected);
    std::vector<std::string> list() const; // all keys, in no promised order
    // Keys that begin with `prefix`, sorted; a pool of ours passes over the others. Of keys that have the
    // delimiter (7 bits; 0: none) after it only the part up to and including that, once.
    std::vector<std::string> list_below(const std::string& prefix, char delimiter = '\0') const;
    void list(const std::function<bool(std::string_view)>& each) const; // until it returns false
    KeyPages pages() const;                                             // all keys, some at a time
    void destroy();                                                     // punches the whole object

    // Tells those who watch the key, in all processes, to look again. Nobody waits for it, and it may get
    // lost: who watches looks from time to time too. Nothing where keys cannot be watched.
    void announce(std::string_view key) const;
    // Look once more after it, then wait. nullopt: keys cannot be watched (in a directory, on a DAOS system),
    // or this user may not, or not now.
    std::optional<KeyWatch> watch(std::string_view key) const;

    // Asynchronous; key and value memory must live until the wait.
    Pending put(EventQueue& queue, std::string_view key, Bytes value, Condition condition = Condition::none);
    // *size: capacity in, size of the value out; 0 and no error when there is no such key, DER_NONEXIST with
    // Condition::must_exist. DER_REC2BIG: there is room for less; *size has the size.
    Pending get_into(EventQueue& queue, std::string_view key, std::byte* into, std::size_t* size,
                     Condition condition = Condition::none) const;
    EventQueue event_queue() const; // a new one on its pool

    // Connects to the pool again and opens this object, to be written. It keeps nothing open until it is
    // called. It throws what connect() and open_container() do.
    std::function<KeyValue()> opener() const;

    struct State;

private:
    friend class Container;
    KeyValue();
    std::shared_ptr<State> state_;
};

class STEPSTORE_API Array {
public:
    ~Array();
    Array(Array&&) noexcept;
    Array& operator=(Array&&) noexcept;
    const ObjectId& id() const;
    const ArrayAttributes& attributes() const;

    void write(std::uint64_t index, Bytes memory); // index in cells; memory a multiple of the cell size
    ReadResult read(std::uint64_t index, MutableBytes memory) const; // holes read as zero
    // Several ranges and several pieces of memory of the same total size.
    void write(std::span<const Range> ranges, std::span<const Bytes> memory);
    ReadResult read(std::span<const Range> ranges, std::span<const MutableBytes> memory) const;
    // From now on reads do not say what they transferred and what lay beyond the end: their results are zero.
    // A read beyond the end takes fewer requests then.
    void leave_ends_untold();
    std::uint64_t size() const; // cells
    void set_size(std::uint64_t cells);
    void punch(std::span<const Range> ranges);
    void destroy();

    // Asynchronous; memory must live until the wait.
    Pending write(EventQueue& queue, std::uint64_t index, Bytes memory);
    Pending read(EventQueue& queue, std::uint64_t index, MutableBytes memory) const;
    Pending write(EventQueue& queue, std::span<const Range> ranges, std::span<const Bytes> memory);
    Pending read(EventQueue& queue, std::span<const Range> ranges,
                 std::span<const MutableBytes> memory) const;
    EventQueue event_queue() const; // a new one on its pool

    struct State;

private:
    friend class Container;
    Array();
    std::shared_ptr<State> state_;
};

// When an object was changed last. epoch 0: never.
struct LastUpdate {
    std::uint64_t epoch = 0; // as the library of its pool counts
    std::int64_t seconds = 0;
    std::uint32_t nanoseconds = 0;
};

// An object of dkeys and akeys. Every object is one: the akey of a key-value object and of an array is "0",
// and the dkeys of an array are its chunks from 1, as numbers of 8 bytes. All of a dkey lies on one target.
class STEPSTORE_API Object {
public:
    ~Object();
    Object(Object&&) noexcept;
    Object& operator=(Object&&) noexcept;
    const ObjectId& id() const;

    // All of it is seen at once, or nothing. DER_EXIST, DER_NONEXIST by the conditions.
    void update(Bytes dkey, std::span<const AkeyUpdate> updates, Condition of_dkey = Condition::none);
    void update(Bytes dkey, Bytes akey, Bytes value, Condition of_akey = Condition::none); // a single value
    // All at one moment. DER_REC2BIG: there is too little memory; record_size is set.
    void fetch(Bytes dkey, std::span<AkeyFetch> fetches) const;
    std::optional<std::vector<std::byte>> fetch(Bytes dkey, Bytes akey) const; // a single value
    void punch(Bytes dkey);
    void punch(Bytes dkey, std::span<const Bytes> akeys); // at once
    void destroy();                                       // punches the whole object
    // Of any of its dkeys. On a DAOS system the latest one, also at a snapshot.
    LastUpdate last_update() const;

    // Until `each` returns false. In no promised order of dkeys; a key that is updated or punched meanwhile
    // may be given or not.
    void list_dkeys(const std::function<bool(Bytes dkey)>& each) const;
    void list_akeys(Bytes dkey, const std::function<bool(Bytes akey)>& each) const;
    std::optional<AkeyInfo> describe(Bytes dkey, Bytes akey) const; // nullopt: no such akey
    // Where an array has records, ascending; neighbours are one range.
    void list_records(Bytes dkey, Bytes akey, const std::function<bool(const Range&)>& each) const;

    struct State;

private:
    friend class Container;
    Object();
    std::shared_ptr<State> state_;
};

// A container of files (libdfs) has these objects in its properties, from its creation on.
struct FileSystem {
    ObjectId superblock, root;
};

class STEPSTORE_API Container {
public:
    ~Container();
    Container(Container&&) noexcept;
    Container& operator=(Container&&) noexcept;
    const std::string& label() const;
    std::vector<std::byte> to_global() const; // for Pool::container_from_global() of another process

    // Object ids. object_class: "S1", "S2", "S4", "S8", "SX", ..., or "" for the default of the type.
    ObjectId object_id(std::uint64_t lo, std::uint32_t hi, ObjectType type,
                       std::string_view object_class = "") const;
    std::uint64_t allocate_oids(std::uint64_t count); // the first of `count` consecutive fresh numbers
    std::optional<FileSystem> file_system() const;    // nullopt: it was not made for files

    KeyValue key_value(const ObjectId& id, Access access = Access::read_write) const;
    Object object(const ObjectId& id, Access access = Access::read_write) const; // of any type
    Array create_array(const ObjectId& id,
                       const ArrayAttributes& attributes) const; // DER_EXIST when it has attributes
    std::optional<Array> open_array(const ObjectId& id,
                                    Access access = Access::read_write) const; // nullopt: not there
    Array open_array(const ObjectId& id, const ArrayAttributes& attributes,
                     Access access = Access::read_write,
                     Verify verify = Verify::yes) const; // no request to the store

    // objects: of which list_objects() tells on a DAOS system too, at its price there.
    std::uint64_t create_snapshot(const std::string& name = {}, bool objects = false);
    std::vector<SnapshotEntry> snapshots() const;
    void destroy_snapshot(std::uint64_t epoch);
    // Those that are there; in a pool of ours in about the time of one.
    void destroy_snapshots(std::span<const std::uint64_t> epochs);
    // The container as it was at a snapshot: objects opened from the result read at that epoch, and refuse
    // writes.
    Container at_snapshot(std::uint64_t epoch) const; // -DER_NONEXIST: there is no such snapshot
    // The same without the look whether there is one, whose cost grows with the number of snapshots. Where
    // there is none, reads give -DER_EP_OLD; on a DAOS system they may find less than there was.
    Container at_epoch(std::uint64_t epoch) const;

    struct State;

private:
    friend class Pool;
    friend ContainerInfo describe_container(const Container&);
    friend std::vector<ObjectInfo> list_objects(const Container&, bool);
    friend ObjectInfo describe_object(const Container&, const ObjectId&);
    Container();
    std::shared_ptr<State> state_;
};

class STEPSTORE_API Pool {
public:
    static Pool connect(const std::string& location,
                        Access access = Access::read_write); // DER_NONEXIST: no pool there
    // The same through a given table; `location` goes to its daos_pool_connect as it is.
    static Pool connect(const Library& library, const std::string& location,
                        Access access = Access::read_write);
    // Ours only; with daos:// it throws DER_NOSYS and names dmg. DER_EXIST when there is one.
    static void create(const std::string& location, const PoolOptions& options = {});
    // DER_NONEXIST. DER_BUSY: this process has it open.
    static void destroy(const std::string& location);
    // Connects for writing. Makes the pool where there is none, and the directories above it; another process
    // may do the same at once. options: of a pool that is made.
    static Pool connect_or_create(const std::string& location, const PoolOptions& options = {});
    ~Pool();
    Pool(Pool&&) noexcept;
    Pool& operator=(Pool&&) noexcept;
    const std::string& location() const;

    Container create_container(const std::string& label) const; // DER_EXIST
    // With these properties alone: the objects are the caller's to make.
    Container create_container(const std::string& label, const FileSystem& files) const;
    Container open_container(const std::string& label,
                             Access access = Access::read_write) const; // DER_NONEXIST
    Container open_or_create_container(const std::string& label) const; // made if it is missing
    void destroy_container(const std::string& label, bool force = false) const;
    std::vector<ContainerEntry> containers() const;
    EventQueue event_queue() const;
    unsigned targets() const; // storage targets that are not disabled
    // All acknowledged updates survive a power failure after this (no-op on real DAOS, where they do anyway).
    void sync() const;
    // Only the updates of this process. What other processes did, and it depends on, may need sync().
    void sync_own() const;
    // The open pool as bytes for other processes of the job (daos_pool_local2global). On a DAOS system they
    // then open it without a request. The bytes of a directory's pool are good on its machine only.
    std::vector<std::byte> to_global() const;
    // location: of the pool that gave the bytes.
    static Pool from_global(const std::string& location, Bytes global);
    Container container_from_global(const std::string& label, Bytes global) const;
    const Library& library() const; // the table it calls through

    struct State;

private:
    Pool();
    std::shared_ptr<State> state_;
};

} // namespace stepstore
