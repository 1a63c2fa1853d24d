// dfs_: objects are looked up, made, opened and released.
#include "dfs/sys_path.h"

#include <cstring>

using namespace stepstore::dfs;

namespace {

void refuse_append(int flags)
{
    if ((flags & O_APPEND) != 0)
        fail(ENOTSUP, "O_APPEND is not there, as in DAOS: ask for the size, and write at that offset");
}

void give_found(::dfs& fs, Found&& found, int flags, dfs_obj_t** obj, mode_t* mode, struct stat* status)
{
    auto opened = open_entry(fs, found.entry, std::move(found.at), flags);
    if (mode) *mode = opened->mode;
    if (status) fill_stat(fs, found.entry.inode, *status);
    *obj = opened.release();
}

daos_oclass_id_t first_set(daos_oclass_id_t a, daos_oclass_id_t b, daos_oclass_id_t c)
{
    return a != 0 ? a : b != 0 ? b : c;
}

// An entry that is not there yet. In what order classes and chunks are chosen is DAOS's choice.
Entry new_entry(::dfs& fs, const dfs_obj& parent, mode_t mode, daos_oclass_id_t oclass,
                std::uint64_t chunk_size, const char* target)
{
    Entry entry;
    Inode& inode = entry.inode;
    inode.mode = mode;
    inode.modified = inode.changed = now();
    inode.user = ::geteuid();
    inode.group = ::getegid();
    const daos_oclass_id_t inherited = parent.object_class;
    const std::uint64_t chunk = parent.chunk_size;
    switch (mode & S_IFMT) {
    case S_IFREG:
        inode.oid = new_oid(fs, first_set(oclass, inherited, fs.attributes.da_file_oclass_id), true);
        inode.chunk_size = chunk_size != 0 ? chunk_size : chunk != 0 ? chunk : fs.attributes.da_chunk_size;
        if (inode.chunk_size >> 63 != 0) fail(EINVAL, "a chunk has 2^63 bytes or more");
        break;
    case S_IFDIR:
        inode.oid = new_oid(fs, first_set(oclass, inherited, fs.attributes.da_dir_oclass_id), false);
        inode.chunk_size = chunk;
        inode.object_class = inherited;
        break;
    case S_IFLNK:
        require(target, "value");
        entry.link.assign(target, strnlen(target, DFS_MAX_PATH));
        if (entry.link.empty() || entry.link.size() >= DFS_MAX_PATH)
            fail(EINVAL, "the target of a link has 1 to " + std::to_string(DFS_MAX_PATH - 1) + " bytes");
        inode.mode |= S_IRWXU | S_IRWXG | S_IRWXO;
        inode.size = entry.link.size();
        inode.oid = new_oid(fs, first_set(oclass, inherited, fs.attributes.da_oclass_id), false);
        break;
    default: fail(EINVAL, "the mode is not one of S_IFREG, S_IFDIR and S_IFLNK");
    }
    return entry;
}

void require_kind(mode_t wanted, const Inode& there, const std::string& name)
{
    if ((wanted & S_IFMT) == (there.mode & S_IFMT)) return;
    if (S_ISDIR(wanted)) fail(ENOTDIR, quoted(name) + " is no directory");
    if (there.is_directory()) fail(EISDIR, quoted(name) + " is a directory");
    fail(EINVAL, quoted(name) + (there.is_link() ? " is a symbolic link" : " is a file"));
}

void open_or_make(::dfs& fs, dfs_obj_t* given_parent, const char* name, mode_t mode, int flags,
                  daos_oclass_id_t oclass, daos_size_t chunk_size, const char* target, dfs_obj_t** obj,
                  struct stat* status)
{
    require(obj, "obj");
    refuse_append(flags);
    dfs_obj& parent = directory(fs, given_parent);
    const bool makes = (flags & O_CREAT) != 0;
    if (makes) writable(&fs);
    if (status && !makes) fail(ENOTSUP, "stbuf is for O_CREAT: use dfs_ostat()");
    std::string given = name_of(name);
    const Place place{parent.handle.get(), given};
    mode_of(flags);
    if (makes) {
        Entry entry = new_entry(fs, parent, mode, oclass, chunk_size, target);
        if (status) {
            entry.inode.user = status->st_uid;
            entry.inode.group = status->st_gid;
        }
        if (insert(place, entry)) {
            auto opened =
                open_entry(fs, entry, level(entry.inode.oid, std::move(given), parent.at), flags & ~O_TRUNC);
            if (status) fill_stat(fs, entry.inode, *status);
            *obj = opened.release();
            return;
        }
        if ((flags & O_EXCL) != 0 || S_ISLNK(mode)) fail(EEXIST, "the name " + quoted(given) + " is taken");
    }
    auto entry = fetch(fs.th, place, With::link);
    if (!entry) fail(ENOENT, "there is no entry " + quoted(given));
    require_kind(mode, entry->inode, given);
    Found found{level(entry->inode.oid, std::move(given), parent.at), std::move(*entry)};
    give_found(fs, std::move(found), flags, obj, nullptr, status);
}

} // namespace

extern "C" {

int dfs_lookup(dfs_t* dfs, const char* path, int flags, dfs_obj_t** obj, mode_t* mode, struct stat* stbuf)
{
    return run("dfs_lookup", [&] {
        ::dfs& fs = file_system(dfs);
        require(path, "path");
        require(obj, "obj");
        refuse_append(flags);
        std::string_view given(path, strnlen(path, DFS_MAX_PATH));
        if (given.size() >= DFS_MAX_PATH || !given.starts_with('/'))
            fail(EINVAL, "the path is not absolute, or has 4096 bytes or more");
        given = below_prefix(fs, given);
        give_found(fs, walk(fs, fs.root.at, given, (flags & O_NOFOLLOW) == 0), flags, obj, mode, stbuf);
    });
}

int dfs_lookup_rel(dfs_t* dfs, dfs_obj_t* parent, const char* name, int flags, dfs_obj_t** obj, mode_t* mode,
                   struct stat* stbuf)
{
    return run("dfs_lookup_rel", [&] {
        ::dfs& fs = file_system(dfs);
        require(obj, "obj");
        require(name, "name");
        refuse_append(flags);
        give_found(fs, find(fs, directory(fs, parent), name, (flags & O_NOFOLLOW) == 0), flags, obj, mode,
                   stbuf);
    });
}

int dfs_open(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode, int flags, daos_oclass_id_t cid,
             daos_size_t chunk_size, const char* value, dfs_obj_t** obj)
{
    return run("dfs_open", [&] {
        open_or_make(file_system(dfs), parent, name, mode, flags, cid, chunk_size, value, obj, nullptr);
    });
}

int dfs_open_stat(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode, int flags,
                  daos_oclass_id_t cid, daos_size_t chunk_size, const char* value, dfs_obj_t** obj,
                  struct stat* stbuf)
{
    return run("dfs_open_stat", [&] {
        open_or_make(file_system(dfs), parent, name, mode, flags, cid, chunk_size, value, obj, stbuf);
    });
}

int dfs_mkdir(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode, daos_oclass_id_t cid)
{
    return run("dfs_mkdir", [&] {
        ::dfs& fs = writable(dfs);
        dfs_obj& above = directory(fs, parent);
        const std::string given = name_of(name);
        if ((mode & S_IFMT) != 0 && !S_ISDIR(mode)) fail(EINVAL, "the mode is not of a directory");
        if (!insert({above.handle.get(), given}, new_entry(fs, above, S_IFDIR | mode, cid, 0, nullptr)))
            fail(EEXIST, "the name " + quoted(given) + " is taken");
    });
}

int dfs_dup(dfs_t* dfs, dfs_obj_t* obj, int flags, dfs_obj_t** new_obj)
{
    return run("dfs_dup", [&] {
        ::dfs& fs = file_system(dfs);
        const dfs_obj& from = object(obj);
        require(new_obj, "new_obj");
        refuse_append(flags);
        Entry entry;
        entry.inode.mode = from.mode;
        entry.inode.oid = from.oid();
        entry.inode.object_class = from.object_class;
        entry.inode.chunk_size = from.chunk_size;
        entry.link = from.link;
        if (S_ISREG(from.mode)) {
            daos_size_t cell = 0;
            require_done(daos_array_get_attr(from.handle.get(), &entry.inode.chunk_size, &cell),
                         "asking for a chunk");
        }
        *new_obj = open_entry(fs, entry, from.at, flags & ~O_TRUNC).release();
    });
}

int dfs_release(dfs_obj_t* obj)
{
    return run("dfs_release", [&] {
        require(obj, "obj");
        if (is_live(Kind::object, obj) && is_live(Kind::file_system, obj->fs) && obj == &obj->fs->root)
            fail(EINVAL, "the root is released by dfs_umount()");
        if (!end_life(Kind::object, obj))
            fail(EINVAL, "obj is no open object: it was released, or is something else");
        delete obj;
    });
}

int dfs_obj2id(dfs_obj_t* obj, daos_obj_id_t* oid)
{
    return run("dfs_obj2id", [&] {
        require(oid, "oid");
        *oid = object(obj).oid();
    });
}

int dfs_get_mode(dfs_obj_t* obj, mode_t* mode)
{
    return run("dfs_get_mode", [&] {
        require(mode, "mode");
        *mode = object(obj).mode;
    });
}

int dfs_get_symlink_value(dfs_obj_t* obj, char* buf, daos_size_t* size)
{
    return run("dfs_get_symlink_value", [&] {
        require(size, "size");
        if (!S_ISLNK(object(obj).mode)) fail(EINVAL, "the object " + quoted(obj->at->name) + " is no link");
        const std::size_t room = buf ? *size : 0;
        if (room > 0) {
            const std::size_t length = std::min<std::size_t>(room - 1, obj->link.size());
            std::memcpy(buf, obj->link.data(), length);
            buf[length] = '\0';
        }
        *size = obj->link.size() + 1;
    });
}

int dfs_update_parent(dfs_obj_t* obj, dfs_obj_t* src_obj, const char* name)
{
    return run("dfs_update_parent", [&] {
        const dfs_obj& from = object(src_obj);
        dfs_obj& to = object(obj);
        to.at = level(to.oid(), name ? name_of(name) : to.at->name, from.at->up);
    });
}

} // extern "C"
