/* User attributes of a container and of a pool: the same calls, with the results of libdaos. */
#include "check.h"

typedef int (*list_call)(daos_handle_t, char*, size_t*, daos_event_t*);
typedef int (*get_call)(daos_handle_t, int, char const* const[], void* const[], size_t[], daos_event_t*);
typedef int (*set_call)(daos_handle_t, int, char const* const[], void const* const[], size_t const[],
                        daos_event_t*);
typedef int (*del_call)(daos_handle_t, int, char const* const[], daos_event_t*);

struct calls {
    list_call list;
    get_call get;
    set_call set;
    del_call del;
};

static struct calls const of_container = {daos_cont_list_attr, daos_cont_get_attr, daos_cont_set_attr,
                                          daos_cont_del_attr};
static struct calls const of_pool = {daos_pool_list_attr, daos_pool_get_attr, daos_pool_set_attr,
                                     daos_pool_del_attr};

static char const* const two[] = {"AVeryLongName", "Name"};
static char const* const three[] = {"AVeryLongName", "Wrong", "Name"};
static char const long_value[] = "this is a long value";

static void set_two(struct calls const* calls, daos_handle_t handle, daos_event_t* event)
{
    void const* const values[] = {"value", long_value};
    size_t const sizes[] = {5, strlen(long_value)};
    CHECK_OK(calls->set(handle, 2, two, values, sizes, event));
}

/* What programs of DAOS see. */
static void semantics(struct calls const* calls, daos_handle_t handle)
{
    char out[3][10];
    void* const buffers[] = {out[0], out[1], out[2]};
    size_t sizes[] = {10, 10, 10};
    size_t total = 0;
    char names[100];
    CHECK_OK(calls->list(handle, NULL, &total, NULL));
    CHECK_EQUAL(total, 0);
    CHECK_RC(calls->get(handle, 3, three, buffers, sizes, NULL), -DER_NONEXIST);
    CHECK_EQUAL(sizes[0] + sizes[1] + sizes[2], 0);
    set_two(calls, handle, NULL);
    CHECK_OK(calls->list(handle, NULL, &total, NULL));
    CHECK_EQUAL(total, 14 + 5);
    total = 10;
    CHECK_OK(calls->list(handle, names, &total, NULL));
    CHECK_EQUAL(total, 14 + 5);
    CHECK(strcmp(names, "Name") == 0);
    total = sizeof names;
    CHECK_OK(calls->list(handle, names, &total, NULL));
    CHECK_EQUAL(total, 14 + 5);
    CHECK(strcmp(names, two[0]) == 0 && strcmp(names + 14, two[1]) == 0);

    for (int i = 0; i < 3; ++i)
        sizes[i] = 10;
    memset(out, '#', sizeof out);
    CHECK_OK(calls->get(handle, 3, three, buffers, sizes, NULL));
    CHECK_EQUAL(sizes[0], 5);
    CHECK_EQUAL(sizes[1], 0);
    CHECK_EQUAL(sizes[2], strlen(long_value));
    CHECK(memcmp(out[0], "value#", 6) == 0 && out[1][0] == '#' && memcmp(out[2], long_value, 10) == 0);
    CHECK_OK(calls->get(handle, 3, three, NULL, sizes, NULL));
    CHECK_EQUAL(sizes[2], strlen(long_value));
    void* const some[] = {out[0], NULL, NULL};
    sizes[0] = 2;
    memset(out, '#', sizeof out);
    CHECK_OK(calls->get(handle, 3, three, some, sizes, NULL));
    CHECK_EQUAL(sizes[0], 5);
    CHECK(memcmp(out[0], "va#", 3) == 0);

    /* replaced by another size */
    void const* const value[] = {"x"};
    size_t const one[] = {1};
    CHECK_OK(calls->set(handle, 1, two, value, one, NULL));
    CHECK_OK(calls->get(handle, 1, two, NULL, sizes, NULL));
    CHECK_EQUAL(sizes[0], 1);

    CHECK_OK(calls->del(handle, 3, three, NULL));
    CHECK_RC(calls->del(handle, 3, three, NULL), -DER_NONEXIST);
    total = 0;
    CHECK_OK(calls->list(handle, NULL, &total, NULL));
    CHECK_EQUAL(total, 0);
}

/* Names that end alike, at every length; and the largest value. */
static void lengths(struct calls const* calls, daos_handle_t handle)
{
    static char name[DAOS_ATTR_NAME_MAX + 2];
    static char big[1 << 20], back[1 << 20];
    char const* const names[] = {name};
    void const* const values[] = {name};
    void* const buffers[] = {back};
    size_t size, total = 0, expected = 0;
    memset(name, 'n', sizeof name - 1);
    for (size_t length = DAOS_ATTR_NAME_MAX; length > 0; --length) {
        name[length] = '\0';
        CHECK_OK(calls->set(handle, 1, names, values, &length, NULL));
        expected += length + 1;
    }
    CHECK_OK(calls->list(handle, NULL, &total, NULL));
    CHECK_EQUAL(total, expected);
    memset(name, 'n', sizeof name - 1);
    for (size_t length = DAOS_ATTR_NAME_MAX; length > 0; --length) {
        name[length] = '\0';
        size = sizeof back;
        CHECK_OK(calls->get(handle, 1, names, buffers, &size, NULL));
        CHECK_EQUAL(size, length);
        CHECK(memcmp(back, name, length) == 0);
        CHECK_OK(calls->del(handle, 1, names, NULL));
    }
    for (size_t i = 0; i < sizeof big; ++i)
        big[i] = (char)(i * 7 + i / 4096);
    void const* const big_values[] = {big};
    size = sizeof big;
    CHECK_OK(calls->set(handle, 1, two, big_values, &size, NULL));
    CHECK_OK(calls->get(handle, 1, two, buffers, &size, NULL));
    CHECK_EQUAL(size, sizeof big);
    CHECK(memcmp(back, big, sizeof big) == 0);
    ++size;
    CHECK_RC(calls->set(handle, 1, two, big_values, &size, NULL), -DER_OVERFLOW);
    CHECK_OK(calls->del(handle, 1, two, NULL));
}

static void mistakes(struct calls const* calls, daos_handle_t handle, daos_handle_t other)
{
    static char too_long[DAOS_ATTR_NAME_MAX + 2];
    memset(too_long, 'n', sizeof too_long - 1);
    char const* const bad[][1] = {{NULL}, {""}, {too_long}};
    void const* const values[] = {"v", NULL};
    size_t sizes[] = {1, 1}, total = 0;
    char buffer[10];
    for (int i = 0; i < 3; ++i) {
        CHECK_RC(calls->set(handle, 1, bad[i], values, sizes, NULL), -DER_INVAL);
        CHECK_RC(calls->get(handle, 1, bad[i], NULL, sizes, NULL), -DER_INVAL);
        CHECK_RC(calls->del(handle, 1, bad[i], NULL), -DER_INVAL);
    }
    CHECK_RC(calls->set(handle, 0, two, values, sizes, NULL), -DER_INVAL);
    CHECK_RC(calls->set(handle, -1, two, values, sizes, NULL), -DER_INVAL);
    CHECK_RC(calls->set(handle, 1, NULL, values, sizes, NULL), -DER_INVAL);
    CHECK_RC(calls->set(handle, 1, two, NULL, sizes, NULL), -DER_INVAL);
    CHECK_RC(calls->set(handle, 1, two, values, NULL, NULL), -DER_INVAL);
    CHECK_RC(calls->set(handle, 2, two, values, sizes, NULL), -DER_INVAL); /* a NULL among the values */
    sizes[0] = 0;
    CHECK_RC(calls->set(handle, 1, two, values, sizes, NULL), -DER_INVAL); /* an empty one */
    CHECK_RC(calls->get(handle, 0, two, NULL, sizes, NULL), -DER_INVAL);
    CHECK_RC(calls->get(handle, 1, NULL, NULL, sizes, NULL), -DER_INVAL);
    if (!on_daos()) /* the engine of 2.6.5 dies of it */
        CHECK_RC(calls->get(handle, 1, two, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(calls->del(handle, 0, two, NULL), -DER_INVAL);
    CHECK_RC(calls->del(handle, 1, NULL, NULL), -DER_INVAL);
    CHECK_RC(calls->list(handle, buffer, NULL, NULL), -DER_INVAL);
    total = 5;
    CHECK_RC(calls->list(handle, NULL, &total, NULL), -DER_INVAL);
    daos_handle_t const wrong[] = {DAOS_HDL_INVAL, other};
    for (int i = 0; i < 2; ++i) {
        sizes[0] = 1;
        CHECK_RC(calls->set(wrong[i], 1, two, values, sizes, NULL), -DER_NO_HDL);
        CHECK_RC(calls->get(wrong[i], 1, two, NULL, sizes, NULL), -DER_NO_HDL);
        CHECK_RC(calls->list(wrong[i], buffer, &sizes[0], NULL), -DER_NO_HDL);
        CHECK_RC(calls->del(wrong[i], 1, two, NULL), -DER_NO_HDL);
    }
    /* none of these changed anything */
    total = 0;
    CHECK_OK(calls->list(handle, NULL, &total, NULL));
    CHECK_EQUAL(total, 0);
}

static void with_events(struct calls const* calls, daos_handle_t handle)
{
    daos_event_t event;
    daos_handle_t queue;
    daos_event_t* done;
    size_t sizes[3], total = 0;
    CHECK_OK(daos_eq_create(&queue));
    CHECK_OK(daos_event_init(&event, queue, NULL));
    set_two(calls, handle, &event);
    CHECK_EQUAL(daos_eq_poll(queue, 1, DAOS_EQ_WAIT, 1, &done), 1);
    CHECK_OK(event.ev_error);
    CHECK_OK(calls->list(handle, NULL, &total, &event));
    CHECK_EQUAL(daos_eq_poll(queue, 1, DAOS_EQ_WAIT, 1, &done), 1);
    CHECK_EQUAL(total, 14 + 5);
    CHECK_OK(calls->get(handle, 3, three, NULL, sizes, &event));
    CHECK_EQUAL(daos_eq_poll(queue, 1, DAOS_EQ_WAIT, 1, &done), 1);
    CHECK_EQUAL(sizes[2], strlen(long_value));
    CHECK_OK(calls->del(handle, 3, three, &event));
    CHECK_EQUAL(daos_eq_poll(queue, 1, DAOS_EQ_WAIT, 1, &done), 1);
    CHECK_OK(calls->get(handle, 3, three, NULL, sizes, &event));
    CHECK_EQUAL(daos_eq_poll(queue, 1, DAOS_EQ_WAIT, 1, &done), 1);
    CHECK_EQUAL(event.ev_error, -DER_NONEXIST);
    CHECK_OK(daos_event_fini(&event));
    CHECK_OK(daos_eq_destroy(queue, 0));
}

/* Attributes of two containers and the pool are apart, and those of a container go with it. */
static void owners(struct store const* store)
{
    daos_handle_t other, reader, pool;
    void const* const values[] = {"v"};
    size_t const sizes[] = {1};
    size_t total = 0, size;
    CHECK_OK(daos_cont_create_with_label(store->pool, "other", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(store->pool, "other", DAOS_COO_RW, &other, NULL, NULL));
    set_two(&of_container, store->container, NULL);
    CHECK_OK(daos_cont_list_attr(other, NULL, &total, NULL));
    CHECK_EQUAL(total, 0);
    CHECK_OK(daos_pool_list_attr(store->pool, NULL, &total, NULL));
    CHECK_EQUAL(total, 0);
    CHECK_OK(daos_cont_set_attr(other, 1, two, values, sizes, NULL));
    CHECK_OK(daos_cont_destroy(store->pool, "other", 1, NULL));
    CHECK_RC(daos_cont_list_attr(other, NULL, &total, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_get_attr(other, 1, two, NULL, &size, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_set_attr(other, 1, two, values, sizes, NULL), -DER_NO_HDL);
    CHECK_OK(daos_cont_close(other, NULL));
    CHECK_OK(daos_cont_create_with_label(store->pool, "other", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(store->pool, "other", DAOS_COO_RW, &other, NULL, NULL));
    CHECK_OK(daos_cont_list_attr(other, NULL, &total, NULL));
    CHECK_EQUAL(total, 0);
    CHECK_OK(daos_cont_close(other, NULL));

    CHECK_OK(daos_cont_open(store->pool, "container", DAOS_COO_RO, &reader, NULL, NULL));
    CHECK_OK(daos_cont_get_attr(reader, 1, two, NULL, &size, NULL));
    CHECK_EQUAL(size, 5);
    CHECK_RC(daos_cont_set_attr(reader, 1, two, values, sizes, NULL), -DER_NO_PERM);
    CHECK_RC(daos_cont_del_attr(reader, 1, two, NULL), -DER_NO_PERM);
    CHECK_OK(daos_cont_close(reader, NULL));
    CHECK_OK(daos_pool_connect(store->path, NULL, DAOS_PC_RO, &pool, NULL, NULL));
    CHECK_RC(daos_pool_set_attr(pool, 1, two, values, sizes, NULL), -DER_NO_PERM);
    CHECK_RC(daos_pool_del_attr(pool, 1, two, NULL), -DER_NO_PERM);
    CHECK_OK(daos_pool_disconnect(pool, NULL));
}

/* Another process, and a later one, sees them. */
static void reopened(struct store* store)
{
    size_t size;
    char const* path = store->path;
    CHECK_OK(daos_cont_close(store->container, NULL));
    CHECK_OK(daos_pool_disconnect(store->pool, NULL));
    CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RW, &store->pool, NULL, NULL));
    CHECK_OK(daos_cont_open(store->pool, "container", DAOS_COO_RW, &store->container, NULL, NULL));
    CHECK_OK(daos_cont_get_attr(store->container, 1, two, NULL, &size, NULL));
    CHECK_EQUAL(size, 5);
}

int main(void)
{
    char const* backend = getenv("STEPSTORE_TEST_BACKEND");
    struct store store = open_store();
    if (backend && strcmp(backend, "files") == 0) {
        size_t total = 0;
        CHECK_RC(daos_cont_list_attr(store.container, NULL, &total, NULL), -DER_NOTSUPPORTED);
        CHECK_RC(daos_pool_list_attr(store.pool, NULL, &total, NULL), -DER_NOTSUPPORTED);
        CHECK(strstr(explanation(), "User attributes") != NULL);
        close_store(&store);
        return 0;
    }
    semantics(&of_container, store.container);
    semantics(&of_pool, store.pool);
    lengths(&of_container, store.container);
    lengths(&of_pool, store.pool);
    mistakes(&of_container, store.container, store.pool);
    mistakes(&of_pool, store.pool, store.container);
    with_events(&of_container, store.container);
    with_events(&of_pool, store.pool);
    owners(&store);
    reopened(&store);
    close_store(&store);
    return 0;
}
