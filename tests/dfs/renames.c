/* Renames: each pair of kinds gives the errno that the system's own file system gives, and leaves the same
 * names. */
#include "files.h"

#include <stdlib.h>

enum kind { none, file, empty, full, link_to, kinds };
static char const* const kind_names[kinds] = {"nothing", "file", "empty directory", "full directory", "link"};

static dfs_t* fs;
static char folder[256]; /* the same on the system's file system */

static void on_disk(char* path, size_t size, char const* name)
{
    snprintf(path, size, "%s/%s", folder, name);
}

static void make(char const* name, enum kind kind)
{
    char path[512];
    on_disk(path, sizeof path, name);
    switch (kind) {
    case none:
    case kinds: break;
    case file: {
        FILE* out = fopen(path, "w");
        CHECK(out && fputs(name, out) >= 0 && fclose(out) == 0);
        new_file(fs, NULL, name, name);
        break;
    }
    case empty:
    case full: {
        CHECK(mkdir(path, 0700) == 0);
        dfs_obj_t* const d = new_directory(fs, NULL, name);
        if (kind == full) {
            char inner[600];
            snprintf(inner, sizeof inner, "%s/inner", path);
            CHECK(mkdir(inner, 0700) == 0);
            CHECK_DONE(dfs_mkdir(fs, d, "inner", 0700, 0));
        }
        CHECK_DONE(dfs_release(d));
        break;
    }
    case link_to: CHECK(symlink(name, path) == 0); new_link(fs, NULL, name, name);
    }
}

/* Kind, size and target are the same. */
static void expect_same(char const* name)
{
    char path[512], target[256] = "", ours[256] = "";
    struct stat theirs, status;
    on_disk(path, sizeof path, name);
    bool const is_there = lstat(path, &theirs) == 0;
    CHECK_ERRNO(dfs_stat(fs, NULL, name, &status), is_there ? 0 : ENOENT);
    if (!is_there) return;
    CHECK_EQUAL(status.st_mode & S_IFMT, theirs.st_mode & S_IFMT);
    if (S_ISREG(theirs.st_mode)) CHECK_EQUAL(status.st_size, theirs.st_size);
    if (S_ISLNK(theirs.st_mode)) {
        dfs_obj_t* const obj = looked_up(fs, name[0] == 's' ? "/source" : "/target", O_RDONLY | O_NOFOLLOW);
        daos_size_t size = sizeof ours;
        CHECK(readlink(path, target, sizeof target - 1) > 0);
        CHECK_DONE(dfs_get_symlink_value(obj, ours, &size));
        CHECK(strcmp(target, ours) == 0);
        CHECK_DONE(dfs_release(obj));
    }
}

static void forget(char const* name)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf %s/%s", folder, name);
    CHECK(system(command) == 0);
    int const rc = dfs_remove(fs, NULL, name, true, NULL);
    CHECK(rc == 0 || rc == ENOENT);
}

static void pair(enum kind source, enum kind target)
{
    char from[512], to[512];
    make("source", source);
    make("target", target);
    on_disk(from, sizeof from, "source");
    on_disk(to, sizeof to, "target");
    int const theirs = rename(from, to) == 0 ? 0 : errno;
    int const ours = dfs_move(fs, NULL, "source", NULL, "target", NULL);
    if (ours != theirs)
        fprintf(stderr, "%s over %s: %s, not %s (%s)\n", kind_names[source], kind_names[target],
                strerror(ours), strerror(theirs), dfs_last_message());
    CHECK_EQUAL(ours, theirs);
    expect_same("source");
    expect_same("target");
    forget("source");
    forget("target");
}

static void places(void)
{
    dfs_obj_t* const a = new_directory(fs, NULL, "a");
    dfs_obj_t* const b = new_directory(fs, a, "b");
    dfs_obj_t* const c = new_directory(fs, b, "c");
    struct stat status;
    daos_obj_id_t oid;
    CHECK_ERRNO(dfs_move(fs, NULL, "a", c, "x", NULL), EINVAL);
    CHECK_ERRNO(dfs_move(fs, NULL, "a", a, "x", NULL), EINVAL);
    CHECK_ERRNO(dfs_move(fs, a, "b", c, "x", NULL), EINVAL);
    CHECK_ERRNO(dfs_move(fs, b, "c", NULL, "a", NULL), ENOTEMPTY);
    CHECK_ERRNO(dfs_move(fs, NULL, "none", NULL, "none", NULL), ENOENT);
    CHECK_DONE(dfs_move(fs, NULL, "a", NULL, "a", NULL));
    new_file(fs, c, "f", "text");
    CHECK_DONE(dfs_move(fs, c, "f", NULL, "f", NULL)); /* over directories */
    CHECK(strcmp(text_of(fs, NULL, "f"), "text") == 0);
    CHECK_ERRNO(dfs_stat(fs, c, "f", &status), ENOENT);
    CHECK_DONE(dfs_move(fs, b, "c", NULL, "c", NULL));
    CHECK_DONE(dfs_release(looked_up(fs, "/c", O_RDONLY)));
    /* Attributes go along, and those of the target do not stay. The time of the data stays. */
    dfs_obj_t* file_obj = looked_up(fs, "/f", O_RDWR);
    CHECK_DONE(dfs_setxattr(fs, file_obj, "one", "1", 1, 0));
    CHECK_DONE(dfs_setxattr(fs, file_obj, "two", "22", 2, 0));
    struct stat before;
    CHECK_DONE(dfs_ostat(fs, file_obj, &before));
    CHECK_DONE(dfs_release(file_obj));
    new_file(fs, NULL, "g", "longer text");
    file_obj = looked_up(fs, "/g", O_RDWR);
    CHECK_DONE(dfs_setxattr(fs, file_obj, "two", "of g", 4, 0));
    CHECK_DONE(dfs_setxattr(fs, file_obj, "three", "3", 1, 0));
    daos_obj_id_t replaced;
    CHECK_DONE(dfs_obj2id(file_obj, &replaced));
    CHECK_DONE(dfs_release(file_obj));
    CHECK_DONE(dfs_move(fs, NULL, "f", NULL, "g", &oid));
    CHECK(oid.lo == replaced.lo && oid.hi == replaced.hi);
    CHECK(strcmp(text_of(fs, NULL, "g"), "text") == 0);
    file_obj = looked_up(fs, "/g", O_RDWR);
    char list[64];
    daos_size_t size = sizeof list;
    CHECK_DONE(dfs_listxattr(fs, file_obj, list, &size));
    CHECK_EQUAL(size, 8);
    CHECK(memcmp(list, "one\0two", 8) == 0);
    size = sizeof list;
    CHECK_DONE(dfs_getxattr(fs, file_obj, "two", list, &size));
    CHECK(size == 2 && memcmp(list, "22", 2) == 0);
    CHECK_DONE(dfs_ostat(fs, file_obj, &status));
    CHECK(status.st_mtim.tv_sec == before.st_mtim.tv_sec && status.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    CHECK_DONE(dfs_release(file_obj));
    CHECK_DONE(dfs_release(a));
    CHECK_DONE(dfs_release(b));
    CHECK_DONE(dfs_release(c));
    CHECK_DONE(dfs_remove(fs, NULL, "a", true, NULL));
}

static void exchanges(void)
{
    dfs_obj_t* const d = new_directory(fs, NULL, "d");
    new_file(fs, d, "one", "of one");
    new_file(fs, NULL, "two", "of two");
    dfs_obj_t* obj = looked_up(fs, "/d/one", O_RDWR);
    CHECK_DONE(dfs_setxattr(fs, obj, "name", "one", 3, 0));
    CHECK_DONE(dfs_release(obj));
    CHECK_DONE(dfs_exchange(fs, d, "one", NULL, "two"));
    CHECK(strcmp(text_of(fs, d, "one"), "of two") == 0);
    CHECK(strcmp(text_of(fs, NULL, "two"), "of one") == 0);
    obj = looked_up(fs, "/two", O_RDWR);
    char value[8];
    daos_size_t size = sizeof value;
    CHECK_DONE(dfs_getxattr(fs, obj, "name", value, &size));
    CHECK(size == 3 && memcmp(value, "one", 3) == 0);
    CHECK_DONE(dfs_release(obj));
    new_link(fs, NULL, "link", "two");
    CHECK_DONE(dfs_exchange(fs, NULL, "link", NULL, "two"));
    CHECK(strcmp(text_of(fs, NULL, "link"), "of one") == 0);
    CHECK_ERRNO(dfs_exchange(fs, NULL, "link", NULL, "none"), EINVAL);
    CHECK_ERRNO(dfs_exchange(fs, NULL, "none", NULL, "link"), EINVAL);
    CHECK_ERRNO(dfs_exchange(fs, NULL, "d", d, "one"), EINVAL);
    CHECK_DONE(dfs_exchange(fs, NULL, "link", NULL, "link"));
    daos_anchor_t anchor = {0};
    struct dirent entries[16];
    uint32_t nr = 16;
    CHECK_DONE(dfs_readdir(fs, d, &anchor, &nr, entries));
    CHECK_EQUAL(nr, 1); /* no spare entry stays */
    CHECK_DONE(dfs_release(d));
}

/* The flags of renameat2(), which a C library may not name. */
enum { no_replace = 1, exchange = 2, whiteout = 4 };

static void flags(void)
{
    dfs_obj_t* const e = new_directory(fs, NULL, "e");
    new_file(fs, e, "one", "of one");
    new_file(fs, NULL, "three", "of three");
    CHECK_ERRNO(dfs_rename(fs, e, "one", NULL, "three", no_replace), EEXIST);
    CHECK_ERRNO(dfs_rename(fs, e, "one", e, "one", no_replace), EEXIST);
    CHECK_ERRNO(dfs_rename(fs, e, "none", NULL, "four", no_replace), ENOENT);
    CHECK_ERRNO(dfs_rename(fs, NULL, "e", e, "below", no_replace), EINVAL);
    CHECK_ERRNO(dfs_rename(fs, e, "one", NULL, "four", whiteout), EINVAL);
    CHECK_ERRNO(dfs_rename(fs, e, "one", NULL, "four", no_replace | exchange), EINVAL);
    CHECK_DONE(dfs_rename(fs, e, "one", NULL, "four", no_replace));
    CHECK(strcmp(text_of(fs, NULL, "four"), "of one") == 0 && strcmp(text_of(fs, e, "one"), "-") == 0);
    CHECK_ERRNO(dfs_rename(fs, NULL, "four", e, "none", exchange), ENOENT);
    CHECK_ERRNO(dfs_rename(fs, e, "none", NULL, "four", exchange), ENOENT);
    CHECK_DONE(dfs_rename(fs, NULL, "four", NULL, "three", exchange));
    CHECK(strcmp(text_of(fs, NULL, "four"), "of three") == 0);
    CHECK_DONE(dfs_rename(fs, NULL, "four", NULL, "three", 0));
    CHECK(strcmp(text_of(fs, NULL, "three"), "of three") == 0 && strcmp(text_of(fs, NULL, "four"), "-") == 0);
    CHECK_DONE(dfs_release(e));
    CHECK_DONE(dfs_remove(fs, NULL, "e", true, NULL));
    CHECK_DONE(dfs_remove(fs, NULL, "three", true, NULL));
}

int main(void)
{
    struct mounted mounted = mount_new();
    char const* const root = getenv("TMPDIR");
    fs = mounted.fs;
    snprintf(folder, sizeof folder, "%s/stepstore-renames-XXXXXX", root ? root : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    for (int source = 0; source < kinds; ++source)
        for (int target = 0; target < kinds; ++target)
            pair((enum kind)source, (enum kind)target);
    places();
    exchanges();
    flags();
    CHECK(rmdir(folder) == 0);
    unmount(&mounted);
    return 0;
}
