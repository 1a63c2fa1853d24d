// dfs_: what stat() tells, and changes of it.
#include "dfs/walk.h"

#include <algorithm>
#include <array>

using namespace stepstore::dfs;

namespace {

// Fields of an inode to be changed. What they refer to stays until update().
class Changes {
public:
    template <class T>
    void set(std::size_t offset, const T& value)
    {
        fields_[count_++] = {offset, &value, sizeof value};
    }
    void set_time(std::size_t seconds, std::size_t nanoseconds, const timespec& time)
    {
        set(seconds, time.tv_sec);
        set(nanoseconds, time.tv_nsec);
    }
    bool empty() const { return count_ == 0; }
    std::span<const Field> fields() const { return {fields_.data(), count_}; }

private:
    std::array<Field, 12> fields_{};
    std::size_t count_ = 0;
};
static_assert(sizeof(timespec::tv_sec) == 8 && sizeof(timespec::tv_nsec) == 8);

void refuse_sticky(mode_t mode)
{
    if ((mode & S_ISVTX) != 0) fail(ENOTSUP, "the sticky bit is not there, as in DAOS: leave out S_ISVTX");
}

// The place of an entry that was found, opened for a change of its inode.
Home home_of_found(const ::dfs& fs, const Found& found)
{
    const daos_obj_id_t above = found.at->up ? found.at->up->oid : fs.superblock_oid;
    return {Handle::object(fs.container, above, DAOS_OO_RW), found.at->name};
}

bool may(const Inode& inode, int mask)
{
    // As DAOS: what the owner, the group or others may, if this process is one of them.
    const mode_t bits =
        S_IRWXO | (inode.user == ::getuid() ? S_IRWXU : 0U) | (inode.group == ::getgid() ? S_IRWXG : 0U);
    const mode_t allowed = inode.mode & bits;
    if ((mask & X_OK) != 0 && (allowed & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) return false;
    if ((mask & W_OK) != 0 && (allowed & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) return false;
    return (mask & R_OK) == 0 || (allowed & (S_IRUSR | S_IRGRP | S_IROTH)) != 0;
}

Inode inode_of(const ::dfs& fs, const dfs_obj& of, const Home& home)
{
    const auto entry = fetch(fs.th, home.place());
    if (!entry || !same(entry->inode.oid, of.oid()))
        fail(ENOENT, quoted(of.at->name) + " has been removed or renamed: look it up again");
    return entry->inode;
}

// The size first: the time of its change is then known for the rest.
void set_size(const dfs_obj& of, off_t size, struct stat& known, std::uint64_t& written)
{
    if (!S_ISREG(of.mode)) fail(EIO, quoted(of.at->name) + " is no file, and has no size to be set");
    if (size < 0) fail(EINVAL, "the size is negative");
    require_done(daos_array_set_size(of.handle.get(), DAOS_TX_NONE, static_cast<daos_size_t>(size), nullptr),
                 "setting the size of " + quoted(of.at->name));
    daos_array_stbuf_t found{};
    require_done(daos_array_stat(of.handle.get(), DAOS_TX_NONE, &found, nullptr),
                 "reading the size of a file");
    written = found.st_max_epoch;
    known.st_size = size;
    known.st_blocks = static_cast<blkcnt_t>((size + 511) / 512);
    require_done(daos_hlc2timespec(written, &known.st_mtim), "reading the time of an epoch");
    known.st_ctim = known.st_mtim;
}

void set_attributes(const ::dfs& fs, const dfs_obj& of, struct stat& status, int flags)
{
    constexpr int known_flags = DFS_SET_ATTR_MODE | DFS_SET_ATTR_ATIME | DFS_SET_ATTR_MTIME |
                                DFS_SET_ATTR_SIZE | DFS_SET_ATTR_UID | DFS_SET_ATTR_GID;
    if ((flags & ~known_flags) != 0) fail(EINVAL, "the flags have one that is not DFS_SET_ATTR_...");
    if ((of.flags & O_ACCMODE) == O_RDONLY)
        fail(EPERM, quoted(of.at->name) + " was opened for reading alone");
    if ((flags & DFS_SET_ATTR_MODE) != 0) {
        if ((status.st_mode & S_IFMT) != (of.mode & S_IFMT))
            fail(EINVAL, "st_mode is of another kind of object");
        refuse_sticky(status.st_mode);
    }
    if ((flags & DFS_SET_ATTR_MTIME) != 0 &&
        (status.st_mtim.tv_nsec < 0 || status.st_mtim.tv_nsec >= 1'000'000'000))
        fail(EINVAL, "st_mtim has more nanoseconds than a second has");
    const Home home = home_of(fs, of, DAOS_OO_RW);
    struct stat result {};
    std::uint64_t written = 0;
    fill_stat(fs, inode_of(fs, of, home), result, &written);
    if ((flags & DFS_SET_ATTR_SIZE) != 0) set_size(of, status.st_size, result, written);
    Changes changes;
    if ((flags & (DFS_SET_ATTR_MODE | DFS_SET_ATTR_MTIME | DFS_SET_ATTR_UID | DFS_SET_ATTR_GID)) != 0) {
        result.st_ctim = now();
        changes.set_time(at::changed, at::changed_nanoseconds, result.st_ctim);
    }
    if ((flags & DFS_SET_ATTR_MODE) != 0) {
        result.st_mode = status.st_mode;
        changes.set(at::mode, result.st_mode);
    }
    if ((flags & DFS_SET_ATTR_MTIME) != 0) {
        result.st_mtim = status.st_mtim;
        changes.set_time(at::modified, at::modified_nanoseconds, result.st_mtim);
        changes.set(at::epoch, written);
    }
    if ((flags & DFS_SET_ATTR_UID) != 0) {
        result.st_uid = status.st_uid;
        changes.set(at::user, result.st_uid);
    }
    if ((flags & DFS_SET_ATTR_GID) != 0) {
        result.st_gid = status.st_gid;
        changes.set(at::group, result.st_gid);
    }
    if (!changes.empty()) update(home.place(), changes.fields());
    status = result;
}

// What new entries of a directory get.
template <class T>
void set_default(::dfs& fs, dfs_obj& of, std::size_t offset, T value, std::atomic<T> dfs_obj::*kept)
{
    if (!S_ISDIR(of.mode)) fail(ENOTSUP, quoted(of.at->name) + " is no directory");
    const Home home = home_of(fs, of, DAOS_OO_RW);
    inode_of(fs, of, home);
    Changes changes;
    changes.set(offset, value);
    update(home.place(), changes.fields());
    of.*kept = value;
    if (same(of.oid(), fs.root.oid())) fs.root.*kept = value;
}

} // namespace

extern "C" {

int dfs_stat(dfs_t* dfs, dfs_obj_t* parent, const char* name, struct stat* stbuf)
{
    return run("dfs_stat", [&] {
        ::dfs& fs = file_system(dfs);
        require(stbuf, "stbuf");
        fill_stat(fs, find(fs, directory(fs, parent), name, false).entry.inode, *stbuf);
    });
}

int dfs_ostat(dfs_t* dfs, dfs_obj_t* obj, struct stat* stbuf)
{
    return run("dfs_ostat", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = object(obj);
        require(stbuf, "stbuf");
        fill_stat(fs, inode_of(fs, of, home_of(fs, of, DAOS_OO_RO)), *stbuf);
    });
}

int dfs_osetattr(dfs_t* dfs, dfs_obj_t* obj, struct stat* stbuf, int flags)
{
    return run("dfs_osetattr", [&] {
        const ::dfs& fs = writable(dfs);
        const dfs_obj& of = object(obj);
        require(stbuf, "stbuf");
        set_attributes(fs, of, *stbuf, flags);
    });
}

int dfs_access(dfs_t* dfs, dfs_obj_t* parent, const char* name, int mask)
{
    return run("dfs_access", [&] {
        ::dfs& fs = (mask & W_OK) != 0 ? writable(dfs) : file_system(dfs);
        const Inode inode = find(fs, directory(fs, parent), name, true).entry.inode;
        if (mask != F_OK && !may(inode, mask)) fail(EACCES, "the mode of the entry does not allow it");
    });
}

int dfs_chmod(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode)
{
    return run("dfs_chmod", [&] {
        ::dfs& fs = writable(dfs);
        refuse_sticky(mode);
        const Found found = find(fs, directory(fs, parent), name, true);
        const mode_t kind = found.entry.inode.mode & S_IFMT;
        if ((mode & S_IFMT) != 0 && (mode & S_IFMT) != kind)
            fail(EINVAL, "the mode is of another kind of object");
        const mode_t whole = (mode & ~static_cast<mode_t>(S_IFMT)) | kind;
        const timespec time = now();
        Changes changes;
        changes.set(at::mode, whole);
        changes.set_time(at::changed, at::changed_nanoseconds, time);
        update(home_of_found(fs, found).place(), changes.fields());
    });
}

int dfs_chown(dfs_t* dfs, dfs_obj_t* parent, const char* name, uid_t uid, gid_t gid, int flags)
{
    return run("dfs_chown", [&] {
        ::dfs& fs = writable(dfs);
        const Found found = find(fs, directory(fs, parent), name, (flags & O_NOFOLLOW) == 0);
        const bool sets_user = uid != static_cast<uid_t>(-1);
        const bool sets_group = gid != static_cast<gid_t>(-1);
        if (!sets_user && !sets_group) return;
        const timespec time = now();
        Changes changes;
        changes.set_time(at::changed, at::changed_nanoseconds, time);
        if (sets_user) changes.set(at::user, uid);
        if (sets_group) changes.set(at::group, gid);
        update(home_of_found(fs, found).place(), changes.fields());
    });
}

int dfs_obj_set_oclass(dfs_t* dfs, dfs_obj_t* obj, int, daos_oclass_id_t cid)
{
    return run("dfs_obj_set_oclass", [&] {
        ::dfs& fs = writable(dfs);
        char name[MAX_OBJ_CLASS_NAME_LEN];
        if (cid != 0 && daos_oclass_id2name(cid, name) != 0) fail(EINVAL, "there is no such object class");
        set_default<daos_oclass_id_t>(fs, object(obj), at::object_class,
                                      cid != 0 ? cid : fs.attributes.da_dir_oclass_id,
                                      &dfs_obj::object_class);
    });
}

int dfs_obj_set_chunk_size(dfs_t* dfs, dfs_obj_t* obj, int, daos_size_t csize)
{
    return run("dfs_obj_set_chunk_size", [&] {
        ::dfs& fs = writable(dfs);
        if (csize >> 63 != 0) fail(EINVAL, "a chunk has 2^63 bytes or more");
        set_default<std::uint64_t>(fs, object(obj), at::chunk_size,
                                   csize != 0 ? csize : fs.attributes.da_chunk_size, &dfs_obj::chunk_size);
    });
}

} // extern "C"
