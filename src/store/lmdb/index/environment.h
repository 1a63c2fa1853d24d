// One LMDB environment: the index of one target. Each part has its own header, with its protocol:
//
//   reading.h, reader_pool.h   reading a version
//   lmdb_map.h, index_file.h   opening the index; its map, its file
//   group_commit.h             committing together
//   index_sync.h               syncs, and those that failed
//   index_space.h              old readers, giving back space
//
// This class runs the updates over them. Durability `process`: a transaction and a commit each, no sync
// (MDB_NOSYNC). Durability `power`: a commit syncs, so the calls that wait are committed together. The leader
// runs the body of every call in a nested transaction of one common transaction. A body that throws loses
// only its nested transaction. When the common transaction fails as a whole, each body runs again in a
// transaction of its own and gets its own result.
//
// Any thread may call it. A forked child leaves it to its parent, and opens its own (base/fork.h). Errors:
// those of the parts and of the bodies.
#pragma once

#include "base/function_ref.h"
#include "base/not_copied.h"
#include "store/lmdb/index/group_commit.h"
#include "store/lmdb/index/index_space.h"

#include <string>
#include <vector>

namespace stepstore::store::lmdb {

class Environment : NotCopied {
public:
    // read_only: the files cannot be written. no_lock: nor can the lock file, so that writers do not know of
    // this reader: it copies pages (tree.h) and does not open LMDB.
    // for_writing: as it is opened; else anew at the first write.
    Environment(const TargetFiles& target, bool read_only, bool no_lock, bool for_writing)
        : target_(target), file_(target), map_(target, file_, read_only, no_lock, for_writing)
    {
    }

    void read(FunctionRef<void(ReadTransaction&)> body) { reading_.read(body); }
    void write(FunctionRef<void(WriteTransaction&)> body);
    // As IndexSync::sync().
    void sync(bool own, FunctionRef<void()> bulk_first) { sync_.sync(own, bulk_first); }
    bool own_unsynced() const { return sync_.own_unsynced(); }
    // Committed last. Without the lock on the map: asked for with locks held that a writer takes within its
    // use of the map.
    std::uint64_t newest_version() const { return file_.newest().transaction; }
    std::uint64_t bytes() const { return file_.bytes(); } // that the file takes
    bool removed() const { return file_.removed(); }      // somebody deleted the file
    void look_for_unseen_readers() // at most every few milliseconds, by who is going to write or has written
    {
        if (map_.is_for_writing()) map_.keeper().look();
    }
    void compact() { space_.compact(); }
    std::vector<std::string> check() { return reading_.check(); }

private:
    // false: the map was full.
    using Bodies = FunctionRef<bool(LmdbMap::Transaction& transaction, Tree& base, std::size_t& wanted)>;
    void write_in_turn(bool inherited, Bodies bodies);
    bool try_write(bool inherited, Bodies bodies, std::size_t& map_seen, std::size_t& wanted);
    bool write_one(GroupCommit::Body body, LmdbMap::Transaction& transaction, Tree& base, bool changed,
                   std::size_t& wanted);
    void write_alone(GroupCommit::Body body, bool inherited);
    void write_together(const GroupCommit::Group& group, bool inherited);
    void commit(LmdbMap::Transaction& transaction);
    int reason_of_short_write() const;

    const TargetFiles& target_;
    IndexFile file_;
    LmdbMap map_;
    Reading reading_{target_, file_, map_};
    IndexSync sync_{target_, file_, map_, reading_};
    IndexSpace space_{target_, file_, map_, reading_, sync_};
    GroupCommit group_{target_.where};
};

} // namespace stepstore::store::lmdb
