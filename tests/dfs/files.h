/* What the tests of file systems share. */
#ifndef STEPSTORE_TESTS_DFS_FILES_H
#define STEPSTORE_TESTS_DFS_FILES_H

#include "check.h"

#include <daos_fs.h>
#include <fcntl.h>
#include <sys/stat.h>

/* The result of a call of the library: 0 or an errno. */
#define CHECK_ERRNO(call, expected)                                                                          \
    do {                                                                                                     \
        int const rc_ = (call);                                                                              \
        if (rc_ != (expected)) {                                                                             \
            fprintf(stderr, "%s:%d: %s gave %d (%s), not %d (%s): %s\n", __FILE__, __LINE__, #call, rc_,     \
                    strerror(rc_), (expected), strerror(expected), dfs_last_message());                      \
            check_failed();                                                                                  \
        }                                                                                                    \
    } while (0)
#define CHECK_DONE(call) CHECK_ERRNO(call, 0)

/* A pool with a mounted file system, between daos_init() and daos_fini(). */
struct mounted {
    char const* path;
    daos_handle_t pool;
    daos_handle_t container;
    dfs_t* fs;
};

static inline struct mounted mount_new(void)
{
    struct mounted mounted;
    mounted.path = new_pool();
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(mounted.path, NULL, DAOS_PC_RW, &mounted.pool, NULL, NULL));
    CHECK_DONE(
        dfs_cont_create_with_label(mounted.pool, "files", NULL, NULL, &mounted.container, &mounted.fs));
    return mounted;
}

static inline struct mounted mount_again(char const* path)
{
    struct mounted mounted;
    mounted.path = path;
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RW, &mounted.pool, NULL, NULL));
    CHECK_OK(daos_cont_open(mounted.pool, "files", DAOS_COO_RW, &mounted.container, NULL, NULL));
    CHECK_DONE(dfs_mount(mounted.pool, mounted.container, O_RDWR, &mounted.fs));
    return mounted;
}

static inline void unmount(struct mounted* mounted)
{
    CHECK_DONE(dfs_umount(mounted->fs));
    CHECK_OK(daos_cont_close(mounted->container, NULL));
    CHECK_OK(daos_pool_disconnect(mounted->pool, NULL));
    CHECK_OK(daos_fini());
}

static inline dfs_obj_t* opened(dfs_t* fs, dfs_obj_t* parent, char const* name, mode_t mode, int flags)
{
    dfs_obj_t* obj = NULL;
    CHECK_DONE(dfs_open(fs, parent, name, mode, flags, 0, 0, NULL, &obj));
    return obj;
}

static inline dfs_obj_t* looked_up(dfs_t* fs, char const* path, int flags)
{
    dfs_obj_t* obj = NULL;
    CHECK_DONE(dfs_lookup(fs, path, flags, &obj, NULL, NULL));
    return obj;
}

static inline dfs_obj_t* new_directory(dfs_t* fs, dfs_obj_t* parent, char const* name)
{
    return opened(fs, parent, name, S_IFDIR | 0755, O_CREAT | O_EXCL | O_RDWR);
}

static inline void new_file(dfs_t* fs, dfs_obj_t* parent, char const* name, char const* text)
{
    dfs_obj_t* const obj = opened(fs, parent, name, S_IFREG | 0644, O_CREAT | O_EXCL | O_RDWR);
    struct memory memory;
    CHECK_DONE(dfs_write(fs, obj, memory_of(&memory, (void*)(uintptr_t)text, strlen(text)), 0, NULL));
    CHECK_DONE(dfs_release(obj));
}

static inline void new_link(dfs_t* fs, dfs_obj_t* parent, char const* name, char const* target)
{
    dfs_obj_t* obj = NULL;
    CHECK_DONE(dfs_open(fs, parent, name, S_IFLNK, O_CREAT | O_EXCL | O_RDWR, 0, 0, target, &obj));
    CHECK_DONE(dfs_release(obj));
}

/* The text of a file; "-" if there is none. */
static inline char const* text_of(dfs_t* fs, dfs_obj_t* parent, char const* name)
{
    static char text[256];
    dfs_obj_t* obj = NULL;
    int const rc = dfs_lookup_rel(fs, parent, name, O_RDONLY, &obj, NULL, NULL);
    if (rc == ENOENT) return "-";
    CHECK_DONE(rc);
    struct memory memory;
    daos_size_t size = 0;
    CHECK_DONE(dfs_read(fs, obj, memory_of(&memory, text, sizeof text - 1), 0, &size, NULL));
    text[size] = '\0';
    CHECK_DONE(dfs_release(obj));
    return text;
}

#endif
