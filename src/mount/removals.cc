// Names are removed and renamed.
#include "mount/mount.h"

#include <cstdio>
#include <cstring>

namespace stepstore::mounting {
namespace {

// What is there, or nothing.
Object find(Mount& mount, const Object& directory, const char* name)
{
    Object found;
    mode_t mode = 0;
    look_up(mount, directory, name, found, mode);
    return found;
}

Object find_open(Mount& mount, const Object& directory, const char* name)
{
    Object found = find(mount, directory, name);
    return found && mount.nodes.is_open(id_of(found)) ? found : nullptr;
}

// Of a file that is open here: renames it, so that its data stay. The number in the name is of no other
// object, so no other mount takes it.
int hide(Mount& mount, const Object& directory, const char* name, const Object& file)
{
    const daos_obj_id_t oid = id_of(file);
    char other[64];
    std::snprintf(other, sizeof other, ".fuse_hidden-%016llx%016llx", static_cast<unsigned long long>(oid.hi),
                  static_cast<unsigned long long>(oid.lo));
    if (const int error =
            dfs_rename(mount.fs, directory.get(), name, directory.get(), other, RENAME_NOREPLACE))
        return error == EEXIST ? EBUSY : error; // it is that name already
    if (const Object found = find(mount, directory, other)) mount.nodes.hidden(found, directory, other);
    return 0;
}

void do_unlink(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    answer(request, [&](Mount& mount) {
        const Object directory = object_of(mount, parent);
        const std::lock_guard lock(mount.hiding);
        const Object file = find_open(mount, directory, name);
        const int error = file ? hide(mount, directory, name, file)
                               : dfs_remove(mount.fs, directory.get(), name, false, nullptr);
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
        // An open target changes its place with what replaces it, and is hidden then: so there is always
        // something under its name.
        const Object replaced = flags == 0 ? find_open(mount, to, new_name) : nullptr;
        const unsigned how = replaced ? RENAME_EXCHANGE : flags;
        int error = dfs_rename(mount.fs, from.get(), name, to.get(), new_name, how);
        if (error == 0 && replaced) error = hide(mount, from, name, replaced);
        mount.nodes.entry_changed(node_of(mount, parent));
        mount.nodes.entry_changed(node_of(mount, new_parent));
        if (error != 0) return error;
        if (const Object moved = find(mount, to, new_name)) mount.nodes.moved(moved);
        if ((flags & RENAME_EXCHANGE) != 0)
            if (const Object moved = find(mount, from, name)) mount.nodes.moved(moved);
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
