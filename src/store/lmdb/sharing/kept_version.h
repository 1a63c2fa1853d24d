// Readers that writers do not know of, and the version that a writer keeps for them.
//
// A process that may not write LMDB's lock file has no slot in its table of readers. It copies pages, and a
// copy of version N is right while the newest version is N + 1 or less (tree.h). Beside busy writers that is
// less than a listing takes. So:
//
// 1. Such a reader *announces* itself by a read lock on one byte of data.mdb, far after its end. For this it
//    needs only permission to read the file. The system drops the lock with the process.
// 2. Writers look for that lock every few milliseconds. One that finds it begins a read transaction of LMDB's
//    at the newest version H, and so takes a slot. From then on no writer of any process uses a page again
//    that version H or a later one has. It is the *keeper*.
// 3. The keeper says so in the file `kept` in the target's directory: H, its process, and the place of its
//    slot in lock.mdb. It holds a lock for writing on the file, which the system drops with the process.
// 4. A copy of a page of version N is right if, looked at after the copy, a living keeper keeps H <= N. The
//    keeper began when H was the newest version. No page of N was free then, and none became free since.
//    So the reader reads its own version N, the newest one when it began, and sees all that was acknowledged.
//
// The keeper is no thread, only state of a process that has written. It may write no more, or be stopped. So
// every writer may end what another one keeps.
//
// - All that is done to the names `kept`, `kept.new` and `kept.void`, and each beginning of a keep, is done
//   with LMDB's lock on writers held. So nobody but the keeper itself does something to it meanwhile.
// - A keep begins: `kept.new` is made, readable by its owner alone, and locked. The transaction begins, the
//   file gets its content and the mode of data.mdb, and becomes `kept`. The lock was there before a stranger
//   could open the file, so none can keep it from being taken. A file that is not locked means nothing.
// - A keeper ends its own: first the lock goes, then the transaction.
// - Another writer revokes it. The file becomes `kept.void`, which tells readers. Then its slot in lock.mdb
//   goes from H to "not reading", by one compare and swap. Then `kept.void` is removed. A writer that is
//   killed in between leaves `kept.void`, and the next one continues from there. The keeper reads no page
//   with its transaction, so the loss of its pages does not harm it. It learns of the loss by the file's
//   name.
// - The swap cannot hit another reader's slot. It is done only if the newest version is greater than H, and
//   the file was locked at a moment after that version was committed. Then the slot was still the keeper's,
//   and a reader that takes it afterwards begins at a version greater than H.
// - The map may grow and move while a version is kept. LMDB asks for no transaction of the process then,
//   since they have addresses in the map. This one has none: it reads nothing, and LMDB 0.9 ends it by its
//   slot alone.
// - The slot's place is not taken from LMDB's headers. The keeper begins its transaction, resets it and
//   begins it again. It looks where its process number and version appear, vanish and appear again.
//
// Death. A dying process gives up its lock on `kept` before its locks on lock.mdb, after which others may
// clear its slot. Both are locks of the process, which go when their descriptor is closed; a process that
// ends closes its descriptors in ascending order. So a lower number than LMDB's is reserved for `kept` before
// LMDB opens. Where it did not turn out lower the process keeps nothing. (Open-file-description locks would
// go last.) A fork takes none of these locks along.
//
// What strangers can do: announce themselves for ever. Then a version is always kept, in spans of at most
// half the bound of what a reader may pin (index_space.h). They can also truncate, remove or replace
// files. Then a reader is as one without a keeper: it goes on trying. So does a reader beside writers of an
// older version.
//
// Threads: one at a time for each object. Errors: none; a file that cannot be read or is damaged counts as
// none.
#pragma once

#include "base/files.h"
#include "base/not_copied.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stepstore::store::lmdb {

inline constexpr const char* kept_name = "kept";
inline constexpr const char* kept_new_name = "kept.new";
inline constexpr const char* kept_void_name = "kept.void";

// What the file says.
struct KeptVersion {
    std::uint64_t version = 0; // H
    std::uint64_t index = 0;   // inode of data.mdb
    std::uint64_t process = 0; // of the keeper
    std::uint64_t slot = 0;    // offset in lock.mdb

    static constexpr std::size_t size = 48; // bytes of the file
    std::array<std::byte, size> encoded() const;
    static std::optional<KeptVersion> decode(const std::array<std::byte, size>& bytes);
    friend bool operator==(const KeptVersion&, const KeptVersion&) = default;
};

// A lock for writing on it is held by somebody.
bool held_for_writing(int fd);
bool take_for_writing(int fd); // as this process's. False: it cannot be
// Some reader without a slot has announced itself.
bool announced(int data);

// The file of one of the names above, with or without a holder.
class KeptFile {
public:
    KeptFile() = default;
    // Empty: there is none with a sense for the index `data`. Not for a process that keeps: closing the file
    // drops its lock.
    static KeptFile open(const RootedPath& path, int data);
    explicit operator bool() const { return static_cast<bool>(fd_); }
    const KeptVersion& said() const { return said_; }
    // Now: its keeper lives, and has not ended it.
    bool living() const { return fd_ && held_for_writing(fd_.get()); }

private:
    Descriptor fd_;
    KeptVersion said_;
    friend class KeptView;
};

// What a reader without a slot sees.
class KeptView {
public:
    KeptView(const RootedPath& directory, int data) : path_(directory / kept_name), data_(data) {}
    // Now: a living keeper keeps this version or an older one.
    bool keeps(std::uint64_t version);

private:
    // The lock is looked at before the name: each alone says that the keep was in force until then.
    bool in_force() const { return file_.living() && lies_at(file_.fd_.get(), path_); }
    const RootedPath path_;
    const int data_;
    KeptFile file_;
};

// Announces a reader while it lives. Where that cannot be, it does nothing.
class Announcement : NotCopied {
public:
    explicit Announcement(const RootedPath& data);
    ~Announcement();

private:
    Descriptor fd_;
    const std::uint64_t generation_;
};

} // namespace stepstore::store::lmdb
