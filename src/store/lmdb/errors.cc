#include "store/lmdb/errors.h"

#include <daos_errno.h>
#include <lmdb.h>

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

struct Meaning {
    int code;
    int der;
    const char* text;
};

constexpr const char* damaged_index = "the index file is damaged; \"stepstore pool "
                                "check\" says what can be saved";

const Meaning meanings[] = {
    // LMDB
    {MDB_KEYEXIST, DER_EXIST, "the key exists already"},
    {MDB_NOTFOUND, DER_NONEXIST, "the key does not exist"},
    {MDB_PAGE_NOTFOUND, DER_CSUM, "a page that the index refers to is not there: the index file is damaged"},
    {MDB_CORRUPTED, DER_CSUM, damaged_index},
    {MDB_PANIC, DER_IO,
     "an earlier failure of the disk made the index unusable for this process: "
     "open the pool again"},
    {MDB_VERSION_MISMATCH, DER_DF_INCOMPT, "the index file was written by another major version of LMDB"},
    {MDB_INVALID, DER_DF_INVAL, "the index file is no LMDB file, or its first pages are damaged"},
    {MDB_MAP_FULL, DER_NOSPACE, "the map of the index is full and cannot grow"},
    {MDB_DBS_FULL, DER_OVERFLOW, "LMDB's number of databases is used up"},
    {MDB_READERS_FULL, DER_BUSY, "all reader slots of the index are taken: too many readers at once"},
    {MDB_TLS_FULL, DER_NOMEM, "no thread-local storage is left"},
    {MDB_TXN_FULL, DER_OVERFLOW, "the transaction changes too many pages: divide it"},
    {MDB_CURSOR_FULL, DER_CSUM, "the index is deeper than possible: the index file is damaged"},
    {MDB_PAGE_FULL, DER_CSUM, "a page is fuller than possible: the index file is damaged"},
    {MDB_MAP_RESIZED, DER_AGAIN, "another process made the index larger"},
    {MDB_INCOMPATIBLE, DER_DF_INVAL, "the index has another kind of content than expected"},
    {MDB_BAD_RSLOT, DER_BUSY, "a reader slot of the index is used twice"},
    {MDB_BAD_TXN, DER_IO, "the transaction failed before"},
    {MDB_BAD_VALSIZE, DER_REC2BIG,
     "the key or value has a size that LMDB cannot store (keys 1 to 511 bytes, "
     "values below 4 GiB)"},
    {MDB_BAD_DBI, DER_IO, "LMDB's database handle changed unexpectedly"},
    // the system
    {ENOSPC, DER_NOSPACE,
     "the disk is full: free some space and try again, nothing that was stored "
     "is lost"},
    {EDQUOT, DER_NOSPACE, "the disk quota is used up: nothing that was stored is lost"},
    {EFBIG, DER_NOSPACE,
     "the file would be larger than the file system or the limit on file sizes "
     "(ulimit -f) allows"},
    {EACCES, DER_NO_PERM, "permission denied"},
    {EPERM, DER_NO_PERM, "not permitted"},
    {EROFS, DER_NO_PERM, "the file system is read-only"},
    {ENOENT, DER_NONEXIST, "no such file or directory"},
    {ENOTDIR, DER_NOTDIR, "a part of the path is no directory"},
    {EEXIST, DER_EXIST, "it exists already"},
    {ENOTEMPTY, DER_EXIST, "the directory is not empty"},
    {ENAMETOOLONG, DER_EXCEEDS_PATH_LEN, "the path is too long"},
    {ELOOP, DER_BADPATH,
     "a symbolic link is in the way: inside a pool none is followed (targets on other disks: \"stepstore pool create "
     "--target-dir\")"},
    {EISDIR, DER_BADPATH, "it is a directory"},
    {EINVAL, DER_INVAL,
     "the system calls the argument invalid (a file system without memory maps "
     "or file locks?)"},
    {ENOMEM, DER_NOMEM, "out of memory or address space (ulimit -v)"},
    {EMFILE, DER_NOMEM, "this process has too many open files (ulimit -n)"},
    {ENFILE, DER_NOMEM, "the system has too many open files"},
    {EAGAIN, DER_AGAIN, "try again"},
    {EBUSY, DER_BUSY, "in use"},
    {ETXTBSY, DER_BUSY, "in use"},
    {EIO, DER_IO, "the disk reported an input or output error"},
    {EBADF, DER_IO, "the file was closed behind the library's back"},
    {ENODEV, DER_IO,
     "the file system cannot map files into memory: put the pool on a local "
     "disk"},
    {ENOLCK, DER_IO, "the file system has no file locks: put the pool on a local disk"},
    {EOPNOTSUPP, DER_NOTSUPPORTED, "the file system cannot do that"},
    {ENOSYS, DER_NOSYS, "the system cannot do that"},
    {ETIMEDOUT, DER_TIMEDOUT, "the time ran out"},
    {ESTALE, DER_IO, "the file was replaced on the server of the file system"},
};

} // namespace

Error error_of(int code, const std::string& where, const std::string& tried)
{
    for (const Meaning& meaning : meanings) {
        if (meaning.code == code) return {-meaning.der, where + ": " + tried + ": " + meaning.text};
    }
    const char* kind = code < 0 ? "LMDB error " : "system error ";
    return {-DER_IO, where + ": " + tried + ": " + kind + std::to_string(code) + " (" + mdb_strerror(code) + ")"};
}

void fail(int code, const std::string& where, const std::string& tried)
{
    throw error_of(code, where, tried);
}

void fail_errno(const std::string& where, const std::string& tried)
{
    throw error_of(errno, where, tried);
}

std::string owner_of(const std::string& path)
{
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return {};
    return "; " + path + " belongs to user " + std::to_string(status.st_uid) + ", this process runs as user " +
           std::to_string(geteuid());
}

} // namespace stepstore::store::lmdb
