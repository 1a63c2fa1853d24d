// The seam between the object store and where its bytes lie. A back end implements this header. One of this library
// is a folder here and a line in registry.cc; one of another library or program registers itself with one line
// (STEPSTORE_REGISTER_BACKEND). memory/ is the reference.
//
// A back end is one pool: T targets, each an ordered map of byte keys to byte values with transactions, and beside it
// append-only bulk extents; plus one more such target, meta(), for what belongs to the pool as a whole.
//
// Threads and processes: every method of Backend and Target may be called from any thread of any process that
// has the pool open. One writer at a time per target, over all processes; readers never wait for it, and see the target
// as it was when their transaction began.
//
// Errors: every failure is thrown as stepstore::Error with a DER_* code: DER_NOSPACE (disk full), DER_NO_PERM
// (not ours to write), DER_IO (the system refused), DER_CSUM (damage found), DER_DF_INCOMPT (newer format),
// DER_DF_INVAL (no pool there, or a damaged one), DER_NONEXIST. The message names the pool's path and the target.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "store/types.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::store {

// Where bulk bytes lie: file `file` of this target, at offset, length bytes.
struct ExtentRef {
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    friend bool operator==(const ExtentRef&, const ExtentRef&) = default;
};

// Where an append begins in its file: a multiple of this, so that space can be given back in such units.
inline constexpr std::size_t extent_alignment = 4096;

// A payload may begin half a unit behind such a multiple, and as much more as the memory that it comes from is behind a
// cache line: copies take two to six times as long when one place is a few bytes behind the other in its page, and up
// to twice as long when they lie differently in cache lines (docs/design/lmdb-backend.md). An extent's room is the
// units that it touches, and no two records' rooms share one.
inline constexpr std::uint64_t most_skew = extent_alignment / 2 + 63;
inline std::uint64_t skew_of(const ExtentRef& extent)
{
    return extent.offset % extent_alignment;
}
inline ExtentRef room_of(const ExtentRef& extent)
{
    const std::uint64_t skew = skew_of(extent);
    return {extent.file, extent.offset - skew,
            (skew + extent.length + extent_alignment - 1) / extent_alignment * extent_alignment};
}

// Who gives back the bytes of an append whose process died before anything referred to them.
enum class Reclaim : std::uint8_t {
    by_check,      // with repair
    by_next_writer // the caller promises to call entering()
};

struct Entry {
    Bytes key;
    Bytes value;
};

// A consistent view of one target. What get/seek/next return stays valid until the transaction ends or (in a write
// transaction) until its next put/reserve/erase. Keys: 1 to max_key bytes, ordered as unsigned bytes.
// A transaction is used by one thread, the one that runs the function it was given to.
class ReadTransaction {
public:
    static constexpr std::size_t max_key = 500;
    virtual ~ReadTransaction() = default;

    virtual bool get(Bytes key, Bytes& value) = 0;

    // Two read transactions on a target, of any process, that have the same version see the same content. 0: this one
    // cannot tell, as a write transaction never can.
    virtual std::uint64_t version() const { return 0; }

    // One position per transaction. seek: the smallest key not less than `key`; seek_last: the largest key
    // less than `key`. next and previous move from the current position. All return false, and leave `entry`
    // alone, when there is no such entry. After an erase of the current entry next() gives the one after it.
    virtual bool seek(Bytes key, Entry& entry) = 0;
    virtual bool seek_last(Bytes key, Entry& entry) = 0;
    virtual bool next(Entry& entry) = 0;
    virtual bool previous(Entry& entry) = 0;
};

class WriteTransaction : public ReadTransaction {
public:
    virtual void put(Bytes key, Bytes value) = 0;
    // As put, but the caller fills the returned value (length bytes) before any other call on the transaction.
    virtual MutableBytes reserve(Bytes key, std::size_t length) = 0;
    virtual bool erase(Bytes key) = 0; // false: there was none
};

class Target {
public:
    virtual ~Target() = default;

    // Runs `body` on a consistent view. `body` may not start another transaction on this target. It may run more than
    // once (the view of a process that writers do not know of was lost), so all it does must be repeatable.
    virtual void read(FunctionRef<void(ReadTransaction&)> body) = 0;

    // Runs `body` as the only writer of this target over all processes, and commits when it returns; an exception
    // from it aborts and comes out unchanged. `body` may run more than once (the map had to grow), so all it does must
    // be repeatable. On return the update is durable to the pool's level, and every later read sees it.
    // Write transactions on different targets may nest, in ascending order of target with meta() first
    // (the inner commits first).
    virtual void write(FunctionRef<void(WriteTransaction&)> body) = 0;

    // Appends the pieces, one after the other, as one bulk extent, in one write from the caller's memory. Not
    // referenced by anything until a write() puts the reference into the index; a process that dies in between leaves
    // bytes that nothing refers to: `reclaim`. On return they are as durable as the pool's level.
    virtual ExtentRef append(const std::vector<Bytes>& pieces, Reclaim reclaim = Reclaim::by_check) = 0;
    // What append() returned for the next writer to reclaim is about to be referred to: called with it before the
    // transaction that has the first reference commits, best at the end of its body. May be called more than once. A
    // caller that forgets it loses the extent when it is killed.
    virtual void entering(const ExtentRef&) {}
    // Reads into.size() bytes from `skip` bytes into the extent. DER_CSUM when the file is shorter than that.
    virtual void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) = 0;
    // Gives the room back of an extent, or of a part of one, which begins at a multiple of extent_alignment in the
    // file or where the extent does, and ends at one or where the extent does. Only after the transaction that dropped
    // the last reference to it has committed, and once: the room may hold another extent by then. A reader that still
    // has the reference may read zeros or that other extent, so it verifies what it reads and looks the reference up
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
    // How many bytes of this range of an extent file take space, as far as the back end can tell: holes do not.
    virtual std::uint64_t allocated(const ExtentRef& range) = 0;

    // Makes everything acknowledged so far survive a power failure, whatever the pool's level: by whomever, or (own) by
    // this process; the index is synced as a whole, other processes' bulk extents are not. Costs nothing where nothing
    // was written since this process last called it.
    virtual void sync(bool own) = 0;
    // sync() will follow: whatever can begin on its way to the medium does. False: there is nothing to sync.
    virtual bool begin_sync(bool own) = 0;

    // Bytes taken on the medium: by the index and by the bulk extents.
    struct Usage {
        std::uint64_t index = 0;
        std::uint64_t bulk = 0;
    };
    virtual Usage usage() = 0;
    // Gives space back that nothing needs, while others read and write: pages of the index that no version in use has,
    // and what processes left that died. DER_CSUM where the index is damaged: nothing is touched then.
    virtual void compact() {}

    // Verifies the structure below the transactions' level (pages, files); one text per damage found.
    virtual std::vector<std::string> check() = 0;

    // Shared by all processes, for observation only; relaxed.
    virtual void count(const Counters& added) = 0;
    virtual Counters counters() = 0;
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual const std::string& path() const = 0;
    virtual bool read_only() const = 0;
    virtual unsigned targets() const = 0;
    virtual Durability durability() const = 0;
    virtual Target& target(unsigned index) = 0; // index < targets()
    virtual Target& meta() = 0;

    // This process is going to write: called by every opener for writing before its first update. DER_BUSY:
    // another machine has the pool, where only one may.
    virtual void claim() {}

    // An epoch greater than every one given before, to any process, also after a crash. Nanoseconds of the real-time
    // clock where that is greater than the last one given.
    virtual Epoch next_epoch() = 0;

    struct Space {
        std::uint64_t total = 0; // of the file system
        std::uint64_t free = 0;
    };
    virtual Space space() = 0;
};

class Backend;

struct BackendOptions {
    unsigned targets = 8;
    Durability durability = Durability::process;
    // Existing directories into which the targets go, in turn; none: where the pool is. DER_NOTSUPPORTED
    // where a back end has no use for them.
    std::vector<std::string> target_directories = {};
    // Writes what the pool begins with. Called once, while the pool is there for nobody else; when it throws,
    // there is no pool.
    std::function<void(Backend& made)> fill = {};
};

enum class Access : std::uint8_t { read_only, read_write };

struct BackendFactory {
    std::string name;
    // DER_EXIST: there is a pool already. A create that fails leaves nothing.
    std::unique_ptr<Backend> (*create)(const std::string& path, const BackendOptions& options);
    // The pool's own options come out of the pool.
    std::unique_ptr<Backend> (*open)(const std::string& path, Access access);
    // Removes every file of the pool and nothing else. DER_BUSY while another process has it open.
    void (*destroy)(const std::string& path);
    // True where `path` holds something this back end made, whole or damaged. Never throws.
    bool (*present)(const std::string& path);
    // True where `path` holds what is left of a pool whose maker or destroyer died, or is at work: there is
    // no pool, and create() and destroy() remove it. Never throws.
    bool (*leavings)(const std::string& path) = [](const std::string&) { return false; };
};

// The registered back ends, by name; "lmdb" first.
const std::vector<BackendFactory>& backends();
bool register_backend(const BackendFactory& factory);

} // namespace stepstore::store

#define STEPSTORE_REGISTER_BACKEND(factory)                                                                            \
    [[maybe_unused]] static const bool stepstore_backend_registered = ::stepstore::store::register_backend(factory)
