/* Calls at random on names at random, each also made on the system's own file system: the errnos and the
 * trees are the same. */
#include "files.h"

#include <daos_fs_sys.h>
#include <stdlib.h>

enum { rounds = 8000, most_depth = 4 };

static dfs_sys_t* sys;
static dfs_t* fs;
static char folder[256];
static char log_of_calls[256];

static uint32_t below(uint32_t end)
{
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 11) % end;
}

/* "/a/c", of one to most_depth names. */
static void any_path(char path[64])
{
    static char const* const names[] = {"a", "b", "c", "l"};
    path[0] = '\0';
    for (uint32_t left = 1 + below(most_depth); left > 0; --left) {
        strcat(path, "/");
        strcat(path, names[below(4)]);
    }
}

static char const* on_disk(char const* path)
{
    static char buffers[2][1300];
    static unsigned turn = 0;
    char* const whole = buffers[turn++ % 2];
    snprintf(whole, sizeof buffers[0], "%s%s", folder, path);
    return whole;
}

static int result(int rc)
{
    return rc == 0 ? 0 : errno;
}

static dfs_obj_t* parent_of(char const* path, char const** name, int* rc)
{
    char above[64];
    dfs_obj_t* obj = NULL;
    *name = strrchr(path, '/') + 1;
    snprintf(above, sizeof above, "%.*s", (int)(*name - path), path);
    mode_t mode = S_IFDIR;
    *rc = dfs_lookup(fs, above, O_RDWR, &obj, &mode, NULL);
    if (!S_ISDIR(mode)) *rc = ENOTDIR; /* the slash at the end */
    return obj;
}

/* As rename() of two paths. */
static int move(char const* from, char const* to)
{
    char const *name = NULL, *new_name = NULL;
    int rc = 0, rc_to = 0;
    dfs_obj_t* const parent = parent_of(from, &name, &rc);
    dfs_obj_t* const new_parent = parent_of(to, &new_name, &rc_to);
    if (rc == 0) rc = rc_to;
    if (rc == 0) rc = dfs_move(fs, parent, name, new_parent, new_name, NULL);
    if (parent) CHECK_DONE(dfs_release(parent));
    if (new_parent) CHECK_DONE(dfs_release(new_parent));
    return rc;
}

static int write_text(char const* path, int flags)
{
    dfs_obj_t* obj = NULL;
    daos_size_t size = strlen(path);
    int const rc = dfs_sys_open(sys, path, S_IFREG | 0644, O_RDWR | flags, 0, 0, NULL, &obj);
    if (rc != 0) return rc;
    CHECK_DONE(dfs_sys_write(sys, obj, path, 0, &size, NULL));
    return dfs_sys_close(obj);
}

static int write_text_on_disk(char const* path, int flags)
{
    int const file = open(on_disk(path), O_RDWR | flags, 0644);
    if (file < 0) return errno;
    CHECK(write(file, path, strlen(path)) == (ssize_t)strlen(path));
    return result(close(file));
}

static int remove_on_disk(char const* path)
{
    struct stat status;
    if (lstat(on_disk(path), &status) != 0) return errno;
    return result(S_ISDIR(status.st_mode) ? rmdir(on_disk(path)) : unlink(on_disk(path)));
}

static void one_call(void)
{
    char path[64], other[64];
    struct stat status, theirs_status;
    int ours = 0, theirs = 0;
    char const* call = "";
    any_path(path);
    any_path(other);
    switch (below(8)) {
    case 0:
        call = "mkdir";
        ours = dfs_sys_mkdir(sys, path, 0755, 0);
        theirs = result(mkdir(on_disk(path), 0755));
        break;
    case 1:
        call = "create";
        ours = write_text(path, O_CREAT | O_EXCL);
        theirs = write_text_on_disk(path, O_CREAT | O_EXCL);
        break;
    case 2:
        call = "truncate";
        ours = write_text(path, O_TRUNC);
        theirs = write_text_on_disk(path, O_TRUNC);
        break;
    case 3:
        call = "remove";
        ours = dfs_sys_remove(sys, path, false, NULL);
        theirs = remove_on_disk(path);
        break;
    case 4:
    case 5:
        call = "rename";
        ours = move(path, other);
        theirs = result(rename(on_disk(path), on_disk(other)));
        /* Of a file that would replace a directory it is in, systems look at the entries first. */
        if (ours == EISDIR && theirs == ENOTEMPTY) theirs = EISDIR;
        break;
    case 6:
        call = "symlink";
        /* Relative: absolute ones begin at the root of each file system. */
        ours = dfs_sys_symlink(sys, &other[1], path);
        theirs = result(symlink(&other[1], on_disk(path)));
        break;
    default: {
        int const follows = (int)below(2);
        call = follows ? "stat" : "lstat";
        ours = dfs_sys_stat(sys, path, follows ? 0 : O_NOFOLLOW, &status);
        theirs = result(follows ? stat(on_disk(path), &theirs_status) : lstat(on_disk(path), &theirs_status));
        if (ours == 0 && theirs == 0) {
            CHECK_EQUAL(status.st_mode & S_IFMT, theirs_status.st_mode & S_IFMT);
            if (!S_ISDIR(status.st_mode)) CHECK_EQUAL(status.st_size, theirs_status.st_size);
        }
    }
    }
    snprintf(log_of_calls, sizeof log_of_calls, "%s %s %s", call, path, other);
    if (ours != theirs)
        fprintf(stderr, "%s: %s, not %s (%s)\n", log_of_calls, strerror(ours), strerror(theirs),
                dfs_last_message());
    CHECK_EQUAL(ours, theirs);
}

/* Of a directory: entries, and what they are. */
static void same_trees(char const* path)
{
    DIR* const theirs = opendir(*path ? on_disk(path) : folder);
    DIR* ours = NULL;
    struct dirent* entry = NULL;
    unsigned count = 0, count_of_theirs = 0;
    CHECK(theirs != NULL);
    while (readdir(theirs))
        ++count_of_theirs;
    closedir(theirs);
    CHECK_DONE(dfs_sys_opendir(sys, *path ? path : "/", 0, &ours));
    for (;; ++count) {
        char inner[1000];
        struct stat status, theirs_status;
        CHECK_DONE(dfs_sys_readdir(sys, ours, &entry));
        if (!entry) break;
        snprintf(inner, sizeof inner, "%.900s/%.8s", path, entry->d_name);
        CHECK_DONE(dfs_sys_stat(sys, inner, O_NOFOLLOW, &status));
        CHECK(lstat(on_disk(inner), &theirs_status) == 0);
        CHECK_EQUAL(status.st_mode & S_IFMT, theirs_status.st_mode & S_IFMT);
        if (S_ISDIR(status.st_mode)) same_trees(inner);
    }
    CHECK_EQUAL(count, count_of_theirs - 2); /* "." and ".." */
    CHECK_DONE(dfs_sys_closedir(ours));
}

int main(void)
{
    struct mounted mounted = mount_new();
    char command[600];
    char const* const root = getenv("TMPDIR");
    fs = mounted.fs;
    CHECK_DONE(dfs_sys_mount(mounted.pool, mounted.container, O_RDWR, 0, &sys));
    snprintf(folder, sizeof folder, "%s/stepstore-random-XXXXXX", root ? root : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    for (unsigned round = 0; round < rounds; ++round) {
        one_call();
        if (round % 100 == 99) same_trees("");
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    CHECK_DONE(dfs_sys_umount(sys));
    unmount(&mounted);
    return 0;
}
