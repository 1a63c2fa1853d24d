/* Renames, exchanges and removals that end after each of their steps: no file is without a name, and whatever
 * is done next with either name loses none. The program's own calls of libdaos, below, count the steps. */
#include "files.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

enum { most_steps = 40 };

static unsigned steps_left; /* 0: for ever */

static int step(int rc)
{
    if (steps_left != 0 && --steps_left == 0) kill(getpid(), SIGKILL);
    return rc;
}

#pragma GCC visibility push(default) /* for the library to find them */
int daos_obj_update(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey, unsigned int nr,
                    daos_iod_t* iods, d_sg_list_t* sgls, daos_event_t* ev)
{
    static int (*real)(daos_handle_t, daos_handle_t, uint64_t, daos_key_t*, unsigned, daos_iod_t*,
                       d_sg_list_t*, daos_event_t*);
    if (!real) *(void**)&real = dlsym(RTLD_NEXT, "daos_obj_update");
    return step(real(oh, th, flags, dkey, nr, iods, sgls, ev));
}

int daos_obj_punch(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_event_t* ev)
{
    static int (*real)(daos_handle_t, daos_handle_t, uint64_t, daos_event_t*);
    if (!real) *(void**)&real = dlsym(RTLD_NEXT, "daos_obj_punch");
    return step(real(oh, th, flags, ev));
}

int daos_obj_punch_dkeys(daos_handle_t oh, daos_handle_t th, uint64_t flags, unsigned int nr,
                         daos_key_t* dkeys, daos_event_t* ev)
{
    static int (*real)(daos_handle_t, daos_handle_t, uint64_t, unsigned, daos_key_t*, daos_event_t*);
    if (!real) *(void**)&real = dlsym(RTLD_NEXT, "daos_obj_punch_dkeys");
    return step(real(oh, th, flags, nr, dkeys, ev));
}

int daos_obj_punch_akeys(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey,
                         unsigned int nr, daos_key_t* akeys, daos_event_t* ev)
{
    static int (*real)(daos_handle_t, daos_handle_t, uint64_t, daos_key_t*, unsigned, daos_key_t*,
                       daos_event_t*);
    if (!real) *(void**)&real = dlsym(RTLD_NEXT, "daos_obj_punch_akeys");
    return step(real(oh, th, flags, dkey, nr, akeys, ev));
}

#pragma GCC visibility pop

static dfs_t* fs;
static dfs_obj_t* d; /* where the second name is */

static bool is(dfs_obj_t* parent, char const* name, char const* text)
{
    return strcmp(text_of(fs, parent, name), text) == 0;
}

/* What is done; in a child that dies in it. */
typedef void operation(void);

static void move_to_new(void)
{
    CHECK_DONE(dfs_move(fs, NULL, "a", d, "b", NULL));
}
static void exchange(void)
{
    CHECK_DONE(dfs_exchange(fs, NULL, "a", d, "b"));
}
static void remove_one(void)
{
    CHECK_DONE(dfs_remove(fs, NULL, "a", false, NULL));
}

/* False: it was done before the step came. */
static bool dies_in(operation* what, unsigned at)
{
    pid_t const child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        steps_left = at;
        what();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

static unsigned entries_of(dfs_obj_t* parent)
{
    daos_anchor_t anchor = {0};
    static struct dirent entries[64];
    uint32_t nr = 64;
    CHECK_DONE(dfs_readdir(fs, parent, &anchor, &nr, entries));
    return nr;
}

static void forget(dfs_obj_t* parent, char const* name)
{
    int const rc = dfs_remove(fs, parent, name, true, NULL);
    CHECK(rc == 0 || rc == ENOENT);
}

static unsigned twins;

/* After a rename that died: what somebody does next. */
enum next { rename_again, remove_source, remove_target, rename_source, rename_target, make_source, nexts };

static void renamed(bool replaces, unsigned at, enum next next)
{
    new_file(fs, NULL, "a", "text");
    if (replaces) new_file(fs, d, "b", "replaced");
    bool const died = dies_in(move_to_new, at);
    bool const is_a = is(NULL, "a", "text"), is_b = is(d, "b", "text");
    CHECK(is_a || is_b);
    CHECK(died || (is_b && !is_a));
    CHECK(is_b || is(d, "b", replaces ? "replaced" : "-"));
    if (is_a && is_b) ++twins;
    int rc = 0;
    switch (next) {
    case rename_again:
        rc = dfs_move(fs, NULL, "a", d, "b", NULL);
        CHECK(rc == 0 || (rc == ENOENT && is_b));
        CHECK(is(d, "b", "text") && is(NULL, "a", "-"));
        break;
    case remove_source:
        rc = dfs_remove(fs, NULL, "a", false, NULL);
        CHECK(rc == (is_b ? ENOENT : 0)); /* the rename is finished first */
        CHECK(is_b == is(d, "b", "text") && is(NULL, "a", "-"));
        break;
    case remove_target:
        rc = dfs_remove(fs, d, "b", false, NULL);
        CHECK(rc == (is_b || replaces ? 0 : ENOENT));
        CHECK(is(d, "b", "-") && is(NULL, "a", is_b ? "-" : "text"));
        break;
    case rename_source:
        rc = dfs_move(fs, NULL, "a", NULL, "c", NULL);
        CHECK(rc == (is_b ? ENOENT : 0));
        CHECK(is_b ? is(d, "b", "text") : is(NULL, "c", "text"));
        break;
    case rename_target:
        rc = dfs_move(fs, d, "b", NULL, "c", NULL);
        CHECK(rc == (is_b || replaces ? 0 : ENOENT));
        CHECK(is_b ? is(NULL, "c", "text") && is(NULL, "a", "-") : is(NULL, "a", "text"));
        break;
    case make_source: {
        dfs_obj_t* obj = NULL;
        rc = dfs_open(fs, NULL, "a", S_IFREG | 0600, O_CREAT | O_EXCL | O_RDWR, 0, 0, NULL, &obj);
        CHECK(rc == (is_a ? EEXIST : 0));
        if (rc == 0) CHECK_DONE(dfs_release(obj));
        CHECK(is_b == is(d, "b", "text"));
        break;
    }
    case nexts: break;
    }
    forget(NULL, "a");
    forget(d, "b");
    forget(NULL, "c");
    CHECK_EQUAL(entries_of(d), 0);
}

static unsigned renames(bool replaces)
{
    unsigned at = 1;
    for (bool more = true; more; ++at) {
        CHECK(at < most_steps);
        for (enum next next = 0; next < nexts; ++next)
            renamed(replaces, at, next);
        new_file(fs, NULL, "a", "text");
        if (replaces) new_file(fs, d, "b", "replaced");
        more = dies_in(move_to_new, at);
        forget(NULL, "a");
        forget(d, "b");
    }
    return at - 2;
}

static unsigned exchanges(dfs_obj_t* top)
{
    unsigned at = 1;
    for (bool more = true; more; ++at) {
        CHECK(at < most_steps);
        for (unsigned next = 0; next < 4; ++next) {
            new_file(fs, NULL, "a", "of a");
            new_file(fs, d, "b", "of b");
            more = dies_in(exchange, at);
            if (next == 0) CHECK_DONE(dfs_exchange(fs, NULL, "a", d, "b"));
            if (next == 1) CHECK_DONE(dfs_move(fs, NULL, "a", NULL, "c", NULL));
            if (next == 2) CHECK_DONE(dfs_move(fs, d, "b", NULL, "c", NULL));
            if (next == 3) CHECK_DONE(dfs_exchange(fs, d, "b", NULL, "a"));
            char const* const first = next == 1 ? "c" : "a";
            dfs_obj_t* const second_in = next == 2 ? NULL : d;
            char const* const second = next == 2 ? "c" : "b";
            bool const straight = is(NULL, first, "of a") && is(second_in, second, "of b");
            bool const crossed = is(NULL, first, "of b") && is(second_in, second, "of a");
            CHECK(straight || crossed);
            CHECK_EQUAL(entries_of(top) + entries_of(d), 3); /* and d: no spare one */
            forget(NULL, first);
            forget(second_in, second);
        }
    }
    return at - 2;
}

static unsigned removals(void)
{
    unsigned at = 1;
    for (bool more = true; more; ++at) {
        CHECK(at < most_steps);
        new_file(fs, NULL, "a", "text");
        more = dies_in(remove_one, at);
        CHECK(is(NULL, "a", "-"));
    }
    return at - 2;
}

int main(void)
{
    struct mounted mounted = mount_new();
    fs = mounted.fs;
    d = new_directory(fs, NULL, "d");
    dfs_obj_t* const top = looked_up(fs, "/", O_RDONLY);
    unsigned const plain = renames(false), over = renames(true);
    unsigned const swaps = exchanges(top), removed = removals();
    printf("steps of a rename %u, over another %u, of an exchange %u, of a removal %u; %u times two names\n",
           plain, over, swaps, removed, twins);
    CHECK(plain >= 4 && over >= 5 && swaps >= 8 && removed >= 2 && twins > 0);
    CHECK_DONE(dfs_release(top));
    CHECK_DONE(dfs_release(d));
    unmount(&mounted);
    return 0;
}
