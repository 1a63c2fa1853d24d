#include "store/lmdb/sharing/reader_table.h"

#include "stepstore/error.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <span>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr std::uint64_t header = 2; // slots
constexpr std::uint64_t first_page = 4096;
constexpr std::uint64_t whole = (header + ReaderTable::slots) * ReaderTable::slot_size;

} // namespace

void ReaderTable::open()
{
    constexpr std::uint32_t lmdb_magic = 0xBEEFC0DE;
    fd_ = open_lock_file(path_);
    if (!fd_ && (errno == EACCES || errno == EROFS)) return; // LMDB says what that means
    if (!fd_) fail_errno(where_, "cannot open " + path_ + owner_of(path_));
    std::uint32_t begin = 0;
    const std::int64_t got = read_all(fd_.get(), std::as_writable_bytes(std::span(&begin, 1)), 0);
    const bool ours = got == 0 || (got == sizeof begin && (begin == lmdb_magic || begin == 0));
    if (!ours)
        throw Error(-DER_DF_INVAL, where_ + ": " + path_ +
                                       " is not a lock file of LMDB, so it was not changed: remove it if the "
                                       "pool is yours, and open the pool again");
    room_ = 0;
    if (const int error = make_room(1); error != 0) fail(error, where_, "cannot get room for " + path_);
}

int ReaderTable::begin(MDB_env* env, MDB_txn** transaction)
{
    if (!fd_ || room_.load(std::memory_order_relaxed) >= whole)
        return mdb_txn_begin(env, nullptr, MDB_RDONLY, transaction);
    const WritersFile::Opening alone(writers_, target_, where_);
    return begin_alone(env, transaction);
}

int ReaderTable::begin_alone(MDB_env* env, MDB_txn** transaction)
{
    MDB_envinfo info;
    mdb_env_info(env, &info);
    const std::uint64_t most = std::min<std::uint64_t>(info.me_numreaders + 1, slots);
    if (const int error = fd_ ? make_room(most) : 0; error != 0) return error;
    return mdb_txn_begin(env, nullptr, MDB_RDONLY, transaction);
}

// With Opening held. Returns 0 or an errno.
int ReaderTable::make_room(std::uint64_t readers)
{
    const std::uint64_t needed = std::max((header + readers) * slot_size, first_page);
    if (room_ >= needed) return 0;
    // Other processes may have made it. Room that nobody has written to counts as a hole, and is asked for
    // again.
    const off_t hole = lseek(fd_.get(), 0, SEEK_HOLE);
    std::uint64_t room = hole < 0 ? 0 : std::min(static_cast<std::uint64_t>(hole), whole);
    if (room < needed) {
        room = std::min(std::bit_ceil(needed), whole);
        if (fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(room)) != 0) {
            if (errno == EDQUOT) return ENOSPC;
            if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
            room = whole; // nobody can give it any: as it comes
        }
    }
    room_ = room;
    return 0;
}

void ReaderTable::close(Use use) noexcept
try {
    if (!fd_) return;
    if (use == Use::over) {
        const WritersFile::Opening alone(writers_, target_);
        if (alone.held() && lock_bytes(fd_.get(), F_SETLK, F_WRLCK, 0, 1) &&
            size_of(fd_.get(), where_) > first_page)
            (void)!ftruncate(fd_.get(), static_cast<off_t>(first_page)); // where it fails it stays long
    }
    fd_ = {};
} catch (...) { // no memory: it stays long
    fd_ = {};
}

} // namespace stepstore::store::lmdb
