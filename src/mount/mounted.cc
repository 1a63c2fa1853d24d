#include "mount/mounted.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <syslog.h>

namespace stepstore::mounting {
namespace {

std::atomic<bool> logs{false};

int flags_of_opening()
{
    return mounted().read_only ? O_RDONLY : O_RDWR;
}

} // namespace

Mounted& mounted()
{
    return *static_cast<Mounted*>(fuse_get_context()->private_data);
}

void say(const char* line)
{
    if (logs)
        syslog(LOG_ERR, "%s", line);
    else
        std::fprintf(stderr, "%s\n", line);
}

void say_to_log()
{
    openlog("stepstore-mount", LOG_PID, LOG_DAEMON);
    logs = true;
}

int answer(int error)
{
    if (error == EIO) say(dfs_last_message());
    return -error;
}

int look_up(const char* path, Object& object, mode_t* mode, struct stat* status, const fuse_file_info* file)
{
    if (strlen(path) >= DFS_MAX_PATH) return ENAMETOOLONG;
    const int error =
        dfs_lookup(mounted().fs, path, flags_of_opening() | O_NOFOLLOW, object.out(), mode, status);
    dfs_obj_t* const open_one = object_of(file);
    if (!open_one) return error;
    if (error == ENOENT || error == ENOTDIR) return ESTALE;
    if (error != 0) return error;
    daos_obj_id_t there{}, expected{};
    dfs_obj2id(object.get(), &there);
    dfs_obj2id(open_one, &expected);
    return there.hi == expected.hi && there.lo == expected.lo ? 0 : ESTALE;
}

int find_place(const char* path, Place& place)
{
    const char* const slash = strrchr(path, '/');
    const auto length = static_cast<std::size_t>(slash - path);
    place.name = slash + 1;
    if (length >= DFS_MAX_PATH || strlen(place.name) > DFS_MAX_NAME) return ENAMETOOLONG;
    char above[DFS_MAX_PATH + 1] = "/";
    if (length > 0) std::memcpy(above, path, length);
    return look_up(above, place.directory, &place.mode);
}

int make(const char* path, mode_t kind_and_mode, int flags, const char* target, Object& object)
{
    if ((kind_and_mode & S_ISVTX) != 0) return ENOTSUP; // libdfs has no such bit
    Place place;
    if (const int error = find_place(path, place)) return error;
    struct stat owner = {};
    owner.st_uid = fuse_get_context()->uid;
    owner.st_gid = fuse_get_context()->gid;
    if ((place.mode & S_ISGID) != 0) { // as other file systems: the group comes from above
        struct stat above = {};
        if (const int error = dfs_ostat(mounted().fs, place.directory.get(), &above)) return error;
        owner.st_gid = above.st_gid;
        if (S_ISDIR(kind_and_mode)) kind_and_mode |= S_ISGID;
    }
    constexpr int known = O_EXCL | O_TRUNC;
    return dfs_open_stat(mounted().fs, place.directory.get(), place.name, kind_and_mode,
                         (flags & known) | O_CREAT | O_RDWR, 0, 0, target, object.out(), &owner);
}

} // namespace stepstore::mounting
