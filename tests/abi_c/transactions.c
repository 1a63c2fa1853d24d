/* Transactions: what they do, their states, and each misuse. The results are those of libdaos 2.6. */
#define _XOPEN_SOURCE 700
#include "objects.h"

#include <sys/wait.h>
#include <unistd.h>

static daos_handle_t container, kv;

static daos_handle_t begin(uint64_t flags)
{
    daos_handle_t th;
    CHECK_OK(daos_tx_open(container, &th, flags, NULL));
    return th;
}

static int put(daos_handle_t th, uint64_t flags, char const* key, char const* value)
{
    return daos_kv_put(kv, th, flags, key, strlen(value), value, NULL);
}

static int get(daos_handle_t th, char const* key)
{
    char value[64];
    daos_size_t size = sizeof value;
    return daos_kv_get(kv, th, 0, key, &size, value, NULL);
}

static void expect(daos_handle_t th, char const* key, char const* expected)
{
    char value[64];
    daos_size_t size = sizeof value;
    CHECK_OK(daos_kv_get(kv, th, 0, key, &size, value, NULL));
    CHECK_EQUAL(size, strlen(expected));
    CHECK(memcmp(value, expected, size) == 0);
}

static void all_or_nothing(void)
{
    daos_epoch_t epoch = 0;
    daos_handle_t th = begin(0);
    CHECK_OK(put(DAOS_TX_NONE, 0, "a", "old"));
    CHECK_RC(daos_tx_hdl2epoch(th, &epoch), -DER_UNINIT);
    CHECK_OK(put(th, 0, "a", "new"));
    CHECK_OK(put(th, 0, "b", "new"));
    expect(th, "a", "old");
    expect(DAOS_TX_NONE, "a", "old");
    CHECK_OK(daos_tx_commit(th, NULL));
    CHECK_OK(daos_tx_hdl2epoch(th, &epoch));
    CHECK(epoch > 0);
    CHECK_OK(daos_tx_close(th, NULL));
    expect(DAOS_TX_NONE, "a", "new");
    expect(DAOS_TX_NONE, "b", "new");

    th = begin(0);
    CHECK_OK(daos_kv_remove(kv, th, 0, "a", NULL));
    CHECK_OK(daos_kv_destroy(kv, th, NULL));
    CHECK_OK(daos_tx_close(th, NULL)); /* without a commit */
    expect(DAOS_TX_NONE, "b", "new");
}

static void states(void)
{
    daos_handle_t th = begin(0);
    CHECK_OK(daos_tx_commit(th, NULL)); /* an empty one */
    CHECK_RC(daos_tx_commit(th, NULL), -DER_ALREADY);
    CHECK_RC(daos_tx_abort(th, NULL), -DER_NO_PERM);
    CHECK_RC(daos_tx_restart(th, NULL), -DER_NO_PERM);
    CHECK_RC(put(th, 0, "a", "1"), -DER_NO_PERM);
    CHECK_RC(get(th, "a"), -DER_NO_PERM);
    CHECK_OK(daos_tx_close(th, NULL));
    CHECK_RC(daos_tx_close(th, NULL), -DER_NO_HDL);
    CHECK_RC(put(th, 0, "a", "1"), -DER_NO_HDL);
    CHECK_RC(get(th, "a"), -DER_NO_HDL);

    th = begin(0);
    CHECK_OK(put(th, 0, "a", "1"));
    CHECK_RC(daos_tx_restart(th, NULL), -DER_NO_PERM);
    CHECK_OK(daos_tx_abort(th, NULL));
    CHECK_RC(daos_tx_abort(th, NULL), -DER_ALREADY);
    CHECK_RC(daos_tx_commit(th, NULL), -DER_NO_PERM);
    CHECK_RC(daos_tx_restart(th, NULL), -DER_NO_PERM);
    CHECK_RC(put(th, 0, "a", "1"), -DER_NO_PERM);
    CHECK_RC(get(th, "a"), -DER_NO_PERM);
    CHECK_OK(daos_tx_close(th, NULL));
}

static void conflicts(void)
{
    daos_handle_t const th = begin(0);
    CHECK_OK(put(DAOS_TX_NONE, 0, "a", "1"));
    for (int again = 0; again < 3; ++again) {
        expect(th, "a", again == 0 ? "1" : "2");
        CHECK_OK(put(th, 0, "b", "mine"));
        CHECK_OK(put(DAOS_TX_NONE, 0, "a", "2"));
        CHECK_RC(again == 1 ? get(th, "b") : daos_tx_commit(th, NULL), -DER_TX_RESTART);
        CHECK_RC(get(th, "a"), -DER_NO_PERM);
        CHECK_RC(put(th, 0, "a", "1"), -DER_NO_PERM);
        CHECK_RC(daos_tx_commit(th, NULL), -DER_NO_PERM);
        CHECK_RC(daos_tx_abort(th, NULL), -DER_NO_PERM);
        CHECK_OK(daos_tx_restart(th, NULL));
    }
    expect(th, "a", "2");
    CHECK_OK(put(th, 0, "a", "3"));
    CHECK_OK(daos_tx_commit(th, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
    expect(DAOS_TX_NONE, "a", "3");
}

/* Not on DAOS 2.6.5, whose engine dies of a condition on a key-value object in a transaction. */
static void conditions(void)
{
    daos_handle_t const th = begin(0);
    CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, 0, "new", NULL));
    CHECK_RC(put(th, DAOS_COND_KEY_INSERT, "a", "4"), -DER_EXIST);
    CHECK_RC(put(th, DAOS_COND_KEY_UPDATE, "new", "4"), -DER_NONEXIST);
    CHECK_RC(daos_kv_remove(kv, th, DAOS_COND_KEY_REMOVE, "new", NULL), -DER_NONEXIST);
    CHECK_OK(put(th, DAOS_COND_KEY_INSERT, "new", "4"));
    CHECK_OK(put(th, DAOS_COND_KEY_INSERT, "new", "5")); /* its own updates do not count */
    CHECK_RC(put(th, DAOS_COND_KEY_UPDATE, "new", "4"), -DER_NONEXIST);
    CHECK_OK(put(th, DAOS_COND_KEY_UPDATE, "a", "4"));
    CHECK_OK(daos_tx_commit(th, NULL)); /* the refused calls change nothing of it */
    CHECK_OK(daos_tx_close(th, NULL));
    expect(DAOS_TX_NONE, "a", "4");
    expect(DAOS_TX_NONE, "new", "5");
}

static void only_reading(void)
{
    CHECK_OK(put(DAOS_TX_NONE, 0, "a", "4"));
    CHECK_OK(put(DAOS_TX_NONE, 0, "new", "5"));
    daos_handle_t const th = begin(DAOS_TF_RDONLY);
    expect(th, "a", "4");
    CHECK_RC(put(th, 0, "a", "1"), -DER_NO_PERM);
    CHECK_RC(daos_kv_destroy(kv, th, NULL), -DER_NO_PERM);
    expect(th, "new", "5");
    CHECK_OK(daos_tx_commit(th, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
}

static int update(daos_handle_t oh, daos_handle_t th, uint64_t flags, char const* value)
{
    daos_key_t dkey = text_key("d");
    daos_iod_t iod = single_of("a", strlen(value));
    struct memory memory;
    return daos_obj_update(oh, th, flags, &dkey, 1, &iod,
                           memory_of(&memory, (void*)(uintptr_t)value, strlen(value)), NULL);
}

static uint32_t dkeys(daos_handle_t oh, daos_handle_t th)
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_key_desc_t descriptors[8];
    char text[64];
    struct memory memory;
    uint32_t nr = 8;
    CHECK_OK(
        daos_obj_list_dkey(oh, th, &nr, descriptors, memory_of(&memory, text, sizeof text), &anchor, NULL));
    return nr;
}

static void all_objects(void)
{
    daos_handle_t const th = begin(DAOS_TF_ZERO_COPY);
    daos_handle_t const oh = open_object(container, 20, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    daos_obj_id_t const oid = array_oid(container, 21, "SX");
    daos_handle_t array, read_only;
    daos_key_t dkey = text_key("d"), akey = text_key("a");
    struct request request;
    struct memory memory;
    char cells[64] = "some cells", value[16] = {0};
    daos_size_t size = 1;
    CHECK_OK(daos_array_create(container, oid, DAOS_TX_NONE, 1, 16, &array, NULL));
    CHECK_OK(update(oh, DAOS_TX_NONE, 0, "before"));

    CHECK_OK(update(oh, th, DAOS_COND_DKEY_UPDATE, "after"));
    CHECK_RC(update(oh, th, DAOS_COND_AKEY_INSERT, "after"), -DER_EXIST);
    CHECK_OK(daos_array_write(array, th, request_of(&request, 0, sizeof cells),
                              memory_of(&memory, cells, sizeof cells), NULL));
    CHECK_OK(daos_array_set_size(array, th, 1000, NULL));
    CHECK_OK(daos_array_get_size(array, th, &size, NULL));
    CHECK_EQUAL(size, 0);
    CHECK_OK(get_single(oh, th, 0, "d", "a", value, sizeof value));
    CHECK(strcmp(value, "before") == 0);
    CHECK_EQUAL(dkeys(oh, th), 1);
    CHECK_OK(daos_tx_commit(th, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
    memset(value, 0, sizeof value);
    CHECK_OK(get_single(oh, DAOS_TX_NONE, 0, "d", "a", value, sizeof value));
    CHECK(strcmp(value, "after") == 0);
    CHECK_OK(daos_array_get_size(array, DAOS_TX_NONE, &size, NULL));
    CHECK_EQUAL(size, 1000);

    daos_handle_t const next = begin(0);
    CHECK_OK(daos_obj_punch_akeys(oh, next, DAOS_COND_PUNCH, &dkey, 1, &akey, NULL));
    CHECK_RC(daos_obj_punch_akeys(oh, next, DAOS_COND_PUNCH, &akey, 1, &akey, NULL), -DER_NONEXIST);
    CHECK_OK(daos_array_punch(array, next, request_of(&request, 0, 10), NULL));
    CHECK_OK(daos_array_destroy(array, next, NULL));
    CHECK_EQUAL(dkeys(oh, DAOS_TX_NONE), 1);
    read_only = open_object(container, 20, DAOS_OT_MULTI_HASHED, DAOS_OO_RO);
    CHECK_RC(update(read_only, next, 0, "x"), -DER_NO_PERM);
    CHECK_OK(daos_tx_commit(next, NULL));
    CHECK_EQUAL(dkeys(oh, DAOS_TX_NONE), 0);
    CHECK_OK(daos_tx_close(next, NULL));
    CHECK_OK(daos_obj_close(read_only, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
    CHECK_OK(daos_array_close(array, NULL));
}

static void bad_handles(daos_handle_t pool)
{
    daos_handle_t const none = {0}, stray = {0x123456789abcdef},
                        others[] = {none, stray, pool, container, kv};
    daos_handle_t th = {7}, second, foreign;
    daos_epoch_t epoch = 0, snapshot;
    CHECK_RC(daos_tx_open(container, NULL, 0, NULL), -DER_INVAL);
    CHECK_RC(daos_tx_open(container, &th, 4, NULL), -DER_INVAL);
    CHECK_RC(daos_tx_open(container, &th, UINT64_MAX, NULL), -DER_INVAL);
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (others[i].cookie != container.cookie)
            CHECK_RC(daos_tx_open(others[i], &th, 0, NULL), -DER_NO_HDL);
        CHECK_RC(daos_tx_commit(others[i], NULL), -DER_NO_HDL);
        CHECK_RC(daos_tx_abort(others[i], NULL), -DER_NO_HDL);
        CHECK_RC(daos_tx_restart(others[i], NULL), -DER_NO_HDL);
        CHECK_RC(daos_tx_close(others[i], NULL), -DER_NO_HDL);
        CHECK_RC(daos_tx_hdl2epoch(others[i], &epoch), i == 0 ? -DER_INVAL : -DER_NO_HDL);
        if (i == 0) continue; /* DAOS_TX_NONE */
        CHECK_RC(put(others[i], 0, "a", "1"), -DER_NO_HDL);
        CHECK_RC(get(others[i], "a"), -DER_NO_HDL);
    }
    CHECK_EQUAL(th.cookie, 7);
    th = begin(0);
    CHECK_RC(daos_tx_hdl2epoch(th, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_close(th, NULL), -DER_NO_HDL);

    CHECK_OK(daos_cont_create_with_label(pool, "second", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(pool, "second", DAOS_COO_RW, &second, NULL, NULL));
    CHECK_OK(daos_tx_open(second, &foreign, 0, NULL));
    CHECK_RC(put(foreign, 0, "a", "1"), -DER_INVAL);
    CHECK_RC(get(foreign, "a"), -DER_INVAL);
    CHECK_OK(daos_tx_close(foreign, NULL));

    CHECK_OK(daos_cont_create_snap(container, &snapshot, NULL, NULL));
    CHECK_OK(daos_tx_open_snap(container, snapshot, &foreign, NULL));
    CHECK_RC(put(foreign, 0, "a", "1"), -DER_NO_PERM);
    CHECK_RC(daos_tx_commit(foreign, NULL), -DER_NO_PERM);
    CHECK_RC(daos_tx_abort(foreign, NULL), -DER_NO_PERM);
    CHECK_RC(daos_tx_restart(foreign, NULL), -DER_NO_PERM);
    CHECK_OK(daos_tx_close(foreign, NULL));
    CHECK_RC(put(th, 0, "", "1"), -DER_INVAL);
    CHECK_OK(put(th, 0, "a", "a bad call leaves the others alone"));
    CHECK_OK(daos_tx_commit(th, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
    expect(DAOS_TX_NONE, "a", "a bad call leaves the others alone");
    CHECK_OK(daos_cont_close(second, NULL));
}

/* Calls take effect in the order in which they were launched. */
static void events(void)
{
    enum { many = 40 };
    daos_event_t event[many], last, *done[many + 1];
    daos_handle_t eq;
    char value[many][8];
    int polled = 0;
    daos_handle_t const th = begin(0);
    CHECK_OK(daos_eq_create(&eq));
    for (int i = 0; i < many; ++i) {
        CHECK_OK(daos_event_init(&event[i], eq, NULL));
        snprintf(value[i], sizeof value[i], "%d", i);
        CHECK_OK(daos_kv_put(kv, th, 0, "in order", strlen(value[i]), value[i], &event[i]));
    }
    CHECK_OK(daos_event_init(&last, eq, NULL));
    /* An event that was not polled keeps nobody waiting. */
    daos_handle_t const oh = open_object(container, 30, DAOS_OT_AKEY_UINT64, DAOS_OO_RW);
    daos_key_t dkey = text_key("d"), akey;
    daos_recx_t recx;
    uint64_t number = 0;
    d_iov_set(&akey, &number, sizeof number);
    CHECK_OK(daos_obj_query_key(oh, th, DAOS_GET_MAX | DAOS_GET_AKEY, &dkey, &akey, &recx, &last));
    CHECK_OK(put(th, 0, "in between", "x"));
    while (daos_eq_poll(eq, 1, DAOS_EQ_WAIT, 1, done) == 1 && done[0] != &last) {
        ++polled;
    }
    CHECK_EQUAL(last.ev_error, 0);
    CHECK_OK(daos_obj_close(oh, NULL));
    CHECK_OK(daos_tx_commit(th, &last));
    int const rc = daos_tx_close(th, NULL); /* it is being committed, or was */
    CHECK(rc == -DER_BUSY || rc == 0);
    for (int total = polled; total < many + 1;)
        total += daos_eq_poll(eq, 1, DAOS_EQ_WAIT, many + 1, done);
    for (int i = 0; i < many; ++i) {
        CHECK_EQUAL(event[i].ev_error, 0);
        CHECK_OK(daos_event_fini(&event[i]));
    }
    CHECK_EQUAL(last.ev_error, 0);
    CHECK_OK(daos_event_fini(&last));
    CHECK_OK(daos_eq_destroy(eq, 0));
    expect(DAOS_TX_NONE, "in order", "39");
    if (rc != 0) {
        CHECK_RC(daos_tx_commit(th, NULL), -DER_ALREADY);
        CHECK_OK(daos_tx_close(th, NULL));
    }
}

static void too_many(void)
{
    daos_handle_t const th = begin(0);
    char key[16];
    for (int i = 0; i < 65535; ++i) {
        snprintf(key, sizeof key, "k%d", i % 100);
        CHECK_OK(put(th, 0, key, "x"));
    }
    CHECK_RC(put(th, 0, "a", "x"), -DER_OVERFLOW);
    CHECK_OK(daos_tx_commit(th, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
    expect(DAOS_TX_NONE, "k99", "x");
}

static void forks(void)
{
    daos_handle_t const th = begin(0);
    CHECK_OK(put(th, 0, "a", "of the parent"));
    fflush(NULL);
    pid_t const child = fork();
    if (child == 0) {
        daos_epoch_t epoch;
        daos_handle_t own;
        CHECK_RC(daos_tx_commit(th, NULL), -DER_NO_HDL);
        CHECK_RC(daos_tx_abort(th, NULL), -DER_NO_HDL);
        CHECK_RC(daos_tx_restart(th, NULL), -DER_NO_HDL);
        CHECK_RC(put(th, 0, "a", "x"), -DER_NO_HDL);
        CHECK_RC(get(th, "a"), -DER_NO_HDL);
        CHECK_RC(daos_tx_hdl2epoch(th, &epoch), -DER_NO_HDL);
        CHECK_OK(daos_tx_close(th, NULL));
        CHECK_OK(daos_tx_open(container, &own, 0, NULL));
        CHECK_OK(daos_kv_put(kv, own, 0, "of the child", 1, "x", NULL));
        CHECK_OK(daos_tx_commit(own, NULL));
        CHECK_OK(daos_tx_close(own, NULL));
        _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
    CHECK_OK(daos_tx_commit(th, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
    expect(DAOS_TX_NONE, "a", "of the parent");
}

/* Containers that are read-only, closed or gone under a transaction. */
static void containers(daos_handle_t pool)
{
    daos_handle_t mine, reader, oh, th, left;
    CHECK_OK(daos_cont_open(pool, "second", DAOS_COO_RO, &reader, NULL, NULL));
    CHECK_OK(daos_tx_open(reader, &th, 0, NULL));
    CHECK_OK(daos_kv_open(reader, kv_oid(reader, 1, "S1"), DAOS_OO_RW, &oh, NULL));
    CHECK_RC(daos_kv_put(oh, th, 0, "k", 1, "x", NULL), -DER_NO_PERM);
    CHECK_OK(daos_tx_close(th, NULL));
    CHECK_OK(daos_cont_close(reader, NULL));

    CHECK_OK(daos_cont_open(pool, "second", DAOS_COO_RW, &mine, NULL, NULL));
    CHECK_OK(daos_kv_open(mine, kv_oid(mine, 1, "S1"), DAOS_OO_RW, &oh, NULL));
    CHECK_OK(daos_tx_open(mine, &left, 0, NULL));
    CHECK_OK(daos_kv_put(oh, left, 0, "k", 1, "x", NULL));
    CHECK_OK(daos_cont_close(mine, NULL)); /* the transaction stays */
    CHECK_OK(daos_tx_commit(left, NULL));
    CHECK_OK(daos_tx_close(left, NULL));

    CHECK_OK(daos_cont_open(pool, "second", DAOS_COO_RW, &mine, NULL, NULL));
    CHECK_OK(daos_kv_open(mine, kv_oid(mine, 1, "S1"), DAOS_OO_RW, &oh, NULL));
    CHECK_OK(daos_tx_open(mine, &th, 0, NULL));
    daos_size_t size = 1;
    char value;
    CHECK_OK(daos_kv_get(oh, th, 0, "k", &size, &value, NULL));
    CHECK_OK(daos_kv_put(oh, th, 0, "k", 1, "y", NULL));
    CHECK_OK(daos_cont_destroy(pool, "second", 1, NULL));
    CHECK_RC(daos_tx_commit(th, NULL), -DER_TX_RESTART);
    CHECK_OK(daos_tx_restart(th, NULL));
    CHECK_RC(daos_kv_put(oh, th, 0, "k", 1, "y", NULL), -DER_NO_HDL);
    CHECK_OK(daos_tx_commit(th, NULL)); /* it has nothing */
    CHECK_OK(daos_tx_close(th, NULL));
    CHECK_OK(daos_cont_close(mine, NULL));
}

int main(void)
{
    daos_handle_t th;
    CHECK_RC(daos_tx_open(container, &th, 0, NULL), -DER_UNINIT);
    CHECK_RC(daos_tx_commit(th, NULL), -DER_UNINIT);
    CHECK_OK(daos_init());
    struct store store = open_store();
    container = store.container;
    CHECK_OK(daos_kv_open(container, kv_oid(container, 1, "SX"), DAOS_OO_RW, &kv, NULL));
    all_or_nothing();
    states();
    conflicts();
    if (!on_daos()) conditions();
    only_reading();
    all_objects();
    bad_handles(store.pool);
    events();
    if (!on_daos()) too_many(); /* its engine may die of that too */
    char const* backend = getenv("STEPSTORE_TEST_BACKEND");
    if (backend == NULL || strcmp(backend, "memory") != 0) forks();
    containers(store.pool);
    th = begin(0);
    CHECK_OK(put(th, 0, "a", "never committed")); /* and left to daos_fini() */
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
    CHECK_OK(daos_fini());
    return 0;
}
