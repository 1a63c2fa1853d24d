/* Names: what is made is there, and nothing is made twice; what is refused. */
#include "files.h"

static dfs_t* fs;

static void directories(void)
{
    dfs_obj_t* const a = new_directory(fs, NULL, "a");
    dfs_obj_t* obj = NULL;
    struct stat status;
    mode_t mode = 0;
    CHECK_ERRNO(dfs_mkdir(fs, NULL, "a", 0700, 0), EEXIST);
    CHECK_DONE(dfs_mkdir(fs, a, "b", 0700, 0));
    CHECK_DONE(dfs_stat(fs, a, "b", &status));
    CHECK_EQUAL(status.st_mode, S_IFDIR | 0700);
    CHECK_EQUAL(status.st_uid, geteuid());
    CHECK_EQUAL(status.st_nlink, 1);
    CHECK_DONE(dfs_lookup(fs, "/a/b", O_RDWR, &obj, &mode, &status));
    CHECK(S_ISDIR(mode) && S_ISDIR(status.st_mode));
    CHECK_DONE(dfs_mkdir(fs, obj, "c", 0700, 0));
    CHECK_DONE(dfs_release(obj));
    CHECK_DONE(dfs_release(looked_up(fs, "//a/./b/../b//c/", O_RDONLY)));
    CHECK_DONE(dfs_release(looked_up(fs, "/", O_RDONLY)));
    CHECK_DONE(dfs_release(looked_up(fs, "/a/b/..", O_RDONLY)));
    CHECK_ERRNO(dfs_lookup(fs, "/..", O_RDONLY, &obj, NULL, NULL), ENOENT);
    CHECK_ERRNO(dfs_lookup(fs, "/a/x", O_RDONLY, &obj, NULL, NULL), ENOENT);
    CHECK_ERRNO(dfs_lookup(fs, "a", O_RDONLY, &obj, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_open(fs, a, "b", S_IFREG, O_RDONLY, 0, 0, NULL, &obj), EISDIR);
    CHECK_ERRNO(dfs_open(fs, a, "none", S_IFDIR, O_RDONLY, 0, 0, NULL, &obj), ENOENT);
    CHECK_DONE(dfs_release(opened(fs, a, "b", S_IFDIR, O_CREAT | O_RDWR))); /* there already */
    CHECK_ERRNO(dfs_remove(fs, a, "b", false, NULL), ENOTEMPTY);
    CHECK_ERRNO(dfs_remove(fs, NULL, "a", false, NULL), ENOTEMPTY);
    CHECK_ERRNO(dfs_remove(fs, NULL, "none", false, NULL), ENOENT);
    CHECK_DONE(dfs_release(a));
    CHECK_DONE(dfs_remove(fs, NULL, "a", true, NULL));
    CHECK_ERRNO(dfs_stat(fs, NULL, "a", &status), ENOENT);
}

static void files(void)
{
    dfs_obj_t* obj = opened(fs, NULL, "f", S_IFREG | 0640, O_CREAT | O_RDWR);
    dfs_obj_t* again = NULL;
    dfs_obj_t* below = NULL;
    daos_obj_id_t oid, oid_again, removed;
    struct stat status;
    CHECK_DONE(dfs_obj2id(obj, &oid));
    CHECK_EQUAL(daos_obj_id2type(oid), DAOS_OT_ARRAY_BYTE);
    CHECK_ERRNO(dfs_open(fs, NULL, "f", S_IFREG | 0640, O_CREAT | O_EXCL | O_RDWR, 0, 0, NULL, &again),
                EEXIST);
    CHECK_DONE(dfs_open(fs, NULL, "f", S_IFREG | 0600, O_CREAT | O_RDWR, 0, 0, NULL, &again));
    CHECK_DONE(dfs_obj2id(again, &oid_again));
    CHECK(oid.lo == oid_again.lo && oid.hi == oid_again.hi);
    CHECK_DONE(dfs_ostat(fs, again, &status));
    CHECK_EQUAL(status.st_mode, S_IFREG | 0640);
    CHECK_EQUAL(status.st_size, 0);
    CHECK_ERRNO(dfs_open(fs, again, "x", S_IFREG, O_RDWR | O_CREAT, 0, 0, NULL, &below), ENOTDIR);
    CHECK_ERRNO(dfs_open(fs, NULL, "f", S_IFDIR, O_RDWR, 0, 0, NULL, &below), ENOTDIR);
    CHECK_ERRNO(dfs_lookup(fs, "/f/x", O_RDONLY, &below, NULL, NULL), ENOTDIR);
    CHECK_ERRNO(dfs_open(fs, NULL, "f", S_IFREG, O_RDWR | O_APPEND, 0, 0, NULL, &below), ENOTSUP);
    CHECK_DONE(dfs_release(again));

    /* The times: of the latest write, unless they are set after it. */
    struct memory memory;
    struct stat before = status;
    CHECK_DONE(dfs_write(fs, obj, memory_of(&memory, "text", 4), 0, NULL));
    CHECK_DONE(dfs_stat(fs, NULL, "f", &status));
    CHECK_EQUAL(status.st_size, 4);
    CHECK(status.st_mtim.tv_sec > before.st_mtim.tv_sec || (status.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                                                            status.st_mtim.tv_nsec > before.st_mtim.tv_nsec));
    status.st_mtim.tv_sec = 1000;
    status.st_mtim.tv_nsec = 5;
    status.st_mode = S_IFREG | 0444;
    status.st_uid = 77;
    status.st_gid = 78;
    status.st_size = 2;
    CHECK_DONE(dfs_osetattr(fs, obj, &status,
                            DFS_SET_ATTR_MTIME | DFS_SET_ATTR_MODE | DFS_SET_ATTR_UID | DFS_SET_ATTR_GID |
                                DFS_SET_ATTR_SIZE));
    memset(&status, 0xff, sizeof status);
    CHECK_DONE(dfs_ostat(fs, obj, &status));
    CHECK_EQUAL(status.st_mtim.tv_sec, 1000);
    CHECK_EQUAL(status.st_mtim.tv_nsec, 5);
    CHECK_EQUAL(status.st_mode, S_IFREG | 0444);
    CHECK_EQUAL(status.st_uid, 77);
    CHECK_EQUAL(status.st_gid, 78);
    CHECK_EQUAL(status.st_size, 2);
    CHECK_DONE(dfs_write(fs, obj, memory_of(&memory, "text", 4), 0, NULL));
    CHECK_DONE(dfs_ostat(fs, obj, &status));
    CHECK(status.st_mtim.tv_sec > 1000);

    CHECK_DONE(dfs_chmod(fs, NULL, "f", 0600));
    CHECK_DONE(dfs_chown(fs, NULL, "f", getuid(), (gid_t)-1, 0));
    CHECK_DONE(dfs_stat(fs, NULL, "f", &status));
    CHECK_EQUAL(status.st_mode, S_IFREG | 0600);
    CHECK_EQUAL(status.st_uid, getuid());
    CHECK_EQUAL(status.st_gid, 78);
    CHECK_DONE(dfs_access(fs, NULL, "f", R_OK | W_OK));
    CHECK_ERRNO(dfs_access(fs, NULL, "f", X_OK), EACCES);
    CHECK_ERRNO(dfs_access(fs, NULL, "none", F_OK), ENOENT);
    CHECK_ERRNO(dfs_chmod(fs, NULL, "f", S_IFDIR | 0600), EINVAL);
    CHECK_ERRNO(dfs_chmod(fs, NULL, "f", S_ISVTX | 0600), ENOTSUP);
    CHECK_DONE(dfs_chmod(fs, NULL, NULL, 0711)); /* the root */
    CHECK_DONE(dfs_stat(fs, NULL, NULL, &status));
    CHECK_EQUAL(status.st_mode, S_IFDIR | 0711);

    CHECK_DONE(dfs_remove(fs, NULL, "f", false, &removed));
    CHECK(removed.lo == oid.lo && removed.hi == oid.hi);
    CHECK_ERRNO(dfs_ostat(fs, obj, &status), ENOENT);
    new_file(fs, NULL, "f", "other");
    CHECK_ERRNO(dfs_ostat(fs, obj, &status), ENOENT); /* not its own */
    CHECK_DONE(dfs_release(obj));
    CHECK_DONE(dfs_remove(fs, NULL, "f", false, NULL));
}

static void refused_names(void)
{
    char longest[DFS_MAX_NAME + 2];
    char const* const refused[] = {"", ".", "..", "/", "a/b", "/a", longest};
    dfs_obj_t* obj = NULL;
    struct stat status;
    memset(longest, 'n', sizeof longest);
    longest[DFS_MAX_NAME] = '\0';
    CHECK_DONE(dfs_mkdir(fs, NULL, longest, 0700, 0));
    CHECK_DONE(dfs_stat(fs, NULL, longest, &status));
    CHECK_DONE(dfs_remove(fs, NULL, longest, false, NULL));
    longest[DFS_MAX_NAME] = 'n';
    longest[DFS_MAX_NAME + 1] = '\0';
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        CHECK_ERRNO(dfs_mkdir(fs, NULL, refused[i], 0700, 0), EINVAL);
        CHECK_ERRNO(dfs_open(fs, NULL, refused[i], S_IFREG, O_CREAT | O_RDWR, 0, 0, NULL, &obj), EINVAL);
        CHECK_ERRNO(dfs_stat(fs, NULL, refused[i], &status), EINVAL);
        CHECK_ERRNO(dfs_remove(fs, NULL, refused[i], true, NULL), EINVAL);
        CHECK_ERRNO(dfs_move(fs, NULL, refused[i], NULL, "x", NULL), EINVAL);
        CHECK_ERRNO(dfs_lookup_rel(fs, NULL, refused[i], O_RDONLY, &obj, NULL, NULL), EINVAL);
    }
    /* Any other bytes are a name. */
    CHECK_DONE(dfs_mkdir(fs, NULL, "\xff\n ...", 0700, 0));
    CHECK_DONE(dfs_remove(fs, NULL, "\xff\n ...", false, NULL));
}

static void links(void)
{
    dfs_obj_t* const d = new_directory(fs, NULL, "d");
    dfs_obj_t* obj = NULL;
    struct stat status;
    mode_t mode;
    char text[64];
    daos_size_t size = sizeof text;
    new_file(fs, d, "file", "in d");
    new_link(fs, NULL, "to-d", "d");
    new_link(fs, d, "up", "../d/./file");
    new_link(fs, d, "absolute", "/to-d/up");
    new_link(fs, NULL, "dangling", "none");
    new_link(fs, NULL, "loop", "loop2");
    new_link(fs, NULL, "loop2", "loop");
    CHECK(strcmp(text_of(fs, d, "up"), "in d") == 0);
    CHECK(strcmp(text_of(fs, d, "absolute"), "in d") == 0);
    CHECK_DONE(dfs_release(looked_up(fs, "/to-d/absolute", O_RDONLY)));
    CHECK_ERRNO(dfs_lookup(fs, "/dangling", O_RDONLY, &obj, NULL, NULL), ENOENT);
    CHECK_ERRNO(dfs_lookup(fs, "/loop", O_RDONLY, &obj, NULL, NULL), ELOOP);
    CHECK_ERRNO(dfs_lookup(fs, "/loop/x", O_RDONLY, &obj, NULL, NULL), ELOOP);
    CHECK_ERRNO(dfs_access(fs, NULL, "loop", F_OK), ELOOP);
    CHECK_DONE(dfs_lookup(fs, "/loop", O_RDONLY | O_NOFOLLOW, &obj, &mode, &status));
    CHECK(S_ISLNK(mode));
    CHECK_EQUAL(status.st_size, 5);
    CHECK_EQUAL(status.st_mode, S_IFLNK | 0777);
    CHECK_DONE(dfs_get_symlink_value(obj, text, &size));
    CHECK_EQUAL(size, 6);
    CHECK(strcmp(text, "loop2") == 0);
    size = 3;
    CHECK_DONE(dfs_get_symlink_value(obj, text, &size));
    CHECK(size == 6 && strcmp(text, "lo") == 0);
    CHECK_DONE(dfs_release(obj));
    CHECK_ERRNO(dfs_open(fs, NULL, "loop", S_IFLNK, O_CREAT | O_RDWR, 0, 0, "x", &obj), EEXIST);
    CHECK_ERRNO(dfs_open(fs, NULL, "new", S_IFLNK, O_CREAT | O_RDWR, 0, 0, NULL, &obj), EINVAL);
    CHECK_ERRNO(dfs_open(fs, NULL, "new", S_IFLNK, O_CREAT | O_RDWR, 0, 0, "", &obj), EINVAL);
    CHECK_ERRNO(dfs_open(fs, NULL, "dangling", S_IFREG, O_RDWR, 0, 0, NULL, &obj), EINVAL);
    CHECK_DONE(dfs_chmod(fs, NULL, "to-d", 0705)); /* of what it shows */
    CHECK_DONE(dfs_stat(fs, NULL, "d", &status));
    CHECK_EQUAL(status.st_mode, S_IFDIR | 0705);
    CHECK_DONE(dfs_chown(fs, NULL, "to-d", 5, 6, O_NOFOLLOW));
    CHECK_DONE(dfs_stat(fs, NULL, "to-d", &status));
    CHECK(S_ISLNK(status.st_mode) && status.st_uid == 5 && status.st_gid == 6);
    CHECK_DONE(dfs_remove(fs, NULL, "loop", false, NULL));
    CHECK_DONE(dfs_remove(fs, NULL, "to-d", false, NULL));
    CHECK(strcmp(text_of(fs, d, "file"), "in d") == 0);
    CHECK_DONE(dfs_release(d));
    CHECK_DONE(dfs_remove(fs, NULL, "d", true, NULL));
}

static void nulls(void)
{
    dfs_obj_t* obj = NULL;
    struct stat status;
    mode_t mode;
    daos_size_t size = 0;
    uint32_t nr = 1;
    daos_anchor_t anchor = {0};
    struct dirent entry;
    d_iov_t glob = {0};
    dfs_obj_t* const file = opened(fs, NULL, "nulls", S_IFREG | 0600, O_CREAT | O_RDWR);
    CHECK_ERRNO(dfs_mount(DAOS_HDL_INVAL, DAOS_HDL_INVAL, O_RDWR, NULL), EINVAL);
    CHECK_ERRNO(dfs_umount(NULL), EINVAL);
    CHECK_ERRNO(dfs_disconnect(NULL), EINVAL);
    CHECK_ERRNO(dfs_query(NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_query(fs, NULL), EINVAL);
    CHECK_ERRNO(dfs_lookup(NULL, "/", O_RDONLY, &obj, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_lookup(fs, NULL, O_RDONLY, &obj, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_lookup(fs, "/", O_RDONLY, NULL, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_lookup_rel(NULL, NULL, "x", O_RDONLY, &obj, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_lookup_rel(fs, NULL, NULL, O_RDONLY, &obj, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_open(NULL, NULL, "x", S_IFREG, O_RDWR, 0, 0, NULL, &obj), EINVAL);
    CHECK_ERRNO(dfs_open(fs, NULL, NULL, S_IFREG, O_RDWR, 0, 0, NULL, &obj), EINVAL);
    CHECK_ERRNO(dfs_open(fs, NULL, "x", S_IFREG, O_RDWR, 0, 0, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_open(fs, NULL, "x", S_IFIFO, O_RDWR | O_CREAT, 0, 0, NULL, &obj), EINVAL);
    CHECK_ERRNO(dfs_dup(fs, NULL, O_RDWR, &obj), EINVAL);
    CHECK_ERRNO(dfs_release(NULL), EINVAL);
    CHECK_ERRNO(dfs_mkdir(NULL, NULL, "x", 0, 0), EINVAL);
    CHECK_ERRNO(dfs_remove(NULL, NULL, "x", false, NULL), EINVAL);
    CHECK_ERRNO(dfs_move(NULL, NULL, "x", NULL, "y", NULL), EINVAL);
    CHECK_ERRNO(dfs_move(fs, NULL, NULL, NULL, "y", NULL), EINVAL);
    CHECK_ERRNO(dfs_exchange(NULL, NULL, "x", NULL, "y"), EINVAL);
    CHECK_ERRNO(dfs_stat(NULL, NULL, "x", &status), EINVAL);
    CHECK_ERRNO(dfs_stat(fs, NULL, "nulls", NULL), EINVAL);
    CHECK_ERRNO(dfs_stat(fs, file, "x", &status), ENOTDIR);
    CHECK_ERRNO(dfs_ostat(fs, NULL, &status), EINVAL);
    CHECK_ERRNO(dfs_osetattr(fs, NULL, &status, 0), EINVAL);
    CHECK_ERRNO(dfs_osetattr(fs, file, NULL, 0), EINVAL);
    CHECK_ERRNO(dfs_access(NULL, NULL, "x", F_OK), EINVAL);
    CHECK_ERRNO(dfs_chmod(NULL, NULL, "x", 0), EINVAL);
    CHECK_ERRNO(dfs_chown(NULL, NULL, "x", 0, 0, 0), EINVAL);
    CHECK_ERRNO(dfs_sync(NULL), EINVAL);
    CHECK_ERRNO(dfs_read(fs, file, NULL, 0, &size, NULL), EINVAL);
    CHECK_ERRNO(dfs_read(fs, NULL, NULL, 0, &size, NULL), EINVAL);
    CHECK_ERRNO(dfs_readx(fs, file, NULL, NULL, &size, NULL), EINVAL);
    CHECK_ERRNO(dfs_write(NULL, file, NULL, 0, NULL), EINVAL);
    CHECK_ERRNO(dfs_write(fs, NULL, NULL, 0, NULL), EINVAL);
    CHECK_ERRNO(dfs_writex(fs, file, NULL, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_get_size(fs, file, NULL), EINVAL);
    CHECK_ERRNO(dfs_punch(fs, NULL, 0, 0), EINVAL);
    CHECK_ERRNO(dfs_readdir(fs, NULL, &anchor, &nr, &entry), ENOTDIR);
    CHECK_ERRNO(dfs_readdir(fs, file, &anchor, &nr, &entry), ENOTDIR);
    CHECK_ERRNO(dfs_iterate(fs, NULL, &anchor, &nr, 1000, NULL, NULL), ENOTDIR);
    CHECK_ERRNO(dfs_get_mode(NULL, &mode), EINVAL);
    CHECK_ERRNO(dfs_get_file_oh(NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_get_chunk_size(NULL, &size), EINVAL);
    CHECK_ERRNO(dfs_get_symlink_value(file, NULL, &size), EINVAL);
    CHECK_ERRNO(dfs_update_parent(NULL, file, NULL), EINVAL);
    CHECK_ERRNO(dfs_update_parent(file, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_setxattr(fs, NULL, "x", "y", 1, 0), EINVAL);
    CHECK_ERRNO(dfs_setxattr(fs, file, NULL, "y", 1, 0), EINVAL);
    CHECK_ERRNO(dfs_getxattr(fs, file, "x", NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_removexattr(fs, NULL, "x"), EINVAL);
    CHECK_ERRNO(dfs_listxattr(fs, file, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_local2global(NULL, &glob), EINVAL);
    CHECK_ERRNO(dfs_local2global(fs, NULL), EINVAL);
    CHECK_ERRNO(dfs_global2local(DAOS_HDL_INVAL, DAOS_HDL_INVAL, 0, glob, NULL), EINVAL);
    CHECK_ERRNO(dfs_obj_local2global(fs, NULL, &glob), EINVAL);
    CHECK_ERRNO(dfs_obj_global2local(fs, 0, glob, &obj), EINVAL);
    CHECK(strlen(dfs_last_message()) > 0);
    CHECK_DONE(dfs_release(file));
    CHECK_DONE(dfs_remove(fs, NULL, "nulls", false, NULL));
}

int main(void)
{
    struct mounted mounted = mount_new();
    fs = mounted.fs;
    directories();
    files();
    refused_names();
    links();
    nulls();
    unmount(&mounted);
    return 0;
}
