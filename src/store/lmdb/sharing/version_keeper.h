// What a process that may write does for readers without a slot, at one target: kept_version.h says what and
// why it is safe.
// Threads: any, under a lock of its own. Errors: none; a keep that fails is tried again later.
#pragma once

#include "base/files.h"
#include "base/function_ref.h"
#include "base/not_copied.h"
#include "store/lmdb/sharing/kept_version.h"
#include "store/lmdb/sharing/reader_table.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <lmdb.h>
#include <mutex>
#include <optional>

namespace stepstore::store::lmdb {

class VersionKeeper : NotCopied {
public:
    // data: data.mdb, open as long as this.
    VersionKeeper(RootedPath directory, int data, ReaderTable& readers)
        : directory_(std::move(directory)), data_(data), readers_(readers)
    {
    }
    ~VersionKeeper();

    // Just before LMDB opens the index for writing. lock_file: lock.mdb.
    void prepare(int lock_file);
    // Before LMDB closes it.
    void end();

    // At most every few milliseconds, without a lock: whether there is something to do.
    void look();
    bool due() const { return due_.load(std::memory_order_relaxed); }
    // Does it, with LMDB's lock on writers held and nothing written yet. newest: the version committed last.
    // freed_since: bytes in pages that were freed after a version. bound: of what may lie there for a keep.
    // Where it fails, readers go on trying.
    void tend(MDB_env* env, std::uint64_t newest, FunctionRef<std::uint64_t(std::uint64_t)> freed_since,
              std::uint64_t bound) noexcept;
    // The reader of this version in LMDB's table is a keeper that this process can end. Its next write looks
    // at once what that one keeps.
    bool is_kept(std::uint64_t version);

private:
    using Clock = std::int64_t; // coarse, ms
    struct Own {
        MDB_txn* transaction = nullptr;
        KeptVersion said;
    };
    void start(std::uint64_t newest);
    bool publish(std::uint64_t newest);
    void end_own();
    bool own_in_force() const
    {
        return held_for_writing(number_.get()) && lies_at(number_.get(), directory_ / kept_name);
    }
    bool over(std::uint64_t version, std::uint64_t newest,
              FunctionRef<std::uint64_t(std::uint64_t)> freed_since, std::uint64_t bound);
    bool revoke(const KeptFile& file, std::uint64_t newest);
    void finish_revocation(std::uint64_t newest);
    bool clear_slot(const KeptFile& file, std::uint64_t newest);

    bool reserve();
    bool number_is_low();
    std::uint64_t used_slots() const;
    std::optional<std::uint64_t> find_slot(MDB_txn* transaction, std::uint64_t version);

    const RootedPath directory_;
    const int data_;
    ReaderTable& readers_;
    std::atomic<bool> due_{false};
    std::atomic<unsigned> looks_{0};

    std::mutex guard_;           // guards the rest
    Descriptor number_;          // the descriptor number that is reserved for the file `kept`
    MDB_env* env_ = nullptr;     // of the call of tend()
    std::byte* table_ = nullptr; // lock.mdb
    std::uint64_t table_device_ = 0, table_inode_ = 0;
    std::optional<bool> low_; // number_ is lower than LMDB's descriptor of lock.mdb
    std::optional<Own> own_;
    Clock wanted_ = 0; // a reader was last seen
    Clock failed_ = 0; // a keep could not begin
    // Of the keep that is there, whosoever it is.
    std::uint64_t seen_version_ = 0;
    Clock seen_ = 0;                  // first
    std::uint64_t measure_at_ = 0;    // version from which on it is looked what was freed since
    std::uint64_t stuck_version_ = 0; // could not be ended: like that of any other reader
};

} // namespace stepstore::store::lmdb
