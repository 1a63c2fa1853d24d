/* Pools on bad disks: full, damaged, cut off, or not ours to write. Each gives an error that names the pool,
 * and what was stored before stays. Every look is a process of its own, which has seen nothing of the files
 * before. */
#define _XOPEN_SOURCE 700
#define _GNU_SOURCE
#include "check.h"

#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char const* pool_path; /* the pool under test */

static void in_child(void (*body)(void))
{
    fflush(NULL);
    pid_t const child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        body();
        fflush(NULL);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static struct store connect_with(unsigned pool_flags, unsigned container_flags)
{
    struct store store = {pool_path, {0}, {0}};
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(pool_path, NULL, pool_flags, &store.pool, NULL, NULL));
    CHECK_OK(daos_cont_open(store.pool, "box", container_flags, &store.container, NULL, NULL));
    return store;
}

static void expect_named(int rc, int expected)
{
    if (rc != expected) fprintf(stderr, "%s(%d): %s\n", d_errstr(rc), rc, explanation());
    CHECK_EQUAL(rc, expected);
    CHECK(strstr(explanation(), pool_path) != NULL);
}

static daos_handle_t open_kv(daos_handle_t container, uint64_t lo)
{
    daos_handle_t kv;
    CHECK_OK(daos_kv_open(container, kv_oid(container, lo, "S1"), DAOS_OO_RW, &kv, NULL));
    return kv;
}

static void expect(daos_handle_t kv, char const* key, char const* value)
{
    char buffer[256];
    daos_size_t size = sizeof buffer;
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, key, &size, buffer, NULL));
    CHECK(size == strlen(value) && memcmp(buffer, value, size) == 0);
}

static char const marked_value[] = "the value that a bad disk will change a bit of";
static char const marked_key[] = "the-key-that-a-bad-disk-will-change";

/* A container `box` with a key-value object of two keys beside the marked ones, and another one. */
static void make_contents(void)
{
    daos_handle_t poh;
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(pool_path, NULL, DAOS_PC_RW, &poh, NULL, NULL));
    CHECK_OK(daos_cont_create_with_label(poh, "box", NULL, NULL, NULL));
    CHECK_OK(daos_pool_disconnect(poh, NULL));
    CHECK_OK(daos_fini());
    struct store store = connect_with(DAOS_PC_RW, DAOS_COO_RW);
    daos_handle_t const kv = open_kv(store.container, 1);
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "victim", strlen(marked_value), marked_value, NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "fine", 9, "untouched", NULL));
    daos_handle_t const other = open_kv(store.container, 2);
    CHECK_OK(daos_kv_put(other, DAOS_TX_NONE, 0, marked_key, 5, "value", NULL));
    daos_handle_t const whole = open_kv(store.container, 3);
    CHECK_OK(daos_kv_put(whole, DAOS_TX_NONE, 0, "fine", 9, "untouched", NULL));
    close_store(&store);
}

/* ---- a full disk, played by a limit on the size of files */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void fill(void)
{
    enum { value_size = 30000, array_size = 20 << 20 };
    static char value[value_size];
    static char read[value_size];
    static char cells[array_size];
    signal(SIGXFSZ, SIG_IGN);
    struct store store = connect_with(DAOS_PC_RW, DAOS_COO_RW);
    daos_handle_t const kv = open_kv(store.container, 4);
    daos_handle_t array;
    struct request request;
    struct memory memory;
    daos_size_t size;
    char key[32];
    int stored = 0;
    int rc = 0;
    CHECK_OK(daos_array_create(store.container, array_oid(store.container, 5, "S1"), DAOS_TX_NONE, 1, 1 << 20,
                               &array, NULL));
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, 6),
                              memory_of(&memory, "before", 6), NULL));

    limit_files(8 << 20);
    for (; rc == 0 && stored < 100000; stored += rc == 0) {
        memset(value, 'a' + stored % 26, sizeof value);
        snprintf(key, sizeof key, "key %d", stored);
        rc = daos_kv_put(kv, DAOS_TX_NONE, 0, key, sizeof value, value, NULL);
    }
    expect_named(rc, -DER_NOSPACE);
    CHECK(stored > 10);
    memset(cells, 'x', sizeof cells);
    rc = daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, array_size),
                          memory_of(&memory, cells, sizeof cells), NULL);
    expect_named(rc, -DER_NOSPACE);

    /* Everything that was acknowledged is there, nothing of what was not. */
    for (int i = 0; i <= stored; ++i) {
        snprintf(key, sizeof key, "key %d", i);
        size = sizeof read;
        CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, key, &size, read, NULL));
        CHECK_EQUAL(size, i < stored ? value_size : 0);
        CHECK(i == stored || (read[0] == 'a' + i % 26 && read[value_size - 1] == read[0]));
    }
    CHECK_OK(daos_array_get_size(array, DAOS_TX_NONE, &size, NULL));
    CHECK_EQUAL(size, 6);
    CHECK_OK(
        daos_array_read(array, DAOS_TX_NONE, request_of(&request, 0, 6), memory_of(&memory, read, 6), NULL));
    CHECK(memcmp(read, "before", 6) == 0);

    limit_files(RLIM_INFINITY); /* there is space again: the same handles go on */
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, key, sizeof value, value, NULL));
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, array_size),
                              memory_of(&memory, cells, sizeof cells), NULL));
    close_store(&store);
}

/* ---- damage: what is done to each file of the pool */

static char const* marker;
static int found;
static char const* only_name;

static int flip(char const* path, struct stat const* status, int type, struct FTW* walk)
{
    (void)walk;
    if (type != FTW_F || status->st_size == 0) return 0;
    size_t const size = (size_t)status->st_size;
    size_t const length = strlen(marker);
    char* bytes = malloc(size);
    FILE* file = fopen(path, "r+b");
    CHECK(bytes != NULL && file != NULL && fread(bytes, 1, size, file) == size);
    for (char* at = bytes; (at = memmem(at, size - (size_t)(at - bytes), marker, length)) != NULL;
         at += length) {
        at[length / 2] ^= 0x10;
        ++found;
    }
    CHECK(fseek(file, 0, SEEK_SET) == 0 && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    free(bytes);
    return 0;
}

static int cut_off(char const* path, struct stat const* status, int type, struct FTW* walk)
{
    if (type != FTW_F || strcmp(path + walk->base, only_name) != 0) return 0;
    CHECK(truncate(path, status->st_size / 3) == 0);
    ++found;
    return 0;
}

static int forbid(char const* path, struct stat const* status, int type, struct FTW* walk)
{
    (void)status;
    (void)walk;
    ++found;
    return chmod(path, type == FTW_F ? 0444 : 0555);
}

static int allow(char const* path, struct stat const* status, int type, struct FTW* walk)
{
    (void)status;
    (void)walk;
    return chmod(path, type == FTW_F ? 0644 : 0755);
}

static void to_each_file(__nftw_func_t what)
{
    found = 0;
    CHECK(nftw(pool_path, what, 16, FTW_PHYS) == 0);
    CHECK(what == allow || found > 0);
}

static void look_for_the_value(void)
{
    struct store store = connect_with(DAOS_PC_RW, DAOS_COO_RW);
    daos_handle_t const kv = open_kv(store.container, 1);
    char buffer[64];
    daos_size_t size = sizeof buffer;
    expect_named(daos_kv_get(kv, DAOS_TX_NONE, 0, "victim", &size, buffer, NULL), -DER_CSUM);
    CHECK(strstr(explanation(), "victim") != NULL);
    expect(kv, "fine", "untouched");
    close_store(&store);
}

static void look_for_the_key(void)
{
    struct store store = connect_with(DAOS_PC_RW, DAOS_COO_RW);
    daos_handle_t const kv = open_kv(store.container, 2);
    char buffer[64];
    daos_size_t size = sizeof buffer;
    daos_key_desc_t descriptor;
    struct memory memory;
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    uint32_t nr = 1;
    /* Not "no such key": that would be a lie. */
    expect_named(daos_kv_get(kv, DAOS_TX_NONE, 0, marked_key, &size, buffer, NULL), -DER_CSUM);
    expect_named(daos_kv_list(kv, DAOS_TX_NONE, &nr, &descriptor, memory_of(&memory, buffer, sizeof buffer),
                              &anchor, NULL),
                 -DER_CSUM);
    daos_handle_t const whole = open_kv(store.container, 3);
    expect(whole, "fine", "untouched");
    close_store(&store);
}

static void connect_to_damage(void)
{
    daos_handle_t poh;
    CHECK_OK(daos_init());
    expect_named(daos_pool_connect(pool_path, NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_DF_INVAL);
    expect_named(daos_pool_connect(pool_path, NULL, DAOS_PC_RO, &poh, NULL, NULL), -DER_DF_INVAL);
    CHECK_OK(daos_fini());
}

/* ---- somebody else's pool, or one in a read-only directory */

static void as_somebody_else(void)
{
    if (getuid() == 0) CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    daos_handle_t poh;
    CHECK_OK(daos_init());
    expect_named(daos_pool_connect(pool_path, NULL, DAOS_PC_RW, &poh, NULL, NULL), -DER_NO_PERM);
    CHECK_OK(daos_fini());
    struct store store = connect_with(DAOS_PC_RO, DAOS_COO_RW);
    daos_handle_t const kv = open_kv(store.container, 1);
    expect(kv, "fine", "untouched");
    CHECK_RC(daos_kv_put(kv, DAOS_TX_NONE, 0, "fine", 5, "other", NULL), -DER_NO_PERM);
    close_store(&store);
}

static void look_at_all(void)
{
    struct store store = connect_with(DAOS_PC_RW, DAOS_COO_RW);
    expect(open_kv(store.container, 1), "victim", marked_value);
    expect(open_kv(store.container, 2), marked_key, "value");
    expect(open_kv(store.container, 3), "fine", "untouched");
    close_store(&store);
}

static void new_contents(void)
{
    pool_path = new_pool();
    in_child(make_contents);
}

int main(void)
{
    new_contents();
    in_child(fill);
    in_child(look_at_all);

    new_contents();
    marker = marked_value;
    to_each_file(flip);
    in_child(look_for_the_value);

    new_contents();
    marker = marked_key;
    to_each_file(flip);
    in_child(look_for_the_key);

    new_contents();
    only_name = "stepstore.pool";
    to_each_file(cut_off);
    in_child(connect_to_damage);

    new_contents();
    only_name = "data.mdb"; /* the indexes */
    to_each_file(cut_off);
    in_child(connect_to_damage);

    new_contents();
    to_each_file(forbid);
    char directory[600];
    snprintf(directory, sizeof directory, "%s/..", pool_path);
    CHECK(chmod(directory, 0755) == 0);
    in_child(as_somebody_else);
    to_each_file(allow);
    in_child(look_at_all);
    return 0;
}
