/* Key-value objects, as daos_kv.h says. */
#include "check.h"

static daos_handle_t open_kv(daos_handle_t container, uint64_t lo, char const* oclass)
{
    daos_handle_t kv;
    CHECK_OK(daos_kv_open(container, kv_oid(container, lo, oclass), DAOS_OO_RW, &kv, NULL));
    return kv;
}

static void put(daos_handle_t kv, char const* key, char const* value)
{
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, key, strlen(value), value, NULL));
}

static void expect(daos_handle_t kv, char const* key, char const* value)
{
    char buffer[256];
    daos_size_t size = sizeof buffer;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, key, &size, buffer, NULL));
    CHECK_EQUAL(size, strlen(value));
    CHECK(memcmp(buffer, value, size) == 0);
}

static void values(daos_handle_t kv)
{
    put(kv, "key", "first");
    expect(kv, "key", "first");
    put(kv, "key", "a second and longer value");
    expect(kv, "key", "a second and longer value");
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "empty", 0, NULL, NULL));
    expect(kv, "empty", "");
    expect(kv, "absent", "");
}

static void sizes(daos_handle_t kv)
{
    char buffer[8] = "unmoved";
    daos_size_t size = DAOS_REC_ANY;
    put(kv, "sized", "0123456789");
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "sized", &size, NULL, NULL));
    CHECK_EQUAL(size, 10);
    size = DAOS_REC_ANY;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "sized", &size, buffer, NULL));
    CHECK_EQUAL(size, 10);
    size = 100;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "sized", &size, NULL, NULL));
    CHECK_EQUAL(size, 10);
    size = 7;
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, 0, "sized", &size, buffer, NULL), -DER_REC2BIG);
    CHECK_EQUAL(size, 10);
    CHECK(strcmp(buffer, "unmoved") == 0);
}

static void conditions(daos_handle_t kv)
{
    char buffer[16];
    daos_size_t size = sizeof buffer;
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_UPDATE, "once", 1, "1", NULL), -DER_NONEXIST);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_INSERT, "once", 1, "2", NULL));
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_INSERT, "once", 1, "3", NULL), -DER_EXIST);
    expect(kv, "once", "2");
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_UPDATE, "once", 1, "4", NULL));
    expect(kv, "once", "4");
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "once", &size, buffer, NULL));
    size = sizeof buffer;
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "never", &size, buffer, NULL), -DER_NONEXIST);
    CHECK_EQUAL(size, sizeof buffer); /* untouched, as in libdaos */
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_AKEY_FETCH, "never", &size, buffer, NULL),
             -DER_NONEXIST);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_AKEY_UPDATE, "never", 1, "5", NULL), -DER_NONEXIST);
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_AKEY_INSERT, "once", 1, "5", NULL), -DER_EXIST);
    CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, DAOS_COND_KEY_REMOVE, "once", NULL));
    CHECK_RC(daos_kv_remove(kv, DAOS_TX_NONE, DAOS_COND_KEY_REMOVE, "once", NULL), -DER_NONEXIST);
    CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, 0, "once", NULL));

    /* Both conditions on one put: the update counts. Flags that say nothing to a call are passed over. */
    uint64_t const both = DAOS_COND_KEY_INSERT | DAOS_COND_KEY_UPDATE;
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, both, "once", 1, "6", NULL), -DER_NONEXIST);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 1ULL << 40 | DAOS_COND_PUNCH, "once", 1, "7", NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, both, "once", 1, "8", NULL));
    expect(kv, "once", "8");
    size = sizeof buffer;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 1ULL << 40, "once", &size, buffer, NULL));
    CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, 1ULL << 40 | DAOS_COND_KEY_GET, "once", NULL));
    CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "once", NULL));
    size = sizeof buffer;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "once", &size, buffer, NULL));
    CHECK_EQUAL(size, 0);
}

/* Lists with `room` descriptors and `memory` bytes a call, and checks that every key comes once. */
static void list_with(daos_handle_t kv, uint32_t room, size_t memory, int keys)
{
    char* text = malloc(memory);
    char* seen = calloc((size_t)keys, 1);
    daos_key_desc_t* descriptors = malloc(room * sizeof *descriptors);
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    int total = 0;
    int calls = 0;
    CHECK(text != NULL && seen != NULL && descriptors != NULL);
    while (!daos_anchor_is_eof(&anchor)) {
        struct memory list;
        uint32_t nr = room;
        CHECK_OK(
            daos_kv_list(kv, DAOS_TX_NONE, &nr, descriptors, memory_of(&list, text, memory), &anchor, NULL));
        CHECK(nr <= room && ++calls <= keys + 2);
        char const* at = text;
        for (uint32_t i = 0; i < nr; at += descriptors[i++].kd_key_len) {
            char key[32] = "";
            CHECK(descriptors[i].kd_key_len < sizeof key);
            memcpy(key, at, descriptors[i].kd_key_len);
            int number = -1;
            CHECK(sscanf(key, "key %d", &number) == 1 && number >= 0 && number < keys);
            CHECK(!seen[number]);
            seen[number] = 1;
            ++total;
        }
        CHECK_EQUAL(list.piece.iov_len, nr == 0 ? memory : (size_t)(at - text)); /* without a key as it was */
        CHECK(nr == 0 || descriptors[0].kd_val_type == 2);
    }
    CHECK_EQUAL(total, keys);
    free(descriptors);
    free(seen);
    free(text);
}

static void listing(daos_handle_t container)
{
    enum { keys = 300 };
    daos_handle_t const kv = open_kv(container, 2, "SX");
    for (int i = 0; i < keys; ++i) {
        char key[32];
        snprintf(key, sizeof key, "key %d", i);
        put(kv, key, "x");
    }
    list_with(kv, 1000, 65536, keys);
    list_with(kv, 1, 16, keys);
    list_with(kv, 7, 65536, keys);
    list_with(kv, 1000, 40, keys);

    /* Too little memory for one key: its size is told, and the listing can go on from there. */
    daos_key_desc_t descriptor = {0, 0};
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    struct memory list;
    uint32_t nr = 1;
    char text[3];
    CHECK_RC(
        daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, memory_of(&list, text, sizeof text), &anchor, NULL),
        -DER_KEY2BIG);
    CHECK(descriptor.kd_key_len >= 5 && descriptor.kd_key_len <= 7);

    /* Several pieces of memory. */
    char pieces[4][16];
    d_iov_t iovs[4];
    for (int i = 0; i < 4; ++i)
        d_iov_set(&iovs[i], pieces[i], sizeof pieces[i]);
    d_sg_list_t sgl = {4, 0, iovs};
    daos_key_desc_t descriptors[64];
    nr = 64;
    daos_anchor_init(&anchor, 0);
    CHECK_OK(daos_kv_list(kv, DAOS_TX_NONE, &nr, descriptors, &sgl, &anchor, NULL));
    CHECK(nr >= 8 && sgl.sg_nr_out == 4);
    size_t lengths = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < nr; ++i)
        lengths += descriptors[i].kd_key_len;
    for (int i = 0; i < 4; ++i)
        used += iovs[i].iov_len;
    CHECK_EQUAL(used, lengths);

    /* After the end a listing gives nothing. */
    anchor.da_type = DAOS_ANCHOR_TYPE_EOF;
    nr = 64;
    CHECK_OK(daos_kv_list(kv, DAOS_TX_NONE, &nr, descriptors, &sgl, &anchor, NULL));
    CHECK_EQUAL(nr, 0);

    CHECK_OK(daos_kv_destroy(kv, DAOS_TX_NONE, NULL));
    list_with(kv, 10, 1000, 0);
    put(kv, "key 0", "again");
    list_with(kv, 10, 1000, 1);
    CHECK_OK(daos_kv_close(kv, NULL));
}

/* Up to 1 MiB; two that differ in the last byte only are two. */
static void long_keys(daos_handle_t container)
{
    static size_t const lengths[] = {65537, 100000, 1 << 20};
    daos_handle_t const kv = open_kv(container, 3, "S2");
    size_t const longest = 1 << 20;
    char* key = malloc(longest + 1);
    char* text = malloc(longest);
    CHECK(key != NULL && text != NULL);
    memset(key, 'k', longest);
    for (unsigned i = 0; i < 3; ++i) {
        key[lengths[i]] = '\0';
        put(kv, key, "one");
        key[lengths[i] - 1] = 'K';
        put(kv, key, "other");
        expect(kv, key, "other");
        key[lengths[i] - 1] = 'k';
        expect(kv, key, "one");
        key[lengths[i]] = 'k';
    }
    int found = 0;
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    while (!daos_anchor_is_eof(&anchor)) {
        daos_key_desc_t descriptor;
        struct memory list;
        uint32_t nr = 1;
        CHECK_OK(
            daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, memory_of(&list, text, longest), &anchor, NULL));
        if (nr == 0) continue;
        CHECK(descriptor.kd_key_len <= longest && text[0] == 'k');
        CHECK(text[descriptor.kd_key_len - 1] == 'k' || text[descriptor.kd_key_len - 1] == 'K');
        ++found;
    }
    CHECK_EQUAL(found, 6);
    key[longest] = '\0';
    CHECK_OK(daos_kv_remove(kv, DAOS_TX_NONE, DAOS_COND_KEY_REMOVE, key, NULL));
    expect(kv, key, "");
    free(text);
    free(key);
    CHECK_OK(daos_kv_close(kv, NULL));
}

static void classes(daos_handle_t container)
{
    static char const* const names[] = {"S1", "S2", "S4", "S8", "SX", "RP_2G1", "RP_2GX"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
        daos_handle_t const kv = open_kv(container, 100 + i, names[i]);
        put(kv, "class", names[i]);
        expect(kv, "class", names[i]);
        CHECK_OK(daos_kv_close(kv, NULL));
    }
}

int main(void)
{
    struct store store = open_store();
    daos_handle_t kv = open_kv(store.container, 1, "S1");
    values(kv);
    sizes(kv);
    conditions(kv);
    CHECK_OK(daos_kv_close(kv, NULL));
    listing(store.container);
    long_keys(store.container);
    classes(store.container);
    close_store(&store);
    return 0;
}
