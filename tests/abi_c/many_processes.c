/*
 * Eight processes write, read and list the same objects at once, each with a connection of its own. All of
 * them put to the same shared keys: any of their values is right, a mixture is not. Each also puts to keys of
 * its own: only the last value is right.
 */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { processes = 8, rounds = 40, shared_keys = 4, words = 300, chunk_cells = 4096 };

static struct store store;

static void connect_again(void)
{
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(store.path, NULL, DAOS_PC_RW, &store.pool, NULL, NULL));
    CHECK_OK(daos_cont_open(store.pool, "container", DAOS_COO_RW, &store.container, NULL, NULL));
}

/* A value that tells who wrote it, and whether it is whole. */
static void make(uint32_t* value, uint32_t process, uint32_t round)
{
    for (uint32_t i = 0; i < words; ++i)
        value[i] = process << 24 | round << 12 | i;
}

static void check_whole(uint32_t const* value)
{
    for (uint32_t i = 0; i < words; ++i)
        CHECK_EQUAL(value[i], (value[0] & 0xfffff000) | i);
    CHECK(value[0] >> 24 < processes);
}

/* What lies in two chunks is not published at one instant: of words [from, to), in one chunk, all are there
 * or none. */
static void check_part(uint32_t const* value, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; ++i)
        CHECK_EQUAL(value[i], value[to - 1] == 0 ? 0 : (value[to - 1] & 0xfffff000) | i);
}

static void shared_key(daos_handle_t kv, uint32_t process, uint32_t round)
{
    char key[32];
    uint32_t value[words];
    daos_size_t size = sizeof value;
    snprintf(key, sizeof key, "shared %u", round % shared_keys);
    make(value, process, round);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, key, sizeof value, value, NULL));
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, key, &size, value, NULL));
    CHECK_EQUAL(size, sizeof value);
    check_whole(value);
}

static void own_key(daos_handle_t kv, uint32_t process, uint32_t round)
{
    char key[32];
    uint32_t value[words];
    daos_size_t size = sizeof value;
    snprintf(key, sizeof key, "own %u %u", process, round);
    make(value, process, round);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_INSERT, key, sizeof value, value, NULL));
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, DAOS_COND_KEY_GET, key, &size, value, NULL));
    check_whole(value);
    CHECK_EQUAL(value[0] >> 24, process);
    CHECK_EQUAL(value[0] >> 12 & 0xfff, round);
}

/* Every key of an own that was put before comes exactly once. */
static void list(daos_handle_t kv, uint32_t process, uint32_t done)
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    bool seen[rounds] = {false};
    uint32_t found = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        daos_key_desc_t descriptors[50];
        char text[1024];
        struct memory memory;
        uint32_t nr = 50;
        CHECK_OK(daos_kv_list(kv, DAOS_TX_NONE, &nr, descriptors, memory_of(&memory, text, sizeof text),
                              &anchor, NULL));
        char const* at = text;
        for (uint32_t i = 0; i < nr; at += descriptors[i++].kd_key_len) {
            char key[32] = "";
            unsigned owner;
            unsigned round;
            CHECK(descriptors[i].kd_key_len < sizeof key);
            memcpy(key, at, descriptors[i].kd_key_len);
            if (sscanf(key, "own %u %u", &owner, &round) != 2 || owner != process) continue;
            CHECK(round < rounds && !seen[round]);
            seen[round] = true;
            ++found;
        }
    }
    CHECK_EQUAL(found, done);
}

static void array_block(daos_handle_t array, uint32_t process, uint32_t round)
{
    struct request request;
    struct memory memory;
    uint32_t value[words];
    uint64_t const index = ((uint64_t)round * processes + process) * words;
    make(value, process, round);
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, index, words),
                              memory_of(&memory, value, sizeof value), NULL));
    uint64_t const other = (uint64_t)round * processes * words; /* process 0's, there or not */
    CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, other, words),
                             memory_of(&memory, value, sizeof value), NULL));
    uint64_t const to_border = chunk_cells - other % chunk_cells;
    uint32_t const border = to_border < words ? (uint32_t)to_border : words;
    check_part(value, 0, border);
    check_part(value, border, words);
}

static void work(uint32_t process)
{
    daos_handle_t kv;
    daos_handle_t array;
    daos_size_t cell;
    daos_size_t chunk;
    uint64_t oids = 0;
    connect_again();
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 1, "SX"), DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_array_open(store.container, array_oid(store.container, 2, "SX"), DAOS_TX_NONE, DAOS_OO_RW,
                             &cell, &chunk, &array, NULL));
    for (uint32_t round = 0; round < rounds; ++round) {
        shared_key(kv, process, round);
        own_key(kv, process, round);
        array_block(array, process, round);
        if (round % 10 == 9) list(kv, process, round + 1);
    }
    /* Numbers that nobody else gets: each process claims its own as keys that must be new. */
    CHECK_OK(daos_cont_alloc_oids(store.container, 10, &oids, NULL));
    for (uint64_t oid = oids; oid < oids + 10; ++oid) {
        char key[32];
        snprintf(key, sizeof key, "oid %llu", (unsigned long long)oid);
        CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, DAOS_COND_KEY_INSERT, key, 1, "x", NULL));
    }
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
}

static void verify(void)
{
    daos_handle_t kv;
    daos_handle_t array;
    daos_size_t cell;
    daos_size_t chunk;
    connect_again();
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 1, "SX"), DAOS_OO_RO, &kv, NULL));
    CHECK_OK(daos_array_open(store.container, array_oid(store.container, 2, "SX"), DAOS_TX_NONE, DAOS_OO_RO,
                             &cell, &chunk, &array, NULL));
    for (uint32_t process = 0; process < processes; ++process) {
        list(kv, process, rounds);
        for (uint32_t round = 0; round < rounds; ++round) {
            uint32_t value[words];
            struct request request;
            struct memory memory;
            uint64_t const index = ((uint64_t)round * processes + process) * words;
            CHECK_OK(daos_array_read(array, DAOS_TX_NONE, request_of(&request, index, words),
                                     memory_of(&memory, value, sizeof value), NULL));
            check_whole(value);
            CHECK_EQUAL(value[0], process << 24 | round << 12);
        }
    }
    CHECK_OK(daos_array_close(array, NULL));
    CHECK_OK(daos_kv_close(kv, NULL));
    close_store(&store);
}

int main(void)
{
    daos_handle_t array;
    store = open_store();
    CHECK_OK(daos_array_create(store.container, array_oid(store.container, 2, "SX"), DAOS_TX_NONE, 4,
                               chunk_cells, &array, NULL));
    CHECK_OK(daos_array_close(array, NULL));
    close_store(&store);
    pid_t pids[processes];
    for (uint32_t process = 0; process < processes; ++process) {
        pids[process] = fork();
        CHECK(pids[process] >= 0);
        if (pids[process] != 0) continue;
        work(process);
        _exit(0);
    }
    for (uint32_t process = 0; process < processes; ++process) {
        int status = 0;
        CHECK(waitpid(pids[process], &status, 0) == pids[process]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    verify();
    return 0;
}
