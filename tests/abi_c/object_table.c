/* The objects of a snapshot (daos_oit_), as FDB's own DAOS back end lists the fields of a container. */
#include "check.h"

enum { objects = 57 };

static void make(daos_handle_t container, int i)
{
    daos_handle_t handle;
    if (i % 2 == 0) {
        CHECK_OK(daos_kv_open(container, kv_oid(container, (uint64_t)i, "SX"), DAOS_OO_RW, &handle, NULL));
        CHECK_OK(daos_kv_put(handle, DAOS_TX_NONE, 0, "key", 1, "x", NULL));
        CHECK_OK(daos_kv_close(handle, NULL));
    } else {
        daos_obj_id_t const oid = array_oid(container, (uint64_t)i, "S1");
        CHECK_OK(daos_array_create(container, oid, DAOS_TX_NONE, 1, 8, &handle, NULL));
        CHECK_OK(daos_array_close(handle, NULL));
    }
}

static daos_epoch_t snapshot(daos_handle_t container)
{
    daos_epoch_t epoch;
    enum daos_snapshot_opts const both = (enum daos_snapshot_opts)(DAOS_SNAP_OPT_CR | DAOS_SNAP_OPT_OIT);
    CHECK_OK(daos_cont_create_snap_opt(container, &epoch, NULL, both, NULL));
    return epoch;
}

/* How many objects there are, in steps of `room`; each is one that was made, and none comes twice. */
static int list(daos_handle_t container, daos_epoch_t epoch, uint32_t room, daos_event_t* ev)
{
    daos_handle_t table;
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_obj_id_t oids[objects + 1];
    bool seen[objects] = {false};
    bool done = true;
    int count = 0;
    CHECK_OK(daos_oit_open(container, epoch, &table, ev));
    if (ev) CHECK_OK(daos_event_test(ev, DAOS_EQ_WAIT, &done));
    while (!daos_anchor_is_eof(&anchor)) {
        uint32_t nr = room;
        CHECK_OK(daos_oit_list(table, oids, &nr, &anchor, ev));
        if (ev) CHECK_OK(daos_event_test(ev, DAOS_EQ_WAIT, &done));
        CHECK(done && nr <= room);
        for (uint32_t i = 0; i < nr; ++i) {
            CHECK(oids[i].lo < objects && !seen[oids[i].lo]);
            CHECK(daos_is_kv(oids[i]) == (oids[i].lo % 2 == 0) &&
                  daos_is_array(oids[i]) == (oids[i].lo % 2 == 1));
            seen[oids[i].lo] = true;
        }
        count += (int)nr;
    }
    uint32_t nr = room;
    CHECK_OK(daos_oit_list(table, oids, &nr, &anchor, NULL)); /* at the end it stays there */
    CHECK_EQUAL(nr, 0);
    CHECK_OK(daos_oit_close(table, NULL));
    CHECK_RC(daos_oit_close(table, NULL), -DER_NO_HDL);
    return count;
}

static void destroy(daos_handle_t container, daos_epoch_t epoch)
{
    daos_epoch_range_t const range = {epoch, epoch};
    CHECK_OK(daos_cont_destroy_snap(container, range, NULL));
}

static void errors(daos_handle_t container, daos_epoch_t epoch)
{
    daos_handle_t table;
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_obj_id_t oid;
    uint32_t nr = 0;
    CHECK_RC(daos_oit_open(container, epoch + 1, &table, NULL), -DER_NONEXIST);
    CHECK_RC(daos_oit_open(container, epoch, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_open(DAOS_HDL_INVAL, epoch, &table, NULL), -DER_NO_HDL);
    CHECK_OK(daos_oit_open(container, epoch, &table, NULL));
    CHECK_RC(daos_oit_list(table, &oid, &nr, &anchor, NULL), -DER_INVAL);
    nr = 1;
    CHECK_RC(daos_oit_list(table, NULL, &nr, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list(table, &oid, NULL, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list(table, &oid, &nr, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list(container, &oid, &nr, &anchor, NULL), -DER_NO_HDL);
    memset(&anchor, 0xff, sizeof anchor);
    CHECK_RC(daos_oit_list(table, &oid, &nr, &anchor, NULL), -DER_INVAL);
    CHECK_OK(daos_oit_close(table, NULL));
}

int main(void)
{
    struct store store = open_store();
    daos_event_t event;
    daos_epoch_t const empty = snapshot(store.container);
    for (int i = 0; i < objects; ++i)
        make(store.container, i);
    daos_epoch_t const full = snapshot(store.container);
    daos_handle_t kv;
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 2, "SX"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_kv_destroy(kv, DAOS_TX_NONE, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));
    daos_epoch_t const less = snapshot(store.container);
    CHECK_EQUAL(list(store.container, empty, 10, NULL), 0);
    CHECK_EQUAL(list(store.container, full, 10, NULL), objects);
    CHECK_EQUAL(list(store.container, full, 1, NULL), objects);
    CHECK_EQUAL(list(store.container, full, objects, NULL), objects);
    CHECK_EQUAL(list(store.container, full, objects + 1, NULL), objects);
    CHECK_EQUAL(list(store.container, less, 10, NULL), objects - 1);
    CHECK_OK(daos_event_init(&event, DAOS_HDL_INVAL, NULL));
    CHECK_EQUAL(list(store.container, full, 10, &event), objects);
    CHECK_OK(daos_event_fini(&event));
    errors(store.container, full);
    destroy(store.container, full);
    daos_handle_t table;
    CHECK_RC(daos_oit_open(store.container, full, &table, NULL), -DER_NONEXIST);
    CHECK_EQUAL(list(store.container, less, 10, NULL), objects - 1);
    close_store(&store);
    return 0;
}
