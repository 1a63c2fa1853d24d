#include "base/system_error.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace stepstore {

namespace {

const Meaning meanings[] = {
    {ENOSPC, DER_NOSPACE, "the disk is full: free some space and try again, nothing that was stored is lost"},
    {EDQUOT, DER_NOSPACE, "the disk quota is used up: nothing that was stored is lost"},
    {EFBIG, DER_NOSPACE,
     "the file would be larger than the file system or the limit on file sizes (ulimit -f) allows"},
    {EACCES, DER_NO_PERM, "permission denied"},
    {EPERM, DER_NO_PERM, "not permitted"},
    {EROFS, DER_NO_PERM, "the file system is read-only"},
    {ENOENT, DER_NONEXIST, "no such file or directory"},
    {ENOTDIR, DER_NOTDIR, "a part of the path is not a directory"},
    {EEXIST, DER_EXIST, "it exists already"},
    {ENOTEMPTY, DER_EXIST, "the directory is not empty"},
    {ENAMETOOLONG, DER_EXCEEDS_PATH_LEN, "the path is too long"},
    {ELOOP, DER_BADPATH,
     "it is a symbolic link, and none is followed inside a pool: to put targets on other disks use "
     "'stepstore pool create --target-dir'"},
    {EISDIR, DER_BADPATH, "it is a directory"},
    {EINVAL, DER_INVAL,
     "the system refuses the argument: the file system may lack memory maps or file locks"},
    {ENOMEM, DER_NOMEM, "out of memory or address space (ulimit -v)"},
    {EMFILE, DER_NOMEM, "this process has too many open files (ulimit -n)"},
    {ENFILE, DER_NOMEM, "the system has too many open files"},
    {EAGAIN, DER_AGAIN, "try again"},
    {EBUSY, DER_BUSY, "in use"},
    {ETXTBSY, DER_BUSY, "in use"},
    {EIO, DER_IO, "the disk reported an input or output error"},
    {EBADF, DER_IO, "other code of this process closed the file"},
    {ENODEV, DER_IO,
     "the file system cannot map files into memory: put the pool on a local disk, or make one in files "
     "(shared:PATH)"},
    {ENOLCK, DER_IO, "the file system has no file locks: put the pool on a local disk"},
    {EOPNOTSUPP, DER_NOTSUPPORTED, "the file system cannot do that"},
    {ENOSYS, DER_NOSYS, "the system cannot do that"},
    {ETIMEDOUT, DER_TIMEDOUT, "the time ran out"},
    {ESTALE, DER_IO, "the file was replaced on the server of the file system"},
    {EXDEV, DER_BADPATH, "the path leads out of the directory"},
};

} // namespace

Error error_of(std::span<const Meaning> meanings, int error, const std::string& where,
               const std::string& tried, const std::string& unknown)
{
    const auto found = std::ranges::find(meanings, error, &Meaning::error);
    if (found == meanings.end()) return {-DER_IO, where + ": " + tried + ": " + unknown};
    return {-found->der, where + ": " + tried + ": " + found->text};
}

Error system_error(int error, const std::string& where, const std::string& tried)
{
    return error_of(meanings, error, where, tried,
                    "system error " + std::to_string(error) + " (" + std::generic_category().message(error) +
                        ")");
}

void fail_errno(const std::string& where, const std::string& tried)
{
    throw system_error(errno, where, tried);
}

std::string owner_of(const std::string& path)
{
    const int error = errno; // which the caller is about to tell
    struct stat status {};
    const bool found = error != ELOOP && stat(path.c_str(), &status) == 0;
    errno = error;
    if (!found) return {};
    return "; " + path + " belongs to user " + std::to_string(status.st_uid) +
           ", this process runs as user " + std::to_string(geteuid());
}

} // namespace stepstore
