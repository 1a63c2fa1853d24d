#include "store/lmdb/files.h"

#include "store/lmdb/errors.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr std::size_t call_limit = std::size_t{1} << 30; // bytes a call; the kernel's own limit is just below 2 GiB

struct stat status_of(int fd, const std::string& where)
{
    struct stat status {};
    if (fstat(fd, &status) != 0) fail_errno(where, "cannot look at the file");
    return status;
}

// Takes `done` bytes off the front of the pieces, from piece `first` on.
void advance(std::vector<iovec>& pieces, std::size_t& first, std::size_t done)
{
    while (first < pieces.size() && done >= pieces[first].iov_len) {
        done -= pieces[first].iov_len;
        ++first;
    }
    if (first == pieces.size()) return;
    pieces[first].iov_base = static_cast<std::byte*>(pieces[first].iov_base) + done;
    pieces[first].iov_len -= done;
}

} // namespace

Descriptor::~Descriptor()
{
    if (fd_ >= 0) close(fd_);
}

Descriptor open_file(const std::string& path, int flags, unsigned mode)
{
    int fd;
    do
        fd = open(path.c_str(), flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return Descriptor(fd);
}

int write_all(int fd, const std::vector<Bytes>& pieces, std::uint64_t offset)
{
    std::vector<iovec> rest;
    rest.reserve(pieces.size());
    for (const Bytes& piece : pieces) {
        // No call may take more than the limit, so no piece is longer than it.
        for (std::size_t at = 0; at < piece.size(); at += call_limit) {
            const std::size_t length = std::min(call_limit, piece.size() - at);
            rest.push_back({const_cast<std::byte*>(piece.data() + at), length});
        }
    }
    std::size_t first = 0;
    while (first < rest.size()) {
        std::size_t count = 0;
        std::size_t bytes = 0;
        while (first + count < rest.size() && count < IOV_MAX && bytes + rest[first + count].iov_len <= call_limit)
            bytes += rest[first + count++].iov_len;
        const ssize_t done = pwritev(fd, rest.data() + first, static_cast<int>(count), static_cast<off_t>(offset));
        if (done < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (done == 0) return ENOSPC;
        offset += static_cast<std::uint64_t>(done);
        advance(rest, first, static_cast<std::size_t>(done));
    }
    return 0;
}

std::int64_t read_all(int fd, MutableBytes into, std::uint64_t offset)
{
    std::size_t done = 0;
    while (done < into.size()) {
        const std::size_t length = std::min(call_limit, into.size() - done);
        const ssize_t got = pread(fd, into.data() + done, length, static_cast<off_t>(offset + done));
        if (got < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return static_cast<std::int64_t>(done);
}

bool try_lock(int fd, Lock kind, const std::string& where)
{
    struct flock lock {};
    lock.l_type = static_cast<short>(kind == Lock::shared ? F_RDLCK : F_WRLCK);
    lock.l_whence = SEEK_SET;
    while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        if (errno == EAGAIN || errno == EACCES) return false;
        if (errno != EINTR) fail_errno(where, "cannot lock the file");
    }
    return true;
}

std::uint64_t size_of(int fd, const std::string& where)
{
    return static_cast<std::uint64_t>(status_of(fd, where).st_size);
}

std::uint64_t allocated_of(int fd, const std::string& where)
{
    return static_cast<std::uint64_t>(status_of(fd, where).st_blocks) * 512; // st_blocks counts 512 bytes everywhere
}

bool unlinked(int fd, const std::string& where)
{
    return status_of(fd, where).st_nlink == 0;
}

bool lies_at(int fd, const std::string& path)
{
    const struct stat open = status_of(fd, path);
    struct stat there {};
    return stat(path.c_str(), &there) == 0 && there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

bool exists(const std::string& path)
{
    struct stat status {};
    return lstat(path.c_str(), &status) == 0;
}

std::vector<std::string> names_in(const std::string& directory)
{
    DIR* stream = opendir(directory.c_str());
    if (stream == nullptr) {
        const int error = errno;
        throw error_of(error, directory, "cannot list the directory" + (error == EACCES ? owner_of(directory) : ""));
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(stream)) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") names.push_back(name);
        errno = 0;
    }
    const int error = errno;
    closedir(stream);
    if (error != 0) fail(error, directory, "cannot list the directory");
    std::ranges::sort(names);
    return names;
}

void sync_directory(const std::string& directory)
{
    const Descriptor fd = open_file(directory, O_RDONLY | O_DIRECTORY);
    if (!fd) fail_errno(directory, "cannot open the directory");
    if (fsync(fd.get()) != 0 && errno != EINVAL) fail_errno(directory, "cannot sync the directory");
}

} // namespace stepstore::store::lmdb
