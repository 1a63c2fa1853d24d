/* Event queues and events, as daos_event.h says. */
#include "check.h"

enum { many = 64 };

static daos_handle_t kv;

static char keys[many][16];
static char values[many][16];

static void launch_put(daos_event_t* event, int i)
{
    snprintf(keys[i], sizeof keys[i], "key %d", i);
    snprintf(values[i], sizeof values[i], "value %d", i);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, keys[i], sizeof values[i], values[i], event));
}

static void expect(int i)
{
    char value[16];
    daos_size_t size = sizeof value;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, keys[i], &size, value, NULL));
    CHECK(strcmp(value, values[i]) == 0);
}

static void several_in_flight(daos_handle_t eq)
{
    daos_event_t events[many];
    daos_event_t* done[many];
    bool seen[many] = {false};
    for (int i = 0; i < many; ++i) {
        CHECK_OK(daos_event_init(&events[i], eq, NULL));
        launch_put(&events[i], (unsigned char)i);
    }
    CHECK_EQUAL(daos_eq_query(eq, DAOS_EQR_ALL, 0, NULL), many);
    for (int total = 0; total < many;) {
        int const got = daos_eq_poll(eq, 1, DAOS_EQ_WAIT, 7, done);
        CHECK(got > 0 && got <= 7);
        for (int i = 0; i < got; ++i) {
            long const index = done[i] - events;
            CHECK(index >= 0 && index < many && !seen[index]);
            CHECK_EQUAL(done[i]->ev_error, 0);
            seen[index] = true;
            expect((int)index);
        }
        total += got;
    }
    CHECK_EQUAL(daos_eq_query(eq, DAOS_EQR_ALL, 0, NULL), 0);
    CHECK_EQUAL(daos_eq_poll(eq, 1, DAOS_EQ_WAIT, 7, done), 0); /* nothing runs: no waiting */
    CHECK_EQUAL(daos_eq_poll(eq, 0, DAOS_EQ_NOWAIT, 7, done), 0);
    CHECK_EQUAL(daos_eq_poll(eq, 0, 1000, 7, done), 0);
    for (int i = 0; i < many; ++i)
        CHECK_OK(daos_event_fini(&events[i]));
}

static void wait_for(daos_event_t* event, int expected)
{
    bool done = false;
    CHECK_OK(daos_event_test(event, DAOS_EQ_WAIT, &done));
    CHECK(done);
    CHECK_EQUAL(event->ev_error, expected);
}

/* The same event several times, in a queue or without one; every kind of call. */
static void reuse(daos_handle_t eq, daos_handle_t container, uint64_t lo)
{
    daos_event_t event;
    daos_handle_t object;
    daos_handle_t array;
    daos_size_t size = 16;
    char value[16];
    uint32_t cells[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct request request;
    struct memory memory;
    daos_epoch_t epoch = 0;
    CHECK_OK(daos_event_init(&event, eq, NULL));
    launch_put(&event, 3);
    wait_for(&event, 0);
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, keys[3], &size, value, &event));
    wait_for(&event, 0);
    CHECK_EQUAL(size, 16);
    CHECK(strcmp(value, values[3]) == 0);
    CHECK_OK(
        daos_array_create(container, array_oid(container, lo, "S4"), DAOS_TX_NONE, 4, 2, &array, &event));
    wait_for(&event, 0);
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 5, 8), memory_of(&memory, cells, 32),
                              &event));
    wait_for(&event, 0);
    memset(cells, 0, sizeof cells);
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, 9, 8), memory_of(&memory, cells, 32),
                             &event));
    wait_for(&event, 0);
    CHECK_EQUAL(request.iod.arr_nr_short_read, 0); /* with an event told for byte arrays only, as in DAOS */
    CHECK_EQUAL(cells[0], 5);
    CHECK_OK(daos_array_get_size(array, DAOS_TX_NONE, &size, &event));
    wait_for(&event, 0);
    CHECK_EQUAL(size, 13);
    CHECK_OK(daos_cont_create_snap(container, &epoch, NULL, &event));
    wait_for(&event, 0);
    CHECK(epoch != 0);
    CHECK_OK(daos_kv_open(container, kv_oid(container, lo, "S1"), DAOS_OO_RW, &object, &event));
    wait_for(&event, 0);
    CHECK_OK(daos_kv_close(object, &event));
    wait_for(&event, 0);
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_event_fini(&event));
}

static void errors(daos_handle_t eq)
{
    daos_event_t event;
    daos_event_t* done;
    daos_handle_t const none = DAOS_HDL_INVAL;
    char value[4];
    daos_size_t size = sizeof value;
    bool flag = false;
    CHECK_OK(daos_event_init(&event, eq, NULL));
    launch_put(&event, 1);
    wait_for(&event, 0);
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, keys[1], &size, value, &event)); /* too small */
    wait_for(&event, -DER_REC2BIG);
    CHECK_EQUAL(size, 16);
    CHECK(strstr(explanation(), "room for 4") != NULL);
    CHECK_OK(
        daos_kv_put(none, DAOS_TX_NONE, 0, "key", 1, "x", &event)); /* no such handle: told by the event */
    CHECK_EQUAL(daos_eq_poll(eq, 0, DAOS_EQ_WAIT, 1, &done), 1);
    CHECK(done == &event);
    CHECK_EQUAL(event.ev_error, -DER_NO_HDL);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, NULL, 1, "x", &event));
    wait_for(&event, -DER_INVAL);
    launch_put(&event, 2); /* an error does not stick to the event */
    wait_for(&event, 0);

    CHECK_OK(daos_event_fini(&event));
    CHECK_OK(daos_event_fini(&event)); /* once more, as in libdaos */
    CHECK_RC(daos_event_test(&event, DAOS_EQ_WAIT, &flag), -DER_INVAL);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 1, "x", &event), -DER_INVAL);
    CHECK_RC(daos_event_init(NULL, eq, NULL), -DER_INVAL);
    CHECK_RC(daos_event_init(&event, kv, NULL), -DER_NONEXIST);
    CHECK_RC(daos_eq_poll(eq, 0, 0, 0, &done), -DER_INVAL);
    CHECK_RC(daos_eq_poll(eq, 0, 0, 1, NULL), -DER_INVAL);
    CHECK_RC(daos_eq_poll(none, 0, 0, 1, &done), -DER_NONEXIST);
    CHECK_RC(daos_eq_query(none, DAOS_EQR_ALL, 0, NULL), -DER_NONEXIST);
    CHECK_RC(daos_eq_create(NULL), -DER_INVAL);
}

static int calls;
static int count_call(void* arg, daos_event_t* event, int rc)
{
    CHECK(arg == &calls && event != NULL);
    ++calls;
    return rc;
}

static void children(daos_handle_t eq)
{
    daos_event_t parent;
    daos_event_t child[4];
    daos_event_t* done;
    daos_size_t size = 1;
    char value[1];
    bool flag = true;
    CHECK_OK(daos_event_init(&parent, eq, NULL));
    CHECK_RC(daos_event_parent_barrier(&parent), -DER_INVAL); /* no children */
    for (int i = 0; i < 4; ++i)
        CHECK_OK(daos_event_init(&child[i], DAOS_HDL_INVAL, &parent));
    daos_event_t* at = NULL;
    for (int i = 0; i < 4; ++i) {
        at = daos_event_next(&parent, at);
        CHECK(at == &child[i]);
    }
    CHECK(daos_event_next(&parent, at) == NULL);
    CHECK_OK(daos_event_register_comp_cb(&parent, count_call, &calls));
    launch_put(&child[0], 0);
    launch_put(&child[1], 1);
    CHECK_RC(daos_event_parent_barrier(&parent), -DER_NO_PERM); /* not all are launched */
    launch_put(&child[2], 2);
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, keys[0], &size, value, &child[3])); /* fails: too small */
    CHECK_OK(daos_event_parent_barrier(&parent));
    CHECK_RC(daos_event_test(&child[0], DAOS_EQ_WAIT, &flag), -DER_NO_PERM);
    CHECK_EQUAL(daos_eq_poll(eq, 1, DAOS_EQ_WAIT, 1, &done), 1);
    CHECK(done == &parent);
    CHECK_EQUAL(parent.ev_error, -DER_REC2BIG);
    CHECK_EQUAL(child[3].ev_error, -DER_REC2BIG);
    CHECK_EQUAL(child[0].ev_error, 0);
    CHECK_EQUAL(daos_eq_query(eq, DAOS_EQR_ALL, 0, NULL), 0);
    CHECK_OK(daos_event_fini(&parent)); /* its children too */
    CHECK_OK(daos_event_fini(&child[0]));

    /* No child of a child, none of a running parent. */
    daos_event_t grandchild;
    CHECK_OK(daos_event_init(&parent, eq, NULL));
    CHECK_OK(daos_event_init(&child[0], eq, &parent));
    CHECK_RC(daos_event_init(&grandchild, eq, &child[0]), -DER_NO_PERM);
    launch_put(&child[0], 0);
    CHECK_OK(daos_event_parent_barrier(&parent));
    CHECK_RC(daos_event_init(&child[1], eq, &parent), -DER_INVAL);
    wait_for(&parent, 0);
    CHECK_OK(daos_event_fini(&parent));
}

static void callbacks(daos_handle_t eq)
{
    daos_event_t event;
    calls = 0;
    CHECK_OK(daos_event_init(&event, eq, NULL));
    CHECK_RC(daos_event_register_comp_cb(&event, NULL, NULL), -DER_INVAL);
    CHECK_OK(daos_event_register_comp_cb(&event, count_call, &calls));
    launch_put(&event, 5);
    wait_for(&event, 0);
    CHECK_EQUAL(calls, 1);
    launch_put(&event, 5); /* once only */
    wait_for(&event, 0);
    CHECK_EQUAL(calls, 1);
    CHECK_RC(daos_event_abort(&event), -DER_NO_PERM);
    CHECK_OK(daos_event_fini(&event));
}

/* A handle may be closed while its operations are in flight, and a queue destroyed by force. */
static void closing(daos_handle_t container)
{
    enum { size = 1 << 20 };
    daos_handle_t eq;
    daos_handle_t object;
    daos_event_t events[many];
    daos_event_t* done[many];
    char* value = malloc(size);
    CHECK(value != NULL);
    memset(value, 'v', size);
    CHECK_OK(daos_eq_create(&eq));
    CHECK_OK(daos_kv_open(container, kv_oid(container, 70, "SX"), DAOS_OO_RW, &object, NULL));
    for (int i = 0; i < many; ++i) {
        CHECK_OK(daos_event_init(&events[i], eq, NULL));
        CHECK_OK(daos_kv_put(object, DAOS_TX_NONE, 0, "key", size, value, &events[i]));
    }
    daos_event_t own;
    CHECK_OK(daos_event_init(&own, eq, NULL));
    CHECK_RC(daos_event_init(&own, eq, &own), -DER_INVAL);
    CHECK_OK(daos_event_fini(&own));
    CHECK_OK(daos_kv_close(object, NULL));
    CHECK_RC(daos_kv_close(object, NULL), -DER_NO_HDL);
    for (int total = 0; total < many / 2;)
        total += daos_eq_poll(eq, 0, DAOS_EQ_WAIT, 4, done);
    CHECK_RC(daos_eq_destroy(eq, 0), -DER_BUSY);
    CHECK_OK(daos_eq_destroy(eq, DAOS_EQ_DESTROY_FORCE));
    CHECK_RC(daos_eq_destroy(eq, 0), -DER_NONEXIST);
    CHECK_RC(daos_eq_poll(eq, 0, 0, 1, done), -DER_NONEXIST);
    CHECK_RC(daos_event_fini(&events[0]), -DER_NONEXIST);
    free(value);
}

int main(void)
{
    daos_handle_t eq;
    CHECK_RC(daos_eq_create(&eq), -DER_UNINIT);
    struct store store = open_store();
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 1, "SX"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_eq_create(&eq));
    several_in_flight(eq);
    reuse(eq, store.container, 10);
    reuse(DAOS_HDL_INVAL, store.container, 11);
    errors(eq);
    children(eq);
    callbacks(eq);
    closing(store.container);
    CHECK_OK(daos_eq_destroy(eq, 0));
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
    return 0;
}
