/* The calls by paths: what they make, change and refuse. */
#include "files.h"

#include <daos_fs_sys.h>
#include <sys/xattr.h>

static dfs_sys_t* sys;

static void put(char const* path, char const* text)
{
    dfs_obj_t* obj = NULL;
    daos_size_t size = strlen(text);
    CHECK_DONE(dfs_sys_open(sys, path, 0644, O_CREAT | O_RDWR, 0, 0, NULL, &obj));
    CHECK_DONE(dfs_sys_write(sys, obj, text, 0, &size, NULL));
    CHECK_DONE(dfs_sys_close(obj));
}

static void expect_text(char const* path, char const* text)
{
    dfs_obj_t* obj = NULL;
    char found[64];
    daos_size_t size = sizeof found;
    CHECK_DONE(dfs_sys_open(sys, path, S_IFREG, O_RDONLY, 0, 0, NULL, &obj));
    CHECK_DONE(dfs_sys_read(sys, obj, found, 0, &size, NULL));
    CHECK(size == strlen(text) && memcmp(found, text, size) == 0);
    CHECK_DONE(dfs_sys_close(obj));
}

static void objects(void)
{
    struct stat status;
    dfs_obj_t* obj = NULL;
    char text[64];
    daos_size_t size = sizeof text;
    CHECK_DONE(dfs_sys_mkdir(sys, "/d", 0755, 0));
    CHECK_ERRNO(dfs_sys_mkdir(sys, "/d/", 0755, 0), EEXIST);
    CHECK_ERRNO(dfs_sys_mkdir(sys, "/", 0755, 0), EEXIST);
    CHECK_ERRNO(dfs_sys_mkdir(sys, "/none/x", 0755, 0), ENOENT);
    CHECK_ERRNO(dfs_sys_mkdir(sys, "relative", 0755, 0), EINVAL);
    CHECK_DONE(dfs_sys_mkdir_p(sys, "/p//q/r/", 0755, 0));
    CHECK_DONE(dfs_sys_mkdir_p(sys, "/p/q/r", 0755, 0));
    CHECK_DONE(dfs_sys_mkdir_p(sys, "/", 0755, 0));
    CHECK_DONE(dfs_sys_stat(sys, "/p/q/r", 0, &status));
    CHECK(S_ISDIR(status.st_mode));
    put("/d/f", "text");
    expect_text("//d///f", "text");
    CHECK_ERRNO(dfs_sys_mkdir_p(sys, "/d/f/x", 0755, 0), ENOTDIR);
    CHECK_ERRNO(dfs_sys_mkdir_p(sys, "/d/f", 0755, 0), ENOTDIR);
    CHECK_ERRNO(dfs_sys_open(sys, "/d", S_IFREG, O_RDONLY, 0, 0, NULL, &obj), EISDIR);
    CHECK_ERRNO(dfs_sys_open(sys, "/d/f", S_IFDIR, O_RDONLY, 0, 0, NULL, &obj), ENOTDIR);
    CHECK_ERRNO(dfs_sys_open(sys, "/", S_IFREG, O_RDWR | O_CREAT, 0, 0, NULL, &obj), EEXIST);
    CHECK_ERRNO(dfs_sys_open(sys, "/d/f", S_IFREG, O_RDWR | O_CREAT | O_EXCL, 0, 0, NULL, &obj), EEXIST);
    CHECK_DONE(dfs_sys_open(sys, "/", S_IFDIR, O_RDONLY, 0, 0, NULL, &obj));
    CHECK_DONE(dfs_sys_close(obj));
    CHECK_DONE(dfs_sys_mknod(sys, "/d/node", S_IFREG | 0600, 0, 0));
    CHECK_ERRNO(dfs_sys_mknod(sys, "/d/node", S_IFREG | 0600, 0, 0), EEXIST);
    CHECK_DONE(dfs_sys_symlink(sys, "d", "/link"));
    CHECK_ERRNO(dfs_sys_symlink(sys, "d", "/"), EEXIST);
    expect_text("/link/f", "text");
    CHECK_DONE(dfs_sys_readlink(sys, "/link", text, &size));
    CHECK(size == 2 && strcmp(text, "d") == 0);
    CHECK_ERRNO(dfs_sys_readlink(sys, "/d/f", text, &size), EINVAL);
    CHECK_DONE(dfs_sys_stat(sys, "/link", O_NOFOLLOW, &status));
    CHECK(S_ISLNK(status.st_mode));
    CHECK_DONE(dfs_sys_stat(sys, "/link", 0, &status));
    CHECK(S_ISDIR(status.st_mode));

    CHECK_DONE(dfs_sys_chmod(sys, "/link/f", 0400));
    CHECK_DONE(dfs_sys_chown(sys, "/d/f", 5, 6, 0));
    struct timespec const times[2] = {{1, 2}, {3, 4}};
    CHECK_DONE(dfs_sys_utimens(sys, "/d/f", times, 0));
    CHECK_DONE(dfs_sys_stat(sys, "/d/f", 0, &status));
    CHECK_EQUAL(status.st_mode, S_IFREG | 0400);
    CHECK(status.st_uid == 5 && status.st_gid == 6);
    CHECK(status.st_mtim.tv_sec == 3 && status.st_mtim.tv_nsec == 4);
    status.st_size = 2;
    CHECK_DONE(dfs_sys_setattr(sys, "/d/f", &status, DFS_SET_ATTR_SIZE, 0));
    expect_text("/d/f", "te");
    CHECK_DONE(dfs_sys_punch(sys, "/d/f", 1, 1));
    expect_text("/d/f", "t");
    CHECK_DONE(dfs_sys_access(sys, "/d/f", F_OK, 0));
    CHECK_DONE(dfs_sys_access(sys, "/link", R_OK, O_NOFOLLOW));
    CHECK_DONE(dfs_sys_access(sys, "/", R_OK, 0));
    CHECK_ERRNO(dfs_sys_access(sys, "/d/f", F_OK, AT_EACCESS), ENOTSUP);

    CHECK_DONE(dfs_sys_setxattr(sys, "/d/f", "name", "value", 5, XATTR_CREATE, 0));
    size = 3;
    CHECK_ERRNO(dfs_sys_getxattr(sys, "/d/f", "name", text, &size, 0), ERANGE);
    CHECK_EQUAL(size, 5);
    CHECK_DONE(dfs_sys_getxattr(sys, "/link/f", "name", text, &size, 0));
    CHECK(size == 5 && memcmp(text, "value", 5) == 0);
    size = 0;
    CHECK_ERRNO(dfs_sys_getxattr(sys, "/d/f", "name", NULL, &size, 0), ERANGE);
    CHECK_EQUAL(size, 5);
    size = 0;
    CHECK_ERRNO(dfs_sys_listxattr(sys, "/d/f", NULL, &size, 0), ERANGE);
    CHECK_EQUAL(size, 5);
    size = 4;
    CHECK_ERRNO(dfs_sys_listxattr(sys, "/d/f", text, &size, 0), ERANGE);
    CHECK_EQUAL(size, 5);
    CHECK_DONE(dfs_sys_listxattr(sys, "/d/f", text, &size, 0));
    CHECK(memcmp(text, "name", 5) == 0);
    CHECK_DONE(dfs_sys_removexattr(sys, "/d/f", "name", 0));
    CHECK_ERRNO(dfs_sys_removexattr(sys, "/d/f", "name", 0), ENODATA);
    CHECK_DONE(dfs_sys_setxattr(sys, "/", "of the root", "1", 1, 0, 0));

    CHECK_ERRNO(dfs_sys_remove_type(sys, "/d/f", false, S_IFDIR, NULL), EINVAL);
    CHECK_DONE(dfs_sys_remove_type(sys, "/d/f", false, S_IFREG, NULL));
    CHECK_ERRNO(dfs_sys_remove(sys, "/d", false, NULL), ENOTEMPTY);
    CHECK_ERRNO(dfs_sys_remove(sys, "/", true, NULL), EBUSY);
    CHECK_DONE(dfs_sys_remove(sys, "/d", true, NULL));
    CHECK_DONE(dfs_sys_remove(sys, "/link", false, NULL));
    CHECK_DONE(dfs_sys_remove(sys, "/p", true, NULL));
}

/* A directory's old path is not used after others have moved it. */
static void moved(dfs_t* fs)
{
    struct stat status;
    CHECK_DONE(dfs_sys_mkdir_p(sys, "/a/b", 0755, 0));
    put("/a/b/f", "1");
    CHECK_DONE(dfs_move(fs, NULL, "a", NULL, "c", NULL));
    CHECK_ERRNO(dfs_sys_stat(sys, "/a/b/f", 0, &status), ENOENT);
    CHECK_DONE(dfs_sys_mkdir(sys, "/a", 0755, 0));
    put("/a/f", "2");
    CHECK_ERRNO(dfs_sys_stat(sys, "/c/f", 0, &status), ENOENT);
    expect_text("/c/b/f", "1");
}

static void listings(void)
{
    enum { many = 200 };
    unsigned char seen[many] = {0};
    DIR* dir = NULL;
    struct dirent* entry = NULL;
    unsigned found = 0;
    CHECK_DONE(dfs_sys_mkdir(sys, "/list", 0755, 0));
    for (int i = 0; i < many; ++i) {
        char path[32];
        snprintf(path, sizeof path, "/list/%d", i);
        CHECK_DONE(dfs_sys_mknod(sys, path, S_IFREG | 0600, 0, 0));
    }
    CHECK_ERRNO(dfs_sys_opendir(sys, "/list/1", 0, &dir), ENOTDIR);
    CHECK_DONE(dfs_sys_opendir(sys, "/list", 0, &dir));
    for (;; ++found) {
        CHECK_DONE(dfs_sys_readdir(sys, dir, &entry));
        if (!entry) break;
        int const number = atoi(entry->d_name);
        CHECK(number >= 0 && number < many && !seen[number]);
        seen[number] = 1;
    }
    CHECK_EQUAL(found, many);
    CHECK_DONE(dfs_sys_readdir(sys, dir, &entry));
    CHECK(entry == NULL);
    CHECK_DONE(dfs_sys_closedir(dir));
    CHECK_ERRNO(dfs_sys_closedir(NULL), EINVAL);
    CHECK_ERRNO(dfs_sys_readdir(sys, NULL, &entry), EINVAL);
}

static void prefixes(struct mounted const* mounted)
{
    dfs_sys_t* other = NULL;
    dfs_t* base = NULL;
    struct stat status;
    d_iov_t glob = {0};
    static char longest[DFS_MAX_PATH + 10];
    CHECK_DONE(dfs_sys_set_prefix(sys, "/mnt"));
    CHECK_DONE(dfs_sys_mkdir_p(sys, "/mnt/x/y", 0755, 0));
    CHECK_DONE(dfs_sys_stat(sys, "/mnt", 0, &status));
    CHECK_ERRNO(dfs_sys_stat(sys, "/x", 0, &status), EINVAL);
    CHECK_DONE(dfs_sys_set_prefix(sys, NULL));
    CHECK_DONE(dfs_sys_stat(sys, "/x/y", 0, &status));
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    CHECK_ERRNO(dfs_sys_stat(sys, longest, 0, &status), ENAMETOOLONG);
    CHECK_ERRNO(dfs_sys_mkdir_p(sys, longest, 0755, 0), ENAMETOOLONG);
    longest[300] = '\0';
    CHECK_ERRNO(dfs_sys_stat(sys, longest, 0, &status), ENAMETOOLONG); /* of one name */
    CHECK_ERRNO(dfs_sys_mount(mounted->pool, mounted->container, O_RDWR, 4, &other), EINVAL);
    CHECK_ERRNO(dfs_sys_mount(mounted->pool, mounted->container, O_RDWR, 0, NULL), EINVAL);
    CHECK_DONE(dfs_sys_local2global(sys, &glob));
    d_iov_set(&glob, malloc(glob.iov_buf_len), glob.iov_buf_len);
    CHECK_DONE(dfs_sys_local2global(sys, &glob));
    CHECK_DONE(dfs_sys_global2local(mounted->pool, mounted->container, 0, 0, glob, &other));
    free(glob.iov_buf);
    CHECK_DONE(dfs_sys_stat(other, "/x/y", 0, &status));
    CHECK_DONE(dfs_sys2base(other, &base));
    CHECK_DONE(dfs_stat(base, NULL, "x", &status));
    CHECK_DONE(dfs_sys_umount(other));
    CHECK_ERRNO(dfs_sys_umount(NULL), EINVAL);
    CHECK_ERRNO(dfs_sys2base(NULL, &base), EINVAL);
    CHECK_ERRNO(dfs_sys_stat(NULL, "/", 0, &status), EINVAL);
    CHECK_ERRNO(dfs_sys_stat(sys, NULL, 0, &status), EINVAL);
    CHECK_ERRNO(dfs_sys_stat(sys, "/", 0, NULL), EINVAL);
    CHECK_ERRNO(dfs_sys_utimens(sys, "/x", NULL, 0), EINVAL);
    CHECK_ERRNO(dfs_sys_read(sys, NULL, NULL, 0, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_sys_mkdir_p(sys, NULL, 0, 0), EINVAL);
}

int main(void)
{
    struct mounted mounted = mount_new();
    CHECK_DONE(dfs_sys_mount(mounted.pool, mounted.container, O_RDWR, DFS_SYS_NO_LOCK, &sys));
    objects();
    moved(mounted.fs);
    listings();
    prefixes(&mounted);
    CHECK_DONE(dfs_sys_umount(sys));
    unmount(&mounted);
    CHECK_DONE(dfs_init());
    CHECK_DONE(dfs_sys_connect(mounted.path, NULL, "files", O_RDWR, DFS_SYS_NO_CACHE, NULL, &sys));
    expect_text("/c/b/f", "1");
    CHECK_DONE(dfs_sys_disconnect(sys));
    CHECK_DONE(dfs_fini());
    return 0;
}
