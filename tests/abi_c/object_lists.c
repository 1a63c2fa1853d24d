/* What is in an object: listings of dkeys, akeys and records, the highest and lowest of them, all of it at
 * snapshots. */
#include "objects.h"

enum { most = 2000 };

/* All keys, through descriptors and memory that are too small for them: dkeys, or the akeys of one. */
static uint32_t list_all(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, uint32_t room, size_t bytes,
                         char (*keys)[16])
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    uint32_t count = 0;
    char* const text = malloc(bytes);
    daos_key_desc_t* const kds = malloc(room * sizeof *kds);
    CHECK(text != NULL && kds != NULL);
    while (!daos_anchor_is_eof(&anchor)) {
        struct memory memory;
        uint32_t nr = room;
        d_sg_list_t* const list = memory_of(&memory, text, bytes);
        CHECK_OK(dkey ? daos_obj_list_akey(oh, th, dkey, &nr, kds, list, &anchor, NULL)
                      : daos_obj_list_dkey(oh, th, &nr, kds, list, &anchor, NULL));
        char const* at = text;
        for (uint32_t i = 0; i < nr; ++i, ++count) {
            CHECK(count < most && kds[i].kd_key_len < 16);
            CHECK_EQUAL(kds[i].kd_val_type, dkey ? 3 : 2);
            memset(keys[count], 0, 16);
            memcpy(keys[count], at, kds[i].kd_key_len);
            at += kds[i].kd_key_len;
        }
        CHECK(nr > 0 || daos_anchor_is_eof(&anchor));
    }
    uint32_t nr = room;
    struct memory memory;
    CHECK_OK(daos_obj_list_dkey(oh, th, &nr, kds, memory_of(&memory, text, bytes), &anchor, NULL));
    CHECK_EQUAL(nr, 0); /* after the end */
    free(text);
    free(kds);
    return count;
}

static int by_text(void const* a, void const* b)
{
    return strcmp(a, b);
}

/* A listing that begins with a key. */
static void from_a_key(daos_handle_t oh, daos_key_t* dkey)
{
    static char found[most][16];
    uint32_t const all = list_all(oh, DAOS_TX_NONE, NULL, 100, 10000, found);
    for (uint32_t i = 0; i < all; i += 111) {
        daos_anchor_t anchor;
        daos_key_t first = text_key(found[i]);
        CHECK_OK(daos_obj_key2anchor(oh, DAOS_TX_NONE, &first, NULL, &anchor, NULL));
        uint32_t count = 0;
        while (!daos_anchor_is_eof(&anchor)) {
            daos_key_desc_t kds[64];
            char text[1024];
            struct memory memory;
            uint32_t nr = 64;
            CHECK_OK(daos_obj_list_dkey(oh, DAOS_TX_NONE, &nr, kds, memory_of(&memory, text, sizeof text),
                                        &anchor, NULL));
            CHECK(count > 0 || (nr > 0 && memcmp(text, found[i], kds[0].kd_key_len) == 0));
            count += nr;
        }
        CHECK_EQUAL(count, all - i);
    }
    daos_anchor_t anchor;
    daos_key_desc_t kds[2];
    char text[32];
    struct memory memory;
    uint32_t nr = 2;
    daos_key_t akey = text_key("akey 1500");
    CHECK_OK(daos_obj_key2anchor(oh, DAOS_TX_NONE, dkey, &akey, &anchor, NULL));
    CHECK_OK(daos_obj_list_akey(oh, DAOS_TX_NONE, dkey, &nr, kds, memory_of(&memory, text, sizeof text),
                                &anchor, NULL));
    CHECK(nr == 2 && memcmp(text, "akey 1500akey 1501", 18) == 0);
    CHECK_RC(daos_obj_key2anchor(oh, DAOS_TX_NONE, dkey, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_key2anchor(oh, DAOS_TX_NONE, NULL, &akey, &anchor, NULL), -DER_INVAL);
    CHECK_RC(daos_obj_key2anchor(DAOS_HDL_INVAL, DAOS_TX_NONE, dkey, NULL, &anchor, NULL), -DER_NO_HDL);
}

static void keys(daos_handle_t container)
{
    static char found[most][16];
    daos_handle_t const oh = open_object(container, 1, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    daos_key_t dkey = text_key("dkey 1000");
    char key[16];
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, NULL, 10, 100, found), 0);
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, &dkey, 10, 100, found), 0);
    for (int i = 0; i < 1000; ++i) {
        snprintf(key, sizeof key, "dkey %d", 1000 + i);
        CHECK_OK(put_single(oh, 0, key, "one", "1"));
        CHECK_OK(put_records(oh, key, "two", 0, "2"));
        snprintf(key, sizeof key, "akey %d", 1000 + i);
        CHECK_OK(put_single(oh, 0, "dkey 1000", key, "3"));
    }
    uint32_t const rooms[] = {1, 7, 5000};
    size_t const sizes[] = {16, 333, 100000};
    for (unsigned i = 0; i < 3; ++i)
        for (unsigned j = 0; j < 3; ++j) {
            CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, NULL, rooms[i], sizes[j], found), 1000);
            qsort(found, 1000, 16, by_text);
            for (int k = 0; k < 1000; ++k) {
                snprintf(key, sizeof key, "dkey %d", 1000 + k);
                CHECK(strcmp(found[k], key) == 0);
            }
            CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, &dkey, rooms[i], sizes[j], found), 1002);
            qsort(found, 1002, 16, by_text);
            for (int k = 0; k < 1000; ++k) {
                snprintf(key, sizeof key, "akey %d", 1000 + k);
                CHECK(strcmp(found[k], key) == 0);
            }
            CHECK(strcmp(found[1000], "one") == 0 && strcmp(found[1001], "two") == 0);
        }
    from_a_key(oh, &dkey);
    /* No memory for one key: how much it needs. */
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_key_desc_t kds[2];
    struct memory memory;
    uint32_t nr = 2;
    CHECK_RC(daos_obj_list_akey(oh, DAOS_TX_NONE, &dkey, &nr, kds, memory_of(&memory, key, 8), &anchor, NULL),
             -DER_KEY2BIG);
    CHECK_EQUAL(kds[0].kd_key_len, 9);
    /* Keys that were removed meanwhile are not given; those after them are. */
    CHECK_OK(
        daos_obj_list_akey(oh, DAOS_TX_NONE, &dkey, &nr, kds, memory_of(&memory, key, 12), &anchor, NULL));
    CHECK_EQUAL(nr, 1);
    daos_key_t punched[2] = {text_key("akey 1000"), text_key("akey 1001")};
    CHECK_OK(daos_obj_punch_akeys(oh, DAOS_TX_NONE, 0, &dkey, 2, punched, NULL));
    nr = 2;
    CHECK_OK(
        daos_obj_list_akey(oh, DAOS_TX_NONE, &dkey, &nr, kds, memory_of(&memory, key, 12), &anchor, NULL));
    CHECK(nr == 1 && memcmp(key, "akey 1002", 9) == 0);
    CHECK_OK(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 1, &dkey, NULL));
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, &dkey, 10, 100, found), 0);
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, NULL, 1000, 10000, found), 999);
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* Everything of a listing of records, `room` at a time. */
static uint32_t list_records(daos_handle_t oh, daos_handle_t th, char const* akey, bool up, uint32_t room,
                             daos_recx_t* recxs, daos_epoch_range_t* eprs)
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    daos_key_t dkey = text_key("d");
    daos_key_t key = text_key(akey);
    uint32_t count = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        uint32_t nr = room;
        daos_size_t size = 77;
        CHECK_OK(daos_obj_list_recx(oh, th, &dkey, &key, &size, &nr, &recxs[count],
                                    eprs ? &eprs[count] : NULL, &anchor, up, NULL));
        CHECK(nr <= room && count + nr <= most);
        CHECK_EQUAL(size, count + nr > 0 ? 1 : 0);
        CHECK(nr > 0 || daos_anchor_is_eof(&anchor));
        count += nr;
    }
    return count;
}

static void records(daos_handle_t container)
{
    static daos_recx_t recxs[most];
    static daos_epoch_range_t eprs[most];
    daos_handle_t const oh = open_object(container, 2, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    CHECK_EQUAL(list_records(oh, DAOS_TX_NONE, "a", true, 4, recxs, eprs), 0);
    CHECK_EQUAL(list_records(oh, DAOS_TX_NONE, "a", false, 4, recxs, eprs), 0);
    for (int i = 0; i < 500; ++i)
        CHECK_OK(put_records(oh, "d", "a", (uint64_t)(i * 37 % 500) * 10, "abc"));
    CHECK_OK(put_records(oh, "d", "a", INT64_MAX - 1, "x"));
    uint32_t const rooms[] = {1, 3, 100, 501, 1999};
    for (unsigned i = 0; i < sizeof rooms / sizeof *rooms; ++i)
        for (int up = 0; up < 2; ++up) {
            uint32_t const room = rooms[i];
            CHECK_EQUAL(list_records(oh, DAOS_TX_NONE, "a", up, room, recxs, up ? eprs : NULL), 501);
            for (unsigned k = 0; k < 500; ++k) {
                daos_recx_t const* const each = &recxs[up ? k : 500 - k];
                CHECK(each->rx_idx == k * 10 && each->rx_nr == 3);
                if (up) CHECK(eprs[k].epr_lo > 0 && eprs[k].epr_hi == DAOS_EPOCH_MAX);
            }
            CHECK_EQUAL(recxs[up ? 500 : 0].rx_idx, INT64_MAX - 1);
        }
    /* Each part that one update wrote is an entry, in both directions. */
    daos_epoch_t latest;
    CHECK_OK(put_records(oh, "d", "b", 10, "0123456789"));
    CHECK_OK(put_records(oh, "d", "b", 20, "abc"));
    CHECK_OK(put_records(oh, "d", "b", 14, "XY"));
    CHECK_OK(daos_obj_query_max_epoch(oh, DAOS_TX_NONE, &latest, NULL));
    for (uint32_t room = 1; room < 6; ++room) {
        CHECK_EQUAL(list_records(oh, DAOS_TX_NONE, "b", true, room, recxs, eprs), 4);
        CHECK(recxs[0].rx_idx == 10 && recxs[0].rx_nr == 4 && recxs[1].rx_idx == 14 && recxs[1].rx_nr == 2);
        CHECK(recxs[2].rx_idx == 16 && recxs[2].rx_nr == 4 && recxs[3].rx_idx == 20 && recxs[3].rx_nr == 3);
        CHECK(eprs[1].epr_lo == latest && eprs[0].epr_lo == eprs[2].epr_lo && eprs[0].epr_lo < latest);
    }
    CHECK_EQUAL(list_records(oh, DAOS_TX_NONE, "b", false, 2, recxs, eprs), 4);
    CHECK(recxs[0].rx_idx == 20 && recxs[0].rx_nr == 3 && recxs[1].rx_idx == 16 && recxs[1].rx_nr == 4);
    CHECK(recxs[2].rx_idx == 14 && recxs[2].rx_nr == 2 && recxs[3].rx_idx == 10 && recxs[3].rx_nr == 4);
    CHECK(eprs[2].epr_lo > eprs[0].epr_lo && eprs[0].epr_lo > eprs[1].epr_lo);
    CHECK_EQUAL(eprs[1].epr_lo, eprs[3].epr_lo);
    CHECK_EQUAL(eprs[2].epr_lo, latest);
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* An integer dkey and akey. */
static void put_number(daos_handle_t oh, uint64_t dkey, uint64_t akey, uint64_t index)
{
    daos_key_t key = key_of(&dkey, 8);
    daos_recx_t recx = {index, 2};
    daos_iod_t iod = index == UINT64_MAX ? single_of("", 2) : array_of("", 1, 1, &recx);
    struct memory memory;
    char value[] = "xy";
    iod.iod_name = key_of(&akey, 8);
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, value, 2), NULL));
}

static void query(daos_handle_t oh, daos_handle_t th, uint64_t flags, uint64_t const* given,
                  uint64_t const* expected)
{
    uint64_t dkey = given[0], akey = given[1];
    daos_key_t keys[2] = {key_of(&dkey, 8), key_of(&akey, 8)};
    daos_recx_t recx = {7, 7};
    if ((flags & DAOS_GET_DKEY) != 0) keys[0].iov_len = 0; /* iov_buf_len is the room */
    CHECK_OK(daos_obj_query_key(oh, th, flags, &keys[0], &keys[1], &recx, NULL));
    CHECK_EQUAL(dkey, expected[0]);
    CHECK_EQUAL(akey, expected[1]);
    CHECK_EQUAL(keys[0].iov_len, 8);
    if ((flags & DAOS_GET_RECX) == 0) return;
    CHECK_EQUAL(recx.rx_idx, expected[2]);
    CHECK_EQUAL(recx.rx_nr, 2);
}

static void numbers(daos_handle_t container)
{
    static char found[most][16];
    static uint64_t const dkeys[] = {300, 1, 70000, 255, 256, UINT64_MAX - 1, (uint64_t)1 << 63};
    static uint64_t const ascending[] = {1, 255, 256, 300, 70000, (uint64_t)1 << 63, UINT64_MAX - 1};
    uint64_t const all = DAOS_GET_DKEY | DAOS_GET_AKEY | DAOS_GET_RECX;
    daos_handle_t const oh = open_object(container, 3, DAOS_OT_MULTI_UINT64, DAOS_OO_RW);
    uint64_t number = 0, none = 0;
    daos_key_t keys[2] = {key_of(&number, 8), key_of(&none, 8)};
    daos_recx_t recx = {7, 7};

    CHECK_OK(daos_obj_query_key(oh, DAOS_TX_NONE, all | DAOS_GET_MAX, &keys[0], &keys[1], &recx, NULL));
    CHECK(keys[0].iov_len == 0 && keys[1].iov_len == 0 && recx.rx_idx == 0 && recx.rx_nr == 0);

    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 7; ++j)
            put_number(oh, dkeys[i], dkeys[j], 1000 * (uint64_t)(i + j));
    number = 300;
    keys[0] = key_of(&number, 8);
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, NULL, 2, 20, found), 7);
    for (int i = 0; i < 7; ++i) { /* in the machine's order */
        uint64_t each;
        memcpy(&each, found[i], 8);
        int known = 0;
        for (int j = 0; j < 7; ++j)
            known += each == dkeys[j];
        CHECK_EQUAL(known, 1);
    }
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, &keys[0], 2, 20, found), 7);
    for (int i = 0; i < 7; ++i)
        CHECK(memcmp(found[i], &ascending[i], 8) == 0);

    /* dkey 300 is the first, and akey 300. */
    uint64_t const given[] = {300, 300};
    query(oh, DAOS_TX_NONE, DAOS_GET_DKEY | DAOS_GET_MAX, given, (uint64_t[]){UINT64_MAX - 1, 300});
    query(oh, DAOS_TX_NONE, DAOS_GET_DKEY | DAOS_GET_MIN, given, (uint64_t[]){1, 300});
    query(oh, DAOS_TX_NONE, DAOS_GET_AKEY | DAOS_GET_MAX, given, (uint64_t[]){300, UINT64_MAX - 1});
    query(oh, DAOS_TX_NONE, DAOS_GET_AKEY | DAOS_GET_MIN, given, (uint64_t[]){300, 1});
    query(oh, DAOS_TX_NONE, DAOS_GET_RECX | DAOS_GET_MAX, given, (uint64_t[]){300, 300, 0});
    query(oh, DAOS_TX_NONE, all | DAOS_GET_MAX, given, (uint64_t[]){UINT64_MAX - 1, UINT64_MAX - 1, 10000});
    query(oh, DAOS_TX_NONE, all | DAOS_GET_MIN, given, (uint64_t[]){1, 1, 2000});
    query(oh, DAOS_TX_NONE, DAOS_GET_DKEY | DAOS_GET_RECX | DAOS_GET_MAX, given,
          (uint64_t[]){UINT64_MAX - 1, 300, 5000});
    for (uint64_t i = 0; i < 400; ++i) /* among many */
        put_number(oh, 300, 300, 1 + 3 * i * i);
    query(oh, DAOS_TX_NONE, DAOS_GET_RECX | DAOS_GET_MAX, given, (uint64_t[]){300, 300, 1 + 3 * 399 * 399});

    /* Keys without an array do not count where records are looked for. */
    put_number(oh, UINT64_MAX, 5, UINT64_MAX);
    put_number(oh, 300, UINT64_MAX, UINT64_MAX);
    query(oh, DAOS_TX_NONE, DAOS_GET_DKEY | DAOS_GET_MAX, given, (uint64_t[]){UINT64_MAX, 300});
    query(oh, DAOS_TX_NONE, all | DAOS_GET_MAX, given, (uint64_t[]){UINT64_MAX - 1, UINT64_MAX - 1, 10000});
    query(oh, DAOS_TX_NONE, DAOS_GET_AKEY | DAOS_GET_MAX, given, (uint64_t[]){300, UINT64_MAX});
    query(oh, DAOS_TX_NONE, DAOS_GET_AKEY | DAOS_GET_RECX | DAOS_GET_MAX, given,
          (uint64_t[]){300, UINT64_MAX - 1, 5000});
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* All of an object as it was, after changes and punches of all kinds. */
static void snapshots(daos_handle_t container)
{
    static char found[most][16];
    static daos_recx_t recxs[most];
    static daos_epoch_range_t eprs[most];
    daos_handle_t const oh = open_object(container, 4, DAOS_OT_MULTI_HASHED, DAOS_OO_RW);
    daos_key_t dkey = text_key("d");
    daos_key_t other = text_key("e");
    daos_key_t akey = text_key("b");
    daos_handle_t th;
    daos_epoch_t epoch;
    CHECK_OK(put_single(oh, 0, "d", "a", "old"));
    CHECK_OK(put_single(oh, 0, "d", "b", "b"));
    CHECK_OK(put_single(oh, 0, "e", "a", "e"));
    CHECK_OK(put_records(oh, "d", "r", 10, "0123456789"));
    CHECK_OK(daos_cont_create_snap(container, &epoch, NULL, NULL));
    CHECK_OK(daos_tx_open_snap(container, epoch, &th, NULL));
    CHECK_OK(put_single(oh, 0, "d", "a", "new"));
    CHECK_OK(put_single(oh, 0, "d", "c", "new"));
    CHECK_OK(put_records(oh, "d", "r", 12, "XX"));
    CHECK_OK(put_records(oh, "d", "r", 30, "XX"));
    CHECK_OK(daos_obj_punch_akeys(oh, DAOS_TX_NONE, 0, &dkey, 1, &akey, NULL));
    CHECK_OK(daos_obj_punch_dkeys(oh, DAOS_TX_NONE, 0, 1, &other, NULL));
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, NULL, 5, 50, found), 1);
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, &dkey, 5, 50, found), 3); /* a, c, r */
    for (int round = 0; round < 2; ++round) {
        expect_single(oh, th, "d", "a", "old");
        expect_single(oh, th, "d", "b", "b");
        expect_single(oh, th, "d", "c", "");
        expect_single(oh, th, "e", "a", "e");
        expect_records(oh, th, "d", "r", 8,
                       "\0\0"
                       "0123456789\0",
                       13);
        CHECK_EQUAL(list_all(oh, th, NULL, 5, 50, found), 2);
        CHECK_EQUAL(list_all(oh, th, &dkey, 5, 50, found), 3); /* a, b, r */
        CHECK(strcmp(found[1], "b") == 0);
        CHECK_EQUAL(list_records(oh, th, "r", false, 5, recxs, eprs), 1);
        CHECK(recxs[0].rx_idx == 10 && recxs[0].rx_nr == 10 && eprs[0].epr_lo <= epoch);
        CHECK_OK(daos_obj_punch(oh, DAOS_TX_NONE, 0, NULL));
    }
    CHECK_EQUAL(list_all(oh, DAOS_TX_NONE, NULL, 5, 50, found), 0);

    /* Nothing is written through it. */
    daos_iod_t iod = single_of("a", 1);
    struct memory memory;
    memory_of(&memory, found, 1);
    CHECK_RC(daos_obj_update(oh, th, 0, &dkey, 1, &iod, &memory.list, NULL), -DER_NO_PERM);
    CHECK_RC(daos_obj_punch_akeys(oh, th, 0, &dkey, 1, &akey, NULL), -DER_NO_PERM);
    CHECK_RC(daos_obj_punch_dkeys(oh, th, 0, 1, &dkey, NULL), -DER_NO_PERM);
    CHECK_OK(daos_tx_close(th, NULL));
    CHECK_RC(daos_obj_fetch(oh, th, 0, &dkey, 1, &iod, &memory.list, NULL, NULL), -DER_NO_HDL);

    daos_epoch_range_t const range = {epoch, epoch};
    CHECK_OK(daos_tx_open_snap(container, epoch, &th, NULL));
    CHECK_OK(daos_cont_destroy_snap(container, range, NULL));
    CHECK_RC(daos_obj_fetch(oh, th, 0, &dkey, 1, &iod, &memory.list, NULL, NULL), -DER_EP_OLD);
    CHECK_OK(daos_tx_close(th, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
}

int main(void)
{
    struct store store = open_store();
    keys(store.container);
    records(store.container);
    numbers(store.container);
    snapshots(store.container);
    close_store(&store);
    return 0;
}
