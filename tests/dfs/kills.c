/* A process that renames is killed, again and again: no file is without a name, and to remove one of two
 * names leaves the file under the other one. */
#include "files.h"

#include <signal.h>
#include <sys/wait.h>

enum { kills = 120 };

static char path[512];

static void rename_for_ever(void)
{
    struct mounted mounted = mount_again(path);
    dfs_t* const fs = mounted.fs;
    for (;;) {
        /* Either may be there from the last time. */
        int rc = dfs_move(fs, NULL, "a", NULL, "b", NULL);
        CHECK(rc == 0 || rc == ENOENT);
        rc = dfs_move(fs, NULL, "b", NULL, "a", NULL);
        CHECK(rc == 0 || rc == ENOENT);
        rc = dfs_remove(fs, NULL, "new", false, NULL);
        CHECK(rc == 0 || rc == ENOENT);
        new_file(fs, NULL, "new", "whole");
        CHECK_DONE(dfs_move(fs, NULL, "new", NULL, "replaced", NULL));
        CHECK_DONE(dfs_exchange(fs, NULL, "x", NULL, "y"));
    }
}

static unsigned entries_of(dfs_t* fs)
{
    dfs_obj_t* const top = looked_up(fs, "/", O_RDONLY);
    daos_anchor_t anchor = {0};
    static struct dirent entries[64];
    uint32_t nr = 64;
    CHECK_DONE(dfs_readdir(fs, top, &anchor, &nr, entries));
    CHECK(daos_anchor_is_eof(&anchor));
    CHECK_DONE(dfs_release(top));
    return nr;
}

static bool is(dfs_t* fs, char const* name, char const* text)
{
    return strcmp(text_of(fs, NULL, name), text) == 0;
}

static unsigned twins, spares; /* states that kills have left */

static void look(unsigned round)
{
    struct mounted mounted = mount_again(path);
    dfs_t* const fs = mounted.fs;
    bool const is_a = is(fs, "a", "text"), is_b = is(fs, "b", "text");
    CHECK(is_a || is_b);
    if (is_a && is_b) {
        ++twins;
        char const* const removed = round % 2 == 0 ? "a" : "b";
        /* The rename is finished first: of the two names a or b is then there, and this may be neither's. */
        int const rc = dfs_remove(fs, NULL, removed, false, NULL);
        CHECK(rc == 0 || rc == ENOENT);
        CHECK(rc == 0 || is(fs, "a", "text") || is(fs, "b", "text"));
        if (rc == 0 && !is(fs, "a", "text") && !is(fs, "b", "text")) new_file(fs, NULL, "a", "text");
    }
    CHECK(is(fs, "replaced", "whole"));
    bool const straight = is(fs, "x", "of x") && is(fs, "y", "of y");
    bool const crossed = is(fs, "x", "of y") && is(fs, "y", "of x");
    if (!straight && !crossed) ++spares;
    CHECK_DONE(dfs_exchange(fs, NULL, "x", NULL, "y"));
    CHECK((is(fs, "x", "of x") && is(fs, "y", "of y")) || (is(fs, "x", "of y") && is(fs, "y", "of x")));
    int const rc = dfs_remove(fs, NULL, "new", false, NULL);
    CHECK(rc == 0 || rc == ENOENT);
    CHECK_EQUAL(entries_of(fs), 4); /* a or b, replaced, x, y: no spare entry, no twin */
    unmount(&mounted);
}

int main(void)
{
    struct mounted mounted = mount_new();
    snprintf(path, sizeof path, "%s", mounted.path);
    new_file(mounted.fs, NULL, "a", "text");
    new_file(mounted.fs, NULL, "replaced", "whole");
    new_file(mounted.fs, NULL, "x", "of x");
    new_file(mounted.fs, NULL, "y", "of y");
    unmount(&mounted);
    for (unsigned round = 0; round < kills; ++round) {
        pid_t const child = fork();
        CHECK(child >= 0);
        if (child == 0) rename_for_ever();
        usleep(10000 + round * 7919 % 10000);
        CHECK(kill(child, SIGKILL) == 0);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        /* In a process of its own, so that this one has nothing open. */
        pid_t const looker = fork();
        CHECK(looker >= 0);
        if (looker == 0) {
            twins = spares = 0;
            look(round);
            _exit((int)(10 + twins + spares * 2));
        }
        CHECK(waitpid(looker, &status, 0) == looker);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) >= 10);
        unsigned const left = (unsigned)WEXITSTATUS(status) - 10;
        twins += left & 1;
        spares += left >> 1;
    }
    printf("%u kills left two names of one file, %u an unfinished exchange\n", twins, spares);
    return 0;
}
