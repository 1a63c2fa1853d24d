#include "steps/file.h"

#include "base/system_error.h"
#include "base/time_source.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepstore::steps {

// Never empties a file that is there: it might have another name elsewhere.
File File::create(const RootedPath& place)
{
    remove(place);
    Descriptor descriptor = open_file(place, O_RDWR | O_CREAT | O_EXCL);
    if (!descriptor) fail_errno(place, "cannot make the file");
    File file(std::move(descriptor), place);
    note_file_access({FileAccess::open, file.path()});
    return file;
}

std::optional<File> File::open(const RootedPath& place)
{
    return open_existing(place, O_RDONLY);
}

std::optional<File> File::open_to_write(const RootedPath& place)
{
    return open_existing(place, O_RDWR);
}

std::optional<File> File::open_existing(const RootedPath& place, int flags)
{
    Descriptor descriptor = open_file(place, flags);
    if (descriptor) {
        File file(std::move(descriptor), place);
        note_file_access({FileAccess::open, file.path()});
        return file;
    }
    if (errno == ENOENT) return std::nullopt;
    fail_errno(place, "cannot open the file");
}

void File::write(std::uint64_t at, Bytes bytes)
{
    if (const int error = write_all(descriptor_.get(), {bytes}, at); error != 0)
        throw system_error(error, path(), "cannot write to the file");
    note_file_access({FileAccess::write, path(), at, bytes.size()});
}

std::size_t File::read(std::uint64_t at, MutableBytes into) const
{
    const std::int64_t got = read_all(descriptor_.get(), into, at);
    if (got < 0) fail_errno(path(), "cannot read from the file");
    if (notes_file_accesses())
        note_file_access({FileAccess::read, path(), at, static_cast<std::uint64_t>(got), size()});
    return static_cast<std::size_t>(got);
}

std::size_t File::read_again(std::uint64_t at, MutableBytes into) const
{
    drop_cached(descriptor_.get(), at, into.size());
    return read(at, into);
}

std::uint64_t File::size() const
{
    return stepstore::size_of(descriptor_.get(), path());
}

std::uint64_t File::names() const
{
    struct stat status {};
    if (::fstat(descriptor_.get(), &status) != 0) fail_errno(path(), "cannot look at the file");
    return status.st_nlink;
}

void File::shorten(std::uint64_t size)
{
    if (this->size() <= size) return;
    while (::ftruncate(descriptor_.get(), static_cast<off_t>(size)) != 0)
        if (errno != EINTR) fail_errno(path(), "cannot shorten the file");
}

void File::sync()
{
    while (::fdatasync(descriptor_.get()) != 0)
        if (errno != EINTR) fail_errno(path(), "cannot sync the file");
    note_file_access({FileAccess::sync, path()});
}

} // namespace stepstore::steps
