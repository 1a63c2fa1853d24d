// The seam between the object store and where its bytes lie. A back end implements this header, and nothing
// else of the store knows it. It is a folder here and a line in registry.cc. memory/ is the shortest one.
// tests/contract tests every registered back end against this header. docs/extending.md shows how to add one.
//
// A back end implements all of Target, Storage and the two transactions. One behind a network also implements
// NetworkTarget and NetworkTransaction, and gives them from network().
//
// A pool has T targets. A target is an ordered map of byte keys to byte values with transactions (its index),
// and beside it bulk extents. One more target, meta(), holds what belongs to the pool as a whole.
//
// Threads and processes. Every method may be called from any thread of any process that has the pool open. A
// target has one writer at a time over all processes, or looks like it. Readers never wait for it, and see
// the target as it was at one moment.
//
// Epochs. A body that sees what another one changed has the greater epoch of the two, whatever the clocks of
// their machines say. Those that do not see each other may have theirs in any order. A snapshot needs more:
// Storage::has_barriers().
//
// Scopes. Keys that begin with the same scope_size() bytes (keys.h) are a scope, such as the extents of a
// chunk. Updates seek within a scope (seek_in), so that a back end without a lock can tell by one counter for
// each scope whether a seek would still find the same.
//
// Bodies. A transaction is a function, its body, that the back end runs. The back end may run a body more
// than once, and drops what all runs but the last have put. LMDB begins again when its map is full. A reader
// begins again when its pages were used again. A back end behind a network does when another process was
// faster (docs/design/store.md). So a body depends only on what it reads through its transaction and on
// next_epoch(). It sets all its results again in each run, and does nothing that cannot be done twice. Where
// it fills a caller's room, a run may find less than one before (Filled, bulk.h). It may read extents, and
// call entering() and leaving(). What it throws ends the transaction, changes nothing, and reaches the caller
// unchanged.
//
// Fork. A child may use each Storage that its parent had open, from the target() or meta() that it asks for
// itself. It never uses a Target or transaction that was got before the fork. Nothing that the child does,
// its end included, takes a lock or a descriptor away from its parent.
//
// Access rights. The store checks once whether the process may update. It calls claim() before the first
// update of a Storage, and never updates one that it did not claim.
//
// Errors. Every failure is a stepstore::Error whose message names the pool's path and the target:
//   DER_NONEXIST    no pool there                      DER_EXIST        there is one already
//   DER_INVAL       an argument that is never possible DER_NOTSUPPORTED an option that this back end lacks
//   DER_NO_PERM     not ours to read or write          DER_BUSY         being made, destroyed, used by others
//   DER_NOSPACE     the medium is full                 DER_IO           the system refused
//   DER_CSUM        damage found                       DER_DF_INVAL     a pool that lacks a part
//   DER_DF_INCOMPT  made by a newer version            DER_STALE        the pool was removed while open
//   DER_TIMEDOUT    another process does not let go
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "location/location.h"
#include "store/types.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepstore::store {

// Where bulk bytes lie: file `file` of this target, at offset, length bytes. Goes into records as it is.
struct ExtentRef {
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    friend bool operator==(const ExtentRef&, const ExtentRef&) = default;
};

// Space in an extent file is given back in units of so many bytes. An extent may begin anywhere in a unit.
// Its reservation is the units that it touches, and no two extents' reservations share one.
inline constexpr std::size_t extent_unit = 4096;
inline ExtentRef reservation_of(const ExtentRef& extent)
{
    const std::uint64_t before = extent.offset % extent_unit;
    return {extent.file, extent.offset - before,
            (before + extent.length + extent_unit - 1) / extent_unit * extent_unit};
}

// One value on its way into an extent of its own.
struct Payload {
    std::span<const Bytes> pieces; // one after the other; none, or empty ones, are fine
    ExtentRef extent = {};         // out: where it lies
};

struct Entry {
    Bytes key;
    Bytes value;
};

// What a transaction of a back end behind a network has besides. Each of its requests is a round trip, and no
// lock keeps other processes off.
class NetworkTransaction {
public:
    // The body is going to get these, or to seek about so many entries from `from` on among the keys that
    // begin with `prefix`. All of it is asked for with the first look-up.
    virtual void expect(std::span<const Bytes> keys) = 0;
    virtual void expect_from(Bytes prefix, Bytes from, std::size_t entries) = 0;

    // As seek and seek_last, but among the keys that begin with `prefix` alone, where next and previous may
    // then stay. Where there is none the position is undefined. `key` begins with `prefix`, or for
    // seek_last_in may be the first one after all that do.
    virtual bool seek_in(Bytes prefix, Bytes key, Entry& entry) = 0;
    virtual bool seek_last_in(Bytes prefix, Bytes key, Entry& entry) = 0;

    // This update has the epoch, which is greater than that of all updates that were committed on the target
    // before. False: it is too late for that, and the body puts nothing. Called after all that it looks up,
    // only of write transactions.
    virtual bool take_barrier(Epoch epoch) = 0;

    // The greatest epoch of the updates that the body has seen. What next_epoch() gives from now on is
    // greater. Of a read transaction, whose body takes epochs of updates that follow.
    virtual Epoch seen() = 0;

protected:
    ~NetworkTransaction() = default;
};

// A consistent view of one target, for the thread that runs the body. It is of one moment, not later than its
// first look-up. What get, seek and next give stays valid until the transaction ends or, in a write
// transaction, until its next put, reserve or erase. Keys have 1 to max_key bytes and are ordered as unsigned
// bytes, a prefix first. Values have 0 to 256 MiB. A value whose bytes the medium has lost is given as an
// empty one: no record of the store is empty, so that record alone is damaged.
class ReadTransaction {
public:
    static constexpr std::size_t max_key = 500;
    virtual ~ReadTransaction() = default;

    // False, also for a key that cannot be: there is none.
    virtual bool get(Bytes key, Bytes& value) = 0;

    // As of Storage.
    virtual const Capabilities& capabilities() const = 0;

    // Two read transactions on a target, of any process, that have the same version see the same content. 0:
    // this one cannot tell, as a write transaction never can.
    virtual std::uint64_t version() const = 0;

    // Where the back end keeps the value of the entry that seek or next gave last, if in an extent of its
    // own. Length 0: in the index itself. Not after a put or erase. Check needs it: else nothing seems to
    // refer to that extent.
    virtual ExtentRef value_extent() const = 0;

    // One position per transaction. seek: the smallest key not less than `key`; with an empty one the first
    // of all. seek_last: the largest key less than `key`; with an empty one none. `key` may have any length.
    // next and previous move from the entry given last, also when it was erased since or others were put
    // beside it; without one they give none. All return false, and leave `entry` and the position alone, when
    // there is no such entry.
    virtual bool seek(Bytes key, Entry& entry) = 0;
    virtual bool seek_last(Bytes key, Entry& entry) = 0;
    virtual bool next(Entry& entry) = 0;
    virtual bool previous(Entry& entry) = 0;

    // nullptr: none.
    virtual NetworkTransaction* network() = 0;

    // What the store calls, with or without a network.
    void expect(std::span<const Bytes> keys)
    {
        if (NetworkTransaction* far = network()) far->expect(keys);
    }
    void expect_from(Bytes prefix, Bytes from, std::size_t entries)
    {
        if (NetworkTransaction* far = network()) far->expect_from(prefix, from, entries);
    }
    bool seek_in(Bytes prefix, Bytes key, Entry& entry)
    {
        if (NetworkTransaction* far = network()) return far->seek_in(prefix, key, entry);
        return seek(key, entry) && begins_with(entry.key, prefix);
    }
    bool seek_last_in(Bytes prefix, Bytes key, Entry& entry)
    {
        if (NetworkTransaction* far = network()) return far->seek_last_in(prefix, key, entry);
        return seek_last(key, entry) && begins_with(entry.key, prefix);
    }

protected:
    static bool begins_with(Bytes key, Bytes prefix)
    {
        return key.size() >= prefix.size() && compare(key.first(prefix.size()), prefix) == 0;
    }
};

// Sees its own updates. DER_INVAL: a put with a key that cannot be.
class WriteTransaction : public ReadTransaction {
public:
    virtual void put(Bytes key, Bytes value) = 0;
    // As put, but the caller fills the returned value (length bytes) before any other call on the
    // transaction.
    virtual MutableBytes reserve(Bytes key, std::size_t length) = 0;
    virtual bool erase(Bytes key) = 0; // false: there was none. Needs no value: it may be lost

    // Only where Storage::has_barriers().
    bool take_barrier(Epoch epoch)
    {
        NetworkTransaction* far = network();
        return far != nullptr && far->take_barrier(epoch);
    }
};

// Waits for the announcements of one key (Target::watch). For one thread at a time. After a fork the child's
// wait() gives `lost`. It keeps nothing open that its Storage needs to close.
class Waiter {
public:
    virtual ~Waiter() = default;
    // lost: announcements may have been missed, and none may come any more. Another waiter is needed.
    enum class Got : std::uint8_t { nothing, announced, lost };
    // At most so long, until the key is announced; at once where it was since the waiter was made, or since
    // the last wait that told of it.
    virtual Got wait(std::chrono::nanoseconds most) = 0;
};

// What a target of a back end behind a network has besides.
class NetworkTarget {
public:
    // False: what append() returned is gone, and has to be appended anew. Others took this process for dead,
    // as it did not run for long. Asked at the begin of the body that refers to it.
    virtual bool holds(const ExtentRef& appended) = 0;
    // How many bytes of an extent to ask for with one read_extent(), where the caller has room for all.
    virtual std::uint64_t read_at_once() = 0;
    // Does work(0) to work(count - 1), which do not depend on each other and may each use any target. They
    // may go at once, on several threads. All have ended when it returns. Throws what the first that failed
    // has thrown. Where they go in turn, those after it are left out.
    virtual void at_once(std::size_t count, FunctionRef<void(std::size_t)> work) = 0;
    // How many of such works to give, where more than one may be in vain.
    virtual unsigned most_at_once() = 0;
    // Tells the waiters of this key, in all processes, to look again. What was committed before is seen by
    // those who do. Nobody waits for it, and it may get lost. So who waits also looks from time to time. Any
    // bytes are a key here.
    virtual void announce(Bytes key) = 0;
    // From its return on what is announced reaches the waiter. So the caller looks once more then. nullptr:
    // there are none here, or none now (no right, no answer), and the caller looks again and again instead.
    virtual std::unique_ptr<Waiter> watch(Bytes key) = 0;
    // For a snapshot (Storage::has_barriers()): an epoch greater than `least`, and far enough ahead that all
    // targets of the pool can take it. refused: how many were not taken just before.
    virtual Epoch barrier_epoch(Epoch least, unsigned refused) = 0;

protected:
    ~NetworkTarget() = default;
};

class Target {
public:
    virtual ~Target() = default;

    // Runs `body` on one moment of the target. `body` does not start another transaction on this target.
    virtual void read(FunctionRef<void(ReadTransaction&)> body) = 0;

    // This process is going to write(). Where a target is opened otherwise to be read alone, it is opened to
    // be written. Fails as write() would.
    virtual void open_to_write() = 0;

    // Runs `body` as if it were the only writer of this target over all processes, and commits when it
    // returns. On return the update is durable to the pool's level, and every later read sees it. Write
    // transactions on different targets may nest, in ascending order of target with meta() first. The inner
    // one commits first; where the outer one then has to begin again, its body runs again, and the inner one
    // with it.
    virtual void write(FunctionRef<void(WriteTransaction&)> body) = 0;

    // Stores each payload as an extent, all of them in one write from the caller's memory, and sets their
    // `extent`. One without bytes gets an extent of length 0, which takes no space, is read as nothing and
    // need not be released. Returns one extent that spans them all, for entering() and release(). On return
    // they are as durable as the pool's level, but nothing refers to them until a write() puts the references
    // into the index. A process that ends before that leaves nothing that lasts: a later writer gives the
    // space back.
    virtual ExtentRef append(std::span<Payload> payloads) = 0;
    // The transaction that refers to what append() returned is about to commit. Called at the end of its
    // body, so maybe more than once.
    virtual void entering(const ExtentRef& appended) = 0;
    // The transaction that drops the last reference to this is about to commit, and release() will follow.
    // Called as entering() is. Where the process dies in between, a later writer gives the space back.
    virtual void leaving(const ExtentRef& dropped) = 0;
    // Reads into.size() bytes from `skip` bytes into the extent. Also within a transaction. DER_CSUM when
    // they do not lie there (any more), and when the part reaches beyond the extent. Any number is possible.
    // A back end whose bodies run without a lock runs one again that has read extents and throws DER_CSUM:
    // they may have been released meanwhile. It counts once the body saw the same twice (found_twice.h).
    virtual void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) = 0;
    // A value of `size` bytes can be stored as two. Where the index stores values in whole pages, and this
    // one would leave most of its last page empty: the size of the first of the two, which fills its pages.
    // Else `size`.
    virtual std::size_t fills_pages(std::size_t size) const = 0;
    // Gives back the space of an extent, or a part of it. A part begins and ends at a multiple of extent_unit
    // in the file, or where the reservation does. Called once, after the transaction that dropped the last
    // reference has committed: the space may hold another extent afterwards. A reader that still has the
    // reference may read zeros or that other extent, so it verifies what it reads and looks the reference up
    // again.
    virtual void release(const ExtentRef& extent) = 0;
    // The extent files there are: file id and length in bytes.
    struct ExtentFile {
        std::uint64_t file = 0;
        std::uint64_t length = 0;
        std::uint64_t allocated = 0; // bytes that take space: released ones do not
        bool in_use = false;         // a living process appends to it now
    };
    virtual std::vector<ExtentFile> extent_files() = 0;
    // How many bytes of this range of an extent file take space, as far as the back end can tell: holes do
    // not.
    virtual std::uint64_t allocated(const ExtentRef& range) = 0;

    // Makes everything acknowledged so far survive a power failure, whatever the pool's level. With `own`
    // only what this process did: the index is synced as a whole, other processes' bulk extents are not.
    // Costs nothing where nothing was written since this process last called it.
    // After an error another sync() tries again, once a full disk has room, say. When it succeeds, it covers
    // what the failed one did not write: all of the index, and what the system still had of the extents. An
    // extent that the system had dropped before reads as damaged. -DER_CSUM: so does a part of the index.
    virtual void sync(bool own) = 0;
    // sync() will follow: whatever can begin on its way to the medium does. False: there is nothing to sync.
    virtual bool begin_sync(bool own) = 0;

    // Bytes taken on the medium: by the index and by the bulk extents.
    struct Usage {
        std::uint64_t index = 0;
        std::uint64_t bulk = 0;
    };
    virtual Usage usage() = 0;
    // Gives back space that nothing needs, while others read and write: pages of the index that no version in
    // use has, and what dead processes left. DER_CSUM where the index is damaged: then nothing is changed.
    virtual void compact() = 0;

    // Verifies the structure below the transactions' level (pages, files); one text per damage found.
    virtual std::vector<std::string> check() = 0;

    // Shared by all processes, for observation only; relaxed.
    virtual void count(const Counters& added) = 0;
    virtual Counters counters() = 0;

    // nullptr: none.
    virtual NetworkTarget* network() = 0;

    // What the store calls, with or without a network.
    bool holds(const ExtentRef& appended)
    {
        NetworkTarget* far = network();
        return far == nullptr || far->holds(appended);
    }
    std::uint64_t read_at_once()
    {
        NetworkTarget* far = network();
        return far != nullptr ? far->read_at_once() : 512 << 10; // verified while it is in the cache
    }
    void at_once(std::size_t count, FunctionRef<void(std::size_t)> work)
    {
        if (NetworkTarget* far = network()) return far->at_once(count, work);
        for (std::size_t one = 0; one < count; ++one)
            work(one);
    }
    unsigned most_at_once()
    {
        NetworkTarget* far = network();
        return far != nullptr ? far->most_at_once() : 1;
    }
    void announce(Bytes key)
    {
        if (NetworkTarget* far = network()) far->announce(key);
    }
    std::unique_ptr<Waiter> watch(Bytes key)
    {
        NetworkTarget* far = network();
        return far != nullptr ? far->watch(key) : nullptr;
    }
};

// What stays the same of a pool while it is open.
struct PoolFacts {
    std::string path; // as it was given
    unsigned targets;
    Durability durability;
    const Capabilities& capabilities; // of the pool's form of location (location/location.cc)
};

// A pool that this process has open. Its end gives back what the process holds of it.
class Storage {
public:
    explicit Storage(PoolFacts facts) : facts_(std::move(facts)) {}
    virtual ~Storage() = default;
    const std::string& path() const { return facts_.path; }
    unsigned targets() const { return facts_.targets; }
    Durability durability() const { return facts_.durability; }
    const Capabilities& capabilities() const { return facts_.capabilities; }

    virtual Target& target(unsigned index) = 0; // index < targets()
    virtual Target& meta() = 0;
    // False: the pool was removed, and another one may be at its path.
    virtual bool is_current() = 0;

    // This process is going to write. DER_NO_PERM; DER_BUSY: another machine has the pool, where only one
    // may.
    virtual void claim() = 0;

    // An epoch greater than every one given to this process before, and than those of the updates that the
    // calling body sees, also after a crash. Nanoseconds of the real-time clock where that is greater.
    virtual Epoch next_epoch() = 0;
    // How a snapshot gets its place among the updates of all targets. False: within write transactions that
    // are open on all of them, which keep every other update off. True: there is nothing that keeps them off.
    // So its epoch lies ahead of theirs, and each target takes it by itself (take_barrier).
    bool has_barriers() { return meta().network() != nullptr; }

    struct Space {
        std::uint64_t total = 0; // of the file system or cluster; 0: not known
        std::uint64_t free = 0;
    };
    virtual Space space() = 0;

private:
    const PoolFacts facts_;
};

struct NewPool {
    unsigned targets = 8; // 1 to 256
    Durability durability = Durability::process;
    // Existing directories into which the targets go, in turn; none: where the pool is. DER_NOTSUPPORTED
    // where a back end has no use for them.
    std::vector<std::string> target_directories = {};
    // Writes what the pool begins with. Called once, while the pool is there for nobody else; when it throws,
    // there is no pool.
    std::function<void(Storage& made)> fill = {};
};

enum class Found : std::uint8_t {
    nothing, // of this back end
    // What a maker or destroyer left, dead or at work. There is no pool, and create() and destroy() remove
    // it.
    unfinished,
    pool // whole or damaged
};

struct Backend {
    std::string name;
    // Of any number of callers exactly one succeeds; the others get DER_EXIST. One that fails or dies leaves
    // nothing that keeps a later one from succeeding. The maker may write without claim().
    std::unique_ptr<Storage> (*create)(const std::string& path, const NewPool& options);
    // For all that this process may do; without a trace until it claims. The options come out of the pool.
    std::unique_ptr<Storage> (*open)(const std::string& path);
    // Removes every file of the pool and nothing else. DER_BUSY while another process has it open. Who has it
    // open in this process keeps the pool that is gone; a new one may be made in its place.
    void (*destroy)(const std::string& path);
    // What lies at `path`. Never throws.
    Found (*look)(const std::string& path);
    // Whether `path` is in the form of this back end's own, such as rados://, and so no path of a file
    // system. nullptr: it has none.
    bool (*names)(const std::string& path) = nullptr;
    unsigned default_targets = 0; // of a pool whose maker gives no number; 0: by the machine's processors
};

// The registered back ends; the first one is the default.
const std::vector<Backend>& backends();
// Adds one more of the program's own, before main() or any use of a pool.
void register_backend(const Backend& backend);

} // namespace stepstore::store
