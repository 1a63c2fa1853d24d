/* Key-value objects and arrays are objects of dkeys and akeys: what one kind of call writes the other reads.
 * And the calls with events. */
#include "objects.h"

static daos_handle_t open_any(daos_handle_t container, daos_obj_id_t oid)
{
    daos_handle_t oh;
    CHECK_OK(daos_obj_open(container, oid, DAOS_OO_RW, &oh, NULL));
    return oh;
}

static void key_values(daos_handle_t container)
{
    daos_obj_id_t const oid = kv_oid(container, 1, "SX");
    daos_handle_t const oh = open_any(container, oid);
    daos_handle_t kv;
    char value[64];
    daos_size_t size = sizeof value;
    CHECK_OK(daos_kv_open(container, oid, DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "by kv", 5, "value", NULL));
    expect_single(oh, DAOS_TX_NONE, "by kv", "0", "value");
    CHECK_OK(put_single(oh, 0, "by obj", "0", "another"));
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "by obj", &size, value, NULL));
    CHECK(size == 7 && memcmp(value, "another", 7) == 0);
    CHECK_RC(put_single(oh, DAOS_COND_DKEY_INSERT, "by kv", "0", "x"), -DER_EXIST);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_INSERT, "by obj", 1, "x", NULL), -DER_EXIST);

    daos_key_t dkey = text_key("by kv");
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_key_desc_t kds[4];
    struct memory memory;
    uint32_t nr = 4;
    CHECK_OK(
        daos_obj_list_akey(oh, DAOS_TX_NONE, &dkey, &nr, kds, memory_of(&memory, value, 64), &anchor, NULL));
    CHECK(nr == 1 && kds[0].kd_key_len == 1 && value[0] == '0');
    uint32_t total = 0;
    for (anchor = (daos_anchor_t)DAOS_ANCHOR_INIT; !daos_anchor_is_eof(&anchor); total += nr) {
        nr = 4;
        CHECK_OK(
            daos_obj_list_dkey(oh, DAOS_TX_NONE, &nr, kds, memory_of(&memory, value, 64), &anchor, NULL));
    }
    CHECK_EQUAL(total, 2);
    CHECK_OK(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 1, &dkey, NULL));
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "by kv", &size, NULL, NULL), -DER_NONEXIST);
    CHECK_OK(daos_kv_close(kv, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
}

static int records(daos_handle_t oh, bool write, uint64_t dkey, uint64_t index, void* cells, uint64_t count)
{
    daos_key_t key = key_of(&dkey, 8);
    daos_recx_t recx = {index, count};
    daos_iod_t iod = array_of("0", 4, 1, &recx);
    struct memory memory;
    memory_of(&memory, cells, 4 * count);
    return write ? daos_obj_update(oh, DAOS_TX_NONE, 0, &key, 1, &iod, &memory.list, NULL)
                 : daos_obj_fetch(oh, DAOS_TX_NONE, 0, &key, 1, &iod, &memory.list, NULL, NULL);
}

/* Chunks of 8 cells of 4 bytes: chunk n is dkey n + 1, and dkey 0 has the attributes. */
static void arrays(daos_handle_t container)
{
    daos_obj_id_t const oid = array_oid(container, 2, "SX");
    daos_handle_t const oh = open_any(container, oid);
    daos_handle_t array;
    struct request request;
    struct memory memory;
    uint32_t cells[20], found[20];
    for (uint32_t i = 0; i < 20; ++i)
        cells[i] = 1000 + i;
    CHECK_OK(daos_array_create(container, oid, DAOS_TX_NONE, 4, 8, &array, NULL));
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 5, 10), memory_of(&memory, cells, 40),
                              NULL));
    CHECK_OK(records(oh, false, 1, 5, found, 3));
    CHECK(memcmp(found, cells, 12) == 0);
    CHECK_OK(records(oh, false, 2, 0, found, 7));
    CHECK(memcmp(found, &cells[3], 28) == 0);

    /* Chunk 2, written by the other call. */
    CHECK_OK(records(oh, true, 3, 1, &cells[10], 4));
    daos_size_t size;
    CHECK_OK(daos_array_get_size(array, DAOS_TX_NONE, &size, NULL));
    CHECK_EQUAL(size, 2 * 8 + 5);
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, 17, 4), memory_of(&memory, found, 16),
                             NULL));
    CHECK(memcmp(found, &cells[10], 16) == 0);

    /* The attributes, as a DAOS system has them. */
    uint64_t attributes[3] = {0, 0, 0}, zero = 0;
    daos_key_t dkey = key_of(&zero, 8);
    daos_iod_t iod = single_of("0", DAOS_REC_ANY);
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, DAOS_COND_AKEY_FETCH, &dkey, 1, &iod,
                            memory_of(&memory, attributes, sizeof attributes), NULL, NULL));
    CHECK_EQUAL(iod.iod_size, 24);
    CHECK(attributes[0] == 0xdaca55a9daca55a9 && attributes[1] == 4 && attributes[2] == 8);

    /* The highest chunk, and the records in it. */
    uint64_t chunk = 0;
    daos_key_t akey = text_key("0");
    daos_recx_t recx;
    dkey = key_of(&chunk, 8);
    CHECK_OK(daos_obj_query_key(oh, DAOS_TX_NONE, DAOS_GET_MAX | DAOS_GET_DKEY | DAOS_GET_RECX, &dkey, &akey,
                                &recx, NULL));
    CHECK(chunk == 3 && recx.rx_idx == 1 && recx.rx_nr == 4);
    CHECK_OK(daos_obj_query_key(oh, DAOS_TX_NONE, DAOS_GET_MIN | DAOS_GET_DKEY | DAOS_GET_RECX, &dkey, &akey,
                                &recx, NULL));
    CHECK(chunk == 1 && recx.rx_idx == 5 && recx.rx_nr == 3);

    /* An array whose attributes the other call wrote. */
    daos_obj_id_t const made = array_oid(container, 3, "SX");
    daos_handle_t const other = open_any(container, made);
    daos_size_t cell_size, chunk_size;
    dkey = key_of(&zero, 8);
    iod.iod_size = sizeof attributes;
    attributes[2] = 16;
    CHECK_OK(daos_obj_update(other, DAOS_TX_NONE, DAOS_COND_DKEY_INSERT | DAOS_COND_AKEY_INSERT, &dkey, 1,
                             &iod, memory_of(&memory, attributes, sizeof attributes), NULL));
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(
        daos_array_open(container, made, DAOS_TX_NONE, DAOS_OO_RW, &cell_size, &chunk_size, &array, NULL));
    CHECK(cell_size == 4 && chunk_size == 16);
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_obj_close(other, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* An array that does not keep its attributes: its records are as large as the call says. */
static void arrays_with_attributes_of_the_caller(daos_handle_t container)
{
    daos_obj_id_t oid = {.lo = 9};
    daos_handle_t array;
    struct request request;
    struct memory memory;
    uint32_t cells[20], found[20];
    for (uint32_t i = 0; i < 20; ++i)
        cells[i] = 500 + i;
    CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_ARRAY_ATTR, OC_SX, 0, 0));
    CHECK_OK(daos_array_open_with_attr(container, oid, DAOS_TX_NONE, DAOS_OO_RW, 4, 8, &array, NULL));
    daos_handle_t const oh = open_any(container, oid);
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 12, 4), memory_of(&memory, cells, 16),
                              NULL));
    uint64_t const second = 2;
    daos_key_t dkey = key_of(&second, 8);
    daos_recx_t two[2] = {{6, 2}, {4, 1}};
    daos_iod_t iod = array_of("0", 4, 2, two);
    daos_iom_t map = {.iom_flags = 0};
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, memory_of(&memory, found, 12), &map, NULL));
    CHECK(iod.iod_size == 4 && memory.list.sg_nr_out == 1);
    CHECK(memcmp(found, &cells[2], 8) == 0 && found[2] == cells[0]);
    CHECK(map.iom_recx_lo.rx_idx == 4 && map.iom_recx_lo.rx_nr == 1);
    CHECK(map.iom_recx_hi.rx_idx == 6 && map.iom_recx_hi.rx_nr == 2);

    CHECK_OK(records(oh, true, 2, 2, &cells[10], 2));
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, 10, 3), memory_of(&memory, found, 12),
                             NULL));
    CHECK(memcmp(found, &cells[10], 8) == 0 && found[2] == cells[0]);
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* A key of a key-value object is a dkey and its akey at once. */
static void contradictory_conditions(daos_handle_t container)
{
    daos_handle_t const oh = open_any(container, kv_oid(container, 10, "SX"));
    uint64_t const flags = DAOS_COND_DKEY_UPDATE | DAOS_COND_AKEY_INSERT;
    CHECK_RC(put_single(oh, flags, "key", "0", "value"), -DER_NONEXIST);
    CHECK_OK(put_single(oh, DAOS_COND_DKEY_INSERT | DAOS_COND_AKEY_INSERT, "key", "0", "value"));
    CHECK_RC(put_single(oh, flags, "key", "0", "other"), -DER_EXIST);
    expect_single(oh, DAOS_TX_NONE, "key", "0", "value");
    CHECK_OK(daos_obj_close(oh, NULL));
}

enum { calls = 200 };

static void wait_for(daos_handle_t eq, int count, int expected)
{
    daos_event_t* done[calls];
    for (int total = 0; total < count;) {
        int const got = daos_eq_poll(eq, 1, DAOS_EQ_WAIT, calls, done);
        CHECK(got > 0);
        for (int i = 0; i < got; ++i)
            CHECK_EQUAL(done[i]->ev_error, expected);
        total += got;
    }
}

/* Many calls in flight. What an update was given is used for something else at once. */
static void events(daos_handle_t container)
{
    static daos_event_t all[calls];
    static daos_iod_t iods[calls];
    static struct memory memories[calls];
    static char values[calls][32], names[calls][16];
    static daos_key_t dkeys[calls];
    daos_handle_t const oh = open_object(container, 4, DAOS_OT_MULTI_UINT64, DAOS_OO_RW);
    daos_handle_t eq;
    CHECK_OK(daos_eq_create(&eq));
    for (int i = 0; i < calls; ++i)
        CHECK_OK(daos_event_init(&all[i], eq, NULL));
    for (int i = 0; i < calls; ++i) {
        uint64_t number = (uint64_t)i, akey = 1000 + (uint64_t)i;
        char value[32];
        snprintf(value, sizeof value, "%031d", i);
        daos_recx_t recx = {number, 31};
        daos_key_t dkey = key_of(&number, 8);
        daos_iod_t iod = array_of("", 1, 1, &recx);
        struct memory memory;
        iod.iod_name = key_of(&akey, 8);
        CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, DAOS_COND_DKEY_INSERT, &dkey, 1, &iod,
                                 memory_of(&memory, value, 31), &all[i]));
        memset(value, 'x', sizeof value);
        memset(&memory, 0x55, sizeof memory);
        memset(&iod, 0x55, sizeof iod);
        number = akey = recx.rx_idx = 77;
    }
    wait_for(eq, calls, 0);
    static daos_recx_t recxs[calls];
    for (int i = 0; i < calls; ++i) {
        uint64_t const number = (uint64_t)i, akey = 1000 + (uint64_t)i;
        memcpy(names[i], &number, 8);
        memcpy(&names[i][8], &akey, 8);
        dkeys[i] = key_of(names[i], 8);
        recxs[i] = (daos_recx_t){(uint64_t)i, 31};
        iods[i] = array_of("", DAOS_REC_ANY, 1, &recxs[i]);
        iods[i].iod_name = key_of(&names[i][8], 8);
        CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkeys[i], 1, &iods[i],
                                memory_of(&memories[i], values[i], 31), NULL, &all[i]));
    }
    CHECK_OK(daos_obj_close(oh, NULL)); /* in flight */
    wait_for(eq, calls, 0);
    for (int i = 0; i < calls; ++i) {
        char value[32];
        snprintf(value, sizeof value, "%031d", i);
        CHECK(iods[i].iod_size == 1 && memories[i].list.sg_nr_out == 1);
        CHECK(strcmp(value, values[i]) == 0);
    }

    /* The other calls, and errors. */
    daos_handle_t const again = open_object(container, 4, DAOS_OT_MULTI_UINT64, DAOS_OO_RW);
    CHECK_OK(daos_obj_fetch(again, DAOS_TX_NONE, 0, &dkeys[7], 1, &iods[7],
                            memory_of(&memories[7], values[7], 5), NULL, &all[0]));
    wait_for(eq, 1, -DER_REC2BIG);
    CHECK_EQUAL(iods[7].iod_size, 1);
    CHECK_OK(daos_obj_update(again, DAOS_TX_NONE, 0, NULL, 1, iods, NULL, &all[0]));
    wait_for(eq, 1, -DER_INVAL);
    daos_key_desc_t kds[4];
    daos_anchor_t anchor = DAOS_ANCHOR_INIT, records_anchor = DAOS_ANCHOR_INIT;
    uint32_t nr = 4, recx_nr = 4;
    daos_recx_t recx, listed[4];
    daos_size_t size = 0;
    uint64_t highest = 0;
    daos_key_t dkey = key_of(&highest, 8);
    CHECK_OK(daos_obj_list_akey(again, DAOS_TX_NONE, &dkeys[5], &nr, kds,
                                memory_of(&memories[0], values[0], 32), &anchor, &all[0]));
    CHECK_OK(daos_obj_list_recx(again, DAOS_TX_NONE, &dkeys[5], &iods[5].iod_name, &size, &recx_nr, listed,
                                NULL, &records_anchor, true, &all[1]));
    CHECK_OK(
        daos_obj_query_key(again, DAOS_TX_NONE, DAOS_GET_MAX | DAOS_GET_DKEY, &dkey, NULL, &recx, &all[2]));
    wait_for(eq, 3, 0);
    CHECK(nr == 1 && kds[0].kd_key_len == 8 && memcmp(values[0], &names[5][8], 8) == 0);
    CHECK(recx_nr == 1 && listed[0].rx_idx == 5 && listed[0].rx_nr == 31 && size == 1);
    CHECK_EQUAL(highest, calls - 1);
    CHECK_OK(
        daos_obj_punch_akeys(again, DAOS_TX_NONE, DAOS_COND_PUNCH, &dkeys[5], 1, &iods[5].iod_name, &all[0]));
    CHECK_OK(daos_obj_punch_dkeys(again, DAOS_TX_NONE, DAOS_COND_PUNCH, 1, &dkeys[6], &all[1]));
    wait_for(eq, 2, 0);
    for (int i = 0; i < calls; ++i)
        CHECK_OK(daos_event_fini(&all[i]));
    CHECK_OK(daos_eq_destroy(eq, 0));
    CHECK_OK(daos_obj_close(again, NULL));
}

int main(void)
{
    struct store store = open_store();
    events(store.container);
    key_values(store.container);
    arrays(store.container);
    arrays_with_attributes_of_the_caller(store.container);
    contradictory_conditions(store.container);
    close_store(&store);
    return 0;
}
