// The bulk extents of one target: the files `<16 hexadecimal digits>.ext` beside its index.
//
// 1. A process appends to one file per target. It holds that file by an exclusive lock. It takes over a file
//    that nobody holds and that has space left, or makes a new one. A file's number is an epoch, so no
//    number is used twice.
// 2. To append, a thread reserves [offset, offset + length) at the end, under a mutex, and writes outside of
//    the mutex. Threads and processes never write to the same bytes. Offsets are multiples of 4 KiB, so the
//    blocks of an extent are its own.
// 3. Bytes become reachable when the caller's transaction has put the reference into the index. A process
//    that dies before that leaves bytes that nothing refers to. Its lock ends with it, after its last write.
//    The next holder of the file takes the end from the file's size, and so starts after those bytes. The
//    next writer gives them back where the dead process had noted them as its own (reservations.h); else a
//    check does. A file reaches past a reservation before the reservation is noted. So the next holder starts
//    after it, whether anything was written or not.
// 4. release() keeps a little of what lies in the file that this process appends to, for the next extents of
//    the same length. Writing over pages that are in memory costs a third of what new pages cost. Only this
//    process knows of these spares. They are given back when the pool is closed, or by the check after a
//    kill.
// 5. release() punches out all else. The blocks are the extent's own (2), so no other extent is touched. The
//    file's size stays, so its end is never reused. The holder of the lock removes a file without a block
//    left that nobody appends to. Who takes over a file looks, once it holds the lock, whether the file still
//    has a name.
//
// Errors: -DER_CSUM for a reference or file that is damaged, else those of the system (base/system_error.h).
#pragma once

#include "base/files.h"
#include "base/function_ref.h"
#include "store/backend.h"
#include "store/lmdb/sharing/target_files.h"

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

namespace stepstore::store::lmdb {

class ExtentStore {
public:
    static constexpr std::uint64_t alignment = extent_unit; // of reservations
    static constexpr std::uint64_t rotate_at = std::uint64_t{4}
                                               << 30; // bytes: a file that is so long gets no more
    static constexpr std::size_t cached_files = 64;
    static constexpr std::uint64_t max_spare = std::uint64_t{16} << 20; // bytes kept for the next extents

    // new_file_number: a number never given before to any process.
    ExtentStore(const TargetFiles& target, bool read_only, std::function<std::uint64_t()> new_file_number)
        : target_(target), read_only_(read_only), new_file_number_(std::move(new_file_number))
    {
    }
    ~ExtentStore() { drop_spares(); }

    ExtentRef append(std::span<Payload> payloads);
    void entering(const ExtentRef& extent)
    {
        target_.reservations.entering(target_.number, reservation_of(extent));
    }
    void leaving(const ExtentRef& extent);
    void punch_left(const ExtentRef& reservation); // what a dead process left
    void read(const ExtentRef& extent, std::uint64_t skip, MutableBytes into);
    void release(const ExtentRef& extent);
    std::vector<Target::ExtentFile> files();
    std::uint64_t allocated();                       // bytes that take space, over all files
    std::uint64_t allocated(const ExtentRef& range); // and of these
    void begin_sync();                               // of what this process appended
    void sync(bool own);                             // own: what this process appended; else all

private:
    // A file this process appends to. Closing it, when the last writer is done
    // with it, drops the lock.
    struct Appended {
        const std::uint64_t number;
        const Descriptor fd;
        const std::uint64_t begin; // what lies before it was appended by others
        std::uint64_t end;         // where the next extent begins at the earliest; guarded by append_guard_
        std::uint64_t reach = 0;   // the file was made so long; guarded by append_guard_
        bool reach_end();          // makes it as long as `end`, or longer
        std::atomic<bool> sync_failed{false};
        Appended(std::uint64_t its_number, Descriptor locked, const RootedPath& path);
        ~Appended();
    };
    // Reservations of this process's own that nothing refers to; guarded by append_guard_.
    struct Spare {
        std::shared_ptr<Appended> file;
        std::uint64_t offset = 0;
        std::uint64_t length = 0; // a multiple of the alignment
    };
    std::shared_ptr<Appended> reserve(std::uint64_t length, std::uint64_t& offset);
    void punch_reservation(const ExtentRef& reservation);
    bool keep(const ExtentRef& reservation);
    void drop(const Spare& spare);
    bool drop_spares() noexcept;
    std::uint64_t spare_in(std::uint64_t number); // bytes
    std::shared_ptr<Appended> take_over();
    std::shared_ptr<Appended> make_file();
    bool appending_to(std::uint64_t number);
    std::shared_ptr<Descriptor> cached(std::uint64_t number);
    void punch(int fd, std::uint64_t offset, std::uint64_t length, const std::string& path);
    void remove_if_empty(std::uint64_t number);
    void sync_file(const Descriptor& fd, std::uint64_t number, bool ours, bool doubt);
    FailedSyncs& failed_syncs();
    void sync_names();
    RootedPath path_of(std::uint64_t number) const;
    std::vector<std::uint64_t> numbers() const;

    const TargetFiles& target_;
    const bool read_only_;
    const std::function<std::uint64_t()> new_file_number_;

    std::atomic<bool> new_name_{false}; // this process appends to a file whose name may not be on the medium
    std::atomic<std::int64_t> names_synced_{
        -1}; // the directory's time of change, in ns, when its names were synced

    std::shared_mutex writing_; // shared by who writes extents; exclusive where a failed sync is mended
    std::mutex append_guard_; // guards appended_ and its end, full_, spares_, spare_bytes_, unsynced_, lost_
    std::shared_ptr<Appended> appended_;
    std::set<std::shared_ptr<Appended>> unsynced_; // appended to since they were last synced
    std::set<std::uint64_t> lost_;                 // a sync of these files failed: the medium may lack a part
    std::shared_ptr<Appended> full_;               // the one before it
    std::vector<Spare> spares_;
    std::uint64_t spare_bytes_ = 0;

    using Recent = std::pair<std::uint64_t, std::shared_ptr<Descriptor>>;
    std::mutex cache_guard_;   // guards recent_
    std::list<Recent> recent_; // the file used last comes first
};

} // namespace stepstore::store::lmdb
