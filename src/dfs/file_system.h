// A mounted file system, and an open object: what dfs_t and dfs_obj_t are.
//
// Threads: several may use them at once; what changes guards itself. A forked child goes on with both. It
// takes numbers of objects of its own (OwnState::file_numbers), so that it never makes one that its parent
// makes too. Errors: calls fail with an errno (failure.h).
#pragma once

#include "base/own_state.h"
#include "dfs/entry.h"
#include "dfs/handle.h"
#include "dfs/live.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace stepstore::dfs {

// A directory on the way from the root to an object. Those above are shared by all that is below.
struct Level {
    daos_obj_id_t oid{};
    std::string name;                // empty: not known
    std::shared_ptr<const Level> up; // none: the root, or not known
};

// Numbers for new objects of a mount.
struct Numbers {
    std::mutex mutex; // of OwnState::file_numbers: guards the rest
    bool begun = false;
    std::uint64_t lo = 0;
    std::uint32_t hi = 0;
    std::uint32_t last_hi = 0;
};

struct Connection; // of dfs_connect(); connect.h

} // namespace stepstore::dfs

struct dfs_obj {
    struct dfs* fs = nullptr;
    stepstore::dfs::Handle handle; // of a directory or a file
    std::shared_ptr<const stepstore::dfs::Level> at;
    mode_t mode = 0;
    int flags = 0;
    std::string link;
    // Of a directory, for what is made in it; 0: the file system's.
    std::atomic<daos_oclass_id_t> object_class{0};
    std::atomic<std::uint64_t> chunk_size{0};
    stepstore::dfs::Live live{stepstore::dfs::Kind::object, this};

    daos_obj_id_t oid() const { return at->oid; }
};

struct dfs {
    std::shared_ptr<stepstore::dfs::Connection> connection; // of dfs_connect(); closed after the rest
    daos_handle_t pool{};
    daos_handle_t container{};
    daos_handle_t th{}; // of a snapshot
    int access = O_RDONLY;
    bool is_copy = false;    // of objects alone, without the container's properties
    dfs_attr_t attributes{}; // without properties
    daos_oclass_hints_t directory_hints = 0;
    daos_oclass_hints_t file_hints = 0;
    daos_obj_id_t superblock_oid{};
    stepstore::dfs::Handle superblock;
    dfs_obj root;
    std::string prefix;
    std::atomic<unsigned> pool_uses{0};
    std::atomic<unsigned> container_uses{0};
    stepstore::PerProcess<stepstore::OwnState::file_numbers, stepstore::dfs::Numbers> numbers{
        [] { return std::make_unique<stepstore::dfs::Numbers>(); }};
    stepstore::dfs::Live live{stepstore::dfs::Kind::file_system, this};

    ~dfs()
    {
        if (daos_handle_is_valid(th)) daos_tx_close(th, nullptr);
    }
};

namespace stepstore::dfs {

// EINVAL: NULL, or none that is mounted or open.
::dfs& file_system(::dfs_t* dfs);
::dfs& writable(::dfs_t* dfs); // EPERM
dfs_obj& object(dfs_obj_t* obj);
dfs_obj& file(dfs_obj_t* obj);                         // EINVAL: no file
dfs_obj& directory(::dfs& fs, dfs_obj_t* obj_or_root); // ENOTDIR; NULL: the root
const dfs_obj& listed_directory(dfs_obj_t* obj);       // ENOTDIR; also of NULL

// DAOS_OO_: for flags of open(). EINVAL.
unsigned mode_of(int flags);

// A number of its own, completed. EINVAL: a class that is not stored.
daos_obj_id_t new_oid(::dfs& fs, daos_oclass_id_t oclass, bool of_file);

// The directory that an object is in, opened, and its name there.
struct Home {
    Handle handle;
    std::string name;
    Place place() const { return {handle.get(), name}; }
};
Home home_of(const ::dfs& fs, const dfs_obj& obj, unsigned mode);

// The chunk size of a file.
std::uint64_t chunk_size_of(const ::dfs& fs, const Inode& inode);

// An object for an entry, opened. at: its oid and name.
std::unique_ptr<dfs_obj> open_entry(::dfs& fs, const Entry& entry, std::shared_ptr<const Level> at,
                                    int flags);

std::shared_ptr<const Level> level(daos_obj_id_t oid, std::string name, std::shared_ptr<const Level> up);

// All that stat() tells; asks the object. epoch: of its latest write. Without the size the times may be
// older.
void fill_stat(const ::dfs& fs, const Inode& inode, struct stat& status, std::uint64_t* epoch = nullptr,
               bool with_size = true);

} // namespace stepstore::dfs
