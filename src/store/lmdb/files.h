// File descriptors, whole reads and writes, and locks on whole files, for the
// LMDB back end.
#pragma once

#include "base/bytes.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stepstore::store::lmdb {

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
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

// open(2) with O_CLOEXEC, again after EINTR. An empty Descriptor and errno on
// failure.
Descriptor open_file(const std::string& path, int flags, unsigned mode = 0666);

// All of it at this offset, in calls of at most 1 GiB and IOV_MAX pieces, again
// after EINTR and after a short write. 0 or the errno (ENOSPC where a write
// took nothing).
int write_all(int fd, const std::vector<Bytes>& pieces, std::uint64_t offset);
// As much as there is: the number of bytes read, less than into.size() only at
// the end of the file. -1 and errno on failure.
std::int64_t read_all(int fd, MutableBytes into, std::uint64_t offset);

// A lock on the whole file that belongs to the open file (not to the process:
// closing another descriptor of the same file does not drop it). False when
// another holder is in the way, without waiting. Throws what else goes wrong,
// named `where`.
enum class Lock : std::uint8_t { shared, exclusive };
bool try_lock(int fd, Lock kind, const std::string& where);

std::uint64_t size_of(int fd, const std::string& where); // bytes
std::uint64_t allocated_of(int fd,
                           const std::string& where); // bytes that take space
bool lies_at(int fd, const std::string& path); // the open file is the one of that name
bool unlinked(int fd,
              const std::string& where); // no name leads to the file any more
bool exists(const std::string& path);

// The names in a directory, without . and .., sorted. Throws when it cannot be
// read.
std::vector<std::string> names_in(const std::string& directory);
// fsync of a directory: the names in it survive a power failure.
void sync_directory(const std::string& directory);

} // namespace stepstore::store::lmdb
