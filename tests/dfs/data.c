/* Data of files: random writes, reads and truncations compared with a plain buffer; events; handles. */
#include "files.h"

enum { room = 1 << 20, rounds = 400, chunk = 4096 };

static unsigned char model[room];
static size_t model_size;
static unsigned char buffer[room];

static uint32_t next_random(void)
{
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void expect_file(dfs_t* fs, dfs_obj_t* obj, size_t offset, size_t length)
{
    struct memory memory;
    daos_size_t size = 0;
    memset(buffer, 0xee, length);
    CHECK_DONE(dfs_read(fs, obj, memory_of(&memory, buffer, length), offset, &size, NULL));
    size_t const there = offset >= model_size           ? 0
                         : model_size - offset < length ? model_size - offset
                                                        : length;
    CHECK_EQUAL(size, there);
    CHECK(memcmp(buffer, model + offset, there) == 0);
    CHECK_DONE(dfs_get_size(fs, obj, &size));
    CHECK_EQUAL(size, model_size);
}

static void write_some(dfs_t* fs, dfs_obj_t* obj)
{
    size_t const offset = next_random() % (room / 2);
    size_t const length = 1 + next_random() % 20000;
    struct memory memory;
    for (size_t i = 0; i < length; ++i)
        buffer[i] = (unsigned char)next_random();
    CHECK_DONE(dfs_write(fs, obj, memory_of(&memory, buffer, length), offset, NULL));
    memcpy(model + offset, buffer, length);
    if (offset + length > model_size) model_size = offset + length;
}

static void write_ranges(dfs_t* fs, dfs_obj_t* obj)
{
    daos_range_t ranges[3];
    d_iov_t pieces[2];
    d_sg_list_t list = {2, 0, pieces};
    dfs_iod_t iod = {3, ranges};
    size_t at = next_random() % 1000;
    size_t total = 0;
    for (int i = 0; i < 3; ++i) {
        ranges[i].rg_idx = at;
        ranges[i].rg_len = 100 + next_random() % 9000;
        total += ranges[i].rg_len;
        at += ranges[i].rg_len + 1 + next_random() % 5000;
    }
    for (size_t i = 0; i < total; ++i)
        buffer[i] = (unsigned char)next_random();
    d_iov_set(&pieces[0], buffer, total / 3);
    d_iov_set(&pieces[1], buffer + total / 3, total - total / 3);
    CHECK_DONE(dfs_writex(fs, obj, &iod, &list, NULL));
    unsigned char const* from = buffer;
    for (int i = 0; i < 3; ++i) {
        memcpy(model + ranges[i].rg_idx, from, ranges[i].rg_len);
        from += ranges[i].rg_len;
        if (ranges[i].rg_idx + ranges[i].rg_len > model_size)
            model_size = ranges[i].rg_idx + ranges[i].rg_len;
    }
    memset(buffer, 0, total);
    daos_size_t size = 0;
    CHECK_DONE(dfs_readx(fs, obj, &iod, &list, &size, NULL));
    CHECK_EQUAL(size, total);
    from = buffer;
    for (int i = 0; i < 3; ++i) {
        CHECK(memcmp(model + ranges[i].rg_idx, from, ranges[i].rg_len) == 0);
        from += ranges[i].rg_len;
    }
}

static void punch_some(dfs_t* fs, dfs_obj_t* obj)
{
    size_t const offset = next_random() % (room / 2);
    size_t const length = 1 + next_random() % 50000;
    CHECK_DONE(dfs_punch(fs, obj, offset, length));
    if (offset >= model_size) return;
    if (offset + length >= model_size) {
        memset(model + offset, 0, model_size - offset);
        model_size = offset;
    } else {
        memset(model + offset, 0, length);
    }
}

static void set_end(dfs_t* fs, dfs_obj_t* obj)
{
    size_t const size = next_random() % (room / 2);
    CHECK_DONE(dfs_punch(fs, obj, size, DFS_MAX_FSIZE));
    if (size < model_size) memset(model + size, 0, model_size - size);
    model_size = size;
}

static void against_model(dfs_t* fs)
{
    dfs_obj_t* obj = NULL;
    daos_size_t size = 0;
    CHECK_DONE(dfs_open(fs, NULL, "data", S_IFREG | 0600, O_CREAT | O_EXCL | O_RDWR, 0, chunk, NULL, &obj));
    CHECK_DONE(dfs_get_chunk_size(obj, &size));
    CHECK_EQUAL(size, chunk);
    for (int round = 0; round < rounds; ++round) {
        uint32_t const kind = next_random() % 10;
        if (kind < 5)
            write_some(fs, obj);
        else if (kind < 7)
            write_ranges(fs, obj);
        else if (kind < 9)
            punch_some(fs, obj);
        else
            set_end(fs, obj);
        expect_file(fs, obj, next_random() % room, 1 + next_random() % 1000);
    }
    expect_file(fs, obj, 0, room);
    daos_obj_id_t oid;
    CHECK_DONE(dfs_obj2id(obj, &oid));
    CHECK_DONE(dfs_get_size_by_oid(fs, oid, chunk, &size));
    CHECK_EQUAL(size, model_size);
    CHECK_DONE(dfs_release(obj));
    obj = opened(fs, NULL, "data", S_IFREG, O_RDONLY);
    expect_file(fs, obj, 0, room);
    CHECK_ERRNO(dfs_punch(fs, obj, 0, 1), EPERM);
    CHECK_DONE(dfs_release(obj));
    obj = opened(fs, NULL, "data", S_IFREG, O_RDWR | O_TRUNC);
    model_size = 0;
    expect_file(fs, obj, 0, 100);
    CHECK_DONE(dfs_release(obj));
    CHECK_DONE(dfs_remove(fs, NULL, "data", false, NULL));
}

/* The object's name is free again, and what is made then is empty. */
static void removed_and_made_again(dfs_t* fs)
{
    struct stat status;
    new_file(fs, NULL, "again", "text");
    CHECK_DONE(dfs_remove(fs, NULL, "again", false, NULL));
    CHECK_DONE(dfs_release(opened(fs, NULL, "again", S_IFREG | 0600, O_CREAT | O_EXCL | O_RDWR)));
    CHECK_DONE(dfs_stat(fs, NULL, "again", &status));
    CHECK_EQUAL(status.st_size, 0);
    CHECK_DONE(dfs_remove(fs, NULL, "again", false, NULL));
}

static int keep_size(void* argument, daos_event_t* event, int code)
{
    daos_size_t* const sizes = argument; /* of the read, and as the callback found it */
    (void)event;
    sizes[1] = code == 0 ? sizes[0] : 0;
    return 0;
}

static void with_events(dfs_t* fs)
{
    daos_handle_t queue;
    daos_event_t events[4];
    daos_event_t* done[4];
    struct memory memory[4];
    char out[4][8] = {"one", "two", "three", "four"};
    char in[4][8];
    daos_size_t sizes[4] = {99, 99, 99, 99};
    dfs_obj_t* const obj = opened(fs, NULL, "events", S_IFREG | 0600, O_CREAT | O_RDWR);
    CHECK_OK(daos_eq_create(&queue));
    for (int i = 0; i < 4; ++i) {
        CHECK_OK(daos_event_init(&events[i], queue, NULL));
        CHECK_DONE(dfs_write(fs, obj, memory_of(&memory[i], out[i], 8), (daos_off_t)i * 8, &events[i]));
    }
    for (int n = 0; n < 4;)
        n += daos_eq_poll(queue, 1, DAOS_EQ_WAIT, 4, done);
    for (int i = 0; i < 4; ++i) {
        CHECK_EQUAL(events[i].ev_error, 0);
        CHECK_DONE(
            dfs_read(fs, obj, memory_of(&memory[i], in[i], 8), (daos_off_t)i * 8 + 4, &sizes[i], &events[i]));
    }
    for (int n = 0; n < 4;)
        n += daos_eq_poll(queue, 1, DAOS_EQ_WAIT, 4, done);
    for (int i = 0; i < 4; ++i) {
        CHECK_EQUAL(events[i].ev_error, 0);
        CHECK_EQUAL(sizes[i], i == 3 ? 4 : 8);
    }
    CHECK(memcmp(in[0], "\0\0\0\0two", 8) == 0);
    /* A callback of the program sees how much was read. */
    daos_size_t seen[2] = {99, 99};
    bool completed = false;
    CHECK_OK(daos_event_register_comp_cb(&events[0], keep_size, seen));
    CHECK_DONE(dfs_read(fs, obj, memory_of(&memory[0], in[0], 8), 28, &seen[0], &events[0]));
    CHECK_OK(daos_event_test(&events[0], DAOS_EQ_WAIT, &completed));
    CHECK(completed && seen[0] == 4 && seen[1] == 4);
    /* No bytes; and an error, which is an errno. */
    d_sg_list_t nothing = {0, 0, NULL};
    CHECK_DONE(dfs_read(fs, obj, &nothing, 0, &sizes[0], &events[0]));
    CHECK_OK(daos_event_test(&events[0], DAOS_EQ_WAIT, &completed));
    CHECK(completed && events[0].ev_error == 0 && sizes[0] == 0);
    CHECK_DONE(dfs_write(fs, obj, NULL, 0, &events[0]));
    CHECK_OK(daos_event_test(&events[0], DAOS_EQ_WAIT, &completed));
    CHECK(completed && events[0].ev_error == 0);
    memory[0].piece.iov_buf = NULL;
    CHECK_DONE(dfs_write(fs, obj, &memory[0].list, 0, &events[0]));
    CHECK_OK(daos_event_test(&events[0], DAOS_EQ_WAIT, &completed));
    CHECK(completed);
    CHECK_EQUAL(events[0].ev_error, EINVAL);
    sizes[0] = 7;
    CHECK_DONE(dfs_read(fs, obj, &memory[0].list, 0, &sizes[0], &events[0]));
    CHECK_OK(daos_event_test(&events[0], DAOS_EQ_WAIT, &completed));
    CHECK_EQUAL(events[0].ev_error, EINVAL);
    CHECK_EQUAL(sizes[0], 7);
    for (int i = 0; i < 4; ++i)
        CHECK_OK(daos_event_fini(&events[i]));
    CHECK_OK(daos_eq_destroy(queue, 0));
    CHECK_DONE(dfs_write(fs, obj, NULL, 0, NULL));
    CHECK_DONE(dfs_read(fs, obj, &nothing, 0, &sizes[0], NULL));
    CHECK_EQUAL(sizes[0], 0);
    CHECK_DONE(dfs_release(obj));
}

int main(void)
{
    struct mounted mounted = mount_new();
    against_model(mounted.fs);
    removed_and_made_again(mounted.fs);
    with_events(mounted.fs);
    unmount(&mounted);
    return 0;
}
