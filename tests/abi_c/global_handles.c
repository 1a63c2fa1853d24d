/* Handles made global in one process and local in another one, which shares nothing with it but the bytes. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include "stepstore/admin.h"

#include <sys/wait.h>
#include <unistd.h>

enum { kinds = 4, most = 4096 };
enum { pool_handle, container_handle, array_handle, kv_handle };

static char blobs[kinds][most];
static d_iov_t globals[kinds];

static int to_global(int kind, daos_handle_t handle, d_iov_t* into)
{
    switch (kind) {
    case pool_handle: return daos_pool_local2global(handle, into);
    case container_handle: return daos_cont_local2global(handle, into);
    case array_handle: return daos_array_local2global(handle, into);
    default: return stepstore_kv_local2global(handle, into);
    }
}

static int to_local(int kind, daos_handle_t parent, d_iov_t from, daos_handle_t* handle)
{
    switch (kind) {
    case pool_handle: return daos_pool_global2local(from, handle);
    case container_handle: return daos_cont_global2local(parent, from, handle);
    case array_handle: return daos_array_global2local(parent, from, 0, handle);
    default: return stepstore_kv_global2local(parent, from, 0, handle);
    }
}

/* The other process: reads what the first one wrote, and writes in turn. */
static int child(void)
{
    daos_handle_t handles[kinds];
    for (int kind = 0; kind < kinds; ++kind) {
        uint64_t size = 0;
        CHECK(fread(&size, sizeof size, 1, stdin) == 1 && size <= most);
        CHECK(fread(blobs[kind], 1, size, stdin) == size);
        d_iov_set(&globals[kind], blobs[kind], size);
    }
    CHECK_OK(daos_init());
    CHECK_OK(to_local(pool_handle, handles[0], globals[0], &handles[0]));
    CHECK_OK(to_local(container_handle, handles[0], globals[1], &handles[1]));
    CHECK_OK(to_local(array_handle, handles[1], globals[2], &handles[2]));
    CHECK_OK(to_local(kv_handle, handles[1], globals[3], &handles[3]));

    struct request request;
    struct memory memory;
    uint32_t cells[4] = {0};
    daos_size_t size = 0;
    daos_size_t chunk = 0;
    CHECK_OK(daos_array_get_attr(handles[2], &chunk, &size));
    CHECK(chunk == 16 && size == 4);
    CHECK_OK(daos_array_read(handles[2], DAOS_TX_NONE, request_of(&request, 20, 4),
                             memory_of(&memory, cells, 16), NULL));
    CHECK_EQUAL(cells[3], 4);
    char value[8] = "";
    size = sizeof value;
    CHECK_OK(daos_kv_get(handles[3], DAOS_TX_NONE, 0, "key", &size, value, NULL));
    CHECK(strcmp(value, "hello") == 0);
    CHECK_OK(daos_kv_put(handles[3], DAOS_TX_NONE, 0, "answer", 5, "here", NULL));

    /* A read-only handle of the same object refuses to write. */
    daos_handle_t reader;
    CHECK_OK(stepstore_kv_global2local(handles[1], globals[3], DAOS_OO_RO, &reader));
    CHECK_RC(daos_kv_put(reader, DAOS_TX_NONE, 0, "answer", 1, "x", NULL), -DER_NO_PERM);
    CHECK_OK(daos_kv_close(reader, NULL));
    CHECK_OK(daos_kv_close(handles[3], NULL));
    CHECK_OK(daos_array_close(handles[2], NULL));
    CHECK_OK(daos_cont_close(handles[1], NULL));
    CHECK_OK(daos_pool_disconnect(handles[0], NULL));
    CHECK_OK(daos_fini());
    return 0;
}

static void make_globals(daos_handle_t const* handles)
{
    for (int kind = 0; kind < kinds; ++kind) {
        d_iov_t* global = &globals[kind];
        d_iov_set(global, NULL, 0);
        CHECK_OK(to_global(kind, handles[kind], global)); /* how large? */
        size_t const needed = global->iov_buf_len;
        CHECK(needed > 0 && needed <= most);
        d_iov_set(global, blobs[kind], needed - 1);
        CHECK_RC(to_global(kind, handles[kind], global), -DER_TRUNC);
        CHECK_EQUAL(global->iov_buf_len, needed);
        d_iov_set(global, blobs[kind], most);
        CHECK_OK(to_global(kind, handles[kind], global));
        CHECK_EQUAL(global->iov_len, needed);
        CHECK_RC(to_global(kind, handles[kind], NULL), -DER_INVAL);
        CHECK_RC(to_global(kind, DAOS_HDL_INVAL, global), -DER_NO_HDL);
    }
}

/* Every byte of it changed, cut short, of another kind: refused. */
static void damage(daos_handle_t const* handles)
{
    daos_handle_t const parents[kinds] = {{0}, handles[0], handles[1], handles[1]};
    for (int kind = 0; kind < kinds; ++kind) {
        daos_handle_t handle;
        for (size_t i = 0; i < globals[kind].iov_len; ++i) {
            blobs[kind][i] ^= 0x10;
            CHECK_RC(to_local(kind, parents[kind], globals[kind], &handle), -DER_INVAL);
            blobs[kind][i] ^= 0x10;
        }
        d_iov_t shorter = globals[kind];
        for (shorter.iov_len = 0; shorter.iov_len < globals[kind].iov_len; ++shorter.iov_len)
            CHECK_RC(to_local(kind, parents[kind], shorter, &handle), -DER_INVAL);
        for (int other = 0; other < kinds; ++other)
            if (other != kind) CHECK_RC(to_local(kind, parents[kind], globals[other], &handle), -DER_INVAL);
        d_iov_t const nothing = {NULL, 0, 0};
        CHECK_RC(to_local(kind, parents[kind], nothing, &handle), -DER_INVAL);
        CHECK_RC(to_local(kind, parents[kind], globals[kind], NULL), -DER_INVAL);
        if (kind > 0) CHECK_RC(to_local(kind, DAOS_HDL_INVAL, globals[kind], &handle), -DER_NO_HDL);
    }
}

static void run_child(char const* program)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t const pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "child", (char*)NULL);
        _exit(127);
    }
    close(ends[0]);
    for (int kind = 0; kind < kinds; ++kind) {
        uint64_t const size = globals[kind].iov_len;
        CHECK(write(ends[1], &size, sizeof size) == sizeof size);
        CHECK(write(ends[1], blobs[kind], size) == (ssize_t)size);
    }
    close(ends[1]);
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char** argv)
{
    if (argc > 1) return child();
    struct store store = open_store();
    daos_handle_t handles[kinds] = {store.pool, store.container, {0}, {0}};
    uint32_t cells[4] = {1, 2, 3, 4};
    struct request request;
    struct memory memory;
    CHECK_OK(daos_array_create(store.container, array_oid(store.container, 1, "S2"), DAOS_TX_NONE, 4, 16,
                               &handles[2], NULL));
    CHECK_OK(daos_array_write(handles[2], DAOS_TX_NONE, request_of(&request, 20, 4),
                              memory_of(&memory, cells, 16), NULL));
    CHECK_OK(daos_kv_open(store.container, kv_oid(store.container, 2, "SX"), DAOS_OO_RW, &handles[3], NULL));
    CHECK_OK(daos_kv_put(handles[3], DAOS_TX_NONE, 0, "key", 6, "hello", NULL));
    make_globals(handles);
    damage(handles);
    run_child(argv[0]);
    char answer[8] = "";
    daos_size_t size = sizeof answer;
    CHECK_OK(daos_kv_get(handles[3], DAOS_TX_NONE, 0, "answer", &size, answer, NULL));
    CHECK(strcmp(answer, "here") == 0);
    CHECK_OK(daos_kv_close(handles[3], NULL));
    CHECK_OK(daos_array_close(handles[2], NULL));
    close_store(&store);
    return 0;
}
