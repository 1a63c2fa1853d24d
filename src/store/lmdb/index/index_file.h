// The file data.mdb of an index, as this library itself reads it: its versions, its length, its damage. LMDB
// is let near only what was found sound here.
//
// A process that reads a version keeps it by a slot in LMDB's table of readers, one that writes by LMDB's
// lock on writers. With either, any thread may call this. newest(), bytes() and removed() need neither.
// Errors: -DER_CSUM: the file is damaged or was cut off.
#pragma once

#include "base/files.h"
#include "base/not_copied.h"
#include "base/system_error.h"
#include "store/lmdb/index/tree.h"
#include "store/lmdb/sharing/target_files.h"

#include <atomic>
#include <fcntl.h>
#include <lmdb.h>
#include <string>

namespace stepstore::store::lmdb {

class IndexFile : NotCopied {
public:
    explicit IndexFile(const TargetFiles& target); // -DER_DF_INVAL: it is missing or damaged

    int fd() const { return file_.get(); } // to read and to sync
    // LMDB's own descriptor, while it has the file open; to write, if it was opened for that.
    int lmdb_fd() const { return lmdb_fd_; }
    void opened(int lmdb_fd) { lmdb_fd_ = lmdb_fd; } // with no other thread in the map (lmdb_map.h)

    std::uint64_t page_size() const { return page_size_; }
    std::uint64_t bytes() const { return allocated_of(fd(), target_.where); } // that it takes
    bool removed() const { return unlinked(fd(), target_.where); }            // somebody deleted it
    Meta newest() const { return newest_meta(fd(), target_.where); }

    // The meta page of the version that a reader's slot keeps. False: a later commit may be overwriting it;
    // it begins to only when the other page has the version after this one. `meta` has what was found then,
    // and it is right if the slot, taken anew, keeps the same version. For a commit first tells readers of
    // the version before it. A writer that was killed in between never does.
    bool find(MDB_txn* reader, Meta& meta);
    Meta committed_last(MDB_txn* writer);
    Tree tree_of(const Meta& meta)
    {
        return {meta, mapped(length_to(meta.last_page)), nullptr, target_.where};
    }
    [[noreturn]] void damaged_metas(const std::string& problem) const;

    // The file must reach as far as the newest version says. Else reading a page after its end would end the
    // process (SIGBUS). A good file may be a little shorter: pages that a transaction took and gave back were
    // never written. So a short file is walked. If no page in use is missing it is made as long as it says.
    // Else it was cut off.
    void verify_length(const Meta& meta);
    // After a commit: makes the file as long as its last page says. Never cuts: another process may have gone
    // on.
    void settle_length(std::uint64_t last_page);

private:
    std::uint64_t length_to(std::uint64_t last_page) const { return (last_page + 1) * page_size_; }
    bool lengthen(std::uint64_t last_page) const
    {
        return fallocate(lmdb_fd_, 0, static_cast<off_t>(length_to(last_page) - 1), 1) == 0;
    }
    const char* meta_of(std::uint64_t version, Meta& meta);
    const std::byte* mapped(std::uint64_t length)
    {
        const std::byte* map = map_.covering(length);
        if (map == nullptr) [[unlikely]]
            fail_errno(target_.where, "cannot map the index");
        return map;
    }

    const TargetFiles& target_;
    const Descriptor file_;
    int lmdb_fd_ = -1;
    std::uint64_t page_size_ = 0;
    IndexMap map_;
    std::atomic<std::uint64_t> verified_page_{0}; // the file is known to reach to the end of this page
};

} // namespace stepstore::store::lmdb
