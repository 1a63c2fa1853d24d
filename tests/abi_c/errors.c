/* What bad input gets: a specific error each, and never a crash. */
#include "check.h"

static daos_handle_t const none = {0};

static void before_init(void)
{
    daos_handle_t handle;
    daos_size_t size = 0;
    daos_event_t event;
    CHECK_RC(daos_pool_connect("pool", NULL, DAOS_PC_RW, &handle, NULL, NULL), -DER_UNINIT);
    CHECK_RC(daos_cont_open(none, "c", DAOS_COO_RW, &handle, NULL, NULL), -DER_UNINIT);
    CHECK_RC(daos_kv_get(none, DAOS_TX_NONE, 0, "k", &size, NULL, NULL), -DER_UNINIT);
    CHECK_RC(daos_event_init(&event, DAOS_HDL_INVAL, NULL), -DER_UNINIT);
    CHECK_RC(daos_fini(), -DER_UNINIT);
    CHECK(strstr(explanation(), "daos_init") != NULL);
}

static void pools(char const* path)
{
    daos_handle_t poh;
    daos_handle_t coh;
    daos_target_info_t target;
    daos_size_t count = 0;
    char missing[600];
    snprintf(missing, sizeof missing, "%s-missing", path);
    CHECK_RC(daos_pool_connect(missing, NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_NONEXIST);
    CHECK(strstr(explanation(), missing) != NULL);
    CHECK_RC(daos_pool_connect(NULL, NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_connect(path, NULL, DAOS_PC_RW, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_connect("", NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_connect("..", NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_connect("daos://pool", NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_connect("no-such-label", NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_NONEXIST);
    CHECK_RC(daos_pool_connect("00000000-0000-4000-8000-000000000000", NULL, DAOS_PC_RW, &poh, NULL, NULL),
             -DER_NONEXIST);
    CHECK_RC(daos_pool_connect(path, NULL, 0, &poh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_connect(path, NULL, DAOS_PC_RO | DAOS_PC_RW, &poh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_connect(path, NULL, DAOS_PC_EX, &poh, NULL, NULL), -DER_NOTSUPPORTED);

    CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RO, &poh, NULL, NULL));
    CHECK_RC(daos_cont_create_with_label(poh, "x", NULL, NULL, NULL), -DER_NO_PERM);
    CHECK_RC(daos_cont_destroy(poh, "container", 1, NULL), -DER_NO_PERM);
    CHECK_RC(daos_pool_connect(path, "othersys", DAOS_PC_RO, &coh, NULL, NULL), -DER_INVAL);
    CHECK(strstr(explanation(), "othersys") != NULL);
    CHECK_RC(daos_pool_connect(path, "a name of some thirty letters", DAOS_PC_RO, &coh, NULL, NULL),
             -DER_OVERFLOW);
    CHECK_RC(daos_pool_query_target(poh, 100000, 0, &target, NULL), -DER_NONEXIST);
    CHECK_RC(daos_pool_query_target(poh, 0, 7, &target, NULL), -DER_NONEXIST);
    CHECK_RC(daos_pool_query_target(poh, 0, 0, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_pool_list_cont(poh, NULL, NULL, NULL), -DER_INVAL);
    struct daos_pool_cont_info infos[1];
    CHECK_OK(daos_pool_list_cont(poh, &count, infos, NULL)); /* room for none: their number */
    CHECK(count >= 1);
    CHECK_OK(daos_pool_disconnect(poh, NULL));
    CHECK_RC(daos_pool_disconnect(poh, NULL), -DER_NO_HDL);
    CHECK_RC(daos_pool_query(poh, NULL, NULL, NULL, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_open(poh, "container", DAOS_COO_RW, &coh, NULL, NULL), -DER_NO_HDL);
}

static void containers(struct store const* store)
{
    daos_handle_t coh;
    uint64_t oid;
    int nr = 0;
    daos_epoch_t epoch;
    CHECK_RC(daos_cont_open(store->pool, "missing", DAOS_COO_RW, &coh, NULL, NULL), -DER_NONEXIST);
    CHECK(strstr(explanation(), "missing") != NULL);
    CHECK_RC(daos_cont_open(store->pool, NULL, DAOS_COO_RW, &coh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_open(store->pool, "container", DAOS_COO_RW, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_open(store->pool, "no/label", DAOS_COO_RW, &coh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_open(store->pool, "container", 0, &coh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_open(store->pool, "container", DAOS_COO_RW | DAOS_COO_RO, &coh, NULL, NULL),
             -DER_INVAL);
    CHECK_RC(daos_cont_open(store->pool, "container", DAOS_COO_EX, &coh, NULL, NULL), -DER_NOTSUPPORTED);
    CHECK_RC(daos_cont_open(store->container, "container", DAOS_COO_RW, &coh, NULL, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_create_with_label(store->pool, "container", NULL, NULL, NULL), -DER_EXIST);
    CHECK_RC(daos_cont_create_with_label(store->pool, NULL, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_create_with_label(store->pool, "", NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_create_with_label(store->pool, "a b", NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_destroy(store->pool, "missing", 0, NULL), -DER_NONEXIST);
    CHECK_RC(daos_cont_destroy(store->pool, "container", 0, NULL), -DER_BUSY);
    CHECK_RC(daos_pool_disconnect(store->pool, NULL), -DER_BUSY);
    CHECK_RC(daos_cont_alloc_oids(store->container, 0, &oid, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_alloc_oids(store->container, 1, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_alloc_oids(store->container, UINT64_MAX, &oid, NULL), -DER_OVERFLOW);
    CHECK(strstr(explanation(), "2^48") != NULL);
    CHECK_OK(daos_cont_alloc_oids(store->container, 1, &oid, NULL));
    CHECK_RC(daos_cont_list_snap(store->container, NULL, NULL, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_list_snap(store->container, &nr, NULL, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_create_snap(store->container, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_create_snap_opt(store->container, &epoch, NULL, DAOS_SNAP_OPT_OIT, NULL), -DER_NOSYS);
    CHECK_RC(daos_tx_open_snap(store->container, 0, &coh, NULL), -DER_INVAL);
    CHECK_RC(daos_tx_open_snap(store->container, DAOS_EPOCH_MAX, &coh, NULL), -DER_INVAL);
    CHECK_RC(daos_tx_open_snap(store->container, 12345, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_tx_hdl2epoch(DAOS_TX_NONE, &epoch), -DER_INVAL);
    CHECK_RC(daos_tx_hdl2epoch(store->container, &epoch), -DER_NO_HDL);
    CHECK_RC(daos_cont_create_with_label(store->pool, DAOS_PROP_CO_LABEL_DEFAULT, NULL, NULL, NULL),
             -DER_INVAL);

    CHECK_OK(daos_cont_open(store->pool, "container", DAOS_COO_RO, &coh, NULL, NULL));
    daos_handle_t kv;
    CHECK_OK(daos_cont_alloc_oids(coh, 1, &oid, NULL)); /* as in libdaos: ids are no content */
    CHECK_RC(daos_cont_create_snap(coh, &epoch, NULL, NULL), -DER_NO_PERM);
    CHECK_OK(daos_kv_open(coh, kv_oid(coh, 1, "S1"), DAOS_OO_RW, &kv, NULL));
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "k", 1, "v", NULL), -DER_NO_PERM);
    daos_handle_t array;
    CHECK_RC(daos_array_create(coh, array_oid(coh, 1, "S1"), DAOS_TX_NONE, 1, 1, &array, NULL), -DER_NO_PERM);
    /* Closing a container closes what was opened from it (2.6.5 does so). */
    CHECK_OK(daos_cont_close(coh, NULL));
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "k", 1, "v", NULL), -DER_NO_HDL);
    CHECK_RC(daos_kv_close(kv, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_close(coh, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_query(coh, NULL, NULL, NULL), -DER_NO_HDL);
}

/* As in libdaos, a container opens for writing also on a pool connected for reading; here the first update
 * tells. */
static void written_on_a_read_only_pool(struct store const* store)
{
    daos_handle_t poh;
    daos_handle_t coh;
    daos_handle_t kv;
    daos_handle_t array;
    daos_epoch_t epoch;
    uint64_t oid;
    char value[8];
    daos_size_t size = sizeof value;
    struct request request;
    struct memory memory;
    CHECK_OK(daos_kv_open(store->container, kv_oid(store->container, 70, "S1"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 6, "before", NULL));
    CHECK_OK(daos_kv_close(kv, NULL));

    CHECK_OK(daos_pool_connect(store->path, NULL, DAOS_PC_RO, &poh, NULL, NULL));
    CHECK_OK(daos_cont_open(poh, "container", DAOS_COO_RO, &coh, NULL, NULL));
    CHECK_OK(daos_kv_open(coh, kv_oid(coh, 70, "S1"), DAOS_OO_RW, &kv, NULL));
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 5, "after", NULL), -DER_NO_PERM);
    CHECK(strstr(explanation(), "DAOS_COO_RW") != NULL);
    CHECK_RC(daos_kv_remove(kv, DAOS_TX_NONE, 0, "key", NULL), -DER_NO_PERM);
    CHECK_RC(daos_kv_destroy(kv, DAOS_TX_NONE, NULL), -DER_NO_PERM);
    CHECK_RC(daos_array_create(coh, array_oid(coh, 71, "S1"), DAOS_TX_NONE, 1, 8, &array, NULL),
             -DER_NO_PERM);
    daos_obj_id_t attr = {72, 0};
    CHECK_OK(daos_array_generate_oid(coh, &attr, false, OC_S1, 0, 0));
    CHECK_OK(daos_array_open_with_attr(coh, attr, DAOS_TX_NONE, DAOS_OO_RW, 1, 8, &array, NULL));
    CHECK_RC(
        daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, 8), memory_of(&memory, value, 8), NULL),
        -DER_NO_PERM);
    CHECK_RC(daos_cont_create_snap(coh, &epoch, NULL, NULL), -DER_NO_PERM);
    CHECK_RC(daos_cont_alloc_oids(coh, 1, &oid, NULL), -DER_NO_PERM);
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "key", &size, value, NULL));
    CHECK(size == 6 && memcmp(value, "before", 6) == 0);
    CHECK_OK(daos_cont_close(coh, NULL));

    /* The connection is for reading, and the container is not: its rights count. */
    CHECK_OK(daos_cont_open(poh, "container", DAOS_COO_RW, &coh, NULL, NULL));
    CHECK_OK(daos_kv_open(coh, kv_oid(coh, 70, "S1"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 5, "after", NULL));
    CHECK_OK(daos_cont_alloc_oids(coh, 1, &oid, NULL));
    CHECK_RC(daos_cont_create_with_label(poh, "new", NULL, NULL, NULL), -DER_NO_PERM);
    CHECK_OK(daos_cont_close(coh, NULL));
    CHECK_OK(daos_pool_disconnect(poh, NULL));
    CHECK_OK(daos_kv_open(store->container, kv_oid(store->container, 70, "S1"), DAOS_OO_RW, &kv, NULL));
    size = sizeof value;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "key", &size, value, NULL));
    CHECK(size == 5 && memcmp(value, "after", 5) == 0);
    CHECK_OK(daos_kv_close(kv, NULL));
}

static void object_ids(daos_handle_t container)
{
    daos_obj_id_t oid = {1, 0};
    daos_handle_t oh;
    CHECK_RC(daos_obj_generate_oid(container, NULL, DAOS_OT_KV_HASHED, OC_S1, 0, 0), -DER_INVAL);
    CHECK_RC(daos_obj_generate_oid(none, &oid, DAOS_OT_KV_HASHED, OC_S1, 0, 0), -DER_NO_HDL);
    CHECK_RC(daos_obj_generate_oid(container, &oid, (enum daos_otype_t)77, OC_S1, 0, 0), -DER_INVAL);
    CHECK_RC(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, 12345, 0, 0), -DER_INVAL);
    CHECK_RC(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_EC_4P1G1, 0, 0), -DER_INVAL);
    CHECK(strstr(explanation(), "EC_4P1G1") != NULL);
    CHECK_RC(daos_kv_open(container, oid, DAOS_OO_RW, &oh, NULL), -DER_INVAL); /* no type, no class */
    CHECK_RC(daos_obj_open(container, oid, DAOS_OO_RW, &oh, NULL), -DER_INVAL);
    oid.hi = (uint64_t)DAOS_OT_KV_HASHED << OID_FMT_TYPE_SHIFT; /* a type, no class */
    CHECK_RC(daos_kv_open(container, oid, DAOS_OO_RW, &oh, NULL), -DER_INVAL);
    CHECK(strstr(explanation(), "daos_obj_generate_oid") != NULL);
}

static void key_values(daos_handle_t container)
{
    daos_handle_t kv;
    daos_handle_t reader;
    daos_size_t size = 1;
    char value[1];
    daos_obj_id_t const oid = kv_oid(container, 2, "S2");
    CHECK_RC(daos_kv_open(container, array_oid(container, 2, "S2"), DAOS_OO_RW, &kv, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_open(container, oid, DAOS_OO_RW, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_open(none, oid, DAOS_OO_RW, &kv, NULL), -DER_NO_HDL);
    CHECK_OK(daos_kv_open(container, oid, DAOS_OO_RW, &kv, NULL));
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, NULL, 1, "v", NULL), -DER_INVAL);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "", 1, "v", NULL), -DER_INVAL);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "k", 1, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_put(kv, container, 0, "k", 1, "v", NULL), -DER_NO_HDL); /* no transaction */
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, 0, NULL, &size, value, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, 0, "k", NULL, value, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_remove(kv, DAOS_TX_NONE, 0, NULL, NULL), -DER_INVAL);
    size_t const length = (1 << 20) + 1;
    char* long_key = malloc(length + 1);
    CHECK(long_key != NULL);
    memset(long_key, 'k', length);
    long_key[length] = '\0';
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, long_key, 1, "v", NULL), -DER_KEY2BIG);
    free(long_key);

    uint32_t nr = 1;
    daos_key_desc_t descriptor;
    struct memory memory;
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    d_sg_list_t* list = memory_of(&memory, value, sizeof value);
    CHECK_RC(daos_kv_list(kv, DAOS_TX_NONE, NULL, &descriptor, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_list(kv, DAOS_TX_NONE, &nr, NULL, list, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, NULL, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, list, NULL, NULL), -DER_INVAL);
    nr = 0;
    CHECK_RC(daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, list, &anchor, NULL), -DER_INVAL);
    nr = 1;
    memory.piece.iov_buf = NULL;
    CHECK_RC(daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, list, &anchor, NULL), -DER_INVAL);
    memory.piece.iov_buf = value;
    memset(&anchor, 0xff, sizeof anchor);
    CHECK_RC(daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, list, &anchor, NULL), -DER_INVAL);

    CHECK_OK(daos_kv_open(container, oid, DAOS_OO_RO, &reader, NULL));
    CHECK_RC(daos_kv_put(reader, DAOS_TX_NONE, 0, "k", 1, "v", NULL), -DER_NO_PERM);
    CHECK_RC(daos_kv_remove(reader, DAOS_TX_NONE, 0, "k", NULL), -DER_NO_PERM);
    CHECK_RC(daos_kv_destroy(reader, DAOS_TX_NONE, NULL), -DER_NO_PERM);
    CHECK_RC(daos_array_close(reader, NULL), -DER_NO_HDL); /* of another kind */
    CHECK_OK(daos_kv_close(reader, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));
    CHECK_RC(daos_kv_close(kv, NULL), -DER_NO_HDL);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "k", 1, "v", NULL), -DER_NO_HDL);
}

static void arrays(daos_handle_t container)
{
    daos_handle_t array;
    daos_size_t cell;
    daos_size_t chunk;
    uint64_t cells[4] = {0};
    struct request request;
    struct memory memory;
    daos_obj_id_t const oid = array_oid(container, 3, "S2");
    daos_obj_id_t const kv = kv_oid(container, 3, "S2");
    daos_obj_id_t attr = {4, 0};
    CHECK_OK(daos_array_generate_oid(container, &attr, false, OC_S1, 0, 0));
    CHECK_RC(daos_array_create(container, oid, DAOS_TX_NONE, 0, 8, &array, NULL), -DER_INVAL);
    CHECK_RC(daos_array_create(container, oid, DAOS_TX_NONE, 8, 0, &array, NULL), -DER_INVAL);
    CHECK(strstr(explanation(), "chunk size is 0") != NULL);
    CHECK_RC(daos_array_create(container, oid, DAOS_TX_NONE, 8, (1ULL << 63) - 1, &array, NULL),
             -DER_OVERFLOW);
    CHECK(strstr(explanation(), "beyond 2^63 bytes") != NULL);
    CHECK_RC(daos_array_create(container, oid, DAOS_TX_NONE, 8, 8, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_array_create(container, kv, DAOS_TX_NONE, 8, 8, &array, NULL), -DER_INVAL);
    CHECK_RC(daos_array_open(container, kv, DAOS_TX_NONE, DAOS_OO_RW, &cell, &chunk, &array, NULL),
             -DER_INVAL);
    CHECK_RC(daos_array_open(container, attr, DAOS_TX_NONE, DAOS_OO_RW, &cell, &chunk, &array, NULL),
             -DER_INVAL);
    CHECK_RC(daos_array_open(container, oid, DAOS_TX_NONE, DAOS_OO_RW, NULL, &chunk, &array, NULL),
             -DER_INVAL);
    CHECK_RC(daos_array_open(container, oid, DAOS_TX_NONE, DAOS_OO_RW, &cell, NULL, &array, NULL),
             -DER_INVAL);
    CHECK_RC(daos_array_open_with_attr(container, oid, DAOS_TX_NONE, DAOS_OO_RW, 8, 8, &array, NULL),
             -DER_INVAL);
    CHECK_RC(daos_array_open_with_attr(container, attr, DAOS_TX_NONE, DAOS_OO_RW, 8, 0, &array, NULL),
             -DER_INVAL);
    CHECK_RC(daos_array_open_with_attr(container, attr, DAOS_TX_NONE, DAOS_OO_RW, 0, 8, &array, NULL),
             -DER_INVAL);

    CHECK_OK(daos_array_create(container, oid, DAOS_TX_NONE, 8, 8, &array, NULL));
    d_sg_list_t* list = memory_of(&memory, cells, sizeof cells);
    daos_array_iod_t* iod = request_of(&request, 0, 4);
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, NULL, list, NULL), -DER_INVAL);
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, iod, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_array_read(array, DAOS_TX_NONE, NULL, list, NULL), -DER_INVAL);
    CHECK_RC(daos_array_read(array, DAOS_TX_NONE, iod, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_array_punch(array, DAOS_TX_NONE, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_array_get_size(array, DAOS_TX_NONE, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_array_stat(array, DAOS_TX_NONE, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_array_get_attr(array, NULL, &cell), -DER_INVAL);
    CHECK_RC(daos_array_get_attr(array, &chunk, NULL), -DER_INVAL);
    request.range.rg_len = 3; /* less than the memory */
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, iod, list, NULL), -DER_INVAL);
    CHECK_RC(daos_array_read(array, DAOS_TX_NONE, iod, list, NULL), -DER_INVAL);
    request.range.rg_len = (1ULL << 61) + 4; /* the same, modulo 2^64 bytes */
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, iod, list, NULL), -DER_INVAL);
    request.range.rg_len = 4;
    request.range.rg_idx = UINT64_MAX - 1; /* beyond what there can be */
    CHECK(daos_array_write(array, DAOS_TX_NONE, iod, list, NULL) < 0);
    request.range.rg_idx = 0;
    iod->arr_rgs = NULL;
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, iod, list, NULL), -DER_INVAL);
    iod->arr_rgs = &request.range;
    memory.piece.iov_buf = NULL;
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, iod, list, NULL), -DER_INVAL);
    list->sg_iovs = NULL;
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, iod, list, NULL), -DER_INVAL);
    CHECK_OK(daos_array_close(array, NULL));

    CHECK_OK(daos_array_open(container, oid, DAOS_TX_NONE, DAOS_OO_RO, &cell, &chunk, &array, NULL));
    list = memory_of(&memory, cells, sizeof cells);
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, iod, list, NULL), -DER_NO_PERM);
    CHECK_RC(daos_array_set_size(array, DAOS_TX_NONE, 1, NULL), -DER_NO_PERM);
    CHECK_RC(daos_array_punch(array, DAOS_TX_NONE, iod, NULL), -DER_NO_PERM);
    CHECK_RC(daos_array_destroy(array, DAOS_TX_NONE, NULL), -DER_NO_PERM);
    CHECK_RC(daos_kv_close(array, NULL), -DER_NO_HDL);
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_RC(daos_array_read(array, DAOS_TX_NONE, iod, list, NULL), -DER_NO_HDL);
    CHECK_RC(daos_array_get_attr(array, &chunk, &cell), -DER_NO_HDL);
}

/* A container that another one destroys while it is open. */
static void destroyed_container(struct store const* store)
{
    daos_handle_t coh;
    daos_handle_t kv;
    daos_size_t size = 0;
    CHECK_OK(daos_cont_create_with_label(store->pool, "short-lived", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(store->pool, "short-lived", DAOS_COO_RW, &coh, NULL, NULL));
    CHECK_OK(daos_kv_open(coh, kv_oid(coh, 1, "S1"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 1, "v", NULL));
    CHECK_RC(daos_cont_destroy(store->pool, "short-lived", 0, NULL), -DER_BUSY);
    CHECK_OK(daos_cont_destroy(store->pool, "short-lived", 1, NULL));
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "key", &size, NULL, NULL), -DER_NO_HDL);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 1, "v", NULL), -DER_NO_HDL);
    CHECK_OK(daos_kv_close(kv, NULL));
    CHECK_OK(daos_cont_close(coh, NULL));
}

/* Cookies that were never given, and all bits around those that were. */
static void foreign_handles(struct store const* store)
{
    for (int bit = 0; bit < 64; ++bit) {
        daos_handle_t const alone = {1ULL << bit};
        daos_handle_t const near = {store->container.cookie ^ (1ULL << bit)};
        if (alone.cookie != store->container.cookie)
            CHECK_RC(daos_cont_query(alone, NULL, NULL, NULL), -DER_NO_HDL);
        CHECK_RC(daos_cont_query(near, NULL, NULL, NULL), -DER_NO_HDL);
    }
    daos_handle_t const all = {UINT64_MAX};
    CHECK_RC(daos_cont_query(all, NULL, NULL, NULL), -DER_NO_HDL);
}

int main(void)
{
    before_init();
    struct store store = open_store();
    pools(store.path);
    containers(&store);
    written_on_a_read_only_pool(&store);
    object_ids(store.container);
    key_values(store.container);
    arrays(store.container);
    destroyed_container(&store);
    foreign_handles(&store);

    /* The library is counted; the last fini closes what is open. */
    CHECK_OK(daos_init());
    CHECK_OK(daos_fini());
    CHECK_OK(daos_cont_query(store.container, NULL, NULL, NULL));
    CHECK_OK(daos_fini());
    CHECK_RC(daos_cont_query(store.container, NULL, NULL, NULL), -DER_UNINIT);
    CHECK_RC(daos_fini(), -DER_UNINIT);
    CHECK_OK(daos_init());
    CHECK_RC(daos_cont_query(store.container, NULL, NULL, NULL), -DER_NO_HDL);
    CHECK_RC(daos_pool_disconnect(store.pool, NULL), -DER_NO_HDL);
    CHECK_OK(daos_fini());
    return 0;
}
