/* Notes of objects in the table of a snapshot: daos_oit_mark and the listings that look at them. */
#include "check.h"

enum { objects = 40 };
static enum daos_snapshot_opts const with_table = DAOS_SNAP_OPT_CR | DAOS_SNAP_OPT_OIT;

static daos_obj_id_t ids[objects];
static int filter_calls;

static int takes_one(daos_obj_id_t oid, d_iov_t* marker)
{
    uint64_t number = 0;
    (void)oid;
    if (marker == NULL || marker->iov_len == 0 || marker->iov_buf == NULL) return 0;
    memcpy(&number, marker->iov_buf, sizeof number);
    return number == 1;
}

static int ends_it(daos_obj_id_t oid, d_iov_t* marker)
{
    (void)oid;
    (void)marker;
    return ++filter_calls == 3 ? -DER_BUSY : 1;
}

static void finish(int result, daos_event_t* event, int expected)
{
    bool done = false;
    if (event == NULL) {
        CHECK_RC(result, expected);
        return;
    }
    CHECK_OK(result);
    CHECK_OK(daos_event_test(event, DAOS_EQ_WAIT, &done));
    CHECK(done);
    CHECK_EQUAL(event->ev_error, expected);
}

/* Which objects a listing gives, in steps of `room`: bit i for ids[i]. */
static uint64_t listed(daos_handle_t table, uint32_t room, daos_oit_filter_cb* filter, daos_event_t* event)
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_obj_id_t oids[objects + 1];
    uint64_t all = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        uint32_t nr = room;
        finish(filter ? daos_oit_list_filter(table, oids, &nr, &anchor, filter, event)
                      : daos_oit_list_unmarked(table, oids, &nr, &anchor, event),
               event, 0);
        CHECK(nr <= room);
        for (uint32_t i = 0; i < nr; ++i) {
            uint64_t const bit = 1ULL << oids[i].lo;
            CHECK(oids[i].lo < objects && (all & bit) == 0);
            CHECK(memcmp(&oids[i], &ids[oids[i].lo], sizeof oids[i]) == 0);
            all |= bit;
        }
    }
    return all;
}

static void mark(daos_handle_t table, int i, uint64_t number, daos_event_t* event)
{
    d_iov_t marker;
    d_iov_set(&marker, &number, sizeof number);
    finish(daos_oit_mark(table, ids[i], &marker, event), event, 0);
}

static void semantics(daos_handle_t table, daos_event_t* event)
{
    uint64_t const every = (1ULL << objects) - 1;
    uint64_t const marked = 1ULL << 0 | 1ULL << 1 | 1ULL << 7 | 1ULL << 15;
    CHECK(listed(table, 7, NULL, event) == every);
    CHECK(listed(table, 7, takes_one, event) == 0);
    mark(table, 0, 1, event);
    mark(table, 1, 1, event);
    mark(table, 7, 0, event);
    mark(table, 15, 0, event);
    for (uint32_t room = 1; room <= objects + 1; room += 5) {
        CHECK(listed(table, room, NULL, event) == (every & ~marked));
        CHECK(listed(table, room, takes_one, event) == 3);
    }
    finish(daos_oit_mark(table, ids[15], NULL, event), event, 0);
    finish(daos_oit_mark(table, ids[15], NULL, event), event, 0); /* nothing to clear is fine */
    CHECK(listed(table, 9, NULL, event) == ((every & ~marked) | 1ULL << 15));
    mark(table, 7, 1, event); /* another one in its place */
    CHECK(listed(table, 9, takes_one, event) == (3 | 1ULL << 7));
}

static void mistakes(daos_handle_t container, daos_handle_t table)
{
    char bytes[DAOS_OIT_MARKER_MAX_LEN + 1] = {1};
    d_iov_t marker;
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_obj_id_t oid = ids[0], stranger = ids[0];
    uint32_t nr = 1;
    stranger.lo = 999;
    d_iov_set(&marker, bytes, DAOS_OIT_MARKER_MAX_LEN);
    CHECK_OK(daos_oit_mark(table, ids[3], &marker, NULL));
    CHECK_OK(daos_oit_mark(table, ids[3], NULL, NULL));
    CHECK_RC(daos_oit_mark(table, stranger, &marker, NULL), -DER_NONEXIST);
    CHECK_RC(daos_oit_mark(container, oid, &marker, NULL), -DER_NO_HDL);
    CHECK_RC(daos_oit_mark(DAOS_HDL_INVAL, oid, &marker, NULL), -DER_NO_HDL);
    marker.iov_len = marker.iov_buf_len = sizeof bytes;
    CHECK_RC(daos_oit_mark(table, oid, &marker, NULL), -DER_INVAL);
    marker.iov_len = 0;
    CHECK_RC(daos_oit_mark(table, oid, &marker, NULL), -DER_INVAL);
    marker.iov_len = 2;
    marker.iov_buf_len = 1;
    CHECK_RC(daos_oit_mark(table, oid, &marker, NULL), -DER_INVAL);
    marker.iov_buf = NULL;
    CHECK_RC(daos_oit_mark(table, oid, &marker, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list_filter(table, &oid, &nr, &anchor, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list_filter(table, NULL, &nr, &anchor, takes_one, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list_filter(table, &oid, NULL, &anchor, takes_one, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list_filter(table, &oid, &nr, NULL, takes_one, NULL), -DER_INVAL);
    CHECK_RC(daos_oit_list_filter(container, &oid, &nr, &anchor, takes_one, NULL), -DER_NO_HDL);
    CHECK_RC(daos_oit_list_unmarked(container, &oid, &nr, &anchor, NULL), -DER_NO_HDL);
    nr = 0;
    CHECK_RC(daos_oit_list_unmarked(table, &oid, &nr, &anchor, NULL), -DER_INVAL);
    nr = 5;
    daos_obj_id_t some[5];
    CHECK_RC(daos_oit_list_filter(table, some, &nr, &anchor, ends_it, NULL), -DER_BUSY);
    CHECK_EQUAL(filter_calls, 3);
    CHECK_EQUAL(anchor.da_type, DAOS_ANCHOR_TYPE_ZERO); /* it can begin again */
}

static void tables(struct store const* store, daos_epoch_t epoch, daos_handle_t table)
{
    char name[] = "name";
    daos_handle_t reader, other, theirs;
    daos_epoch_t later;
    daos_epoch_range_t const range = {epoch, epoch};
    uint64_t const every = (1ULL << objects) - 1;
    CHECK_OK(daos_cont_snap_oit_create(store->container, epoch, NULL, NULL));
    CHECK_RC(daos_cont_snap_oit_create(store->container, epoch, name, NULL), -DER_NOSYS);
    CHECK_RC(daos_cont_snap_oit_create(store->container, epoch + 1, NULL, NULL), -DER_NONEXIST);
    CHECK_RC(daos_cont_snap_oit_create(store->pool, epoch, NULL, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_snap_oit_destroy(store->container, store->container, NULL), -DER_NO_HDL);

    CHECK_OK(daos_cont_open(store->pool, "container", DAOS_COO_RO, &reader, NULL, NULL));
    CHECK_OK(daos_oit_open(reader, epoch, &theirs, NULL));
    CHECK(listed(theirs, 9, NULL, NULL) != every); /* the notes are stored */
    d_iov_t marker;
    d_iov_set(&marker, name, sizeof name);
    CHECK_RC(daos_oit_mark(theirs, ids[0], &marker, NULL), -DER_NO_PERM);
    CHECK_RC(daos_cont_snap_oit_destroy(reader, theirs, NULL), -DER_NO_PERM);
    CHECK_RC(daos_cont_snap_oit_create(reader, epoch, NULL, NULL), -DER_NO_PERM);
    CHECK_OK(daos_oit_close(theirs, NULL));
    CHECK_OK(daos_cont_close(reader, NULL));

    /* those of another snapshot, and of another container, are others */
    CHECK_OK(daos_cont_create_snap_opt(store->container, &later, NULL, with_table, NULL));
    CHECK_OK(daos_oit_open(store->container, later, &theirs, NULL));
    CHECK(listed(theirs, 9, NULL, NULL) == every);
    mark(theirs, 5, 1, NULL);
    CHECK_OK(daos_cont_create_with_label(store->pool, "other", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(store->pool, "other", DAOS_COO_RW, &other, NULL, NULL));
    CHECK_RC(daos_cont_snap_oit_destroy(other, theirs, NULL), -DER_INVAL);
    CHECK_OK(daos_cont_close(other, NULL));

    CHECK_OK(daos_cont_snap_oit_destroy(store->container, table, NULL));
    CHECK(listed(table, 9, NULL, NULL) == every);
    CHECK(listed(theirs, 9, takes_one, NULL) == 1ULL << 5);
    mark(table, 2, 1, NULL);
    CHECK_OK(daos_cont_destroy_snap(store->container, range, NULL));
    CHECK_RC(daos_oit_mark(table, ids[2], &marker, NULL), -DER_EP_OLD);
    CHECK(listed(theirs, 9, takes_one, NULL) == 1ULL << 5);
    CHECK_OK(daos_oit_close(theirs, NULL));
}

int main(void)
{
    struct store store = open_store();
    daos_handle_t table;
    daos_epoch_t epoch;
    daos_event_t event;
    for (int i = 0; i < objects; ++i) {
        daos_handle_t kv;
        ids[i] = kv_oid(store.container, (uint64_t)i, i % 3 ? "SX" : "S1");
        CHECK_OK(daos_kv_open(store.container, ids[i], DAOS_OO_RW, &kv, NULL));
        CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 1, "x", NULL));
        CHECK_OK(daos_kv_close(kv, NULL));
    }
    CHECK_OK(daos_cont_create_snap_opt(store.container, &epoch, NULL, with_table, NULL));
    CHECK_OK(daos_oit_open(store.container, epoch, &table, NULL));
    semantics(table, NULL);
    for (int i = 0; i < objects; ++i)
        CHECK_OK(daos_oit_mark(table, ids[i], NULL, NULL));
    CHECK_OK(daos_event_init(&event, DAOS_HDL_INVAL, NULL));
    semantics(table, &event);
    CHECK_OK(daos_event_fini(&event));
    mistakes(store.container, table);
    tables(&store, epoch, table);
    CHECK_OK(daos_oit_close(table, NULL));
    close_store(&store);
    return 0;
}
