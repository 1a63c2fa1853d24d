// Extended attributes: `user.` and `trusted.`. Others give rights or belong to the system, and a container
// that came from elsewhere shall not have them.
#include "mount/mount.h"

#include <algorithm>
#include <string_view>
#include <sys/xattr.h>

namespace stepstore::mounting {
namespace {

bool is_kept(std::string_view name)
{
    return name.starts_with("user.") || name.starts_with("trusted.");
}

void do_setxattr(fuse_req_t request, fuse_ino_t number, const char* name, const char* value, size_t size,
                 int flags)
{
    answer(request, [&](Mount& mount) {
        if (!is_kept(name) || size == 0) return ENOTSUP; // libdfs has none without bytes
        const int error = dfs_setxattr(mount.fs, object_of(mount, number).get(), name, value, size, flags);
        mount.nodes.attributes_changed(node_of(mount, number));
        return flags == XATTR_REPLACE && error == ENOENT ? ENODATA : stale(error);
    });
}

void do_getxattr(fuse_req_t request, fuse_ino_t number, const char* name, size_t room)
{
    answer(request, [&](Mount& mount) {
        if (!is_kept(name)) return ENOTSUP;
        daos_size_t size = std::min<size_t>(room, DFS_MAX_XATTR_LEN);
        const std::unique_ptr<char[]> value(new char[size]);
        const int error = dfs_getxattr(mount.fs, object_of(mount, number).get(), name,
                                       room != 0 ? value.get() : nullptr, &size);
        if (error == E2BIG || (error == 0 && room != 0 && size > room)) return ERANGE;
        if (error != 0) return stale(error);
        if (room == 0)
            fuse_reply_xattr(request, size);
        else
            fuse_reply_buf(request, value.get(), size);
        return replied;
    });
}

void do_removexattr(fuse_req_t request, fuse_ino_t number, const char* name)
{
    answer(request, [&](Mount& mount) {
        if (!is_kept(name)) return ENOTSUP;
        const int error = dfs_removexattr(mount.fs, object_of(mount, number).get(), name);
        mount.nodes.attributes_changed(node_of(mount, number));
        return stale(error);
    });
}

// All names, each with a zero, of those that are kept.
int list(Mount& mount, dfs_obj_t* object, std::string& kept)
{
    daos_size_t size = 0;
    if (const int error = dfs_listxattr(mount.fs, object, nullptr, &size)) return error;
    std::string names(size, '\0');
    if (size != 0)
        if (const int error = dfs_listxattr(mount.fs, object, names.data(), &size)) return error;
    std::string_view rest = std::string_view(names).substr(0, size);
    while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(name.size() + 1, rest.size()));
        if (is_kept(name)) kept.append(name).push_back('\0');
    }
    return 0;
}

void do_listxattr(fuse_req_t request, fuse_ino_t number, size_t room)
{
    answer(request, [&](Mount& mount) {
        std::string names;
        if (const int error = list(mount, object_of(mount, number).get(), names)) return stale(error);
        if (room != 0 && names.size() > room) return ERANGE;
        if (room == 0)
            fuse_reply_xattr(request, names.size());
        else
            fuse_reply_buf(request, names.data(), names.size());
        return replied;
    });
}

} // namespace

void add_extended_attributes(fuse_lowlevel_ops& table)
{
    table.setxattr = do_setxattr;
    table.getxattr = do_getxattr;
    table.removexattr = do_removexattr;
    table.listxattr = do_listxattr;
}

} // namespace stepstore::mounting
