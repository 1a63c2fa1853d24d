// Reading a version of an index: with a slot in LMDB's table of readers (reader_pool.h), or without one.
//
// A read that gets no slot copies pages, as one does that may not write the table (PageCopies in tree.h).
// Writers do not know of it. So its body runs again if they were faster. After a few times the reader
// announces itself, and waits for a writer that keeps a version (kept_version.h); it does not rely on one.
//
// Any thread may call this, without a use of the map. Errors: -DER_CSUM: damage; -DER_TIMEDOUT: without a
// slot, writers were faster for too long; those of LMDB and of the body.
#pragma once

#include "base/function_ref.h"
#include "base/not_copied.h"
#include "store/lmdb/index/lmdb_map.h"

#include <string>
#include <vector>

namespace stepstore::store::lmdb {

class Reading : NotCopied {
public:
    Reading(const TargetFiles& target, IndexFile& file, LmdbMap& map)
        : target_(target), file_(file), map_(map)
    {
    }

    void read(FunctionRef<void(ReadTransaction&)> body);
    // Checks every page of the newest version: at most `limit` damages, as "what is wrong".
    std::vector<std::string> walk(std::size_t limit);
    std::vector<std::string> check(); // the same, each with the name of the file

private:
    bool read_in_slot(FunctionRef<void(const Meta&)> body); // false: there is no slot
    bool find_version(ReaderPool::Reader* reader);
    void read_unseen(FunctionRef<void(const Meta&, PageCopies&)> body);

    const TargetFiles& target_;
    IndexFile& file_;
    LmdbMap& map_;
};

} // namespace stepstore::store::lmdb
