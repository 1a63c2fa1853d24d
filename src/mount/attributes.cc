// What stat() tells, its changes, extended attributes, and the space of the pool.
#include "mount/mounted.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <sys/statvfs.h>
#include <sys/xattr.h>

namespace stepstore::mounting {
namespace {

// Of a number of the container and a count in it: no two objects of one have the same.
ino_t inode_number(dfs_obj_t* object)
{
    daos_obj_id_t oid{};
    dfs_obj2id(object, &oid);
    const ino_t number = oid.hi ^ (oid.lo << 32);
    return number != 0 ? number : 1;
}

int do_getattr(const char* path, struct stat* status, fuse_file_info* file)
{
    Object found;
    if (const int error = look_up(path, found, nullptr, status, file)) return answer(error);
    status->st_ino = inode_number(found.get());
    // Programs take it as the size of a buffer, and it may be anything that a container says.
    status->st_blksize = std::clamp<blksize_t>(status->st_blksize, 4096, DFS_DEFAULT_CHUNK_SIZE);
    return 0;
}

int set(const char* path, const fuse_file_info* file, struct stat to, int flags)
{
    Object found;
    mode_t known = 0;
    if (const int error = look_up(path, found, &known, nullptr, file)) return error;
    to.st_mode = (to.st_mode & ~static_cast<mode_t>(S_IFMT)) | (known & S_IFMT);
    return dfs_osetattr(mounted().fs, found.get(), &to, flags);
}

int do_chmod(const char* path, mode_t mode, fuse_file_info* file)
{
    struct stat to = {};
    to.st_mode = mode;
    return answer(set(path, file, to, DFS_SET_ATTR_MODE));
}

int do_chown(const char* path, uid_t user, gid_t group, fuse_file_info* file)
{
    struct stat to = {};
    to.st_uid = user;
    to.st_gid = group;
    const int flags = (user != static_cast<uid_t>(-1) ? DFS_SET_ATTR_UID : 0) |
                      (group != static_cast<gid_t>(-1) ? DFS_SET_ATTR_GID : 0);
    return answer(set(path, file, to, flags));
}

int do_utimens(const char* path, const timespec times[2], fuse_file_info* file)
{
    struct stat to = {};
    to.st_mtim = times[1];
    if (times[1].tv_nsec == UTIME_OMIT) return 0; // the time of the last access is not stored
    if (times[1].tv_nsec == UTIME_NOW) clock_gettime(CLOCK_REALTIME, &to.st_mtim);
    return answer(set(path, file, to, DFS_SET_ATTR_MTIME));
}

// Others give rights or belong to the system: a container that came from elsewhere shall not have them.
bool is_kept(std::string_view name)
{
    return name.starts_with("user.") || name.starts_with("trusted.");
}

int do_setxattr(const char* path, const char* name, const char* value, size_t size, int flags)
{
    if (!is_kept(name) || size == 0) return -ENOTSUP; // libdfs has none without bytes
    Object found;
    if (const int error = look_up(path, found)) return answer(error);
    const int error = dfs_setxattr(mounted().fs, found.get(), name, value, size, flags);
    return answer(flags == XATTR_REPLACE && error == ENOENT ? ENODATA : error);
}

int do_getxattr(const char* path, const char* name, char* value, size_t room)
{
    if (!is_kept(name)) return -ENOTSUP;
    Object found;
    if (const int error = look_up(path, found)) return answer(error);
    daos_size_t size = room;
    const int error = dfs_getxattr(mounted().fs, found.get(), name, room != 0 ? value : nullptr, &size);
    if (error == E2BIG || (error == 0 && room != 0 && size > room)) return -ERANGE;
    return error != 0 ? answer(error) : static_cast<int>(size);
}

int do_removexattr(const char* path, const char* name)
{
    if (!is_kept(name)) return -ENOTSUP;
    Object found;
    if (const int error = look_up(path, found)) return answer(error);
    return answer(dfs_removexattr(mounted().fs, found.get(), name));
}

int do_listxattr(const char* path, char* list, size_t room)
{
    Object found;
    if (const int error = look_up(path, found)) return answer(error);
    daos_size_t size = 0;
    if (const int error = dfs_listxattr(mounted().fs, found.get(), nullptr, &size)) return answer(error);
    if (size == 0) return 0;
    const daos_size_t whole = size;
    const std::unique_ptr<char[]> names(new (std::nothrow) char[whole]());
    if (!names) return -ENOMEM;
    if (const int error = dfs_listxattr(mounted().fs, found.get(), names.get(), &size)) return answer(error);
    size_t given = 0;
    std::string_view rest(names.get(), std::min(size, whole));
    while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(name.size() + 1, rest.size()));
        if (!is_kept(name)) continue;
        if (room != 0) {
            if (name.size() + 1 > room - given) return -ERANGE;
            std::memcpy(list + given, name.data(), name.size());
            list[given + name.size()] = '\0';
        }
        given += name.size() + 1;
    }
    return static_cast<int>(given);
}

int do_statfs(const char*, struct statvfs* to)
{
    daos_handle_t pool{};
    daos_pool_info_t info{};
    info.pi_bits = DPI_SPACE;
    if (const int error = dfs_pool_get(mounted().fs, &pool)) return answer(error);
    const int code = daos_pool_query(pool, nullptr, &info, nullptr, nullptr);
    dfs_pool_put(mounted().fs, pool);
    if (code != 0) return -EAGAIN;
    uint64_t total = 0, free = 0;
    for (unsigned medium = 0; medium < DAOS_MEDIA_MAX; ++medium) {
        total += info.pi_space.ps_space.s_total[medium];
        free += info.pi_space.ps_space.s_free[medium];
    }
    *to = {};
    to->f_bsize = to->f_frsize = 4096;
    to->f_blocks = total / to->f_frsize;
    to->f_bfree = to->f_bavail = free / to->f_frsize;
    to->f_namemax = DFS_MAX_NAME;
    return 0;
}

} // namespace

void add_attributes(fuse_operations& table)
{
    table.getattr = do_getattr;
    table.chmod = do_chmod;
    table.chown = do_chown;
    table.utimens = do_utimens;
    table.setxattr = do_setxattr;
    table.getxattr = do_getxattr;
    table.removexattr = do_removexattr;
    table.listxattr = do_listxattr;
    table.statfs = do_statfs;
}

} // namespace stepstore::mounting
