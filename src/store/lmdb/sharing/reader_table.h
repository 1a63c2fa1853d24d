// LMDB's table of readers at one target: the file lock.mdb. Each transaction that reads takes a slot there.
//
// The table has 1,022 slots and takes 64 KiB, several times what the index of a new target takes. Few pools
// ever use more than some slots. So the file takes what is used of it:
//
// 1. While nobody has the index open, the file is one page long, which is enough for 62 readers. The process
//    that opens it first makes it as long as the whole table (LMDB does). After the first page it is a hole.
// 2. LMDB maps the file. A process that takes a slot in a hole would end on a full disk (SIGBUS). So begin()
//    makes room for the slot first. LMDB gives a new reader a slot that was used before, or the one after
//    those. Processes come to begin() one after the other (WritersFile::Opening), so no other one takes the
//    slot for which the room was made. Once the whole table has room, nobody waits any more.
// 3. The last process that closes the index cuts the file down to its first page.
//    - A process that opens the index holds Opening until LMDB has its shared lock on the file, and who cuts
//      it holds Opening too. So if LMDB's exclusive lock can be had, nobody has the file open or opens it.
//    - A process that is killed before it leaves the file long. The next one that closes it cuts it.
//    - Of two that close at once, the first may find the lock of the other. Then the other one cuts.
//    - LMDB's locks are the process's, and go when any descriptor of the file is closed. So this one stays
//      open as long as LMDB has the file open. A forked child has none of these locks.
//
// Threads: begin() may be called by several, which Opening lets take turns; open() and close() are for one.
// Errors: DER_DF_INVAL of open(); begin() returns LMDB's code or an errno.
#pragma once

#include "base/files.h"
#include "base/not_copied.h"
#include "store/lmdb/sharing/writers_file.h"

#include <atomic>
#include <cstdint>
#include <lmdb.h>
#include <string>

namespace stepstore::store::lmdb {

class ReaderTable : NotCopied {
public:
    static constexpr unsigned slots = 1022;
    static constexpr std::size_t slot_size = 64; // bytes, in LMDB's lock file

    ReaderTable(const RootedPath& directory, const WritersFile& writers, unsigned target,
                const std::string& where)
        : path_(directory / "lock.mdb"), writers_(writers), target_(target), where_(where)
    {
    }

    // Before LMDB opens the file, with Opening held. LMDB writes over whatever it finds under the name. So a
    // file that is neither empty nor LMDB's is refused. Opens nothing if this process may not write it.
    void open();
    int descriptor() const { return fd_.get(); }
    // A new transaction that reads. Returns what LMDB returns, or an errno: ENOSPC where there is no room for
    // another slot.
    int begin(MDB_env* env, MDB_txn** transaction);
    int begin_alone(MDB_env* env, MDB_txn** transaction); // with Opening held
    // After LMDB closed it.
    enum class Use : std::uint8_t { over, goes_on }; // by this process
    void close(Use use) noexcept;
    const RootedPath& path() const { return path_; }

private:
    int make_room(std::uint64_t readers);

    const RootedPath path_;
    const WritersFile& writers_;
    const unsigned target_;
    const std::string& where_;
    Descriptor fd_;
    std::atomic<std::uint64_t> room_{0}; // bytes from the beginning
};

} // namespace stepstore::store::lmdb
