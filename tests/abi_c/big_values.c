/* Values and extents from nothing to 64 MiB, around every size at which something may change. */
#include "check.h"

enum { largest = 64 << 20 };

static unsigned char* out;
static unsigned char* in;

static void fill(size_t size, unsigned seed)
{
    uint32_t state = seed * 2654435761U + 1;
    for (size_t i = 0; i < size; ++i) {
        state = state * 1664525 + 1013904223;
        out[i] = (unsigned char)(state >> 24);
    }
}

static void value(daos_handle_t kv, size_t size)
{
    daos_size_t got = 0;
    fill(size, (unsigned)size);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "value", size, out, NULL));
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "value", &got, NULL, NULL));
    CHECK_EQUAL(got, size);
    memset(in, 0, size + 1);
    got = size + 1;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, "value", &got, in, NULL));
    CHECK_EQUAL(got, size);
    CHECK(memcmp(in, out, size) == 0 && in[size] == 0);
    if (size < 2) return;
    got = size - 1;
    CHECK_RC(daos_kv_get(kv, DAOS_TX_NONE, 0, "value", &got, in, NULL), -DER_REC2BIG);
    CHECK_EQUAL(got, size);
}

static void extent(daos_handle_t array, uint64_t index, size_t size)
{
    struct request request;
    struct memory memory;
    fill(size, (unsigned)(index + size));
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, index, size),
                              memory_of(&memory, out, size), NULL));
    memset(in, 0, size);
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, index, size),
                             memory_of(&memory, in, size), NULL));
    CHECK_EQUAL(request.iod.arr_nr_read, size);
    CHECK(memcmp(in, out, size) == 0);
}

int main(void)
{
    static size_t const sizes[] = {0,       1,       511,           512,     4095,     4096,
                                   4097,    32767,   32768,         65535,   65536,    65537,
                                   1 << 17, 1 << 20, (1 << 20) + 1, 5000000, 16 << 20, largest};
    struct store store = open_store();
    daos_handle_t kv;
    daos_handle_t array;
    out = malloc(largest + 1);
    in = malloc(largest + 1);
    CHECK(out != NULL && in != NULL);
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 1, "S1"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_array_create(store.container, array_oid(store.container, 2, "SX"), DAOS_TX_NONE, 1, 1 << 20,
                               &array, NULL));
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        value(kv, sizes[i]);
        if (sizes[i] > 0) extent(array, 12345, sizes[i]);
        if (sizes[i] > 0) extent(array, (1ULL << 40) + i, sizes[i]);
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) /* and down again */
        value(kv, sizes[sizeof sizes / sizeof *sizes - 1 - i]);
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
    free(in);
    free(out);
    return 0;
}
