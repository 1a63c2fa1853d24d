/* Array objects, as daos_array.h says. */
#include "check.h"

enum { chunk = 64 };

static uint32_t buffer[1024];

static void fill(uint32_t* cells, size_t count, uint32_t first)
{
    for (size_t i = 0; i < count; ++i)
        cells[i] = first + (uint32_t)i;
}

static void write_cells(daos_handle_t array, uint64_t index, size_t count, uint32_t first)
{
    struct request request;
    struct memory memory;
    fill(buffer, count, first);
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, index, count),
                              memory_of(&memory, buffer, count * sizeof *buffer), NULL));
}

/* The number of cells that lay beyond the end. */
static daos_size_t read_cells(daos_handle_t array, uint64_t index, size_t count)
{
    struct request request;
    struct memory memory;
    memset(buffer, 0x55, sizeof buffer);
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, index, count),
                             memory_of(&memory, buffer, count * sizeof *buffer), NULL));
    CHECK_EQUAL(request.iod.arr_nr_read + request.iod.arr_nr_short_read, count);
    return request.iod.arr_nr_short_read;
}

static daos_size_t size_of(daos_handle_t array)
{
    daos_size_t size = 99;
    CHECK_OK(daos_array_get_size(array, DAOS_TX_NONE, &size, NULL));
    return size;
}

static void attributes(daos_handle_t container)
{
    daos_obj_id_t const oid = array_oid(container, 1, "S4");
    daos_handle_t array;
    daos_size_t cell_size = 0;
    daos_size_t chunk_size = 0;
    CHECK_RC(daos_array_open(container, oid, DAOS_TX_NONE, DAOS_OO_RW, &cell_size, &chunk_size, &array, NULL),
             -DER_NONEXIST);
    CHECK_OK(daos_array_create(container, oid, DAOS_TX_NONE, 4, chunk, &array, NULL));
    CHECK_EQUAL(size_of(array), 0);
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_RC(daos_array_create(container, oid, DAOS_TX_NONE, 8, 32, &array, NULL), -DER_EXIST);
    CHECK_OK(
        daos_array_open(container, oid, DAOS_TX_NONE, DAOS_OO_RW, &cell_size, &chunk_size, &array, NULL));
    CHECK_EQUAL(cell_size, 4);
    CHECK_EQUAL(chunk_size, chunk);
    cell_size = chunk_size = 0;
    CHECK_OK(daos_array_get_attr(array, &chunk_size, &cell_size));
    CHECK_EQUAL(cell_size, 4);
    CHECK_EQUAL(chunk_size, chunk);
    CHECK_OK(daos_array_close(array, NULL));
}

static void reads_and_writes(daos_handle_t array)
{
    write_cells(array, 10, 200, 1000); /* over several chunks */
    CHECK_EQUAL(size_of(array), 210);
    CHECK_EQUAL(read_cells(array, 10, 200), 0);
    for (uint32_t i = 0; i < 200; ++i)
        CHECK_EQUAL(buffer[i], 1000 + i);
    CHECK_EQUAL(read_cells(array, 0, 20), 0); /* a hole first */
    for (uint32_t i = 0; i < 20; ++i)
        CHECK_EQUAL(buffer[i], i < 10 ? 0 : 990 + i);
    CHECK_EQUAL(read_cells(array, 200, 100), 90); /* over the end */
    for (uint32_t i = 0; i < 10; ++i)
        CHECK_EQUAL(buffer[i], 1190 + i);
    CHECK_EQUAL(read_cells(array, 5000, 10), 10);
    write_cells(array, 50, 30, 7); /* over another write */
    CHECK_EQUAL(read_cells(array, 49, 32), 0);
    CHECK_EQUAL(buffer[0], 1039);
    CHECK_EQUAL(buffer[1], 7);
    CHECK_EQUAL(buffer[30], 36);
    CHECK_EQUAL(buffer[31], 1070);
}

static void many_ranges(daos_handle_t array)
{
    daos_range_t ranges[3] = {{1000, 5}, {3, 4}, {2000, 11}};
    uint32_t a[8];
    uint32_t b[12];
    d_iov_t pieces[3];
    daos_array_iod_t iod = {3, ranges, 0, 0};
    d_sg_list_t sgl = {3, 0, pieces};
    fill(a, 8, 100);
    fill(b, 12, 108);
    d_iov_set(&pieces[0], a, sizeof a);
    d_iov_set(&pieces[1], NULL, 0);
    d_iov_set(&pieces[2], b, sizeof b);
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, &iod, &sgl, NULL));
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, &iod, &sgl, NULL));
    CHECK_EQUAL(iod.arr_nr_short_read, 0);
    CHECK_EQUAL(iod.arr_nr_read, 20);
    for (uint32_t i = 0; i < 8; ++i)
        CHECK_EQUAL(a[i], 100 + i);
    for (uint32_t i = 0; i < 12; ++i)
        CHECK_EQUAL(b[i], 108 + i);
    CHECK_EQUAL(read_cells(array, 3, 4), 0);
    CHECK_EQUAL(buffer[0], 105);
    CHECK_EQUAL(size_of(array), 2011);
    /* Nothing asked for is no error. */
    iod.arr_nr = 0;
    sgl.sg_nr = 0;
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, &iod, &sgl, NULL));
    CHECK_EQUAL(iod.arr_nr_read, 0);
}

/* Ranges of one call must not overlap, in whatever order they come. */
static void overlapping_ranges(daos_handle_t array)
{
    static struct {
        daos_range_t ranges[3];
        int rc;
    } const cases[] = {
        {{{0, 8}, {4, 8}, {100, 4}}, -DER_INVAL}, {{{4, 8}, {100, 4}, {0, 8}}, -DER_INVAL},
        {{{0, 8}, {0, 8}, {100, 4}}, -DER_INVAL}, {{{50, 4}, {40, 12}, {0, 4}}, -DER_INVAL},
        {{{0, 8}, {8, 8}, {100, 4}}, 0},          {{{100, 4}, {8, 8}, {0, 8}}, 0},
        {{{0, 16}, {4, 0}, {100, 4}}, 0}, /* an empty one overlaps nothing */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i) {
        daos_range_t ranges[3];
        uint32_t cells[20];
        daos_array_iod_t iod = {3, ranges, 0, 0};
        struct memory memory;
        memcpy(ranges, cases[i].ranges, sizeof ranges);
        fill(cells, 20, 1);
        CHECK_RC(daos_array_write(array, DAOS_TX_NONE, &iod, memory_of(&memory, cells, sizeof cells), NULL),
                 cases[i].rc);
        CHECK_RC(daos_array_read(array, DAOS_TX_NONE, &iod, memory_of(&memory, cells, sizeof cells), NULL),
                 cases[i].rc);
        CHECK_RC(daos_array_punch(array, DAOS_TX_NONE, &iod, NULL), cases[i].rc);
        if (cases[i].rc != 0) CHECK(strstr(explanation(), "overlap") != NULL);
    }
}

static void punching(daos_handle_t array)
{
    struct request request;
    daos_array_stbuf_t before;
    daos_array_stbuf_t after;
    write_cells(array, 0, 500, 1);
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &before, NULL));
    CHECK_OK(daos_array_punch(array, DAOS_TX_NONE, request_of(&request, 100, 200), NULL));
    CHECK_EQUAL(read_cells(array, 99, 202), 0);
    CHECK_EQUAL(buffer[0], 100);
    for (uint32_t i = 1; i < 201; ++i)
        CHECK_EQUAL(buffer[i], 0);
    CHECK_EQUAL(buffer[201], 301);
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &after, NULL));
    CHECK_EQUAL(after.st_size, before.st_size);
    CHECK(before.st_max_epoch > 0 && after.st_max_epoch >= before.st_max_epoch);
    write_cells(array, 0, 1, 1);
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &before, NULL));
    CHECK(before.st_max_epoch > after.st_max_epoch);
}

static void sizes(daos_handle_t array)
{
    write_cells(array, 0, 500, 1);
    CHECK_OK(daos_array_set_size(array, DAOS_TX_NONE, 100, NULL));
    CHECK_EQUAL(size_of(array), 100);
    CHECK_EQUAL(read_cells(array, 90, 20), 10);
    CHECK_EQUAL(buffer[9], 100);
    CHECK_OK(daos_array_set_size(array, DAOS_TX_NONE, 400, NULL));
    CHECK_EQUAL(size_of(array), 400);
    CHECK_EQUAL(read_cells(array, 0, 400), 0); /* what was cut off does not come back */
    CHECK_EQUAL(buffer[99], 100);
    for (uint32_t i = 100; i < 400; ++i)
        CHECK_EQUAL(buffer[i], 0);
    CHECK_OK(daos_array_set_size(array, DAOS_TX_NONE, 0, NULL));
    CHECK_EQUAL(size_of(array), 0);
}

static void far_away(daos_handle_t container)
{
    daos_obj_id_t oid = {50, 0};
    daos_handle_t array;
    CHECK_OK(daos_array_generate_oid(container, &oid, false, OC_SX, 0, 0));
    CHECK_EQUAL(daos_obj_id2type(oid), DAOS_OT_ARRAY_ATTR);
    CHECK_OK(daos_array_open_with_attr(container, oid, DAOS_TX_NONE, DAOS_OO_RW, 4, 1 << 20, &array, NULL));
    uint64_t const far = (1ULL << 60) - 3;
    write_cells(array, far, 100, 5);
    CHECK_EQUAL(size_of(array), far + 100);
    CHECK_EQUAL(read_cells(array, far - 1, 101), 0);
    CHECK_EQUAL(buffer[0], 0);
    CHECK_EQUAL(buffer[1], 5);
    CHECK_EQUAL(buffer[100], 104);
    CHECK_OK(daos_array_close(array, NULL));
}

static void destroying(daos_handle_t container)
{
    daos_obj_id_t const oid = array_oid(container, 60, "S2");
    daos_handle_t array;
    daos_size_t cell_size;
    daos_size_t chunk_size;
    CHECK_OK(daos_array_create(container, oid, DAOS_TX_NONE, 4, chunk, &array, NULL));
    write_cells(array, 0, 100, 1);
    CHECK_OK(daos_array_destroy(array, DAOS_TX_NONE, NULL));
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_RC(daos_array_open(container, oid, DAOS_TX_NONE, DAOS_OO_RW, &cell_size, &chunk_size, &array, NULL),
             -DER_NONEXIST);
    CHECK_OK(daos_array_create(container, oid, DAOS_TX_NONE, 4, chunk, &array, NULL));
    CHECK_EQUAL(size_of(array), 0);
    CHECK_EQUAL(read_cells(array, 0, 100), 100);
    CHECK_OK(daos_array_close(array, NULL));
}

int main(void)
{
    struct store store = open_store();
    daos_handle_t array;
    daos_size_t cell_size;
    daos_size_t chunk_size;
    attributes(store.container);
    CHECK_OK(daos_array_open(store.container, array_oid(store.container, 1, "S4"), DAOS_TX_NONE, DAOS_OO_RW,
                             &cell_size, &chunk_size, &array, NULL));
    reads_and_writes(array);
    many_ranges(array);
    overlapping_ranges(array);
    punching(array);
    sizes(array);
    CHECK_OK(daos_array_close(array, NULL));
    far_away(store.container);
    destroying(store.container);
    close_store(&store);
    return 0;
}
