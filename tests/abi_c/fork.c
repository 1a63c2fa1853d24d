/* A fork in the middle: parent and children go on with the same handles; queues stay the parent's. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { children = 4, keys = 50 };

/* GCC's thread sanitizer cannot have threads in a child of a process with threads. */
#ifdef __SANITIZE_THREAD__
enum { threads_in_children = 0 };
#else
enum { threads_in_children = 1 };
#endif

static void put(daos_handle_t kv, daos_event_t* event, int process, int i)
{
    char key[48];
    bool done = false;
    snprintf(key, sizeof key, "process %d key %d", process, i);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_INSERT, key, sizeof i, &i, event));
    if (event == NULL) return;
    CHECK_OK(daos_event_test(event, DAOS_EQ_WAIT, &done));
    CHECK(done);
    CHECK_EQUAL(event->ev_error, 0);
}

/* Half of the keys at once, half through workers that the child makes anew. */
static void fill(daos_handle_t kv, int process)
{
    daos_event_t event;
    CHECK_OK(daos_event_init(&event, DAOS_HDL_INVAL, NULL));
    for (int i = 0; i < keys; ++i)
        put(kv, i % 2 && (threads_in_children || process == 0) ? &event : NULL, process, i);
    CHECK_OK(daos_event_fini(&event));
}

static void child(struct store const* store, daos_handle_t kv, daos_handle_t eq, int process)
{
    daos_handle_t own;
    daos_event_t* done;
    daos_cont_info_t info;
    CHECK_OK(daos_reinit());
    CHECK_RC(daos_eq_poll(eq, 0, DAOS_EQ_NOWAIT, 1, &done), -DER_NONEXIST);
    CHECK_OK(daos_eq_create(&own));
    CHECK_OK(daos_eq_destroy(own, 0));
    CHECK_OK(daos_cont_query(store->container, &info, NULL, NULL));
    fill(kv, process);
}

int main(void)
{
    CHECK_RC(daos_reinit(), -DER_UNINIT);
    struct store store = open_store();
    daos_handle_t kv;
    daos_handle_t eq;
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 1, "SX"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_eq_create(&eq));
    fill(kv, 0); /* so that there are threads, and an open pool, to be left behind */
    pid_t pids[children + 1];
    for (int process = 1; process <= children; ++process) {
        pids[process] = fork();
        CHECK(pids[process] >= 0);
        if (pids[process] != 0) continue;
        child(&store, kv, eq, process);
        CHECK_OK(daos_fini());
        _exit(0);
    }
    fill(kv, children + 1);
    for (int process = 1; process <= children; ++process) {
        int status = 0;
        CHECK(waitpid(pids[process], &status, 0) == pids[process]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (int process = 0; process <= children + 1; ++process) {
        for (int i = 0; i < keys; ++i) {
            char key[48];
            int value = -1;
            daos_size_t size = sizeof value;
            snprintf(key, sizeof key, "process %d key %d", process, i);
            CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, key, &size, &value, NULL));
            CHECK_EQUAL(value, i);
        }
    }
    CHECK_OK(daos_eq_destroy(eq, 0));
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
    return 0;
}
