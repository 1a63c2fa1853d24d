#include "mount/mount.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <syslog.h>

namespace stepstore::mounting {
namespace {

std::atomic<bool> logs{false};

} // namespace

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

void reply_error(fuse_req_t request, int error)
{
    if (error == EIO) say(dfs_last_message());
    fuse_reply_err(request, error);
}

int look_up(Mount& mount, const Object& directory, const char* name, Object& found, mode_t& mode)
{
    if (strlen(name) > DFS_MAX_NAME) return ENAMETOOLONG;
    dfs_obj_t* opened = nullptr;
    const int error = dfs_lookup_rel(mount.fs, directory.get(), name, mount.flags(), &opened, &mode, nullptr);
    if (error == 0) found = owned(opened);
    return error;
}

void complete(const Node& node, struct stat& status)
{
    // Of a number of the container and a count in it.
    status.st_ino = std::max<ino_t>(node.oid.hi ^ (node.oid.lo << 32), 2);
    // Programs take it as the size of a buffer, and it may be anything that a container says.
    status.st_blksize = std::clamp<blksize_t>(status.st_blksize, 4096, DFS_DEFAULT_CHUNK_SIZE);
}

int attributes(Mount& mount, Node& node, struct stat& status, double& seconds)
{
    seconds = 0;
    if (S_ISDIR(node.kind) && mount.nodes.known(node, status, seconds)) return 0;
    const std::uint64_t changes = mount.nodes.changes(node);
    if (const int error = dfs_ostat(mount.fs, mount.nodes.object(node).get(), &status)) return error;
    complete(node, status);
    seconds = S_ISDIR(node.kind) ? mount.nodes.keep(node, status, changes) : 0;
    return 0;
}

int entry_of(Mount& mount, const Object& object, mode_t mode, const struct stat* status,
             fuse_entry_param& entry)
{
    entry = {};
    Node& node = mount.nodes.looked_up(object, mode);
    entry.ino = reinterpret_cast<fuse_ino_t>(&node);
    int error = 0;
    if (status) {
        entry.attr = *status;
        complete(node, entry.attr);
    } else {
        error = attributes(mount, node, entry.attr, entry.attr_timeout);
    }
    if (error != 0) mount.nodes.forget(node, 1);
    return error;
}

int make(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t kind_and_mode, int flags,
         const char* target, Object& made, struct stat& status)
{
    if ((kind_and_mode & S_ISVTX) != 0) return ENOTSUP; // libdfs has no such bit
    if (strlen(name) > DFS_MAX_NAME) return ENAMETOOLONG;
    Mount& mount = mount_of(request);
    Node& above = node_of(mount, parent);
    status = {};
    double seconds = 0;
    if (const int error = attributes(mount, above, status, seconds)) return stale(error);
    if ((status.st_mode & S_ISGID) == 0)
        status.st_gid = fuse_req_ctx(request)->gid;
    else if (S_ISDIR(kind_and_mode)) // the group comes from above, as on other file systems
        kind_and_mode |= S_ISGID;
    status.st_uid = fuse_req_ctx(request)->uid;
    dfs_obj_t* opened = nullptr;
    const int error =
        dfs_open_stat(mount.fs, mount.nodes.object(above).get(), name, kind_and_mode,
                      (flags & (O_EXCL | O_TRUNC)) | O_CREAT | O_RDWR, 0, 0, target, &opened, &status);
    mount.nodes.entry_changed(above);
    if (error == 0) made = owned(opened);
    return error;
}

} // namespace stepstore::mounting
