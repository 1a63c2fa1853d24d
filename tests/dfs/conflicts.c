/* Processes that do the same thing at once: one does it, and the others learn that it is done. */
#include "files.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { processes = 5, rounds = 40 };

struct shared {
    atomic_uint arrived;
    atomic_uint made[rounds], directories[rounds], removed[rounds], moved[rounds], taken[rounds];
    atomic_uint missing;
};

static struct shared* shared;
static char path[512];

static void meet(void)
{
    unsigned const mine = atomic_fetch_add(&shared->arrived, 1) + 1;
    unsigned const all = (mine + processes - 1) / processes * processes;
    while (atomic_load(&shared->arrived) < all)
        usleep(50);
}

static void count(int rc, int other, atomic_uint* counter)
{
    if (rc != 0) CHECK_ERRNO(rc, other);
    if (rc == 0) atomic_fetch_add(counter, 1);
}

static void work(unsigned process)
{
    alarm(100); /* a process that waits for one that has failed */
    struct mounted mounted = mount_again(path);
    dfs_t* const fs = mounted.fs;
    char source[32], target[32], own[32];
    for (unsigned round = 0; round < rounds; ++round) {
        dfs_obj_t* obj = NULL;
        snprintf(source, sizeof source, "source-%u", round);
        snprintf(target, sizeof target, "target-%u", round);
        snprintf(own, sizeof own, "own-%u-%u", round, process);
        meet();
        int const rc =
            dfs_open(fs, NULL, source, S_IFREG | 0600, O_CREAT | O_EXCL | O_RDWR, 0, 0, NULL, &obj);
        count(rc, EEXIST, &shared->made[round]);
        if (rc == 0) CHECK_DONE(dfs_release(obj));
        meet();
        count(dfs_mkdir(fs, NULL, target, 0700, 0), EEXIST, &shared->directories[round]);
        meet();
        count(dfs_move(fs, NULL, source, NULL, own, NULL), ENOENT, &shared->moved[round]);
        meet();
        count(dfs_remove(fs, NULL, target, false, NULL), ENOENT, &shared->removed[round]);
        meet();
        /* Some move it, and some remove it. */
        snprintf(source, sizeof source, "both-%u", round);
        if (process == 0) new_file(fs, NULL, source, "both");
        meet();
        snprintf(target, sizeof target, "both-%u-%u", round, process);
        if (process % 2 == 0)
            count(dfs_move(fs, NULL, source, NULL, target, NULL), ENOENT, &shared->taken[round]);
        else
            count(dfs_remove(fs, NULL, source, false, NULL), ENOENT, &shared->taken[round]);
        meet();
        /* All put their own in the place of one, which is always there. */
        snprintf(target, sizeof target, "one");
        snprintf(own, sizeof own, "new-%u", process);
        new_file(fs, NULL, own, "full text");
        for (int i = 0; i < 5; ++i) {
            struct stat status;
            if (dfs_stat(fs, NULL, target, &status) != 0) atomic_fetch_add(&shared->missing, 1);
        }
        CHECK_DONE(dfs_move(fs, NULL, own, NULL, target, NULL));
    }
    unmount(&mounted);
}

/* Names of a kind, and that each of them has its data. */
static unsigned named(dfs_t* fs, char const* form, unsigned round, char const* text)
{
    unsigned found = 0;
    for (unsigned process = 0; process < processes; ++process) {
        char name[32];
        snprintf(name, sizeof name, form, round, process);
        char const* const there = text_of(fs, NULL, name);
        if (strcmp(there, "-") == 0) continue;
        CHECK(strcmp(there, text) == 0);
        ++found;
    }
    return found;
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    struct mounted mounted = mount_new();
    snprintf(path, sizeof path, "%s", mounted.path);
    new_file(mounted.fs, NULL, "one", "full text");
    unmount(&mounted);
    pid_t pids[processes];
    for (unsigned process = 0; process < processes; ++process) {
        pids[process] = fork();
        CHECK(pids[process] >= 0);
        if (pids[process] != 0) continue;
        work(process);
        _exit(0);
    }
    for (unsigned process = 0; process < processes; ++process) {
        int status = 0;
        CHECK(waitpid(pids[process], &status, 0) == pids[process]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    mounted = mount_again(path);
    for (unsigned round = 0; round < rounds; ++round) {
        CHECK_EQUAL(shared->made[round], 1);
        CHECK_EQUAL(shared->directories[round], 1);
        CHECK_EQUAL(shared->moved[round], 1);
        CHECK_EQUAL(shared->removed[round], 1);
        CHECK_EQUAL(shared->taken[round], 1);
        CHECK(named(mounted.fs, "both-%u-%u", round, "both") <= 1);
    }
    CHECK_EQUAL(shared->missing, 0);
    CHECK(strcmp(text_of(mounted.fs, NULL, "one"), "full text") == 0);
    unmount(&mounted);
    return 0;
}
