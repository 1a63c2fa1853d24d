// Making and destroying a pool's directory.
//
// Making, so that of any number of callers exactly one succeeds and a dead one hinders nobody:
// 1. Make the directory and in it the lock file; take its exclusive lock. Others wait here, or find the
//    format file.
// 2. With the lock held: is there a format file? Then somebody was faster: DER_EXIST. What a maker or
//    destroyer left who died is removed: what their format file, under its unfinished name, says that they
//    made.
// 3. Write the format file under its unfinished name. From here on the directory holds an
//    unfinished pool.
// 4. Make the indices and the clock, and let the store write what a pool begins with.
// 5. Give the format file its name. From here on there is a pool, whole.
// 6. Turn the lock into a shared one: the pool is open.
// A process that opens the pool takes the shared lock and looks at the format file again under it. A process
// that destroys it takes the exclusive lock and gives the format file its unfinished name. Then it removes
// everything else, then that file, and last the lock file. A process that opened the lock file meanwhile sees
// that it has no name, and begins again.
//
// Threads: a Creation is for one; several threads and processes may make the same pool, which step 1 decides.
#pragma once

#include "base/not_copied.h"
#include "store/lmdb/pool_state.h"

namespace stepstore::store::lmdb {

// A pool that is not there yet for anybody else. What was made of it goes when it is not published.
class Creation : NotCopied {
public:
    Creation(const std::string& path, const NewPool& options); // steps 1 to 4; DER_EXIST
    ~Creation();

    const std::shared_ptr<PoolState>& state() const { return state_; }
    void publish(); // steps 5 and 6

private:
    void lock();
    void make_directories();
    void build();
    void take_back() noexcept;

    const std::string path_;
    const NewPool& options_;
    std::vector<std::string> made_; // directories, outer ones first
    RootedPath pool_;
    Descriptor lock_;
    std::shared_ptr<PoolState> state_;
    bool ours_ = false; // what lies there is this maker's
};

void destroy(const std::string& path);

Found look(const std::string& path) noexcept;

} // namespace stepstore::store::lmdb
