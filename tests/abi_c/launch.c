/* What a call with an event takes when it is launched. The caller reuses its key, sizes, lists and small
 * values at once, as programs written for DAOS do. */
#include "check.h"

enum { keys = 640, cells = 64 };

static daos_event_t events[keys];
static char values[keys * 32];

static void wait_for_all(daos_handle_t eq, int count, int expected)
{
    daos_event_t* done[keys];
    for (int total = 0; total < count;) {
        int const got = daos_eq_poll(eq, 1, DAOS_EQ_WAIT, keys, done);
        CHECK(got > 0);
        for (int i = 0; i < got; ++i)
            CHECK_EQUAL(done[i]->ev_error, expected);
        total += got;
    }
}

/* The pattern of ADIOS2's daos-kv reader. It asks for the sizes of all values first, then for the values one
 * after the other. All calls in flight share one key buffer and one size. */
static void gets(daos_handle_t kv, daos_handle_t eq)
{
    char key[64];
    daos_size_t sizes[keys];
    for (int i = 0; i < keys; ++i) {
        snprintf(key, sizeof key, "Step%d-Rank%d", i / 4, i % 4);
        sizes[i] = DAOS_REC_ANY;
        CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, key, &sizes[i], NULL, &events[i]));
    }
    memset(key, 'x', sizeof key - 1);
    wait_for_all(eq, keys, 0);
    daos_size_t size;
    daos_size_t index = 0;
    for (int i = 0; i < keys; ++i) {
        CHECK_EQUAL(sizes[i], 9 + (i + 1) % 23);
        snprintf(key, sizeof key, "Step%d-Rank%d", i / 4, i % 4);
        size = sizes[i];
        CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, key, &size, &values[index], &events[i]));
        index += size; /* what was asked for: it is told only by a poll */
    }
    memset(key, 'x', sizeof key - 1);
    wait_for_all(eq, keys, 0);
    int right = 0;
    index = 0;
    for (int i = 0; i < keys; ++i) {
        char expected[64];
        snprintf(expected, sizeof expected, "value %3d......................", i);
        right += memcmp(&values[index], expected, sizes[i]) == 0;
        index += sizes[i];
    }
    CHECK_EQUAL(right, keys);
}

static void puts_and_removes(daos_handle_t kv, daos_handle_t eq)
{
    char key[64];
    char value[64];
    for (int i = 0; i < keys; ++i) {
        snprintf(key, sizeof key, "Step%d-Rank%d", i / 4, i % 4);
        snprintf(value, sizeof value, "value %3d......................", i);
        CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, key, 9 + (daos_size_t)(i + 1) % 23, value, &events[i]));
    }
    memset(key, 'x', sizeof key - 1);
    memset(value, 'x', sizeof value - 1);
    wait_for_all(eq, keys, 0);
    gets(kv, eq);
    for (int i = 0; i < keys; ++i) {
        snprintf(key, sizeof key, "Step%d-Rank%d", i / 4, i % 4);
        CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, DAOS_COND_KEY_REMOVE, key, &events[i]));
    }
    memset(key, 'x', sizeof key - 1);
    wait_for_all(eq, keys, 0);
}

/* A value that is too large for what *size said at launch. */
static void room(daos_handle_t kv, daos_handle_t eq)
{
    char value[8] = "";
    daos_size_t size = 4;
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 8, "8 bytes", NULL));
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "key", &size, value, &events[0]));
    size = 8;
    wait_for_all(eq, 1, -DER_REC2BIG);
    CHECK_EQUAL(value[0], 0);
}

/* Ranges and lists of memory may be gone with their function; the cells of a write too. */
static void launch_write(daos_handle_t array, int i)
{
    struct request request;
    struct memory memory;
    int cell = i + 1;
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, (uint64_t)i, 1),
                              memory_of(&memory, &cell, sizeof cell), &events[i]));
    memset(&request, 0xff, sizeof request);
    memset(&memory, 0xff, sizeof memory);
    cell = -1;
}

static void launch_read(daos_handle_t array, int i, int* cell)
{
    struct request request;
    struct memory memory;
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, (uint64_t)i, 1),
                             memory_of(&memory, cell, sizeof *cell), &events[i]));
    memset(&request, 0xff, sizeof request);
    memset(&memory, 0xff, sizeof memory);
}

static void arrays(daos_handle_t container, daos_handle_t eq)
{
    daos_handle_t array;
    int read[cells] = {0};
    struct request untouched;
    struct memory memory;
    CHECK_OK(daos_array_create(container, array_oid(container, 2, "SX"), DAOS_TX_NONE, sizeof(int), 16,
                               &array, NULL));
    for (int i = 0; i < cells; ++i)
        launch_write(array, i);
    wait_for_all(eq, cells, 0);
    for (int i = 0; i < cells; ++i)
        launch_read(array, i, &read[i]);
    wait_for_all(eq, cells, 0);
    for (int i = 0; i < cells; ++i)
        CHECK_EQUAL(read[i], i + 1);
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&untouched, 0, 1),
                             memory_of(&memory, read, sizeof read[0]), &events[0]));
    untouched.iod.arr_nr_read = 77; /* not written when the read completes */
    memory.list.sg_nr_out = 77;
    wait_for_all(eq, 1, 0);
    CHECK_EQUAL(untouched.iod.arr_nr_read, 77);
    CHECK_EQUAL(memory.list.sg_nr_out, 77);
    CHECK_OK(daos_array_close(array, NULL));
}

/* How much was asked for, and room for how many. */
static void queries(struct store const* store, daos_handle_t eq)
{
    daos_pool_info_t info = {.pi_bits = DPI_SPACE};
    CHECK_OK(daos_pool_query(store->pool, NULL, &info, NULL, &events[0]));
    info.pi_bits = 0;
    wait_for_all(eq, 1, 0);
    CHECK(info.pi_space.ps_space.s_total[DAOS_MEDIA_SCM] > 0);
    daos_size_t count = 1;
    struct daos_pool_cont_info containers[1];
    CHECK_OK(daos_pool_list_cont(store->pool, &count, containers, &events[0]));
    count = 0;
    wait_for_all(eq, 1, 0);
    CHECK_EQUAL(count, 1);
    CHECK(strcmp(containers[0].pci_label, "container") == 0);
    daos_epoch_t epoch;
    daos_epoch_t listed = 0;
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    CHECK_OK(daos_cont_create_snap(store->container, &epoch, NULL, NULL));
    int snapshots = 1;
    CHECK_OK(daos_cont_list_snap(store->container, &snapshots, &listed, NULL, &anchor, &events[0]));
    snapshots = 0;
    wait_for_all(eq, 1, 0);
    CHECK_EQUAL(snapshots, 1);
    CHECK_EQUAL(listed, epoch);
}

/* The last daos_fini() closes a queue with many calls that nobody polled. */
static void abandoned(void)
{
    enum { many = 200000 };
    daos_handle_t eq;
    daos_handle_t kv;
    daos_size_t size = 0;
    daos_event_t* all = calloc(many, sizeof *all);
    CHECK(all != NULL);
    struct store store = open_store();
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 1, "SX"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_eq_create(&eq));
    for (int i = 0; i < many; ++i) {
        CHECK_OK(daos_event_init(&all[i], eq, NULL));
        CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "key", &size, NULL, &all[i]));
    }
    CHECK_OK(daos_fini());
    free(all);
}

int main(void)
{
    daos_handle_t eq;
    daos_handle_t kv;
    struct store store = open_store();
    CHECK_OK(daos_eq_create(&eq));
    for (int i = 0; i < keys; ++i)
        CHECK_OK(daos_event_init(&events[i], eq, NULL));
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 1, "SX"), DAOS_OO_RW, &kv, NULL));
    puts_and_removes(kv, eq);
    room(kv, eq);
    arrays(store.container, eq);
    queries(&store, eq);
    for (int i = 0; i < keys; ++i)
        CHECK_OK(daos_event_fini(&events[i]));
    CHECK_OK(daos_eq_destroy(eq, 0));
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
    abandoned();
    return 0;
}
