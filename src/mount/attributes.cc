// What stat() tells, its changes, and the space of the pool.
#include "mount/mount.h"

#include <ctime>
#include <sys/statvfs.h>

namespace stepstore::mounting {
namespace {

int reply_attributes(fuse_req_t request, Mount& mount, Node& node)
{
    struct stat status {};
    double seconds = 0;
    if (const int error = attributes(mount, node, status, seconds)) return stale(error);
    fuse_reply_attr(request, &status, seconds);
    return replied;
}

void do_getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info*)
{
    answer(request, [&](Mount& mount) { return reply_attributes(request, mount, node_of(mount, number)); });
}

int set_attributes(Mount& mount, Node& node, struct stat to, int set)
{
    const Object object = mount.nodes.object(node);
    if ((set & FUSE_SET_ATTR_SIZE) != 0) {
        if (!S_ISREG(node.kind)) return S_ISDIR(node.kind) ? EISDIR : EINVAL;
        const auto size = static_cast<daos_off_t>(to.st_size);
        if (const int error = dfs_punch(mount.fs, object.get(), size, DFS_MAX_FSIZE)) return error;
    }
    int flags = 0; // the time of the last access is not stored
    if ((set & FUSE_SET_ATTR_MODE) != 0) flags |= DFS_SET_ATTR_MODE;
    if ((set & FUSE_SET_ATTR_UID) != 0) flags |= DFS_SET_ATTR_UID;
    if ((set & FUSE_SET_ATTR_GID) != 0) flags |= DFS_SET_ATTR_GID;
    if ((set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) != 0) flags |= DFS_SET_ATTR_MTIME;
    if (flags == 0) return 0;
    if ((set & FUSE_SET_ATTR_MTIME_NOW) != 0) clock_gettime(CLOCK_REALTIME, &to.st_mtim);
    to.st_mode = (to.st_mode & ~static_cast<mode_t>(S_IFMT)) | node.kind;
    return stale(dfs_osetattr(mount.fs, object.get(), &to, flags));
}

void do_setattr(fuse_req_t request, fuse_ino_t number, struct stat* to, int set, fuse_file_info*)
{
    answer(request, [&](Mount& mount) {
        Node& node = node_of(mount, number);
        const int error = set_attributes(mount, node, *to, set);
        mount.nodes.attributes_changed(node);
        return error != 0 ? error : reply_attributes(request, mount, node);
    });
}

void do_statfs(fuse_req_t request, fuse_ino_t)
{
    answer(request, [&](Mount& mount) {
        daos_handle_t pool{};
        daos_pool_info_t info{};
        info.pi_bits = DPI_SPACE;
        if (const int error = dfs_pool_get(mount.fs, &pool)) return error;
        const int code = daos_pool_query(pool, nullptr, &info, nullptr, nullptr);
        dfs_pool_put(mount.fs, pool);
        if (code != 0) return EAGAIN;
        std::uint64_t total = 0, free = 0;
        for (unsigned medium = 0; medium < DAOS_MEDIA_MAX; ++medium) {
            total += info.pi_space.ps_space.s_total[medium];
            free += info.pi_space.ps_space.s_free[medium];
        }
        struct statvfs found {};
        found.f_bsize = found.f_frsize = 4096;
        found.f_blocks = total / found.f_frsize;
        found.f_bfree = found.f_bavail = free / found.f_frsize;
        found.f_namemax = DFS_MAX_NAME;
        fuse_reply_statfs(request, &found);
        return replied;
    });
}

} // namespace

void add_attributes(fuse_lowlevel_ops& table)
{
    table.getattr = do_getattr;
    table.setattr = do_setattr;
    table.statfs = do_statfs;
}

} // namespace stepstore::mounting
