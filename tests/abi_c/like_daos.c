/* Where programs written for DAOS once met something else here: closing, epochs, object classes, lists of
 * memory, properties that are pointers. */
#include "check.h"

#include "stepstore/admin.h"

/* daos_obj_close() closes handles of key-value objects and arrays too. */
static void closing(daos_handle_t container)
{
    daos_handle_t kv;
    daos_handle_t array;
    daos_handle_t object;
    daos_obj_id_t const oid = kv_oid(container, 1, "S1");
    CHECK_OK(daos_kv_open(container, oid, DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_array_create(container, array_oid(container, 2, "S1"), DAOS_TX_NONE, 1, 64, &array, NULL));
    CHECK_OK(daos_obj_open(container, oid, DAOS_OO_RO, &object, NULL));
    CHECK_OK(daos_obj_close(kv, NULL));
    CHECK_OK(daos_obj_close(array, NULL));
    CHECK_OK(daos_obj_close(object, NULL));
    CHECK_RC(daos_obj_close(kv, NULL), -DER_NO_HDL);
    CHECK_RC(daos_kv_close(kv, NULL), -DER_NO_HDL);
    CHECK_RC(daos_array_close(array, NULL), -DER_NO_HDL);
    CHECK_RC(daos_obj_close(container, NULL), -DER_NO_HDL);
    CHECK_OK(daos_kv_open(container, oid, DAOS_OO_RW, &kv, NULL)); /* the others stay strict */
    CHECK_RC(daos_array_close(kv, NULL), -DER_NO_HDL);
    CHECK_OK(daos_kv_close(kv, NULL));
}

static daos_epoch_t max_epoch(daos_handle_t container, daos_obj_id_t oid)
{
    daos_handle_t object;
    daos_epoch_t epoch = 0;
    CHECK_OK(daos_obj_open(container, oid, DAOS_OO_RO, &object, NULL));
    CHECK_OK(daos_obj_query_max_epoch(object, DAOS_TX_NONE, &epoch, NULL));
    CHECK_OK(daos_obj_close(object, NULL));
    return epoch;
}

/* The epoch of the latest update is greater than before; returns it. */
static daos_epoch_t grown(daos_handle_t container, daos_obj_id_t oid, daos_epoch_t before)
{
    daos_epoch_t const now = max_epoch(container, oid);
    CHECK(now > before);
    return now;
}

static void reopen(struct store* store)
{
    CHECK_OK(daos_cont_close(store->container, NULL));
    CHECK_OK(daos_pool_disconnect(store->pool, NULL));
    CHECK_OK(daos_pool_connect(store->path, NULL, DAOS_PC_RW, &store->pool, NULL, NULL));
    CHECK_OK(daos_cont_open(store->pool, "container", DAOS_COO_RW, &store->container, NULL, NULL));
}

static void epochs_of_key_values(struct store* store)
{
    static char const* const classes[] = {"S1", "SX", "RP_2G2"};
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; ++i) {
        daos_handle_t kv;
        daos_obj_id_t const oid = kv_oid(store->container, 10 + i, classes[i]);
        daos_epoch_t epoch = 0;
        char key[8];
        CHECK_EQUAL(max_epoch(store->container, oid), 0);
        CHECK_OK(daos_kv_open(store->container, oid, DAOS_OO_RW, &kv, NULL));
        for (int k = 0; k < 20; ++k) {
            snprintf(key, sizeof key, "%d", k);
            CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, key, 1, "x", NULL));
            epoch = grown(store->container, oid, epoch);
        }
        for (int k = 19; k >= 0; --k) { /* the newest first */
            snprintf(key, sizeof key, "%d", k);
            CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, 0, key, NULL));
            epoch = grown(store->container, oid, epoch);
        }
        CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, 0, "none", NULL)); /* nothing was there */
        CHECK_EQUAL(max_epoch(store->container, oid), epoch);
        CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 1, "x", NULL));
        epoch = grown(store->container, oid, epoch);
        CHECK_OK(daos_kv_destroy(kv, DAOS_TX_NONE, NULL));
        epoch = grown(store->container, oid, epoch);
        CHECK_OK(daos_kv_close(kv, NULL));
        reopen(store);
        CHECK_EQUAL(max_epoch(store->container, oid), epoch);
    }
}

static void epochs_of_arrays(struct store* store)
{
    daos_handle_t array;
    daos_array_stbuf_t before;
    daos_array_stbuf_t after;
    static char cells[200];
    struct request request;
    struct memory memory;
    daos_size_t cell_size;
    daos_size_t chunk_size;
    daos_obj_id_t const oid = array_oid(store->container, 20, "SX");
    CHECK_OK(daos_array_create(store->container, oid, DAOS_TX_NONE, 1, 16, &array, NULL));
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, 200),
                              memory_of(&memory, cells, 200), NULL));
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &before, NULL));
    CHECK_OK(daos_array_punch(array, DAOS_TX_NONE, request_of(&request, 100, 100), NULL));
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &after, NULL));
    CHECK(after.st_max_epoch > before.st_max_epoch);
    CHECK_OK(daos_array_set_size(array, DAOS_TX_NONE, 0, NULL));
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &before, NULL));
    CHECK(before.st_max_epoch > after.st_max_epoch);
    CHECK_OK(daos_array_close(array, NULL));
    reopen(store);
    CHECK_OK(daos_array_open(store->container, oid, DAOS_TX_NONE, DAOS_OO_RW, &cell_size, &chunk_size, &array,
                             NULL));
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &after, NULL));
    CHECK_EQUAL(after.st_max_epoch, before.st_max_epoch);
    CHECK_OK(daos_array_destroy(array, DAOS_TX_NONE, NULL));
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &after, NULL));
    CHECK(after.st_max_epoch > before.st_max_epoch);
    CHECK_OK(daos_array_close(array, NULL));
}

/* The clock that epochs come from. time() reads a coarser one, which can be a tick late at the edge of a
 * second. */
static time_t time_of_day(void)
{
    struct timespec now;
    CHECK(timespec_get(&now, TIME_UTC) == TIME_UTC);
    return now.tv_sec;
}

/* What a snapshot's reader is told does not change, and the clock that epochs are of. */
static void epochs_and_time(daos_handle_t container)
{
    daos_handle_t kv;
    daos_handle_t th;
    daos_epoch_t snapshot;
    daos_epoch_t told;
    struct timespec time;
    time_t seconds;
    daos_handle_t object;
    daos_obj_id_t const oid = kv_oid(container, 30, "S1");
    CHECK_OK(daos_kv_open(container, oid, DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 1, "x", NULL));
    daos_epoch_t const put = max_epoch(container, oid);
    CHECK_OK(daos_cont_create_snap(container, &snapshot, NULL, NULL));
    CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, 0, "key", NULL));
    CHECK_OK(daos_tx_open_snap(container, snapshot, &th, NULL));
    CHECK_OK(daos_obj_open(container, oid, DAOS_OO_RO, &object, NULL));
    CHECK_OK(daos_obj_query_max_epoch(object, th, &told, NULL));
    CHECK_EQUAL(told, put);
    CHECK_OK(daos_obj_close(object, NULL));
    CHECK_OK(daos_tx_close(th, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));

    CHECK_OK(daos_hlc2timespec(snapshot, &time));
    CHECK_OK(daos_hlc2timestamp(snapshot, &seconds));
    CHECK_EQUAL(seconds, time.tv_sec);
    CHECK(time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
    time_t const now = time_of_day();
    CHECK(seconds <= now && seconds > now - 60);
    daos_cont_info_t info;
    CHECK_OK(daos_cont_query(container, &info, NULL, NULL));
    CHECK_OK(daos_hlc2timestamp(info.ci_md_mtime, &seconds));
    CHECK(seconds <= now && seconds > now - 60);
    CHECK_OK(daos_hlc2timespec(1500000000250000000, &time));
    CHECK(time.tv_sec == 1500000000 && time.tv_nsec == 250000000);
    CHECK_RC(daos_hlc2timespec(snapshot, NULL), -DER_INVAL);
    CHECK_RC(daos_hlc2timestamp(snapshot, NULL), -DER_INVAL);
}

/* A class over more targets than there are: refused where its id is made. */
static void classes(void)
{
    struct stepstore_pool_options const one = {.targets = 1};
    daos_handle_t pool;
    daos_handle_t container;
    daos_obj_id_t oid = {.lo = 1};
    char path[512];
    snprintf(path, sizeof path, "%s-of-one-target", new_pool());
    CHECK_OK(stepstore_pool_create(path, &one));
    CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RW, &pool, NULL, NULL));
    CHECK_OK(daos_cont_create_with_label(pool, "container", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(pool, "container", DAOS_COO_RW, &container, NULL, NULL));
    CHECK_RC(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_S2, 0, 0), -DER_INVAL);
    CHECK_RC(daos_array_generate_oid(container, &oid, true, OC_S2, 0, 0), -DER_INVAL);
    CHECK(strstr(explanation(), "S2 needs 2 targets, and the pool has 1") != NULL);
    CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_SX, 0, 0));
    CHECK_EQUAL(daos_obj_id2class(oid), OC_S1);
    CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_UNKNOWN, DAOS_OCH_SHD_REG, 0));
    CHECK_EQUAL(daos_obj_id2class(oid), OC_S1);
    CHECK_OK(daos_cont_close(container, NULL));
    CHECK_OK(daos_pool_disconnect(pool, NULL));
    CHECK_OK(stepstore_pool_destroy(path));
}

/* A list of memory that says to hold more than there is of it. */
static void lengths(daos_handle_t container)
{
    daos_handle_t array;
    char cells[64];
    struct request request;
    struct memory memory;
    CHECK_OK(daos_array_create(container, array_oid(container, 40, "S1"), DAOS_TX_NONE, 1, 64, &array, NULL));
    memset(cells, 'w', sizeof cells);
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, 64), memory_of(&memory, cells, 64),
                              NULL));
    memset(cells, 'r', sizeof cells);
    memory.piece.iov_buf_len = 16;
    CHECK_RC(daos_array_read(array, DAOS_TX_NONE, &request.iod, &memory.list, NULL), -DER_INVAL);
    CHECK(strstr(explanation(), "iov_buf_len") != NULL);
    for (unsigned i = 0; i < sizeof cells; ++i)
        CHECK(cells[i] == 'r');
    CHECK_RC(daos_array_write(array, DAOS_TX_NONE, &request.iod, &memory.list, NULL), -DER_INVAL);
    CHECK_OK(daos_array_close(array, NULL));
}

static void pointers(void)
{
    daos_prop_t* list = daos_prop_alloc(2);
    CHECK(list != NULL);
    list->dpp_entries[0].dpe_type = DAOS_PROP_CO_ACL;
    list->dpp_entries[1].dpe_type = DAOS_PROP_CO_LABEL;
    CHECK_OK(daos_prop_entry_set_ptr(&list->dpp_entries[0], "bytes", 6));
    CHECK(strcmp(list->dpp_entries[0].dpe_val_ptr, "bytes") == 0);
    CHECK_OK(daos_prop_set_ptr(list, DAOS_PROP_CO_ACL, "others", 7));
    CHECK(strcmp(list->dpp_entries[0].dpe_val_ptr, "others") == 0);
    CHECK_OK(daos_prop_entry_set_ptr(&list->dpp_entries[0], NULL, 0));
    CHECK(list->dpp_entries[0].dpe_val_ptr == NULL);
    CHECK_RC(daos_prop_entry_set_ptr(&list->dpp_entries[1], "bytes", 6), -DER_INVAL);
    CHECK_RC(daos_prop_entry_set_ptr(NULL, "bytes", 6), -DER_INVAL);
    CHECK_RC(daos_prop_set_ptr(list, DAOS_PROP_CO_ROOTS, "bytes", 6), -DER_NONEXIST);
    CHECK_OK(daos_prop_entry_set_ptr(&list->dpp_entries[0], "freed", 6));
    daos_prop_free(list);

    struct daos_co_status status = {DAOS_PROP_CO_UNCLEAN, DAOS_PROP_CO_CLEAR, 7};
    uint64_t const number = daos_prop_co_status_2_val(&status);
    CHECK(number == 0x0001000100000007);
    daos_prop_val_2_co_status(number, &status);
    CHECK(status.dcs_status == 1 && status.dcs_flags == 1 && status.dcs_pm_ver == 7);
}

int main(void)
{
    struct store store = open_store();
    closing(store.container);
    epochs_of_key_values(&store);
    epochs_of_arrays(&store);
    epochs_and_time(store.container);
    classes();
    lengths(store.container);
    pointers();
    close_store(&store);
    return 0;
}
