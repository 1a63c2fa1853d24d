// Files and directories of a pool: names that lead nowhere else, whole reads and writes, locks on whole
// files. Functions that return an errno or an empty Descriptor do not throw; the others throw system_error().
// Threads: any; a Descriptor belongs to one owner.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepstore {

// Owns a descriptor; closes it when it goes.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor();
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); } // the caller's from now on
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

// A file or directory of a pool: a name below a directory that is held open. So it stays this pool's,
// whatever becomes of the path. No symbolic link below the directory is ever followed. By a link, a user who
// may write in a pool could lead others to their own files. As a text it is the path, for messages.
class RootedPath {
public:
    RootedPath() = default;
    // The directory of this path, in which links are followed. Empty, and errno, when it cannot be opened.
    static RootedPath directory(const std::string& path);
    RootedPath operator/(const std::string& name) const;
    explicit operator bool() const { return root_ != nullptr; }
    operator const std::string&() const { return path_; }
    int root() const { return root_->get(); } // opened with O_PATH
    // Relative to the root; "." for the root itself.
    std::string below() const { return path_.size() == root_length_ ? "." : path_.substr(root_length_ + 1); }
    std::string name() const { return path_.substr(path_.rfind('/') + 1); }
    RootedPath parent() const; // not of the root

private:
    std::shared_ptr<const Descriptor> root_;
    std::size_t root_length_ = 0;
    std::string path_;
};
inline std::string operator+(const std::string& text, const RootedPath& place)
{
    return text + static_cast<const std::string&>(place);
}
inline std::string operator+(const RootedPath& place, const std::string& text)
{
    return static_cast<const std::string&>(place) + text;
}

// open(2) with O_CLOEXEC, again after EINTR. An empty Descriptor and errno on
// failure. In a pool ELOOP where a link is in the way, EINVAL where something else than a file or directory
// is.
Descriptor open_file(const std::string& path, int flags, unsigned mode = 0666);
Descriptor open_file(const RootedPath& place, int flags, unsigned mode = 0666);

// For libraries that open by path: a path that leads to this directory as long as the object lives.
class DirectoryPath {
public:
    explicit DirectoryPath(const RootedPath& directory); // throws
    const char* get() const { return path_.c_str(); }

private:
    Descriptor fd_;
    std::string path_;
};

// A file that is there only to be locked. A user who may read a file may lock it. So only users who may write
// its directory may read it; the owner and root mend its mode. It is opened for reading and writing, and
// (make) made where it is missing. On failure: an empty Descriptor and errno.
Descriptor open_lock_file(const RootedPath& place, bool make = true);

// All of it at this offset, in calls of at most 1 GiB and IOV_MAX pieces, again
// after EINTR and after a short write. 0 or the errno (ENOSPC where a write
// took nothing).
int write_all(int fd, const std::vector<Bytes>& pieces, std::uint64_t offset);
// As much as there is: the number of bytes read, less than into.size() only at
// the end of the file. -1 and errno on failure.
std::int64_t read_all(int fd, MutableBytes into, std::uint64_t offset);
// The same into several pieces of memory, in calls as in write_all.
std::int64_t read_all(int fd, const std::vector<MutableBytes>& into, std::uint64_t offset);
// Asks the kernel to drop its copy of these bytes of a file. What was changed here and not written yet stays.
void drop_cached(int fd, std::uint64_t offset, std::uint64_t length);
// The first bytes of a file, at most so many. nullopt and errno on failure.
std::optional<std::string> read_text(int fd, std::size_t most = 4096);
// A file that was not there, with this content, synced. Throws.
void make_file(const RootedPath& place, Bytes content);
// ftruncate(2), again after EINTR. 0 or the errno.
int resize_file(int fd, std::uint64_t bytes);
// Gives the room of these bytes of a file back. 0 or the errno: EOPNOTSUPP where the file system keeps it.
int punch_hole(int fd, std::uint64_t offset, std::uint64_t length);

// fcntl(2) with a lock, again after EINTR. command: F_OFD_SETLK and such; kind: F_RDLCK, F_WRLCK or F_UNLCK;
// length 0: to the end. The kind that F_OFD_GETLK found; nullopt and errno on failure.
std::optional<int> lock_bytes(int fd, int command, int kind, std::uint64_t at = 0, std::uint64_t length = 0);
// A lock on the whole file that belongs to the open file (not to the process:
// closing another descriptor of the same file does not drop it). False when
// another holder is in the way, without waiting. Throws what else goes wrong,
// named `where`.
enum class Lock : std::uint8_t { shared, exclusive };
bool try_lock(int fd, Lock kind, const std::string& where);

std::uint64_t size_of(int fd, const std::string& where);       // bytes
std::uint64_t fresh_size_of(int fd, const std::string& where); // the same, asked from a file system's server
// Bytes that take space.
std::uint64_t allocated_of(int fd, const std::string& where);
bool lies_at(int fd, const RootedPath& place); // the open file is the one of that name
bool same_file(int one, int other, const std::string& where);
// No name leads to the file any more.
bool unlinked(int fd, const std::string& where);
std::uint64_t links_of(const RootedPath& place); // names that lead to the file; 0: there is none
bool exists(const RootedPath& place);            // also as a link that leads nowhere
bool can_write(const RootedPath& place);         // by its permissions; errno when not

// 0 or the errno. remove: a file or a link, or an empty directory.
int make_directory(const RootedPath& place);
int make_directories(const RootedPath& place); // with those above it that are missing; 0 where all are there
int rename_file(const RootedPath& from, const RootedPath& to); // also into another directory
int link_file(const RootedPath& from, const RootedPath& to);   // the same; EEXIST
// A name that holds a short text, made at once: a symbolic link, which nobody follows. EEXIST.
int make_note(const RootedPath& place, const std::string& text);
// nullopt and errno on failure: EINVAL, it is a file or a directory.
std::optional<std::string> read_note(const RootedPath& place);
int remove(const RootedPath& place);
int remove_tree(const RootedPath& place); // with all that is below it; links are removed and not followed

// The names in a directory, without . and .., sorted. Throws when it cannot be
// read.
std::vector<std::string> names_in(const RootedPath& directory);
// Calls `each` with every name in a directory, in any order. False: there is no such directory. Throws when
// it cannot be read.
enum class NameKind : std::uint8_t { file, note, directory, other };
bool for_each_name(const RootedPath& directory, FunctionRef<void(const char* name, NameKind kind)> each);
// fsync of a directory: the names in it survive a power failure.
void sync_directory(const RootedPath& directory);
void sync_directory(const std::string& directory);
void sync_directory(const Descriptor& fd, const std::string& directory); // which is open
// fsync of all files and directories of this name and below, in any order. Links, and what is not there any
// more, are passed over.
void sync_tree(const RootedPath& place);

} // namespace stepstore
