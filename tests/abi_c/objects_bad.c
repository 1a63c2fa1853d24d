/* Bad input to the calls on dkeys and akeys: an error, never a crash. */
#include "objects.h"

static char bytes[64];
static struct memory memory;

static daos_key_t dkey;
static daos_iod_t iod;
static daos_recx_t recx;
static d_sg_list_t* list;

/* A request that is right. */
static void right(void)
{
    dkey = text_key("d");
    recx = (daos_recx_t){0, 8};
    iod = array_of("a", 1, 1, &recx);
    list = memory_of(&memory, bytes, 8);
}

/* Both calls refuse it. */
static void refused(daos_handle_t oh, int code)
{
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL), code);
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL, NULL), code);
    right();
}

static void requests(daos_handle_t oh)
{
    right();
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL));
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL, NULL));
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, NULL, 1, &iod, list, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 0, &iod, list, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, NULL, list, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, NULL, 1, &iod, list, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 0, &iod, list, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, NULL, list, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, NULL, NULL, NULL), -DER_INVAL);

    dkey.iov_len = 0;
    refused(oh, -DER_INVAL);
    dkey.iov_buf = NULL;
    refused(oh, -DER_INVAL);
    dkey.iov_len = 2; /* more than there is */
    refused(oh, -DER_INVAL);
    iod.iod_name.iov_len = 0;
    refused(oh, -DER_INVAL);
    iod.iod_name.iov_buf = NULL;
    refused(oh, -DER_INVAL);
    iod.iod_name.iov_len = 99;
    refused(oh, -DER_INVAL);
    iod.iod_type = DAOS_IOD_NONE;
    refused(oh, -DER_INVAL);
    iod.iod_type = (daos_iod_type_t)3;
    refused(oh, -DER_INVAL);
    iod.iod_type = DAOS_IOD_SINGLE;
    iod.iod_nr = 0;
    refused(oh, -DER_INVAL);
    iod.iod_type = DAOS_IOD_SINGLE;
    iod.iod_nr = 2;
    refused(oh, -DER_INVAL);
    iod.iod_nr = 0;
    refused(oh, -DER_INVAL);
    iod.iod_recxs = NULL;
    refused(oh, -DER_INVAL);
    recx.rx_nr = 0;
    refused(oh, -DER_INVAL);
    recx.rx_idx = (uint64_t)1 << 63;
    refused(oh, -DER_INVAL);
    recx.rx_idx = INT64_MAX;
    recx.rx_nr = 2;
    refused(oh, -DER_OVERFLOW);
    recx.rx_nr = UINT64_MAX;
    refused(oh, -DER_OVERFLOW);
    iod.iod_size = UINT64_MAX;
    refused(oh, -DER_INVAL);
    iod.iod_size = (uint64_t)1 << 61; /* times 8: 0 */
    refused(oh, -DER_INVAL);
    recx.rx_nr = 9;
    refused(oh, -DER_REC2BIG);
    iod.iod_size = 2;
    refused(oh, -DER_REC2BIG);
    list->sg_iovs = NULL;
    refused(oh, -DER_INVAL);
    memory.piece.iov_buf = NULL;
    refused(oh, -DER_INVAL);
    memory.piece.iov_len = 9; /* more than there is */
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL), -DER_INVAL);
    memory.piece.iov_len = 7; /* less than the records */
    CHECK_RC(daos_obj_update(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL), -DER_REC2BIG);
    daos_recx_t overlapping[3] = {{5, 2}, {0, 2}, {6, 1}};
    right();
    iod.iod_nr = 3;
    iod.iod_recxs = overlapping;
    refused(oh, -DER_INVAL);
    d_iov_t endless[2] = {{bytes, SIZE_MAX, 8}, {bytes, SIZE_MAX, 8}};
    d_sg_list_t two = {2, 0, endless};
    CHECK_RC(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &dkey, 1, &iod, &two, NULL, NULL), -DER_INVAL);
    /* Nothing of it was written. */
    right();
    memset(bytes, 0, sizeof bytes);
    expect_records(oh, DAOS_TX_NONE, "d", "a", 0, bytes, 9);
}

static void punches(daos_handle_t oh)
{
    daos_key_t keys[2] = {text_key("d"), text_key("")};
    CHECK_RC(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 0, keys, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 2, keys, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 1, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 1, &keys[1], NULL), -DER_INVAL);
    CHECK_RC(daos_obj_punch_akeys(oh, DAOS_TX_NONE, 0, keys, 0, keys, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_punch_akeys(oh, DAOS_TX_NONE, 0, keys, 1, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_punch_akeys(oh, DAOS_TX_NONE, 0, keys, 2, keys, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_punch_akeys(oh, DAOS_TX_NONE, 0, NULL, 1, keys, NULL), -DER_INVAL);
}

static void listings(daos_handle_t oh)
{
    daos_key_t keys[2] = {text_key("d"), text_key("")};
    daos_key_desc_t kds[2];
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_recx_t recxs[2];
    daos_size_t size;
    uint32_t nr = 2, none = 0;
    daos_handle_t const th = DAOS_TX_NONE;
    right();
    CHECK_RC(daos_obj_list_dkey(oh, th, NULL, kds, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_dkey(oh, th, &none, kds, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_dkey(oh, th, &nr, NULL, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_dkey(oh, th, &nr, kds, NULL, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_dkey(oh, th, &nr, kds, list, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_akey(oh, th, NULL, &nr, kds, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_akey(oh, th, &keys[1], &nr, kds, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_akey(oh, th, keys, &none, kds, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_recx(oh, th, NULL, keys, &size, &nr, recxs, NULL, &anchor, true, NULL),
             -DER_INVAL);
    CHECK_RC(daos_obj_list_recx(oh, th, keys, NULL, &size, &nr, recxs, NULL, &anchor, true, NULL),
             -DER_INVAL);
    CHECK_RC(daos_obj_list_recx(oh, th, keys, keys, &size, NULL, recxs, NULL, &anchor, true, NULL),
             -DER_INVAL);
    CHECK_RC(daos_obj_list_recx(oh, th, keys, keys, &size, &none, recxs, NULL, &anchor, true, NULL),
             -DER_INVAL);
    CHECK_RC(daos_obj_list_recx(oh, th, keys, keys, &size, &nr, NULL, NULL, &anchor, true, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_list_recx(oh, th, keys, keys, &size, &nr, recxs, NULL, NULL, true, NULL), -DER_INVAL);
    CHECK_OK(daos_obj_list_recx(oh, th, keys, keys, NULL, &nr, recxs, NULL, &anchor, true, NULL));
    /* Anchors of something else, or of nothing. */
    for (int type = 1; type < 8; type += type == 2 ? 2 : 1)
        for (int order = 0; order < 2; ++order) {
            memset(&anchor, 0xff, sizeof anchor);
            anchor.da_type = (uint16_t)type;
            nr = 2;
            int const expected = type == DAOS_ANCHOR_TYPE_EOF ? 0 : -DER_INVAL;
            CHECK_RC(daos_obj_list_recx(oh, th, keys, keys, &size, &nr, recxs, NULL, &anchor, order, NULL),
                     expected);
            nr = 2;
            CHECK_RC(daos_obj_list_dkey(oh, th, &nr, kds, list, &anchor, NULL), expected);
        }
}

static void queries(daos_handle_t container, daos_handle_t lexical)
{
    daos_handle_t const oh = open_object(container, 2, DAOS_OT_MULTI_UINT64, DAOS_OO_RW);
    uint64_t number = 0;
    daos_key_t key = key_of(&number, 8), small = key_of(&number, 7), null = {NULL, 8, 8};
    daos_handle_t const th = DAOS_TX_NONE;
    uint64_t const max = DAOS_GET_MAX, get_dkey = DAOS_GET_DKEY, get_akey = DAOS_GET_AKEY;
    struct daos_obj_attr attributes;
    CHECK_RC(daos_obj_query(oh, &attributes, NULL, NULL), -DER_NOSYS);
    CHECK_RC(daos_obj_query(DAOS_HDL_INVAL, &attributes, NULL, NULL), on_daos() ? -DER_NOSYS : -DER_NO_HDL);
    CHECK_RC(daos_obj_query_key(oh, th, 0, &key, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, max, &key, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_dkey, &key, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_dkey | max | DAOS_GET_MIN, &key, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_dkey | max, NULL, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_dkey | max, &small, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_dkey | max, &null, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_akey | max, NULL, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_akey | max, &key, NULL, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, get_akey | max, &key, &small, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, DAOS_GET_RECX | max, &key, &key, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(oh, th, DAOS_GET_RECX | max, &key, NULL, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(lexical, th, get_dkey | max, &key, &key, &recx, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_query_key(lexical, th, get_akey | max, &key, &key, &recx, NULL), -DER_INVAL);
    CHECK_OK(daos_obj_query_key(oh, th, get_dkey | max, &key, NULL, NULL, NULL));

    /* Integer keys have 8 bytes. */
    right();
    dkey = text_key("7 bytes");
    iod.iod_name = text_key("8 bytes.");
    CHECK_RC(daos_obj_update(oh, th, 0, &dkey, 1, &iod, list, NULL), -DER_INVAL);
    dkey = text_key("8 bytes.");
    iod.iod_name = text_key("7 bytes");
    CHECK_RC(daos_obj_update(oh, th, 0, &dkey, 1, &iod, list, NULL), -DER_INVAL);
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* Handles of other kinds, closed ones, and none. */
static void handles(struct store const* store, daos_handle_t closed)
{
    daos_handle_t kv, array;
    CHECK_OK(daos_kv_open(store->container, kv_oid(store->container, 3, "S1"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_array_create(store->container, array_oid(store->container, 4, "S1"), DAOS_TX_NONE, 1, 64,
                               &array, NULL));
    daos_handle_t const wrong[] = {DAOS_HDL_INVAL, closed, store->pool, store->container, kv, array, {12345}};
    daos_key_desc_t kds[2];
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_size_t size;
    uint32_t nr = 1;
    right();
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        daos_handle_t const oh = wrong[i], th = DAOS_TX_NONE;
        CHECK_RC(daos_obj_update(oh, th, 0, &dkey, 1, &iod, list, NULL), -DER_NO_HDL);
        CHECK_RC(daos_obj_fetch(oh, th, 0, &dkey, 1, &iod, list, NULL, NULL), -DER_NO_HDL);
        CHECK_RC(daos_obj_punch_dkeys(oh, th, 0, 1, &dkey, NULL), -DER_NO_HDL);
        CHECK_RC(daos_obj_punch_akeys(oh, th, 0, &dkey, 1, &dkey, NULL), -DER_NO_HDL);
        CHECK_RC(daos_obj_list_dkey(oh, th, &nr, kds, list, &anchor, NULL), -DER_NO_HDL);
        CHECK_RC(daos_obj_list_akey(oh, th, &dkey, &nr, kds, list, &anchor, NULL), -DER_NO_HDL);
        CHECK_RC(daos_obj_list_recx(oh, th, &dkey, &dkey, &size, &nr, &recx, NULL, &anchor, true, NULL),
                 -DER_NO_HDL);
        CHECK_RC(daos_obj_query_key(oh, th, DAOS_GET_MAX | DAOS_GET_RECX, &dkey, &dkey, &recx, NULL),
                 -DER_NO_HDL);
    }
    /* As transaction. */
    daos_handle_t const oh = open_object(store->container, 5, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    CHECK_RC(daos_obj_update(oh, kv, 0, &dkey, 1, &iod, list, NULL), -DER_NO_HDL);
    CHECK_RC(daos_obj_fetch(oh, closed, 0, &dkey, 1, &iod, list, NULL, NULL), -DER_NO_HDL);
    /* Opened to be read. */
    daos_handle_t const reader = open_object(store->container, 5, DAOS_OT_MULTI_HASHED, DAOS_OO_RO);
    right();
    CHECK_RC(daos_obj_update(reader, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL), -DER_NO_PERM);
    CHECK_RC(daos_obj_punch_dkeys(reader, DAOS_TX_NONE, 0, 1, &dkey, NULL), -DER_NO_PERM);
    CHECK_RC(daos_obj_punch_akeys(reader, DAOS_TX_NONE, 0, &dkey, 1, &dkey, NULL), -DER_NO_PERM);
    CHECK_OK(daos_obj_fetch(reader, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL, NULL));
    CHECK_OK(daos_obj_close(reader, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));
    CHECK_OK(daos_array_close(array, NULL));
}

int main(void)
{
    right();
    CHECK_RC(daos_obj_update(DAOS_HDL_INVAL, DAOS_TX_NONE, 0, &dkey, 1, &iod, list, NULL), -DER_UNINIT);
    struct store store = open_store();
    daos_handle_t const oh = open_object(store.container, 1, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    requests(oh);
    punches(oh);
    listings(oh);
    queries(store.container, oh);
    CHECK_OK(daos_obj_close(oh, NULL));
    handles(&store, oh);
    close_store(&store);
    return 0;
}
