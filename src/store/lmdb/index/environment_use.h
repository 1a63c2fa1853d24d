// What the transactions of an environment hold while they run. Only the files environment*.cc include it.
#pragma once

#include "base/not_copied.h"
#include "stepstore/error.h"
#include "store/lmdb/index/environment.h"

#include <daos_errno.h>

namespace stepstore::store::lmdb {

// A use of the map by one transaction, shared with all others.
class Environment::MapUse : NotCopied {
public:
    explicit MapUse(Environment& env) : env_(env)
    {
        if (env.growers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            env.step_back();
        env.map_guard_.lock_shared();
        if (env.env_ == nullptr) [[unlikely]] {
            env.map_guard_.unlock_shared();
            throw Error(-DER_IO,
                        env.where_ + ": the index in " + env.directory_ +
                            " could not be opened again: close the pool; the error before this one says why");
        }
    }
    ~MapUse() { env_.map_guard_.unlock_shared(); }

private:
    Environment& env_;
};

// A write transaction, aborted when it goes without having been committed.
class Environment::Transaction : NotCopied {
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

} // namespace stepstore::store::lmdb
