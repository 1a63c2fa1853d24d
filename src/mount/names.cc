// Names are looked up and made.
#include "mount/mount.h"

#include <climits>

namespace stepstore::mounting {
namespace {

void reply_entry(fuse_req_t request, Mount& mount, const fuse_entry_param& entry)
{
    if (fuse_reply_entry(request, &entry) != 0) mount.nodes.forget(*reinterpret_cast<Node*>(entry.ino), 1);
}

void do_lookup(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    answer(request, [&](Mount& mount) {
        Object found;
        mode_t mode = 0;
        fuse_entry_param entry;
        if (const int error = look_up(mount, object_of(mount, parent), name, found, mode)) return error;
        if (const int error = entry_of(mount, found, mode, nullptr, entry)) return error;
        reply_entry(request, mount, entry);
        return replied;
    });
}

void do_forget(fuse_req_t request, fuse_ino_t number, std::uint64_t lookups)
{
    Mount& mount = mount_of(request);
    mount.nodes.forget(node_of(mount, number), lookups);
    fuse_reply_none(request);
}

void do_forget_multi(fuse_req_t request, size_t many, fuse_forget_data* forgotten)
{
    Mount& mount = mount_of(request);
    for (size_t i = 0; i < many; ++i)
        mount.nodes.forget(node_of(mount, forgotten[i].ino), forgotten[i].nlookup);
    fuse_reply_none(request);
}

void make_and_reply(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, const char* target)
{
    answer(request, [&](Mount& mount) {
        Object made;
        struct stat status;
        fuse_entry_param entry;
        if (const int error = make(request, parent, name, mode, O_EXCL, target, made, status)) return error;
        if (const int error = entry_of(mount, made, mode, &status, entry)) return error;
        reply_entry(request, mount, entry);
        return replied;
    });
}

void do_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode)
{
    make_and_reply(request, parent, name, (mode & ~static_cast<mode_t>(S_IFMT)) | S_IFDIR, nullptr);
}

void do_symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name)
{
    make_and_reply(request, parent, name, S_IFLNK | 0777, target);
}

void do_mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t)
{
    if (S_ISREG(mode))
        make_and_reply(request, parent, name, mode, nullptr);
    else
        reply_error(request, EPERM);
}

// What POSIX says of a file system without hard links.
void do_link(fuse_req_t request, fuse_ino_t, fuse_ino_t, const char*)
{
    reply_error(request, EPERM);
}

void do_readlink(fuse_req_t request, fuse_ino_t number)
{
    answer(request, [&](Mount& mount) {
        char target[PATH_MAX + 1];
        daos_size_t size = sizeof target;
        if (const int error = dfs_get_symlink_value(object_of(mount, number).get(), target, &size))
            return error;
        fuse_reply_readlink(request, target);
        return replied;
    });
}

} // namespace

void add_names(fuse_lowlevel_ops& table)
{
    table.lookup = do_lookup;
    table.forget = do_forget;
    table.forget_multi = do_forget_multi;
    table.mkdir = do_mkdir;
    table.symlink = do_symlink;
    table.mknod = do_mknod;
    table.link = do_link;
    table.readlink = do_readlink;
}

} // namespace stepstore::mounting
