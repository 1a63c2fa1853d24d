#include "steps/file.h"

#include "base/sync.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace stepstore::steps {

namespace {

[[noreturn]] void fail(const std::string& tried, const std::string& path)
{
    const int error = errno;
    int code = -DER_IO;
    switch (error) {
    case ENOENT: code = -DER_NONEXIST; break;
    case EACCES:
    case EPERM:
    case EROFS: code = -DER_NO_PERM; break;
    case ENOSPC:
    case EFBIG: // a limit on the size of files
    case EDQUOT: code = -DER_NOSPACE; break;
    case ENOMEM: code = -DER_NOMEM; break;
    default: break;
    }
    throw Error(code, "cannot " + tried + " " + path + ": " + std::strerror(error));
}

} // namespace

File File::create(const std::string& path)
{
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) fail("make the file", path);
    return {descriptor, path};
}

std::optional<File> File::open(const std::string& path)
{
    return open_existing(path, O_RDONLY);
}

std::optional<File> File::open_to_write(const std::string& path)
{
    return open_existing(path, O_RDWR);
}

std::optional<File> File::open_existing(const std::string& path, int flags)
{
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
    if (descriptor >= 0) return File(descriptor, path);
    if (errno == ENOENT) return std::nullopt;
    fail("open the file", path);
}

File::~File()
{
    if (descriptor_ >= 0) ::close(descriptor_);
}

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_))
{
}

File& File::operator=(File&& other) noexcept
{
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
}

void File::write(std::uint64_t at, Bytes bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("write to", path_);
        at += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

std::size_t File::read(std::uint64_t at, MutableBytes into) const
{
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t got = ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail("read from", path_);
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

std::uint64_t File::size() const
{
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("ask for the size of", path_);
    return static_cast<std::uint64_t>(status.st_size);
}

void File::shorten(std::uint64_t size)
{
    if (this->size() <= size) return;
    while (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
        if (errno != EINTR) fail("shorten", path_);
}

void File::sync()
{
    while (::fdatasync(descriptor_) != 0)
        if (errno != EINTR) fail("sync", path_);
}

void sync_directory(const std::string& path)
{
    errno = sync_path(path);
    if (errno != 0) fail("sync the directory", path);
}

} // namespace stepstore::steps
