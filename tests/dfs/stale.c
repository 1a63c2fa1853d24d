/* Handles that were given back, and pointers to something else: errors, no crash. */
#include "files.h"

#include <daos_fs_sys.h>

static void* anything[64]; /* memory that is no handle */

static void released_objects(dfs_t* fs)
{
    struct stat status;
    dfs_obj_t* copy = NULL;
    daos_size_t size = 0;
    daos_anchor_t anchor = {0};
    struct dirent entry;
    uint32_t count = 1;
    new_file(fs, NULL, "file", "text");
    dfs_obj_t* const file = looked_up(fs, "/file", O_RDWR);
    dfs_obj_t* const directory = new_directory(fs, NULL, "directory");
    CHECK_DONE(dfs_release(file));
    CHECK_DONE(dfs_release(directory));
    CHECK_ERRNO(dfs_release(file), EINVAL);
    CHECK_ERRNO(dfs_release(directory), EINVAL);
    CHECK_ERRNO(dfs_ostat(fs, file, &status), EINVAL);
    CHECK_ERRNO(dfs_get_size(fs, file, &size), EINVAL);
    CHECK_ERRNO(dfs_dup(fs, file, O_RDWR, &copy), EINVAL);
    CHECK_ERRNO(dfs_stat(fs, directory, "file", &status), EINVAL);
    CHECK_ERRNO(dfs_readdir(fs, directory, &anchor, &count, &entry), EINVAL);
    CHECK_ERRNO(dfs_mkdir(fs, directory, "x", 0755, 0), EINVAL);
    CHECK_ERRNO(dfs_move(fs, directory, "x", NULL, "y", NULL), EINVAL);
    CHECK_ERRNO(dfs_remove(fs, directory, "x", false, NULL), EINVAL);
    CHECK_ERRNO(dfs_setxattr(fs, file, "a", "b", 1, 0), EINVAL);
    CHECK(strstr(dfs_last_message(), "released") != NULL);
}

static void other_kinds(dfs_t* fs)
{
    struct stat status;
    daos_size_t size = 0;
    struct dirent* entry = NULL;
    dfs_obj_t* const file = looked_up(fs, "/file", O_RDWR);
    CHECK_ERRNO(dfs_stat((dfs_t*)file, NULL, "file", &status), EINVAL);
    CHECK_ERRNO(dfs_get_size(fs, (dfs_obj_t*)fs, &size), EINVAL);
    CHECK_ERRNO(dfs_release((dfs_obj_t*)fs), EINVAL);
    CHECK_ERRNO(dfs_umount((dfs_t*)file), EINVAL);
    CHECK_ERRNO(dfs_disconnect((dfs_t*)anything), EINVAL);
    CHECK_ERRNO(dfs_release((dfs_obj_t*)anything), EINVAL);
    CHECK_ERRNO(dfs_sys_umount((dfs_sys_t*)fs), EINVAL);
    CHECK_ERRNO(dfs_sys_stat((dfs_sys_t*)fs, "/file", 0, &status), EINVAL);
    CHECK_ERRNO(dfs_sys_closedir((DIR*)file), EINVAL);
    CHECK_ERRNO(dfs_sys_readdir((dfs_sys_t*)anything, (DIR*)anything, &entry), EINVAL);
    CHECK_DONE(dfs_release(file));
}

static void after_an_unmount(struct mounted const* mounted)
{
    struct stat status;
    daos_size_t size = 0;
    dfs_t* fs = NULL;
    CHECK_DONE(dfs_mount(mounted->pool, mounted->container, O_RDWR, &fs));
    dfs_obj_t* const file = looked_up(fs, "/file", O_RDWR);
    dfs_obj_t* const directory = looked_up(fs, "/directory", O_RDWR);
    CHECK_DONE(dfs_umount(fs));
    CHECK_ERRNO(dfs_umount(fs), EINVAL);
    CHECK_ERRNO(dfs_stat(fs, NULL, "file", &status), EINVAL);
    CHECK_ERRNO(dfs_get_size(mounted->fs, file, &size), EINVAL);
    CHECK_ERRNO(dfs_stat(mounted->fs, directory, "x", &status), EINVAL);
    CHECK(strstr(dfs_last_message(), "unmounted") != NULL);
    CHECK_DONE(dfs_release(file));
    CHECK_DONE(dfs_release(directory));
    CHECK_ERRNO(dfs_release(file), EINVAL);
}

static void by_paths(struct mounted const* mounted)
{
    struct stat status;
    struct dirent* entry = NULL;
    dfs_sys_t* sys = NULL;
    DIR* listing = NULL;
    CHECK_DONE(dfs_sys_mount(mounted->pool, mounted->container, O_RDWR, 0, &sys));
    CHECK_DONE(dfs_sys_opendir(sys, "/", 0, &listing));
    CHECK_DONE(dfs_sys_closedir(listing));
    CHECK_ERRNO(dfs_sys_closedir(listing), EINVAL);
    CHECK_ERRNO(dfs_sys_readdir(sys, listing, &entry), EINVAL);
    CHECK_DONE(dfs_sys_opendir(sys, "/", 0, &listing));
    CHECK_DONE(dfs_sys_umount(sys));
    CHECK_ERRNO(dfs_sys_umount(sys), EINVAL);
    CHECK_ERRNO(dfs_sys_stat(sys, "/file", 0, &status), EINVAL);
    CHECK_ERRNO(dfs_sys_readdir(sys, listing, &entry), EINVAL);
    CHECK_DONE(dfs_sys_closedir(listing));
}

int main(void)
{
    struct mounted mounted = mount_new();
    released_objects(mounted.fs);
    other_kinds(mounted.fs);
    after_an_unmount(&mounted);
    by_paths(&mounted);
    unmount(&mounted);
    return 0;
}
