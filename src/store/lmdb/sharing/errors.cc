#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>
#include <lmdb.h>

namespace stepstore::store::lmdb {

namespace {

constexpr const char* damaged_index =
    "the index file is damaged; \"stepstore pool check\" says what can be saved";

const Meaning meanings[] = {
    {MDB_KEYEXIST, DER_EXIST, "the key exists already"},
    {MDB_NOTFOUND, DER_NONEXIST, "the key does not exist"},
    {MDB_PAGE_NOTFOUND, DER_CSUM,
     "the index refers to a page that does not exist: the index file is damaged"},
    {MDB_CORRUPTED, DER_CSUM, damaged_index},
    {MDB_PANIC, DER_IO,
     "an earlier failure of the disk made the index unusable for this process: open the pool again"},
    {MDB_VERSION_MISMATCH, DER_DF_INCOMPT, "the index file was written by another major version of LMDB"},
    {MDB_INVALID, DER_DF_INVAL, "the index file is not an LMDB file, or its first pages are damaged"},
    {MDB_MAP_FULL, DER_NOSPACE, "the map of the index is full and cannot grow"},
    {MDB_DBS_FULL, DER_OVERFLOW, "LMDB's number of databases is used up"},
    {MDB_READERS_FULL, DER_BUSY, "all reader slots of the index are taken: too many readers at once"},
    {MDB_TLS_FULL, DER_NOMEM, "no thread-local storage is left"},
    {MDB_TXN_FULL, DER_OVERFLOW, "the transaction changes too many pages: divide it"},
    {MDB_CURSOR_FULL, DER_CSUM, "the index is deeper than possible: the index file is damaged"},
    {MDB_PAGE_FULL, DER_CSUM, "a page is fuller than possible: the index file is damaged"},
    {MDB_MAP_RESIZED, DER_AGAIN, "another process made the index larger"},
    {MDB_INCOMPATIBLE, DER_DF_INVAL, "the index has content of another kind than expected"},
    {MDB_BAD_RSLOT, DER_BUSY, "a reader slot of the index is used twice"},
    {MDB_BAD_TXN, DER_IO, "the transaction failed in an earlier operation"},
    {MDB_BAD_VALSIZE, DER_REC2BIG,
     "the key or value has a size that LMDB cannot store (keys 1 to 511 bytes, values below 4 GiB)"},
    {MDB_BAD_DBI, DER_IO, "LMDB's database handle changed unexpectedly"},
};

} // namespace

Error error_of(int code, const std::string& where, const std::string& tried)
{
    if (code >= 0) return system_error(code, where, tried);
    return stepstore::error_of(meanings, code, where, tried,
                               "LMDB error " + std::to_string(code) + " (" + mdb_strerror(code) + ")");
}

void fail(int code, const std::string& where, const std::string& tried)
{
    throw error_of(code, where, tried);
}

} // namespace stepstore::store::lmdb
