/* Helpers of the C tests. Making a pool is the one thing that the DAOS API leaves to other tools. On a DAOS
 * system the pool is there already, and what is in it goes. */
#define _XOPEN_SOURCE 700
#define _GNU_SOURCE
#include "check.h"

#include "stepstore/admin.h"

#include <ftw.h>
#include <unistd.h>

static char directory[256];
static pid_t owner;

static int remove_entry(const char* path, const struct stat* status, int type, struct FTW* walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static void remove_directory(void)
{
    if (getpid() == owner) nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char* explanation(void)
{
    return on_daos() ? "" : stepstore_last_message();
}

bool on_daos(void)
{
    return getenv("STEPSTORE_TEST_DAOS_POOL") != NULL;
}

static int failures;

static void tell_failures(void)
{
    fprintf(stderr, "%d checks failed\n", failures);
    fflush(stderr);
    _exit(1);
}

void check_failed(void)
{
    if (!on_daos()) exit(1);
    if (failures++ == 0) atexit(tell_failures);
    if (failures == 1000) exit(1);
}

static const char* emptied(const char* label)
{
    enum { most = 100 };
    static struct daos_pool_cont_info found[most];
    daos_handle_t pool;
    daos_size_t nr = most;
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(label, NULL, DAOS_PC_RW, &pool, NULL, NULL));
    CHECK_OK(daos_pool_list_cont(pool, &nr, found, NULL));
    for (daos_size_t i = 0; i < nr; ++i)
        CHECK_OK(daos_cont_destroy(pool, found[i].pci_label, 1, NULL));
    CHECK_OK(daos_pool_disconnect(pool, NULL));
    CHECK_OK(daos_fini());
    return label;
}

void uuid_text(unsigned char const* uuid, char* text)
{
    for (int i = 0; i < 16; ++i)
        text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

const char* new_pool(void)
{
    static char path[512];
    static int count = 0;
    if (on_daos()) return emptied(getenv("STEPSTORE_TEST_DAOS_POOL"));
    if (owner != getpid()) {
        const char* root = getenv("TMPDIR");
        snprintf(directory, sizeof directory, "%s/stepstore-test-XXXXXX", root ? root : "/tmp");
        CHECK(mkdtemp(directory) != NULL);
        owner = getpid();
        atexit(remove_directory);
    }
    snprintf(path, sizeof path, "%s/pool%d", directory, ++count);
    struct stepstore_pool_options options = {0};
    options.backend = getenv("STEPSTORE_TEST_BACKEND");
    options.targets = 8;
    CHECK_OK(stepstore_pool_create(path, &options));
    return path;
}

struct store open_store(void)
{
    struct store store;
    store.path = new_pool();
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(store.path, NULL, DAOS_PC_RW, &store.pool, NULL, NULL));
    CHECK_OK(daos_cont_create_with_label(store.pool, "container", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(store.pool, "container", DAOS_COO_RW, &store.container, NULL, NULL));
    return store;
}

void close_store(struct store* store)
{
    CHECK_OK(daos_cont_close(store->container, NULL));
    CHECK_OK(daos_pool_disconnect(store->pool, NULL));
    CHECK_OK(daos_fini());
}

static daos_obj_id_t new_oid(daos_handle_t container, uint64_t lo, enum daos_otype_t type, char const* oclass)
{
    daos_obj_id_t oid;
    oid.lo = lo;
    oid.hi = 0;
    int const id = daos_oclass_name2id(on_daos() ? "S1" : oclass); /* it may have one target */
    CHECK(id != OC_UNKNOWN);
    CHECK_OK(daos_obj_generate_oid(container, &oid, type, (daos_oclass_id_t)id, 0, 0));
    return oid;
}

daos_obj_id_t kv_oid(daos_handle_t container, uint64_t lo, char const* oclass)
{
    return new_oid(container, lo, DAOS_OT_KV_HASHED, oclass);
}

daos_obj_id_t array_oid(daos_handle_t container, uint64_t lo, char const* oclass)
{
    return new_oid(container, lo, DAOS_OT_ARRAY, oclass);
}

d_sg_list_t* memory_of(struct memory* memory, void* buffer, size_t size)
{
    d_iov_set(&memory->piece, buffer, size);
    memory->list.sg_nr = 1;
    memory->list.sg_nr_out = 0;
    memory->list.sg_iovs = &memory->piece;
    return &memory->list;
}

daos_array_iod_t* request_of(struct request* request, uint64_t index, uint64_t length)
{
    request->range.rg_idx = index;
    request->range.rg_len = length;
    request->iod.arr_nr = 1;
    request->iod.arr_rgs = &request->range;
    request->iod.arr_nr_short_read = 0;
    request->iod.arr_nr_read = 0;
    return &request->iod;
}
