// A pool in files, as this process has it open: where its directories are, what its files are made of, and
// how what is written reaches those who read it.
//
// What the directory of the pool holds (docs/format-files.md has the bytes):
//   stepstore.files     the header: the pool's id and label. The directory is a pool while this is here
//   UUID/               all else, under the id of the pool. So what is left of a pool that was destroyed is
//                       never part of one that is made in its place
//     names/            labels of containers and their ids (keys.h)
//     containers/ID/    one for each container
//       about           its record
//       numbers/        how many object ids are taken (keys.h)
//       objects/XX/     the entry of each object: a note that says where its data are (objects.h)
//       data/HOST/      the data of objects that processes on this host have made
//     temporary/PROCESS/  files that a process is writing, and that nobody else has seen yet
//     compacting/TOKEN  who compacts the pool (compact.h)
//     gone/             what was destroyed, until it is removed
//
// What is relied on in the file system, and why, is in docs/nodes.md. In short: link() and symlink() make a
// name that was not there, and exactly one of several callers succeeds. rename() is atomic. A directory that
// is listed after such a call has returned shows its effect, on every machine. A file that was written,
// synced and closed before it got its name has its bytes for all who open it by that name.
//
// No lock is taken. No file is changed that others may be reading, with two exceptions. The cells of arrays
// are written in place. The bytes of a value that was replaced are cut off, to give their space back
// (keys.h). A process may be killed at any instant. It leaves files in temporary/ or gone/, which `pool
// check --repair` removes.
//
// Threads: a Place may be shared. Fork: a child uses its parent's, with a temporary directory of its own.
// Errors: those of store.h; DER_STALE: the pool was destroyed.
#pragma once

#include "base/files.h"
#include "base/not_copied.h"
#include "base/nudge.h"
#include "base/process.h"
#include "base/text.h"
#include "store/store.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stepstore::store::files {

inline constexpr std::uint32_t format_version = 1;

struct Header {
    Uuid uuid{};
    std::string label;
    Epoch created = 0; // nanoseconds since 1970
    Durability durability = Durability::process;
};
std::vector<std::byte> encode_header(const Header& header);
Header decode_header(Bytes bytes, const std::string& path); // DER_CSUM, DER_DF_INVAL, DER_DF_INCOMPT
// nullopt: there is no pool in files in this directory. Throws what else keeps it from being read.
std::optional<Header> read_header(const std::string& path);

class Place : NotCopied {
public:
    Place(std::string path, Header header); // DER_DF_INVAL: the directory under its id is not there
    ~Place();

    const std::string& path() const { return path_; } // of the pool
    const Header& header() const { return header_; }
    const RootedPath& root() const { return root_; } // PATH/UUID
    RootedPath container(const Uuid& uuid) const { return root_ / "containers" / uuid_text(uuid.data()); }
    bool is_current() const; // false: the pool was destroyed
    // After a call that found nothing: DER_STALE where that is since the pool was destroyed.
    void require_current() const;

    // A name that no other process and no other call uses, in a directory of this process, which tells others
    // that it updates. DER_BUSY: another process compacts the pool (compact.h).
    RootedPath temporary() const;
    // Those who do, and those who died at it.
    struct Compacting {
        RootedPath mark;
        std::string owner; // its text
        bool dead = false;
    };
    std::vector<Compacting> compacting() const;
    bool is_compacted() const; // by a process that lives
    // While a thread of this process updates or removes, or while it compacts. DER_BUSY: the other goes on.
    enum class Use : std::uint8_t { update, compact };
    class InUse : NotCopied {
    public:
        InUse(const Place& place, Use use);
        ~InUse();

    private:
        const Place& place_;
        const Use use_;
        const std::uint64_t generation_;
    };
    RootedPath gone() const; // a fresh name below gone/
    // A new file with these bytes, ready to get its name.
    void make(const RootedPath& file, const std::vector<Bytes>& pieces) const;
    // Moves it away, at once for all, and then removes it. False: it was not there.
    bool remove_at_once(const RootedPath& tree) const;
    // Before a read that must not come from what this machine remembers.
    void forget_cached(int fd, std::uint64_t offset, std::uint64_t length) const;
    // After a write into a file that has its name: others see it, and it lasts as long as the pool promises.
    void reach_readers(int fd, const std::string& where) const;
    // The file system belongs to this machine alone, so its cache is everybody's.
    bool local() const { return local_; }
    // After a name was made or removed: it lasts as long as the pool promises. And on a file system that
    // machines share, another machine need not wait for it. A metadata server (CephFS) keeps a change for
    // seconds, and lets those wait who want to change the same directory.
    void sync_names(const RootedPath& directory) const;
    // The same for one that was opened before the change. To open a directory that another machine changes
    // may take a second. An empty descriptor where nothing is synced.
    Descriptor open_names(const RootedPath& directory) const;
    void sync_names(const Descriptor& opened, const RootedPath& directory) const;
    const std::string& host() const { return host_; } // as part of a path

    // Which containers this process has open. Guarded by ForkLock::containers.
    void opened(const Uuid& uuid);
    void closed(const Uuid& uuid) noexcept;
    bool is_open(const Uuid& uuid) const;

private:
    struct Temporary {
        std::uint64_t generation = 0; // of the process that it belongs to
        RootedPath directory;
        std::uint64_t next = 0;
    };
    struct Nudges {
        std::uint64_t generation = 0; // of the process that it belongs to
        std::unique_ptr<Nudger> nudger;
    };
    struct Uses {
        std::uint64_t generation = 0; // of the process that they belong to
        std::uint64_t updates = 0;
        bool compacts = false;
    };
    // By the pool's directory, in which no names are made once the pool is there.
    void begin_nudges() const;

    const std::string path_;
    const Header header_;
    RootedPath root_;
    std::string host_;
    bool local_ = false;
    mutable Nudges nudges_;       // guarded by ForkLock::containers
    mutable Temporary temporary_; // guarded by ForkLock::containers
    mutable Uses uses_;           // guarded by ForkLock::containers
    std::multiset<Uuid> open_;    // guarded by ForkLock::containers
};

std::string random_token(); // 32 hexadecimal digits, never the same twice

// In each directory of temporary/: whose it is. The same record has the mark of who compacts.
inline constexpr const char* owner_name = "owner";
inline constexpr const char* compacting_name = "compacting";
std::vector<std::byte> encode_owner(const ProcessIdentity& process);
std::optional<ProcessIdentity> decode_owner(Bytes bytes); // nullopt: damaged

// A whole file, which has its name already. nullopt and errno: it cannot be read.
std::optional<std::vector<std::byte>> read_file(const RootedPath& file);
// The same. If the bytes are not right, they are read again (base/second_look.h).
std::optional<std::vector<std::byte>> read_file(const RootedPath& file, FunctionRef<bool(Bytes)> is_right);

} // namespace stepstore::store::files
