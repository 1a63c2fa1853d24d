// Blobs: bytes under names in a container. What stepstore/blobs.h (C), stepstore.zarr and the filesystem
// stepstore:// are adapters of.
//
// A container keeps blobs beside its other objects:
// - the directory, a key-value object, has an entry for each blob. The entry of a small blob holds its bytes.
// - a larger blob has an array object of its own, which is written once. Its entry holds the array's number.
//
// Writing: 1. The bytes of a larger blob go to an array object with a fresh number, which nobody knows.
// 2. One exchange in the directory puts the new entry, and tells the old one. 3. The array of the old entry
// is destroyed.
// - A reader finds the old entry or the new one, so the old value or the new one. A writer that dies before 2
//   leaves the old value. Others take back the space that it leaves (numbers.h).
// - Of several writers of a key each is told of another old entry. So each array is destroyed once, by the
//   writer that replaced its entry. (A DAOS system has no exchange. Two writers of one key at the same time
//   may leave an array there, which nothing takes back.)
// - An exchange in doubt (client/in_doubt.h) may be carried out later. Then the writer destroys nothing.
//   Others do that when its process is dead.
//
// Reading: 1. The entry. 2. Its bytes, or those of the array. An array lies on one target, and a read of it
// sees one moment: all of its bytes, or none if it was destroyed after 1. In that case: 3. The entry again.
// If it is another one, or gone, the reader begins anew. If it is the same, it had not been replaced by then,
// so nobody had destroyed the array at 2. Then the array is damaged: -DER_CSUM. Numbers are never used twice,
// so an entry that is the same has been there all the time.
//
// A folder is an entry whose key ends with '/'. It keeps a directory that has no blobs. All others are where
// keys say so. The folder "/" says that the container is no directory while it has neither blobs nor folders.
// So a directory is removed without destroying the container, in which others may write at that moment.
//
// Keys: at least one byte, none of them zero. Else -DER_INVAL.
// Threads may share a Blobs and its copies. A Reader, Writer or Appender is for one thread at a time.
// Fork: a child goes on with the Blobs and Readers of its parent. A Writer or Appender is refused in it
// (-DER_NO_HDL), and its end there does nothing.
// Errors: -DER_NO_PERM: opened for reading. -DER_CSUM: damaged. -DER_TIMEDOUT: in doubt, the old value or the
// new one is there, now or later. -DER_NOSPACE and others as the store has them: the old value is there.
#pragma once

#include "base/function_ref.h"
#include "base/own_state.h"
#include "stepstore/client.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::blobs {

// number: of the array object; 0 for a small blob.
struct Info {
    std::uint64_t size = 0;     // bytes
    std::uint64_t modified = 0; // nanoseconds since 1970
    std::uint64_t number = 0;
};

// A part of a value. Negative numbers count from its end, and what lies beyond it is left out.
struct Slice {
    std::int64_t start = 0;
    std::optional<std::int64_t> stop = std::nullopt; // nullopt: the end
};

enum class Put : std::uint8_t { replace, only_new };
enum class Found : std::uint8_t { no, yes, large };

using Version = std::vector<std::byte>; // the entry of a blob: no other value of it ever has the same
// Memory for so many bytes.
using Room = FunctionRef<MutableBytes(std::size_t)>;

class Reader;
class Writer;

class Blobs {
public:
    // container: stays open as long as a copy of this lives. pool: its location.
    Blobs(std::shared_ptr<Container> container, const std::string& pool, Access access);
    // POOL[/CONTAINER], without it the container "default". To write, both are made if they are missing.
    // snapshot: its epoch, 0: now; only to read. -DER_NONEXIST: no such pool, container or snapshot.
    static Blobs open(const std::string& location, Access access, std::uint64_t snapshot = 0);

    const Container& container() const;
    std::string name_of(const std::string& key) const; // "blob 'K' in POOL/CONTAINER": for messages

    // ---- reading
    // room: asked once for each version that is read. most: of so many bytes or more in an array object
    // nothing is read, Found::large.
    Found read(const std::string& key, Slice slice, Room room,
               std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
    std::optional<std::vector<std::byte>> read(const std::string& key, Slice slice = {}) const;
    std::optional<Info> info(const std::string& key) const;
    bool exists(const std::string& key) const;
    std::optional<Reader> reader(const std::string& key) const; // of the version that is there now

    // ---- listing, sorted
    std::vector<std::string> keys(const std::string& prefix = {}) const; // without folders
    // The names directly below a folder, those of folders with '/'. A name may be both. Costs no more if more
    // lies below these.
    std::vector<std::string> children(const std::string& folder = {}) const;
    bool is_folder(const std::string& folder) const;
    bool is_hidden() const; // the container is no directory now

    // ---- writing
    // False, with only_new: there is one, and it is kept.
    bool write(const std::string& key, Bytes value, Put put = Put::replace) const;
    void touch(const std::string& key) const; // was written now; an empty one is made if there is none
    void append(const std::string& key, Bytes value) const;   // also to what others append meanwhile
    bool remove(const std::string& key) const;                // false: there is none
    bool remove(const std::string& key, Bytes version) const; // false: it has another version, and stays
    // One version of a blob, also into another container; that version. nullopt: there is no such blob.
    std::optional<Version> copy(const std::string& key, const Blobs& into, const std::string& target) const;
    // A copy, and then the removal of the version that was copied. What another process put there meanwhile
    // stays. False: there is no such blob.
    bool rename(const std::string& key, const std::string& target) const;
    void make_folder(const std::string& folder) const;
    std::uint64_t remove_folder(const std::string& folder) const; // all below; how many. "": all
    void
    hide() const; // the container is no directory any more, unless there is something in it, now or later
    void show() const; // it is one

    // Destroys the array objects that dead writers left, and no entry names; how many. A writer does so by
    // itself when it finds that another one has died. 0 on a DAOS system, which does not list its objects.
    std::uint64_t take_back() const;
    // As at the end of the process: it writes no more. A later write is possible.
    void leave() const noexcept;

private:
    friend class Reader;
    friend class Writer;
    struct State;
    std::shared_ptr<State> state_;
};

// One version of a blob.
class Reader {
public:
    const Version& version() const { return version_; }
    std::uint64_t size() const;
    // -DER_NONEXIST: it was replaced or removed meanwhile, and is not small.
    void read(Slice slice, Room room) const;
    bool is_current() const;
    void copy_to(Writer& writer) const;

private:
    friend class Blobs;
    Reader(Blobs blobs, std::string key, Version version);
    Blobs blobs_;
    std::string key_;
    Version version_;
};

// A blob that is written piece by piece, and appears whole with close(). Without it nothing changes.
class Writer {
public:
    Writer(Blobs blobs, const std::string& key, Put put = Put::replace);
    ~Writer(); // discards
    Writer(Writer&&) noexcept;
    Writer& operator=(Writer&&) = delete;

    void write(Bytes piece);
    // False, with only_new: there is one, and it is kept.
    bool close();
    // If the blob has this version (nullopt: if there is none). False: it has not, and the writer stays open.
    bool close_if(const std::optional<Version>& expected);
    void discard() noexcept;
    std::uint64_t size() const; // bytes so far
    bool is_closed() const;
    void read(std::uint64_t start, MutableBytes into) const; // of what was written

private:
    struct State;
    OfProcess<OwnState::blob_writer, State> state_;
};

// Bytes at the end of a blob, also while others append to it. 1. The old bytes and the new ones go to a fresh
// value. 2. One conditional put replaces the old entry, if it is still there. Otherwise another process was
// faster: the appender begins again, after those bytes. So each of several gets its turn, and no byte is lost
// or comes twice. A reader sees the bytes before an append or after it.
class Appender {
public:
    Appender(Blobs blobs, std::string key);
    void write(Bytes piece) { begun_.writer->write(piece); }
    void close(); // with an error the blob stays as it was, unless it is in doubt
    void discard() noexcept { begun_.writer->discard(); }
    std::uint64_t size() const { return begun_.writer->size(); } // of the whole blob, as it would be now
    bool is_closed() const { return begun_.writer->is_closed(); }

private:
    struct Begun { // with what the blob had
        std::optional<Version> before;
        std::uint64_t size_before = 0;
        std::unique_ptr<Writer> writer;
    };
    Begun begin() const;
    Blobs blobs_;
    std::string key_;
    Begun begun_;
};

} // namespace stepstore::blobs
