// LMDB's environment of one index: opening, closing, and its map. Only this class knows the caveats of
// lmdb.h about them.
//
// The map. It begins small and doubles when a transaction finds it full, which is then run again. LMDB wants
// no transaction of this process while the map moves: every transaction holds the guard shared (Use), the
// growing one takes it exclusive. A reader that meets a waiting grower steps back for a moment, so that
// endless reads cannot keep it out. It does not step back for ever: the grower may wait for a transaction
// that waits, over another target, for that reader. Growth by another process is met as MDB_MAP_RESIZED when
// a transaction begins, and adopted in the same way.
//
// Opening. LMDB allocates and clears 3 MiB for each index that it opens for writing. That takes longer than
// the rest of a short-lived reader's work. So an index whose first use is a read is opened for reading only.
// The first write opens it again for writing, with the guard held exclusive. This process has no transaction
// meanwhile, so none finds it closed. Growth by another process that meets an opening is adopted by the
// opener (adopt_alone): it holds the guard already, or nobody else knows of the map yet.
//
// Any thread may call what has no other remark. A forked child leaves all of it to its parent (fork.h).
// Errors: those of the system and of LMDB (errors.h); -DER_CSUM: the file is damaged; -DER_DF_INVAL: it was
// removed or replaced; -DER_IO: it could not be opened again.
#pragma once

#include "base/not_copied.h"
#include "store/lmdb/index/index_file.h"
#include "store/lmdb/index/reader_pool.h"
#include "store/lmdb/sharing/reader_table.h"
#include "store/lmdb/sharing/version_keeper.h"

#include <atomic>
#include <lmdb.h>
#include <mutex>
#include <optional>
#include <shared_mutex>

namespace stepstore::store::lmdb {

class LmdbMap : NotCopied {
public:
    class Use;
    class Transaction;
    class Writing;
    class OthersWait;

    static constexpr std::size_t first_size = std::size_t{64} << 20; // bytes

    // Makes an empty index in the target's directory, which must exist.
    static void create(const TargetFiles& target);
    // read_only: the files cannot be written. unseen: nor can the lock file, so that LMDB is not opened.
    // for_writing: as it is opened; else anew at the first write.
    LmdbMap(const TargetFiles& target, IndexFile& file, bool read_only, bool unseen, bool for_writing);
    ~LmdbMap();

    bool unseen() const { return unseen_; }
    bool is_for_writing() const { return for_writing_.load(std::memory_order_relaxed); }
    void open_for_writing() // without a use of the map
    {
        if (!for_writing_.load(std::memory_order_acquire)) [[unlikely]]
            open_again();
    }
    void to_be_opened_again() { for_writing_ = false; } // by the next call of the one before

    // Without a use of the map. seen: its size when it was too small for what is `wanted` at once.
    void grow(std::size_t seen, std::size_t wanted);
    void adopt(); // another process's growth

    // With a use of the map.
    MDB_env* env() { return env_; }
    MDB_dbi database() const { return database_; }
    std::size_t size() const { return size_.load(); } // bytes
    MDB_envinfo info() const
    {
        MDB_envinfo info;
        mdb_env_info(env_, &info);
        return info;
    }
    ReaderPool& readers() { return readers_; }
    ReaderTable& table() { return table_; }
    VersionKeeper& keeper() { return keeper_; }

    std::uint64_t known_failures() const { return known_failures_.load(); } // see index_sync.h

private:
    void open(unsigned flags);
    void open_again();
    void close(ReaderTable::Use use);
    void adopt_alone();
    std::unique_lock<std::shared_mutex> stop_transactions(); // of this process, as long as it is held
    void step_back() const;
    [[noreturn]] void refuse() const;

    const TargetFiles& target_;
    IndexFile& file_;
    const std::uint64_t generation_;
    unsigned flags_ = 0;     // of opening it for what is allowed
    MDB_env* env_ = nullptr; // nullptr: it could not be opened again
    MDB_dbi database_ = 0;
    std::atomic<bool> for_writing_; // it is open for all that is allowed
    const bool unseen_;
    ReaderTable table_;
    VersionKeeper keeper_;
    ReaderPool readers_;

    std::shared_mutex guard_; // shared by transactions, exclusive while the map changes
    std::atomic<int> growers_{0};
    std::atomic<std::size_t> size_{0};
    std::atomic<std::uint64_t> known_failures_{0}; // syncs that had failed when LMDB opened the index
};

// A use of the map by one transaction, shared with all others.
class LmdbMap::Use : NotCopied {
public:
    explicit Use(LmdbMap& map) : map_(map)
    {
        if (map.growers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            map.step_back();
        map.guard_.lock_shared();
        if (map.env_ == nullptr) [[unlikely]] {
            map.guard_.unlock_shared();
            map.refuse();
        }
    }
    ~Use() { map_.guard_.unlock_shared(); }

private:
    LmdbMap& map_;
};

// A write transaction, aborted when it goes without having been committed.
class LmdbMap::Transaction : NotCopied {
public:
    Transaction(MDB_env* env, MDB_txn* parent) : result_(mdb_txn_begin(env, parent, 0, &transaction_)) {}
    ~Transaction()
    {
        if (transaction_ != nullptr) mdb_txn_abort(transaction_);
    }
    int result() const { return result_; } // of beginning
    MDB_txn* get() const { return transaction_; }
    // What LMDB asserts may end this by an exception, before anything is committed: then it is aborted too,
    // which gives back LMDB's lock on writers.
    int commit()
    {
        const int result = mdb_txn_commit(transaction_);
        transaction_ = nullptr;
        return result;
    }

private:
    MDB_txn* transaction_ = nullptr;
    int result_;
};

// A use of the map by a transaction that holds LMDB's lock on writers.
class LmdbMap::Writing : NotCopied {
public:
    explicit Writing(LmdbMap& map);
    Transaction& transaction() { return *transaction_; }

private:
    std::optional<Use> use_;
    std::optional<Transaction> transaction_;
};

// To change nothing, and to keep others from it.
class LmdbMap::OthersWait : Writing {
public:
    // inherited: the turn was a dead process's. Its notes are settled by the process that has its turn.
    OthersWait(LmdbMap& map, bool inherited);
};

} // namespace stepstore::store::lmdb
