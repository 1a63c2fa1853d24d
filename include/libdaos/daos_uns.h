/*
 * The unified namespace: paths of a file system that stand for containers, and paths that name pool and
 * container themselves.
 *
 * Such a path is a directory (of a POSIX container) or an empty file (of another one) with the extended
 * attribute DUNS_XATTR_NAME. It holds the container's layout and the UUIDs of pool and container, as text.
 * Copies and backups that leave out extended attributes lose it.
 *
 * Threads: any. Errors: 0 or a positive errno. EINVAL: NULL, or a path or an attribute of another form.
 * ENOTSUP: the file system has no extended attributes of users.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_UNS_H
#define STEPSTORE_LIBDAOS_DAOS_UNS_H

#include <daos_cont.h>
#include <daos_obj_class.h>
#include <daos_prop.h>

#ifdef __cplusplus
extern "C" {
#endif

/* da_flags */
enum {
    DUNS_NO_PREFIX = 1 << 0,         /* /POOL/CONTAINER[/PATH] by UUIDs is no path of the file system */
    DUNS_NO_REVERSE_LOOKUP = 1 << 1, /* only the path itself, not the directories above it */
    DUNS_NO_CHECK_PATH = 1 << 2      /* the path names pool and container: look into no file system */
};

struct duns_attr_t {
    daos_cont_layout_t da_type;                /* in: of a new container; out, unless the path names it */
    daos_oclass_id_t da_oclass_id;             /* in: of a new POSIX container; 0: by their kind */
    daos_size_t da_chunk_size;                 /* the same */
    daos_prop_t* da_props;                     /* in: of a new container; optional */
    uint32_t da_flags;                         /* in */
    char da_pool[DAOS_PROP_LABEL_MAX_LEN + 1]; /* out: a UUID, or the label in the path */
    char da_cont[DAOS_PROP_LABEL_MAX_LEN + 1];
    char* da_sys;      /* NULL, or as duns_set_sys_name() was told */
    char* da_rel_path; /* out: what follows in the path, with its '/'; NULL: nothing */
    bool da_on_lustre; /* false */
    bool da_no_prefix; /* in: as DUNS_NO_PREFIX */
    uuid_t da_puuid;   /* out, if they are UUIDs */
    uuid_t da_cuuid;
    daos_oclass_id_t da_dir_oclass_id;
    daos_oclass_id_t da_file_oclass_id;
    char da_hints[DAOS_CONT_HINT_MAX_LEN];
};

#define DUNS_XATTR_NAME "user.daos"
#define DUNS_MAX_XATTR_LEN 170
#define DUNS_XATTR_FMT "DAOS.%s://%36s/%36s"

/*
 * Pool and container of a path: daos://POOL[/CONTAINER[/PATH]] by labels or UUIDs, or a path of the file
 * system, on or below one that stands for a container. ENODATA: there is none. ENOENT and others: of the file
 * system. The caller frees what is in attr with duns_destroy_attr().
 */
int duns_resolve_path(const char* path, struct duns_attr_t* attr);

/*
 * Makes a container of attrp->da_type, and a path that stands for it; or the container of the path
 * daos://POOL/LABEL. EEXIST: the path or the label is taken. ENOTSUP also: of a POSIX container, in a program
 * without libdfs. A process that dies in between may leave an empty path and an unnamed container.
 */
int duns_create_path(daos_handle_t poh, const char* path, struct duns_attr_t* attrp);

/* A further path for a container that is there, by its label or UUID. */
int duns_link_cont(daos_handle_t poh, const char* cont, const char* path);

/*
 * Removes the path, and then the container with all in it, also if it is open. EINVAL: it belongs to another
 * pool. ENODATA: the path itself stands for none (one above it may). ENOTEMPTY: the directory has entries.
 */
int duns_destroy_path(daos_handle_t poh, const char* path);

/* The text of the extended attribute: len bytes, perhaps with a zero at the end. */
int duns_parse_attr(char* str, daos_size_t len, struct duns_attr_t* attr);

int duns_set_sys_name(struct duns_attr_t* attrp, const char* sys);
void duns_destroy_attr(struct duns_attr_t* attrp);

#ifdef __cplusplus
}
#endif
#endif
