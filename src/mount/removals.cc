// Names are removed and renamed.
#include "mount/mount.h"

#include <cstdio>
#include <cstring>

namespace stepstore::mounting {
namespace {

// What is there, or nothing.
int find(Mount& mount, const Object& directory, const char* name, Object& found)
{
    mode_t mode = 0;
    const int error = look_up(mount, directory, name, found, mode);
    return error == ENOENT ? 0 : error;
}

// Of a file that is open here: renames it, so that its data stay. hidden: whether that was so. The number in
// the name is of no other object, so no other mount takes it.
int hide(Mount& mount, const Object& directory, const char* name, bool& hidden)
{
    Object found;
    hidden = false;
    if (const int error = find(mount, directory, name, found)) return error == EIO ? 0 : error;
    if (!found || !mount.nodes.is_open(id_of(found))) return 0;
    const daos_obj_id_t oid = id_of(found);
    char other[64];
    std::snprintf(other, sizeof other, ".fuse_hidden-%016llx%016llx", static_cast<unsigned long long>(oid.hi),
                  static_cast<unsigned long long>(oid.lo));
    if (const int error =
            dfs_rename(mount.fs, directory.get(), name, directory.get(), other, RENAME_NOREPLACE))
        return error == EEXIST ? EBUSY : error; // that is the file's name already
    mode_t mode = 0;
    if (look_up(mount, directory, other, found, mode) == 0) mount.nodes.hidden(found, directory, other);
    hidden = true;
    return 0;
}

void do_unlink(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    answer(request, [&](Mount& mount) {
        const Object directory = object_of(mount, parent);
        const std::lock_guard lock(mount.hiding);
        bool hidden = false;
        int error = hide(mount, directory, name, hidden);
        if (error == 0 && !hidden) error = dfs_remove(mount.fs, directory.get(), name, false, nullptr);
        mount.nodes.entry_changed(node_of(mount, parent));
        return error;
    });
}

void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    answer(request, [&](Mount& mount) {
        const int error = dfs_remove(mount.fs, object_of(mount, parent).get(), name, false, nullptr);
        mount.nodes.entry_changed(node_of(mount, parent));
        return error;
    });
}

void do_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
               const char* new_name, unsigned flags)
{
    answer(request, [&](Mount& mount) {
        if (strlen(new_name) > DFS_MAX_NAME) return ENAMETOOLONG;
        const Object from = object_of(mount, parent), to = object_of(mount, new_parent);
        const std::lock_guard lock(mount.hiding);
        bool hidden = false;
        if (flags == 0)
            if (const int error = hide(mount, to, new_name, hidden)) return error;
        const int error = dfs_rename(mount.fs, from.get(), name, to.get(), new_name, flags);
        mount.nodes.entry_changed(node_of(mount, parent));
        mount.nodes.entry_changed(node_of(mount, new_parent));
        if (error != 0) return error;
        Object moved;
        if (find(mount, to, new_name, moved) == 0 && moved) mount.nodes.moved(moved);
        if ((flags & RENAME_EXCHANGE) != 0 && find(mount, from, name, moved) == 0 && moved)
            mount.nodes.moved(moved);
        return 0;
    });
}

} // namespace

void add_removals(fuse_lowlevel_ops& table)
{
    table.unlink = do_unlink;
    table.rmdir = do_rmdir;
    table.rename = do_rename;
}

} // namespace stepstore::mounting
