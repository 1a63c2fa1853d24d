// dfs_sys_: objects by their paths.
#include "dfs/sys_path.h"

using namespace stepstore::dfs;

namespace {

void refuse_root(const SysPath& path, int number)
{
    if (path.is_root()) fail(number, "the path is of the root of the file system");
}

// What the call gives for an object of a path.
template <class Call>
int with_object(const char* name, dfs_sys_t* given, const char* path, int flags, Call call)
{
    return run(name, [&] {
        const auto opened = open_path(given, path, flags);
        call(given->fs, opened.get());
    });
}

void tell_size(daos_size_t* size, daos_size_t room, daos_size_t needed)
{
    *size = needed;
    if (room < needed)
        fail(ERANGE, "the memory has " + std::to_string(room) + " bytes, and " + std::to_string(needed) +
                         " are needed");
}

} // namespace

extern "C" {

int dfs_sys_access(dfs_sys_t* dfs_sys, const char* path, int mask, int flags)
{
    return run("dfs_sys_access", [&] {
        if ((flags & AT_EACCESS) != 0) fail(ENOTSUP, "AT_EACCESS is not there, as in DAOS");
        SysPath at(dfs_sys, path);
        struct stat status {};
        if (!at.is_root() && (flags & O_NOFOLLOW) != 0) {
            pass_on(dfs_stat(&at.fs(), at.parent(), at.name(), &status));
            if (S_ISLNK(status.st_mode)) return;
        }
        pass_on(dfs_access(&at.fs(), at.parent(), at.name_or_null(), mask));
    });
}

int dfs_sys_chmod(dfs_sys_t* dfs_sys, const char* path, mode_t mode)
{
    return run("dfs_sys_chmod", [&] {
        SysPath at(dfs_sys, path);
        pass_on(dfs_chmod(&at.fs(), at.parent(), at.name_or_null(), mode));
    });
}

int dfs_sys_chown(dfs_sys_t* dfs_sys, const char* path, uid_t uid, gid_t gid, int flags)
{
    return run("dfs_sys_chown", [&] {
        SysPath at(dfs_sys, path);
        pass_on(dfs_chown(&at.fs(), at.parent(), at.name_or_null(), uid, gid, flags));
    });
}

int dfs_sys_setattr(dfs_sys_t* dfs_sys, const char* path, struct stat* stbuf, int flags, int sflags)
{
    return with_object("dfs_sys_setattr", dfs_sys, path, O_RDWR | (sflags & O_NOFOLLOW),
                       [&](dfs_t* fs, dfs_obj_t* obj) { pass_on(dfs_osetattr(fs, obj, stbuf, flags)); });
}

int dfs_sys_utimens(dfs_sys_t* dfs_sys, const char* path, const struct timespec times[2], int flags)
{
    return with_object("dfs_sys_utimens", dfs_sys, path, O_RDWR | (flags & O_NOFOLLOW),
                       [&](dfs_t* fs, dfs_obj_t* obj) {
                           require(times, "times");
                           struct stat status {};
                           status.st_atim = times[0];
                           status.st_mtim = times[1];
                           pass_on(dfs_osetattr(fs, obj, &status, DFS_SET_ATTR_ATIME | DFS_SET_ATTR_MTIME));
                       });
}

int dfs_sys_stat(dfs_sys_t* dfs_sys, const char* path, int flags, struct stat* stbuf)
{
    return with_object("dfs_sys_stat", dfs_sys, path, O_RDONLY | (flags & O_NOFOLLOW),
                       [&](dfs_t* fs, dfs_obj_t* obj) { pass_on(dfs_ostat(fs, obj, stbuf)); });
}

int dfs_sys_listxattr(dfs_sys_t* dfs_sys, const char* path, char* list, daos_size_t* size, int flags)
{
    return with_object("dfs_sys_listxattr", dfs_sys, path, O_RDONLY | (flags & O_NOFOLLOW),
                       [&](dfs_t* fs, dfs_obj_t* obj) {
                           require(size, "size");
                           daos_size_t needed = *size;
                           pass_on(dfs_listxattr(fs, obj, list, &needed));
                           tell_size(size, list ? *size : 0, needed);
                       });
}

int dfs_sys_getxattr(dfs_sys_t* dfs_sys, const char* path, const char* name, void* value, daos_size_t* size,
                     int flags)
{
    return with_object("dfs_sys_getxattr", dfs_sys, path, O_RDONLY | (flags & O_NOFOLLOW),
                       [&](dfs_t* fs, dfs_obj_t* obj) {
                           require(size, "size");
                           daos_size_t needed = *size;
                           const int rc = dfs_getxattr(fs, obj, name, value, &needed);
                           if (rc != E2BIG) pass_on(rc);
                           tell_size(size, value ? *size : 0, needed);
                       });
}

int dfs_sys_setxattr(dfs_sys_t* dfs_sys, const char* path, const char* name, const void* value,
                     daos_size_t size, int flags, int sflags)
{
    return with_object(
        "dfs_sys_setxattr", dfs_sys, path, O_RDWR | (sflags & O_NOFOLLOW),
        [&](dfs_t* fs, dfs_obj_t* obj) { pass_on(dfs_setxattr(fs, obj, name, value, size, flags)); });
}

int dfs_sys_removexattr(dfs_sys_t* dfs_sys, const char* path, const char* name, int flags)
{
    return with_object("dfs_sys_removexattr", dfs_sys, path, O_RDWR | (flags & O_NOFOLLOW),
                       [&](dfs_t* fs, dfs_obj_t* obj) { pass_on(dfs_removexattr(fs, obj, name)); });
}

int dfs_sys_readlink(dfs_sys_t* dfs_sys, const char* path, char* buf, daos_size_t* size)
{
    return with_object("dfs_sys_readlink", dfs_sys, path, O_RDONLY | O_NOFOLLOW,
                       [&](dfs_t*, dfs_obj_t* obj) { pass_on(dfs_get_symlink_value(obj, buf, size)); });
}

int dfs_sys_symlink(dfs_sys_t* dfs_sys, const char* target, const char* path)
{
    return run("dfs_sys_symlink", [&] {
        SysPath at(dfs_sys, path);
        refuse_root(at, EEXIST);
        dfs_obj_t* made = nullptr;
        pass_on(dfs_open(&at.fs(), at.parent(), at.name(), S_IFLNK, O_CREAT | O_EXCL | O_RDWR, 0, 0, target,
                         &made));
        pass_on(dfs_release(made));
    });
}

int dfs_sys_mknod(dfs_sys_t* dfs_sys, const char* path, mode_t mode, daos_oclass_id_t cid,
                  daos_size_t chunk_size)
{
    return run("dfs_sys_mknod", [&] {
        SysPath at(dfs_sys, path);
        refuse_root(at, EEXIST);
        dfs_obj_t* made = nullptr;
        pass_on(dfs_open(&at.fs(), at.parent(), at.name(), mode, O_CREAT | O_EXCL | O_RDWR, cid, chunk_size,
                         nullptr, &made));
        pass_on(dfs_release(made));
    });
}

int dfs_sys_mkdir(dfs_sys_t* dfs_sys, const char* dir, mode_t mode, daos_oclass_id_t cid)
{
    return run("dfs_sys_mkdir", [&] {
        SysPath at(dfs_sys, dir);
        refuse_root(at, EEXIST);
        pass_on(dfs_mkdir(&at.fs(), at.parent(), at.name(), mode, cid));
    });
}

int dfs_sys_mkdir_p(dfs_sys_t* dfs_sys, const char* dir_path, mode_t mode, daos_oclass_id_t cid)
{
    return run("dfs_sys_mkdir_p", [&] {
        const ::dfs& fs = file_system(dfs_sys);
        require(dir_path, "dir_path");
        const std::string whole(dir_path, strnlen(dir_path, DFS_MAX_PATH));
        if (whole.size() >= DFS_MAX_PATH) fail(ENAMETOOLONG, "the path has 4096 bytes or more");
        below_prefix(fs, whole);
        for (std::size_t end = fs.prefix.size(); end < whole.size();) {
            end = std::min(whole.find('/', whole.find_first_not_of('/', end)), whole.size());
            const std::string part = whole.substr(0, end);
            SysPath at(dfs_sys, part.c_str());
            if (at.is_root()) continue;
            const int rc = dfs_mkdir(&at.fs(), at.parent(), at.name(), mode, cid);
            if (rc != EEXIST) pass_on(rc);
        }
        if (!S_ISDIR(open_path(dfs_sys, dir_path, O_RDONLY)->mode))
            fail(ENOTDIR, quoted(whole) + " is no directory");
    });
}

int dfs_sys_remove_type(dfs_sys_t* dfs_sys, const char* path, bool force, mode_t mode, daos_obj_id_t* oid)
{
    return run("dfs_sys_remove_type", [&] {
        SysPath at(dfs_sys, path);
        refuse_root(at, EBUSY);
        if ((mode & S_IFMT) != 0) {
            struct stat status {};
            pass_on(dfs_stat(&at.fs(), at.parent(), at.name(), &status));
            if ((status.st_mode & S_IFMT) != (mode & S_IFMT))
                fail(EINVAL, quoted(path) + " is of another kind");
        }
        pass_on(dfs_remove(&at.fs(), at.parent(), at.name(), force, oid));
    });
}

int dfs_sys_remove(dfs_sys_t* dfs_sys, const char* path, bool force, daos_obj_id_t* oid)
{
    return dfs_sys_remove_type(dfs_sys, path, force, 0, oid);
}

int dfs_sys_open(dfs_sys_t* dfs_sys, const char* path, mode_t mode, int flags, daos_oclass_id_t cid,
                 daos_size_t chunk_size, const char* value, dfs_obj_t** obj)
{
    return run("dfs_sys_open", [&] {
        require(obj, "obj");
        const mode_t kind = (mode & S_IFMT) != 0 ? mode & S_IFMT : S_IFREG;
        if ((flags & (O_CREAT | O_NOFOLLOW | O_APPEND)) != 0) {
            SysPath at(dfs_sys, path);
            refuse_root(at, (flags & O_CREAT) != 0 ? EEXIST : EISDIR);
            pass_on(
                dfs_open(&at.fs(), at.parent(), at.name(), mode | kind, flags, cid, chunk_size, value, obj));
            return;
        }
        auto opened = open_path(dfs_sys, path, flags & ~O_TRUNC);
        if ((opened->mode & S_IFMT) != kind)
            fail(S_ISDIR(kind)           ? ENOTDIR
                 : S_ISDIR(opened->mode) ? EISDIR
                                         : EINVAL,
                 quoted(path) + " is of another kind");
        if ((flags & O_TRUNC) != 0) opened = open_path(dfs_sys, path, flags);
        *obj = opened.release();
    });
}

int dfs_sys_close(dfs_obj_t* obj)
{
    return dfs_release(obj);
}

int dfs_sys_read(dfs_sys_t* dfs_sys, dfs_obj_t* obj, void* buf, daos_off_t off, daos_size_t* size,
                 daos_event_t* ev)
{
    return run("dfs_sys_read", [&] {
        ::dfs& fs = file_system(dfs_sys);
        require(buf, "buf");
        require(size, "size");
        d_iov_t piece;
        d_iov_set(&piece, buf, *size);
        d_sg_list_t list{1, 0, &piece};
        pass_on(dfs_read(&fs, obj, &list, off, size, ev));
    });
}

int dfs_sys_write(dfs_sys_t* dfs_sys, dfs_obj_t* obj, const void* buf, daos_off_t off, daos_size_t* size,
                  daos_event_t* ev)
{
    return run("dfs_sys_write", [&] {
        ::dfs& fs = file_system(dfs_sys);
        require(buf, "buf");
        require(size, "size");
        d_iov_t piece;
        d_iov_set(&piece, const_cast<void*>(buf), *size); // only read
        d_sg_list_t list{1, 0, &piece};
        pass_on(dfs_write(&fs, obj, &list, off, ev));
    });
}

int dfs_sys_punch(dfs_sys_t* dfs_sys, const char* path, daos_off_t offset, daos_off_t len)
{
    return with_object("dfs_sys_punch", dfs_sys, path, O_RDWR,
                       [&](dfs_t* fs, dfs_obj_t* obj) { pass_on(dfs_punch(fs, obj, offset, len)); });
}

} // extern "C"
