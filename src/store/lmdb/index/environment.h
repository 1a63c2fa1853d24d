// One LMDB environment: the index of one target. Only this class knows the caveats of lmdb.h.
//
// Reading. A read takes a reset transaction with its cursor out of a pool, renews it and puts it back. This
// costs no allocation, no lock of LMDB's, and one load of the newest meta page. Only the thread that gets it
// uses it (MDB_NOTLS). A read that gets no slot in LMDB's table of readers (reader_table.h) copies pages, as
// one does that may not write the table (read_unseen).
//
// The map. It begins small and doubles when a transaction finds it full, which
// is then run again. LMDB wants no transaction of this process while the map
// moves: every transaction holds map_guard_ shared, the growing one takes it
// exclusive. A reader that meets a waiting grower steps back for a moment, so that endless reads cannot keep
// it out. It does not step back for ever: the grower may wait for a transaction that waits, over another
// target, for that reader. Growth by another process is met as MDB_MAP_RESIZED when a transaction begins, and
// adopted in the same way.
//
// Opening. LMDB allocates and clears 3 MiB for each index that it opens for writing. That takes longer than
// the rest of a short-lived reader's work. So an index whose first use is a read is opened for reading only.
// The first write opens it again for writing, with the map guard held exclusive. This process has no
// transaction meanwhile, so none finds it closed. Growth by another process that meets an opening is adopted
// by the opener (adopt_map_alone): it holds the guard already, or nobody else knows of the map yet.
//
// Writing. Durability `process`: a transaction and a commit each, no sync (MDB_NOSYNC). Durability `power`: a
// commit syncs, so the calls that wait are committed together. The first waiting call becomes the leader. It
// runs the body of every waiting call in a nested transaction of one common transaction, commits once, and
// wakes them. A body that throws loses only its nested transaction. When the common transaction fails as a
// whole, each body runs again in a transaction of its own and gets its own result. A body that writes to
// another target meanwhile waits only for leaders of higher targets (the order that Target::write demands).
// So no circle of waiting closes.
//
// Syncs that failed. Pages are in the system's memory then that are not on the medium and that no later sync
// writes (write_again.h). Durability `process`: the next sync, of any process, writes them once more and
// looks whether the index is whole. Durability `power`: the pages of a commit that failed are free. The next
// one gives them new content, which would not reach the medium either. So before a commit the pages that
// differ are written once more. A commit that a dead process was in counts as failed. LMDB's own descriptors
// tell an old failure at their next sync, and LMDB takes that for the end if it meets a first page. So each
// process opens the index again after a failure.
#pragma once

#include "base/files.h"
#include "base/function_ref.h"
#include "base/not_copied.h"
#include "store/backend.h"
#include "store/lmdb/index/transactions.h"
#include "store/lmdb/index/tree.h"
#include "store/lmdb/sharing/reader_table.h"
#include "store/lmdb/sharing/reservations.h"
#include "store/lmdb/sharing/version_keeper.h"
#include "store/lmdb/sharing/write_turn.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace stepstore::store::lmdb {

class Environment : NotCopied {
public:
    // Makes an empty index in `directory`, which must exist.
    static void create(const RootedPath& directory, const std::string& where, const PoolFiles& pool,
                       unsigned target);
    // read_only: the files cannot be written. no_lock: nor can the lock file, so that writers do not know of
    // this reader: it copies pages (tree.h) and does not open LMDB.
    // for_writing: as it is opened; else anew at the first write.
    Environment(const RootedPath& directory, std::string where, Durability durability, bool read_only,
                bool no_lock, bool for_writing, const PoolFiles& pool, unsigned target);
    ~Environment();

    void read(FunctionRef<void(ReadTransaction&)> body);
    void write(FunctionRef<void(WriteTransaction&)> body);
    // Everything committed so far survives a power failure. bulk_first: syncs what the index refers to;
    // called before the index is synced, and only when something was committed since this process's last
    // sync. With `own` only this process's commits count.
    void sync(bool own, FunctionRef<void()> bulk_first);
    std::uint64_t newest_version(); // that was committed
    bool own_unsynced() const { return own_unsynced_.load(std::memory_order_acquire); }
    std::uint64_t bytes() const { return allocated_of(file_.get(), where_); } // that the file takes
    bool removed() const { return unlinked(file_.get(), where_); }            // somebody deleted the file
    void look_for_unseen_readers() // at most every few milliseconds, by who is going to write or has written
    {
        if (for_writing_.load(std::memory_order_relaxed)) keeper_.look();
    }
    void compact(); // gives back the space of pages that no version in use has
    std::vector<std::string> check();

private:
    struct Reader {
        MDB_txn* transaction = nullptr;
        Meta meta;             // of the version that it read last
        std::size_t place = 0; // in readers_, where it goes back to
    };
    struct Waiting;
    class MapUse;
    class Transaction;

    MDB_envinfo info() const
    {
        MDB_envinfo info;
        mdb_env_info(env_, &info);
        return info;
    }
    // How many dead processes had left their reader slot taken.
    int free_dead_slots() const
    {
        int dead = 0;
        mdb_reader_check(env_, &dead);
        return dead;
    }
    void open(unsigned flags);
    void close(ReaderTable::Use use);
    void open_for_writing();
    void ready_to_write(bool inherited);
    void read_unseen(FunctionRef<void(const Meta&, PageCopies&)> body);
    bool read_in_slot(FunctionRef<void(const Meta&)> body); // false: there is no slot
    int begin_read(Reader*& reader);
    bool find_version(Reader* reader);
    bool find_meta(Reader& reader);
    const char* meta_of(std::uint64_t version, Meta& meta);
    Meta committed_last(MDB_txn* transaction);
    Tree tree_of(const Meta& meta);
    [[noreturn]] void damaged_metas(const std::string& problem) const;
    void end_read(Reader* reader);
    int new_reader(Reader*& reader);
    int new_reader(Reader*& reader, FunctionRef<int(MDB_txn**)> begin);
    void free_reader(Reader* reader);
    void verify_length(const Meta& meta);
    std::vector<std::string> walk(std::size_t limit);

    using Bodies = FunctionRef<bool(Transaction& transaction, Tree& base, std::size_t& wanted)>;
    void write_in_turn(bool inherited, Bodies bodies);
    bool try_write(bool inherited, Bodies bodies, std::size_t& map_seen, std::size_t& wanted);
    bool write_one(FunctionRef<void(WriteTransaction&)> body, Transaction& transaction, Tree& base,
                   bool changed, std::size_t& wanted);
    void write_grouped(FunctionRef<void(WriteTransaction&)> body);
    void wait_for_group(std::unique_lock<std::mutex>& lock, Waiting& mine);
    std::vector<Waiting*> lead(std::unique_lock<std::mutex>& lock, Waiting& mine);
    void run(const std::vector<Waiting*>& group, bool inherited);
    void begin_to_write(std::optional<MapUse>& use, std::optional<Transaction>& transaction);
    void begin_alone(std::optional<MapUse>& use, std::optional<Transaction>& transaction, bool inherited);
    void settle_length();
    void commit(Transaction& transaction);
    int reason_of_short_write() const;

    struct Pinned;
    Pinned pinned();
    void look_at_readers(std::uint64_t last_page);
    std::uint64_t freed_since(std::uint64_t version);
    void tend_keeper(const Meta& newest);
    void wait_for_readers();
    enum class Synced : std::uint8_t { first, no };
    bool punch_free_pages(std::uint64_t& from, Synced synced);
    void look_at_free_space(const Meta& meta);
    void give_back_some() noexcept;

    void grow(std::size_t seen, std::size_t wanted);
    void adopt_map();
    void adopt_map_alone();
    void step_back() const;

    void sync_file();
    bool sync_failed(const WriterLine& line) const;
    void mend_failed_syncs(bool inherited);
    [[noreturn]] void note_failed_sync();
    WriterLine& line() const;

    const RootedPath directory_;
    const std::string where_;
    const Durability durability_;
    const std::uint64_t generation_;
    const PoolFiles pool_;
    const unsigned target_;
    unsigned flags_ = 0;     // of opening it for what is allowed
    MDB_env* env_ = nullptr; // nullptr: it could not be opened again
    MDB_dbi database_ = 0;
    int fd_ = -1; // LMDB's own, of data.mdb
    std::uint64_t page_size_ = 0;
    std::atomic<bool> for_writing_{false}; // it is open for all that is allowed
    const bool unseen_;                    // LMDB is not opened: see no_lock
    const Descriptor file_;                // data.mdb, to read and to sync
    IndexMap map_;
    ReaderTable table_;
    VersionKeeper keeper_;

    std::shared_mutex map_guard_; // shared by transactions, exclusive while the map changes
    std::atomic<int> growers_{0};
    std::atomic<std::size_t> map_size_{0};
    std::atomic<std::uint64_t> verified_page_{0};   // the file is known to reach to the end of this page
    std::atomic<std::uint64_t> synced_version_{0};  // this transaction and those before it are on the medium
    std::atomic<bool> own_unsynced_{false};         // this process has committed what it has not synced
    std::atomic<std::uint64_t> known_failures_{0};  // syncs that had failed when LMDB opened the index
    std::atomic<off_t> unwritten_{0};               // see write_again()
    std::atomic<std::uint64_t> look_at_page_{0};    // a commit that ends after it looks at old readers
    std::atomic<bool> too_much_pinned_{false};      // by one of them
    std::atomic<std::uint64_t> look_at_version_{0}; // a commit after it looks at the free space
    std::atomic<bool> much_free_{false};            // so a writer gives a piece of it back
    std::mutex giving_back_;                        // guards punch_from_
    std::uint64_t punch_from_ = 0;                  // the page at which the next piece begins

    static constexpr std::size_t first_map = std::size_t{64} << 20; // bytes
    static constexpr std::size_t pooled_readers = 128;
    std::array<std::atomic<Reader*>, pooled_readers> readers_{};

    std::mutex queue_guard_; // guards queue_, leading_
    std::condition_variable queue_changed_;
    std::vector<Waiting*> queue_;
    bool leading_ = false;
};

} // namespace stepstore::store::lmdb
