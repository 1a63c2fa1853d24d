/* Snapshots and the transactions that read them. */
#include "check.h"

static void put(daos_handle_t kv, char const* value)
{
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", strlen(value), value, NULL));
}

static void expect(daos_handle_t kv, daos_handle_t th, char const* value)
{
    char buffer[64];
    daos_size_t size = sizeof buffer;
    CHECK_OK(daos_kv_get(kv, th, 0, "key", &size, buffer, NULL));
    CHECK_EQUAL(size, strlen(value));
    CHECK(memcmp(buffer, value, size) == 0);
}

static uint32_t keys_at(daos_handle_t kv, daos_handle_t th)
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    uint32_t total = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        daos_key_desc_t descriptors[8];
        char text[64];
        struct memory memory;
        uint32_t nr = 8;
        CHECK_OK(
            daos_kv_list(kv, th, &nr, descriptors, memory_of(&memory, text, sizeof text), &anchor, NULL));
        total += nr;
    }
    return total;
}

static void key_values(daos_handle_t container)
{
    daos_handle_t kv;
    daos_handle_t first_tx;
    daos_handle_t second_tx;
    daos_epoch_t first;
    daos_epoch_t second;
    daos_epoch_t epoch = 0;
    char name[] = "first";
    CHECK_OK(daos_kv_open(container, kv_oid(container, 1, "SX"), DAOS_OO_RW, &kv, NULL));
    put(kv, "one");
    CHECK_OK(daos_cont_create_snap(container, &first, name, NULL));
    put(kv, "two");
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "later", 1, "x", NULL));
    CHECK_OK(daos_cont_create_snap_opt(container, &second, NULL, DAOS_SNAP_OPT_CR, NULL));
    CHECK(second > first);
    CHECK_OK(daos_kv_destroy(kv, DAOS_TX_NONE, NULL));

    CHECK_OK(daos_tx_open_snap(container, first, &first_tx, NULL));
    CHECK_OK(daos_tx_open_snap(container, second, &second_tx, NULL));
    CHECK_OK(daos_tx_hdl2epoch(first_tx, &epoch));
    CHECK_EQUAL(epoch, first);
    expect(kv, first_tx, "one");
    expect(kv, second_tx, "two");
    expect(kv, DAOS_TX_NONE, "");
    CHECK_EQUAL(keys_at(kv, first_tx), 1);
    CHECK_EQUAL(keys_at(kv, second_tx), 2);
    CHECK_EQUAL(keys_at(kv, DAOS_TX_NONE), 0);

    CHECK_RC(daos_kv_put(kv, first_tx, 0, "key", 1, "x", NULL), -DER_NO_PERM);
    CHECK_RC(daos_kv_remove(kv, first_tx, 0, "key", NULL), -DER_NO_PERM);
    CHECK_RC(daos_kv_destroy(kv, first_tx, NULL), -DER_NO_PERM);
    expect(kv, first_tx, "one");
    CHECK_OK(daos_tx_close(second_tx, NULL));
    CHECK_RC(daos_tx_close(second_tx, NULL), -DER_NO_HDL);
    daos_size_t size = 0;
    CHECK_RC(daos_kv_get(kv, second_tx, 0, "key", &size, NULL, NULL), -DER_NO_HDL);

    daos_epoch_range_t const range = {first, first};
    CHECK_OK(daos_cont_destroy_snap(container, range, NULL));
    CHECK_RC(daos_kv_get(kv, first_tx, 0, "key", &size, NULL, NULL), -DER_EP_OLD);
    CHECK(strstr(explanation(), "no snapshot") != NULL);
    /* As in libdaos any epoch opens; one that is no snapshot does not read, neither this one nor one after
     * it. */
    for (daos_epoch_t at = first; at <= first + 1; ++at) {
        CHECK_OK(daos_tx_open_snap(container, at, &second_tx, NULL));
        CHECK_OK(daos_tx_hdl2epoch(second_tx, &epoch));
        CHECK_EQUAL(epoch, at);
        CHECK_RC(daos_kv_get(kv, second_tx, 0, "key", &size, NULL, NULL), -DER_EP_OLD);
        CHECK_RC(daos_kv_put(kv, second_tx, 0, "key", 1, "x", NULL), -DER_NO_PERM);
        CHECK_OK(daos_tx_close(second_tx, NULL));
    }
    CHECK_RC(daos_cont_destroy_snap(container, range, NULL), -DER_NONEXIST);
    daos_epoch_range_t const all = {0, DAOS_EPOCH_MAX};
    CHECK_RC(daos_cont_destroy_snap(container, all, NULL), -DER_INVAL);
    CHECK_OK(daos_tx_close(first_tx, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));
}

static void arrays(daos_handle_t container)
{
    daos_handle_t array;
    daos_handle_t th;
    daos_epoch_t epoch;
    char cells[16] = "before";
    struct request request;
    struct memory memory;
    daos_size_t size;
    daos_size_t attribute;
    CHECK_OK(daos_array_create(container, array_oid(container, 2, "S2"), DAOS_TX_NONE, 1, 8, &array, NULL));
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, 16), memory_of(&memory, cells, 16),
                              NULL));
    CHECK_OK(daos_cont_create_snap(container, &epoch, NULL, NULL));
    CHECK_OK(daos_array_set_size(array, DAOS_TX_NONE, 4, NULL));
    CHECK_OK(daos_tx_open_snap(container, epoch, &th, NULL));
    memset(cells, 0, sizeof cells);
    CHECK_OK(daos_array_read(array, th, request_of(&request, 0, 16), memory_of(&memory, cells, 16), NULL));
    CHECK(strcmp(cells, "before") == 0);
    CHECK_OK(daos_array_get_size(array, th, &size, NULL));
    CHECK_EQUAL(size, 16);
    CHECK_OK(daos_array_get_size(array, DAOS_TX_NONE, &size, NULL));
    CHECK_EQUAL(size, 4);
    CHECK_RC(daos_array_write(array, th, request_of(&request, 0, 16), memory_of(&memory, cells, 16), NULL),
             -DER_NO_PERM);
    CHECK_RC(daos_array_set_size(array, th, 1, NULL), -DER_NO_PERM);
    CHECK_RC(daos_array_punch(array, th, request_of(&request, 0, 1), NULL), -DER_NO_PERM);
    CHECK_OK(daos_array_destroy(array, DAOS_TX_NONE, NULL));
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_array_open(container, array_oid(container, 2, "S2"), th, DAOS_OO_RO, &size, &attribute,
                             &array, NULL));
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
}

static void listing(daos_handle_t container)
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_epoch_t epochs[4] = {0};
    char texts[4][DAOS_SNAPSHOT_MAX_LEN];
    char* names[4] = {texts[0], texts[1], texts[2], texts[3]};
    daos_cont_info_t info;
    int before = 0;
    CHECK_OK(daos_cont_list_snap(container, &before, NULL, NULL, &anchor, NULL));
    char name[] = "a name";
    daos_epoch_t epoch;
    CHECK_OK(daos_cont_create_snap(container, &epoch, name, NULL));
    int nr = 4;
    memset(&anchor, 0, sizeof anchor);
    CHECK_OK(daos_cont_list_snap(container, &nr, epochs, names, &anchor, NULL));
    CHECK_EQUAL(nr, before + 1);
    CHECK(nr <= 4 && daos_anchor_is_eof(&anchor));
    CHECK_EQUAL(epochs[nr - 1], epoch);
    CHECK(strcmp(texts[nr - 1], name) == 0);
    nr = 1; /* fewer places than snapshots: the number there are */
    CHECK_OK(daos_cont_list_snap(container, &nr, epochs, NULL, &anchor, NULL));
    CHECK_EQUAL(nr, before + 1);
    CHECK_OK(daos_cont_query(container, &info, NULL, NULL));
    CHECK_EQUAL(info.ci_nsnapshots, before + 1);
    CHECK_EQUAL(info.ci_lsnapshot, epoch);
    char too_long[DAOS_SNAPSHOT_MAX_LEN + 1];
    memset(too_long, 'x', sizeof too_long);
    too_long[DAOS_SNAPSHOT_MAX_LEN] = '\0';
    CHECK_RC(daos_cont_create_snap(container, &epoch, too_long, NULL), -DER_INVAL);
}

/* What libdaos 2.6 has and does not do; and aggregation, for which there is nothing to do. */
static void epochs(struct store const* store)
{
    daos_handle_t reader;
    daos_epoch_t epoch;
    CHECK_OK(daos_cont_create_snap(store->container, &epoch, NULL, NULL));
    CHECK_OK(daos_cont_aggregate(store->container, 0, NULL));
    CHECK_OK(daos_cont_aggregate(store->container, epoch, NULL));
    CHECK_RC(daos_cont_aggregate(store->container, DAOS_EPOCH_MAX, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_aggregate(store->pool, 0, NULL), -DER_NO_HDL);
    CHECK_OK(daos_cont_open(store->pool, "container", DAOS_COO_RO, &reader, NULL, NULL));
    CHECK_RC(daos_cont_aggregate(reader, 0, NULL), -DER_NO_PERM);
    CHECK_OK(daos_cont_close(reader, NULL));
    CHECK_RC(daos_cont_rollback(store->container, epoch, NULL), -DER_NOSYS);
    CHECK_RC(daos_cont_rollback(DAOS_HDL_INVAL, epoch, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_subscribe(store->container, &epoch, NULL), -DER_NOSYS);
    CHECK_RC(daos_cont_subscribe(DAOS_HDL_INVAL, &epoch, NULL), -DER_NO_HDL);
    daos_event_t event;
    bool done;
    CHECK_OK(daos_event_init(&event, DAOS_HDL_INVAL, NULL));
    CHECK_OK(daos_cont_rollback(store->container, epoch, &event));
    CHECK_OK(daos_event_test(&event, DAOS_EQ_WAIT, &done));
    CHECK_EQUAL(event.ev_error, -DER_NOSYS);
    CHECK_OK(daos_event_fini(&event));
}

int main(void)
{
    struct store store = open_store();
    key_values(store.container);
    arrays(store.container);
    listing(store.container);
    epochs(&store);
    close_store(&store);
    return 0;
}
