/*
 * Calls on file systems by absolute paths, on those of daos_fs.h. Link with -ldfs -ldaos.
 *
 * All return 0 or a positive errno; see daos_fs.h. ENAMETOOLONG: a path of 4096 bytes or more. Symbolic links
 * are followed; with O_NOFOLLOW in the flags a link at the end is not.
 *
 * Threads: several may use one file system at once, whatever flags it was mounted with. Directories are
 * looked up by each call. So a directory that another process has renamed or removed is never used by its old
 * path.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_FS_SYS_H
#define STEPSTORE_LIBDAOS_DAOS_FS_SYS_H

#include <daos.h>
#include <daos_fs.h>
#include <dirent.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sflags: they change nothing here. EINVAL: others. */
#define DFS_SYS_NO_CACHE 1
#define DFS_SYS_NO_LOCK 2

typedef struct dfs_sys dfs_sys_t;

/* As the calls of daos_fs.h with these names. */
int dfs_sys_connect(const char* pool, const char* sys, const char* cont, int mflags, int sflags,
                    dfs_attr_t* attr, dfs_sys_t** dfs_sys);
int dfs_sys_disconnect(dfs_sys_t* dfs_sys);
int dfs_sys_mount(daos_handle_t poh, daos_handle_t coh, int mflags, int sflags, dfs_sys_t** dfs_sys);
int dfs_sys_umount(dfs_sys_t* dfs_sys);
int dfs_sys_local2global(dfs_sys_t* dfs_sys, d_iov_t* glob);
int dfs_sys_global2local(daos_handle_t poh, daos_handle_t coh, int mflags, int sflags, d_iov_t glob,
                         dfs_sys_t** dfs_sys);
int dfs_sys_local2global_all(dfs_sys_t* dfs_sys, d_iov_t* glob);
int dfs_sys_global2local_all(int mflags, int sflags, d_iov_t glob, dfs_sys_t** dfs_sys);
/* Of DAOS later than 2.6. */
int dfs_sys_set_prefix(dfs_sys_t* dfs_sys, const char* prefix);
/* The file system below; it is not to be unmounted. */
int dfs_sys2base(dfs_sys_t* dfs_sys, dfs_t** dfs);

int dfs_sys_access(dfs_sys_t* dfs_sys, const char* path, int mask, int flags);
int dfs_sys_chmod(dfs_sys_t* dfs_sys, const char* path, mode_t mode);
int dfs_sys_chown(dfs_sys_t* dfs_sys, const char* path, uid_t uid, gid_t gid, int flags);
int dfs_sys_setattr(dfs_sys_t* dfs_sys, const char* path, struct stat* stbuf, int flags, int sflags);
int dfs_sys_utimens(dfs_sys_t* dfs_sys, const char* path, const struct timespec times[2], int flags);
int dfs_sys_stat(dfs_sys_t* dfs_sys, const char* path, int flags, struct stat* stbuf);

/* ERANGE: the room is too small, also if there is none; *size tells what is needed. */
int dfs_sys_listxattr(dfs_sys_t* dfs_sys, const char* path, char* list, daos_size_t* size, int flags);
int dfs_sys_getxattr(dfs_sys_t* dfs_sys, const char* path, const char* name, void* value, daos_size_t* size,
                     int flags);
int dfs_sys_setxattr(dfs_sys_t* dfs_sys, const char* path, const char* name, const void* value,
                     daos_size_t size, int flags, int sflags);
int dfs_sys_removexattr(dfs_sys_t* dfs_sys, const char* path, const char* name, int flags);

int dfs_sys_readlink(dfs_sys_t* dfs_sys, const char* path, char* buf, daos_size_t* size);
int dfs_sys_symlink(dfs_sys_t* dfs_sys, const char* target, const char* path);
int dfs_sys_mknod(dfs_sys_t* dfs_sys, const char* path, mode_t mode, daos_oclass_id_t cid,
                  daos_size_t chunk_size);
int dfs_sys_mkdir(dfs_sys_t* dfs_sys, const char* dir, mode_t mode, daos_oclass_id_t cid);
/* With the directories above it. A directory that is there already is no error. Of DAOS later than 2.6. */
int dfs_sys_mkdir_p(dfs_sys_t* dfs_sys, const char* dir_path, mode_t mode, daos_oclass_id_t cid);
int dfs_sys_remove(dfs_sys_t* dfs_sys, const char* path, bool force, daos_obj_id_t* oid);
/* EINVAL: it is of another kind than `mode`. */
int dfs_sys_remove_type(dfs_sys_t* dfs_sys, const char* path, bool force, mode_t mode, daos_obj_id_t* oid);

/* mode: without a kind S_IFREG. */
int dfs_sys_open(dfs_sys_t* dfs_sys, const char* path, mode_t mode, int flags, daos_oclass_id_t cid,
                 daos_size_t chunk_size, const char* value, dfs_obj_t** obj);
int dfs_sys_close(dfs_obj_t* obj);
/* *size, in: bytes; out, of a read: bytes that were there. */
int dfs_sys_read(dfs_sys_t* dfs_sys, dfs_obj_t* obj, void* buf, daos_off_t off, daos_size_t* size,
                 daos_event_t* ev);
int dfs_sys_write(dfs_sys_t* dfs_sys, dfs_obj_t* obj, const void* buf, daos_off_t off, daos_size_t* size,
                  daos_event_t* ev);
int dfs_sys_punch(dfs_sys_t* dfs_sys, const char* path, daos_off_t offset, daos_off_t len);

/* *dirp is for these calls alone. *dirent: until the next call; NULL: there are no more. */
int dfs_sys_opendir(dfs_sys_t* dfs_sys, const char* dir, int flags, DIR** dirp);
int dfs_sys_readdir(dfs_sys_t* dfs_sys, DIR* dirp, struct dirent** dirent);
int dfs_sys_closedir(DIR* dirp);

#ifdef __cplusplus
}
#endif
#endif
