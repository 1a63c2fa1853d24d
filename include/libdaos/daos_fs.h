/*
 * DFS: a namespace of directories, files and symbolic links in a container, as DAOS's libdfs 2.6 offers it.
 * Link with -ldfs -ldaos. The layout in the container is DAOS's own (docs/design/dfs.md).
 *
 * All calls return 0 or a positive errno. EINVAL: a NULL pointer that is not said to be optional, or a name
 * that is empty, ".", "..", longer than 255 bytes, or has a '/'. EIO: what is stored is damaged. EPERM: the
 * file system is mounted for reading, or the object is opened so. ENOTSUP: DFS_BALANCED, O_APPEND, or a pool
 * in files. dfs_last_message() has a sentence on the last error of the thread.
 *
 * A `parent` that is NULL is the root. A `name` of dfs_stat(), dfs_access(), dfs_chmod() and dfs_chown() that
 * is NULL is the root itself.
 *
 * Each change of one name is atomic: of two processes that create it, one does. A rename replaces its target
 * in one step. If a process dies in a rename, both names may show the same file, and none shows nothing. The
 * next removal or rename of either one finishes it. So does dfs_move() between the same names.
 *
 * Threads: several may use one file system, and one object, at once. Only dfs_set_prefix(),
 * dfs_update_parent() and their release belong to one. After a fork parent and child both continue.
 * Permissions are stored; they are not enforced.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_FS_H
#define STEPSTORE_LIBDAOS_DAOS_FS_H

#include <daos_array.h>
#include <daos_cont.h>
#include <daos_event.h>
#include <daos_obj.h>
#include <daos_obj_class.h>
#include <daos_types.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DFS_MAX_NAME NAME_MAX
#define DFS_MAX_PATH PATH_MAX
#define DFS_MAX_FSIZE (~0ULL) /* as length of dfs_punch(): all that follows */
#define DFS_DEFAULT_CHUNK_SIZE 1048576
#define DFS_MAX_XATTR_NAME 255
#define DFS_MAX_XATTR_LEN 65536
#define DAOS_SUPER_MAGIC 0xDA05AD10 /* of statfs() */

typedef struct dfs_obj dfs_obj_t; /* an open file, directory or symbolic link */
typedef struct dfs dfs_t;         /* a mounted file system */

/* How a container is made, and mounted besides O_RDONLY or O_RDWR. */
#define DFS_BALANCED 4 /* needs transactions that write: ENOTSUP from Stepstore */
#define DFS_RELAXED 0
#define DFS_RDONLY O_RDONLY
#define DFS_RDWR O_RDWR

typedef struct {
    uint64_t da_id;                /* the user's, not stored */
    daos_size_t da_chunk_size;     /* of files; 0: DFS_DEFAULT_CHUNK_SIZE */
    daos_oclass_id_t da_oclass_id; /* of all objects; 0: by their kind */
    daos_prop_t* da_props;         /* of the container; optional */
    uint32_t da_mode;              /* DFS_RELAXED */
    daos_oclass_id_t da_dir_oclass_id;
    daos_oclass_id_t da_file_oclass_id;
    char da_hints[DAOS_CONT_HINT_MAX_LEN]; /* such as "file:max,dir:single"; optional */
} dfs_attr_t;

/* Ranges of a file. */
typedef struct {
    daos_size_t iod_nr;
    daos_range_t* iod_rgs;
} dfs_iod_t;

typedef struct {
    daos_oclass_id_t doi_oclass_id;
    daos_size_t doi_chunk_size;
    daos_oclass_id_t doi_dir_oclass_id; /* of a directory: what is made in it gets */
    daos_oclass_id_t doi_file_oclass_id;
    daos_obj_id_t doi_oid;
} dfs_obj_info_t;

/* ---- the library and containers */

/* Counted; daos_init() is included. They are needed for dfs_connect() and dfs_destroy() alone. */
int dfs_init(void);
int dfs_fini(void);

/* coh, dfs: optional, receive the open container and the file system; dfs needs coh. uuid: optional with a
 * label. EEXIST: the label is taken. */
int dfs_cont_create(daos_handle_t poh, uuid_t* uuid, dfs_attr_t* attr, daos_handle_t* coh, dfs_t** dfs);
int dfs_cont_create_with_label(daos_handle_t poh, const char* label, dfs_attr_t* attr, uuid_t* uuid,
                               daos_handle_t* coh, dfs_t** dfs);

/* flags: O_RDONLY or O_RDWR. ENOENT: the container has no file system yet. EINVAL: it is not of the layout
 * POSIX, or its file system is of a version that this library does not know. */
int dfs_mount(daos_handle_t poh, daos_handle_t coh, int flags, dfs_t** dfs);
/* As it was at a snapshot: of this epoch, or with epoch 0 of this name. ENOENT: there is none. Of DAOS later
 * than 2.6. */
int dfs_mount_snap(daos_handle_t poh, daos_handle_t coh, int flags, daos_epoch_t epoch, const char* name,
                   dfs_t** dfs);
/* EBUSY: handles of dfs_pool_get() or dfs_cont_get() are out. Release all objects before. */
int dfs_umount(dfs_t* dfs);

/* Connects the pool, opens the container and mounts it; with O_CREAT makes it first. attr: of a new one,
 * optional. Connections of one process are shared. EACCES: without dfs_init(). */
int dfs_connect(const char* pool, const char* sys, const char* cont, int flags, dfs_attr_t* attr,
                dfs_t** dfs);
int dfs_connect_snap(const char* pool, const char* sys, const char* cont, int flags, daos_epoch_t epoch,
                     const char* name, dfs_t** dfs);
int dfs_disconnect(dfs_t* dfs);
/* EBUSY: it is open, and not force. */
int dfs_destroy(const char* pool, const char* sys, const char* cont, int force, daos_event_t* ev);

/* The handles that `dfs` uses; each get needs a put. */
int dfs_pool_get(dfs_t* dfs, daos_handle_t* poh);
int dfs_pool_put(dfs_t* dfs, daos_handle_t poh);
int dfs_cont_get(dfs_t* dfs, daos_handle_t* coh);
int dfs_cont_put(dfs_t* dfs, daos_handle_t coh);

int dfs_query(dfs_t* dfs, dfs_attr_t* attr);
/* The class that new objects get by one hint, such as "file:single". */
int dfs_suggest_oclass(dfs_t* dfs, const char* hint, daos_oclass_id_t* cid);

/* Bytes from which another process makes a file system of its own; with pool and container (_all) or for
 * those that it has open. flags 0, as O_RDONLY is: as the first one was mounted. With glob->iov_buf NULL
 * gives the size in iov_buf_len. ENOBUFS: too small. */
int dfs_local2global(dfs_t* dfs, d_iov_t* glob);
int dfs_global2local(daos_handle_t poh, daos_handle_t coh, int flags, d_iov_t glob, dfs_t** dfs);
int dfs_local2global_all(dfs_t* dfs, d_iov_t* glob);
int dfs_global2local_all(int flags, d_iov_t glob, dfs_t** dfs);

/* What absolute paths of dfs_lookup() begin with; NULL: nothing. */
int dfs_set_prefix(dfs_t* dfs, const char* prefix);

/* ---- objects */

/* flags: O_RDONLY, O_WRONLY or O_RDWR, with O_NOFOLLOW and O_TRUNC. mode, stbuf: optional. Symbolic links are
 * followed; with O_NOFOLLOW a link at the end is opened itself. ELOOP: more than 40 of them. */
int dfs_lookup(dfs_t* dfs, const char* path, int flags, dfs_obj_t** obj, mode_t* mode, struct stat* stbuf);
int dfs_lookup_rel(dfs_t* dfs, dfs_obj_t* parent, const char* name, int flags, dfs_obj_t** obj, mode_t* mode,
                   struct stat* stbuf);

/*
 * mode: S_IFREG, S_IFDIR or S_IFLNK, for a new object with its permissions. flags: as of dfs_lookup(), with
 * O_CREAT and O_EXCL. cid, chunk_size: of a new one; 0: as the directory says. value: of a new link. Links
 * are not followed. EISDIR, ENOTDIR, EINVAL: what is there is of another kind.
 */
int dfs_open(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode, int flags, daos_oclass_id_t cid,
             daos_size_t chunk_size, const char* value, dfs_obj_t** obj);
/* stbuf: with O_CREAT, in: st_uid and st_gid of a new object; out: of the object. Else NULL. */
int dfs_open_stat(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode, int flags,
                  daos_oclass_id_t cid, daos_size_t chunk_size, const char* value, dfs_obj_t** obj,
                  struct stat* stbuf);
int dfs_dup(dfs_t* dfs, dfs_obj_t* obj, int flags, dfs_obj_t** new_obj);
int dfs_release(dfs_obj_t* obj);

/* As dfs_local2global(); files and directories. flags: 0, as the object was opened. */
int dfs_obj_local2global(dfs_t* dfs, dfs_obj_t* obj, d_iov_t* glob);
int dfs_obj_global2local(dfs_t* dfs, int flags, d_iov_t glob, dfs_obj_t** obj);

int dfs_obj2id(dfs_obj_t* obj, daos_obj_id_t* oid);
int dfs_get_mode(dfs_obj_t* obj, mode_t* mode);
int dfs_get_file_oh(dfs_obj_t* obj, daos_handle_t* oh); /* the array; closed with the object */
int dfs_get_chunk_size(dfs_obj_t* obj, daos_size_t* chunk_size);
int dfs_obj_get_info(dfs_t* dfs, dfs_obj_t* obj, dfs_obj_info_t* info);
/* Of what is made in a directory from now on; 0: the file system's. ENOTSUP: no directory. */
int dfs_obj_set_oclass(dfs_t* dfs, dfs_obj_t* obj, int flags, daos_oclass_id_t cid);
int dfs_obj_set_chunk_size(dfs_t* dfs, dfs_obj_t* obj, int flags, daos_size_t csize);
/* *size, in: room at buf; out: what is needed, with the terminating zero. The value is cut if it is more. */
int dfs_get_symlink_value(dfs_obj_t* obj, char* buf, daos_size_t* size);
/* Tells an object that it has been renamed: it is now where src_obj is, under `name` (optional). */
int dfs_update_parent(dfs_obj_t* obj, dfs_obj_t* src_obj, const char* name);

/* ---- data of files. With an event, ev_error is a positive errno too. */

/* iov_len of the pieces is what is read; *read_size what was there. */
int dfs_read(dfs_t* dfs, dfs_obj_t* obj, d_sg_list_t* sgl, daos_off_t off, daos_size_t* read_size,
             daos_event_t* ev);
int dfs_readx(dfs_t* dfs, dfs_obj_t* obj, dfs_iod_t* iod, d_sg_list_t* sgl, daos_size_t* read_size,
              daos_event_t* ev);
int dfs_write(dfs_t* dfs, dfs_obj_t* obj, d_sg_list_t* sgl, daos_off_t off, daos_event_t* ev);
int dfs_writex(dfs_t* dfs, dfs_obj_t* obj, dfs_iod_t* iod, d_sg_list_t* sgl, daos_event_t* ev);
int dfs_get_size(dfs_t* dfs, dfs_obj_t* obj, daos_size_t* size);
/* chunk_size 0: the file system's. */
int dfs_get_size_by_oid(dfs_t* dfs, daos_obj_id_t oid, daos_size_t chunk_size, daos_size_t* size);
/* Makes a hole, or ends the file at `offset` if nothing follows the hole. */
int dfs_punch(dfs_t* dfs, dfs_obj_t* obj, daos_off_t offset, daos_size_t len);

/* ---- directories */

/* *nr, in: room in dirs; out: entries given, with d_name alone. anchor: zeroes at first; at its end when all
 * were given. An entry that another process removes meanwhile is left out by dfs_readdirplus(). */
int dfs_readdir(dfs_t* dfs, dfs_obj_t* obj, daos_anchor_t* anchor, uint32_t* nr, struct dirent* dirs);
int dfs_readdirplus(dfs_t* dfs, dfs_obj_t* obj, daos_anchor_t* anchor, uint32_t* nr, struct dirent* dirs,
                    struct stat* stbufs);
/* Calls `op` with up to *nr names, of `size` bytes together. What it returns, if not 0, ends it. */
typedef int (*dfs_filler_cb_t)(dfs_t* dfs, dfs_obj_t* obj, const char name[], void* arg);
int dfs_iterate(dfs_t* dfs, dfs_obj_t* obj, daos_anchor_t* anchor, uint32_t* nr, size_t size,
                dfs_filler_cb_t op, void* arg);
/* Parts of a listing for several readers. Stepstore has one part: *nr becomes 1. */
int dfs_obj_anchor_split(dfs_obj_t* obj, uint32_t* nr, daos_anchor_t* anchors);
int dfs_obj_anchor_set(dfs_obj_t* obj, uint32_t index, daos_anchor_t* anchor);
/* The next listing with this anchor begins with this entry, or where it would be if it is not there. EINVAL:
 * obj is no directory. */
int dfs_dir_anchor_set(dfs_obj_t* obj, const char name[], daos_anchor_t* anchor);

int dfs_mkdir(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode, daos_oclass_id_t cid);
/* ENOTEMPTY: a directory with entries, and not force. force also takes out an entry that is damaged. oid:
 * optional, of what was removed. */
int dfs_remove(dfs_t* dfs, dfs_obj_t* parent, const char* name, bool force, daos_obj_id_t* oid);
/* As rename(). EISDIR, ENOTDIR, ENOTEMPTY: the target does not fit. EINVAL: into itself. oid: optional, of a
 * target that was replaced. */
int dfs_move(dfs_t* dfs, dfs_obj_t* parent, const char* name, dfs_obj_t* new_parent, const char* new_name,
             daos_obj_id_t* oid);
/* Both names must be there; EINVAL else. If a process dies in it, a third name may show one of the files. */
int dfs_exchange(dfs_t* dfs, dfs_obj_t* parent1, const char* name1, dfs_obj_t* parent2, const char* name2);

/* ---- attributes */

/* st_mtim is of the latest write, or what dfs_osetattr() said after it. st_atim is not kept. */
int dfs_stat(dfs_t* dfs, dfs_obj_t* parent, const char* name, struct stat* stbuf);
int dfs_ostat(dfs_t* dfs, dfs_obj_t* obj, struct stat* stbuf);

#define DFS_SET_ATTR_MODE (1 << 0)
#define DFS_SET_ATTR_ATIME (1 << 1) /* as in DAOS: not stored */
#define DFS_SET_ATTR_MTIME (1 << 2)
#define DFS_SET_ATTR_SIZE (1 << 3)
#define DFS_SET_ATTR_UID (1 << 4)
#define DFS_SET_ATTR_GID (1 << 5)

/* stbuf, in: what flags name; out: all. */
int dfs_osetattr(dfs_t* dfs, dfs_obj_t* obj, struct stat* stbuf, int flags);
/* Links are followed by these; dfs_chown() with O_NOFOLLOW in flags does not. uid, gid -1: as it is. */
int dfs_access(dfs_t* dfs, dfs_obj_t* parent, const char* name, int mask);
int dfs_chmod(dfs_t* dfs, dfs_obj_t* parent, const char* name, mode_t mode);
int dfs_chown(dfs_t* dfs, dfs_obj_t* parent, const char* name, uid_t uid, gid_t gid, int flags);
/* Nothing to do: all calls are durable as they return, as far as the pool is. */
int dfs_sync(dfs_t* dfs);

/* flags: 0, XATTR_CREATE (EEXIST) or XATTR_REPLACE (ENOENT). ENODATA: there is no such attribute. *size, in:
 * room; out: bytes. With no room only the size is told. */
int dfs_setxattr(dfs_t* dfs, dfs_obj_t* obj, const char* name, const void* value, daos_size_t size,
                 int flags);
int dfs_getxattr(dfs_t* dfs, dfs_obj_t* obj, const char* name, void* value, daos_size_t* size);
int dfs_removexattr(dfs_t* dfs, dfs_obj_t* obj, const char* name);
/* Names with their terminating zeroes. Those that do not fit are left out. */
int dfs_listxattr(dfs_t* dfs, dfs_obj_t* obj, char* list, daos_size_t* size);

/* Stepstore's own: as renameat2(). flags: 0 as dfs_move(), RENAME_EXCHANGE as dfs_exchange() but ENOENT for a
 * name that is not there, RENAME_NOREPLACE: EEXIST if there is a target. EINVAL: others. */
int dfs_rename(dfs_t* dfs, dfs_obj_t* parent, const char* name, dfs_obj_t* new_parent, const char* new_name,
               unsigned flags);

/* Stepstore's own: what is to be said about the last call of this thread that failed. */
const char* dfs_last_message(void);

#ifdef __cplusplus
}
#endif
#endif
