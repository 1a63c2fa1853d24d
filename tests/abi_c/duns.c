/* The unified namespace: paths that stand for containers, and paths that name them. */
#define _GNU_SOURCE
#include "check.h"

#include <daos_uns.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static char directory[300];
static char pool_text[37];
static char const* pool_label;

static char const* in(char const* name)
{
    static char paths[4][600];
    static int next;
    char* path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void unparse(unsigned char const* uuid, char* text)
{
    for (int i = 0; i < 16; ++i)
        text += sprintf(text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static bool exists(char const* path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static bool has_container(daos_handle_t pool, char const* name)
{
    daos_handle_t coh;
    int const rc = daos_cont_open(pool, name, DAOS_COO_RO, &coh, NULL, NULL);
    if (rc == 0) CHECK_OK(daos_cont_close(coh, NULL));
    return rc == 0;
}

static daos_size_t containers(daos_handle_t pool)
{
    daos_size_t nr = 0;
    CHECK_OK(daos_pool_list_cont(pool, &nr, NULL, NULL));
    return nr;
}

static bool is_posix(daos_handle_t pool, char const* name)
{
    struct daos_prop_entry layout = {.dpe_type = DAOS_PROP_CO_LAYOUT_TYPE};
    daos_prop_t list = {1, 0, &layout};
    daos_handle_t coh;
    CHECK_OK(daos_cont_open(pool, name, DAOS_COO_RO, &coh, NULL, NULL));
    CHECK_OK(daos_cont_query(coh, NULL, &list, NULL));
    CHECK_OK(daos_cont_close(coh, NULL));
    return layout.dpe_val == DAOS_PROP_CO_LAYOUT_POSIX;
}

#define RESOLVE(path, flags, expected)                                                                       \
    do {                                                                                                     \
        memset(&attr, 0, sizeof attr);                                                                       \
        attr.da_flags = (flags);                                                                             \
        CHECK_EQUAL(duns_resolve_path(path, &attr), expected);                                               \
    } while (0)

static void expect(struct duns_attr_t* attr, char const* pool, char const* cont, char const* rest)
{
    CHECK(strcmp(attr->da_pool, pool) == 0 && strcmp(attr->da_cont, cont) == 0);
    CHECK(rest == NULL ? attr->da_rel_path == NULL
                       : attr->da_rel_path != NULL && strcmp(attr->da_rel_path, rest) == 0);
    duns_destroy_attr(attr);
    CHECK(attr->da_rel_path == NULL);
}

static void names(void)
{
    static char const uuids[] = "/01234567-89ab-cdef-0123-456789abcdef/01234567-89AB-cdef-0123-456789abcdee";
    struct duns_attr_t attr;
    char text[200];
    RESOLVE("daos://tank/main", 0, 0);
    expect(&attr, "tank", "main", NULL);
    RESOLVE("DAOS://tank/main/a/b c/", 0, 0);
    expect(&attr, "tank", "main", "/a/b c/");
    RESOLVE("daos://tank", 0, 0);
    expect(&attr, "tank", "", NULL);
    RESOLVE("daos://tank/", 0, 0);
    expect(&attr, "tank", "", NULL);
    RESOLVE("/tank/main/x", DUNS_NO_PREFIX | DUNS_NO_CHECK_PATH, 0);
    expect(&attr, "tank", "main", "/x");
    RESOLVE("//tank/main", DUNS_NO_PREFIX | DUNS_NO_CHECK_PATH, 0);
    expect(&attr, "tank", "main", NULL);
    RESOLVE("daos://tank/main/x", DUNS_NO_CHECK_PATH, 0);
    expect(&attr, "tank", "main", "/x");
    snprintf(text, sizeof text, "%s/rest", uuids);
    RESOLVE(text, DUNS_NO_PREFIX, 0);
    CHECK(attr.da_puuid[0] == 0x01 && attr.da_cuuid[15] == 0xee);
    CHECK(strncmp(attr.da_cont, "01234567-89AB", 13) == 0);
    expect(&attr, "01234567-89ab-cdef-0123-456789abcdef", attr.da_cont, "/rest");
    snprintf(text, sizeof text, "daos:/%s", uuids);
    RESOLVE(text, 0, 0);
    CHECK(attr.da_type == DAOS_PROP_CO_LAYOUT_UNKNOWN);
    expect(&attr, "01234567-89ab-cdef-0123-456789abcdef", attr.da_cont, NULL);

    RESOLVE("/tank/main", DUNS_NO_CHECK_PATH, EINVAL);
    RESOLVE("/tank", DUNS_NO_PREFIX | DUNS_NO_CHECK_PATH, EINVAL);
    RESOLVE("tank/main", DUNS_NO_PREFIX | DUNS_NO_CHECK_PATH, EINVAL);
    RESOLVE("daos://ta nk/main", DUNS_NO_CHECK_PATH, EINVAL);
    RESOLVE("daos:///main", DUNS_NO_CHECK_PATH, EINVAL);
    RESOLVE("daos://", DUNS_NO_CHECK_PATH, EINVAL);
    RESOLVE("/tank/main/x", DUNS_NO_PREFIX, ENOENT); /* labels: a path of the file system */
    RESOLVE("", 0, EINVAL);
    RESOLVE(NULL, 0, EINVAL);
    CHECK_EQUAL(duns_resolve_path("daos://a/b", NULL), EINVAL);
}

static void attributes(void)
{
#define UUIDS "://01234567-89ab-cdef-0123-456789abcdef/11234567-89ab-cdef-0123-456789abcdef"
    static char const* const bad[] = {"",
                                      "DAOS",
                                      "DAOS.",
                                      "DAOS.POSIX",
                                      "DAOS.unknown" UUIDS,
                                      "DAOS." UUIDS,
                                      "daos.POSIX" UUIDS,
                                      "X.POSIX" UUIDS,
                                      "DAOS.POSIX" UUIDS "x",
                                      "DAOS.POSIX" UUIDS "/",
                                      "DAOS.POSIX:/01234567-89ab-cdef-0123-456789abcdef/",
                                      "DAOS.POSIX://tank/main",
                                      "DAOS.POSIX://01234567-89ab-cdef-0123-456789abcdef",
                                      "DAOS.POSIX://01234567-89ab-cdef-0123-456789abcdeg/"
                                      "11234567-89ab-cdef-0123-456789abcdef"};
    struct duns_attr_t attr = {0};
    char text[200] = "DAOS.HDF5" UUIDS;
    CHECK_EQUAL(duns_parse_attr(text, strlen(text), &attr), 0);
    CHECK_EQUAL(attr.da_type, DAOS_PROP_CO_LAYOUT_HDF5);
    CHECK(attr.da_cuuid[0] == 0x11 && strncmp(attr.da_pool, "01234567", 8) == 0);
    CHECK_EQUAL(duns_parse_attr(text, strlen(text) + 1, &attr), 0); /* as it is stored */
    CHECK_EQUAL(duns_parse_attr(text, strlen(text) + 2, &attr), EINVAL);
    CHECK_EQUAL(duns_parse_attr(text, strlen(text) - 1, &attr), EINVAL);
    strcpy(text, "DAOS.db" UUIDS);
    CHECK_EQUAL(duns_parse_attr(text, strlen(text), &attr), 0);
    CHECK_EQUAL(attr.da_type, DAOS_PROP_CO_LAYOUT_DATABASE);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; ++i) {
        strcpy(text, bad[i]);
        CHECK_EQUAL(duns_parse_attr(text, strlen(text), &attr), EINVAL);
    }
    CHECK_EQUAL(duns_parse_attr(NULL, 3, &attr), EINVAL);
    CHECK_EQUAL(duns_parse_attr(text, 3, NULL), EINVAL);
    CHECK_EQUAL(duns_set_sys_name(&attr, "daos_server"), 0);
    CHECK_EQUAL(duns_set_sys_name(&attr, "another_name_that_is_too_long"), 0);
    CHECK(strcmp(attr.da_sys, "another_name_th") == 0);
    CHECK_EQUAL(duns_set_sys_name(NULL, "x"), EINVAL);
    CHECK_EQUAL(duns_set_sys_name(&attr, NULL), EINVAL);
    duns_destroy_attr(&attr);
    CHECK(attr.da_sys == NULL);
    duns_destroy_attr(NULL);
}

static void paths(daos_handle_t pool)
{
    struct duns_attr_t attr = {.da_type = DAOS_PROP_CO_LAYOUT_HDF5};
    char container[37], text[200];
    daos_size_t const before = containers(pool);
    CHECK_EQUAL(duns_create_path(pool, in("file"), &attr), 0);
    CHECK_EQUAL(containers(pool), before + 1);
    unparse(attr.da_cuuid, container);
    CHECK(strcmp(attr.da_cont, container) == 0 && strcmp(attr.da_pool, pool_text) == 0);
    CHECK(has_container(pool, container));
    ssize_t const size = getxattr(in("file"), DUNS_XATTR_NAME, text, sizeof text);
    char expected[200];
    CHECK_EQUAL(size, snprintf(expected, sizeof expected, "DAOS.HDF5://%s/%s", pool_text, container) + 1);
    CHECK(strcmp(text, expected) == 0);
    CHECK_EQUAL(duns_create_path(pool, in("file"), &attr), EEXIST);
    CHECK_EQUAL(containers(pool), before + 1);

    RESOLVE(in("file"), 0, 0);
    CHECK_EQUAL(attr.da_type, DAOS_PROP_CO_LAYOUT_HDF5);
    expect(&attr, pool_text, container, NULL);
    CHECK(symlink(in("file"), in("symlink")) == 0);
    RESOLVE(in("symlink"), 0, 0);
    expect(&attr, pool_text, container, NULL);

    /* a directory, and what is below it */
    memset(&attr, 0, sizeof attr);
    attr.da_type = DAOS_PROP_CO_LAYOUT_POSIX;
    CHECK_EQUAL(duns_create_path(pool, in("posix"), &attr), 0);
    unparse(attr.da_cuuid, container);
    CHECK(is_posix(pool, container));
    CHECK(mkdir(in("posix/a"), 0755) == 0 && mkdir(in("posix/a/b"), 0755) == 0);
    RESOLVE(in("posix"), DUNS_NO_REVERSE_LOOKUP, 0);
    CHECK_EQUAL(attr.da_type, DAOS_PROP_CO_LAYOUT_POSIX);
    expect(&attr, pool_text, container, NULL);
    RESOLVE(in("posix/a/b/"), 0, 0);
    expect(&attr, pool_text, container, "/a/b");
    RESOLVE(in("posix/a"), DUNS_NO_REVERSE_LOOKUP, ENODATA);
    RESOLVE(directory, 0, ENODATA);
    RESOLVE("/", 0, ENODATA);
    RESOLVE(in("nothing"), 0, ENOENT);

    /* a second path for it */
    CHECK_EQUAL(duns_link_cont(pool, container, in("link")), 0);
    RESOLVE(in("link"), 0, 0);
    expect(&attr, pool_text, container, NULL);
    CHECK_EQUAL(duns_link_cont(pool, container, in("link")), EEXIST);
    CHECK_EQUAL(duns_link_cont(pool, "no_such_container", in("more")), ENOENT);
    CHECK_EQUAL(duns_link_cont(pool, "container", in("more")), EINVAL); /* it has no layout */
    CHECK_EQUAL(duns_link_cont(pool, NULL, in("more")), EINVAL);
    CHECK_EQUAL(duns_link_cont(pool, container, NULL), EINVAL);
    CHECK_EQUAL(duns_link_cont(DAOS_HDL_INVAL, container, in("more")), EINVAL);
    CHECK(!exists(in("more")));

    /* only the path itself, and only empty ones, with their container */
    CHECK_EQUAL(duns_destroy_path(pool, in("posix/a")), ENODATA);
    CHECK_EQUAL(duns_destroy_path(pool, in("posix")), ENOTEMPTY);
    CHECK(has_container(pool, container) && exists(in("posix/a/b")));
    CHECK_EQUAL(duns_destroy_path(pool, in("link")), 0);
    CHECK(!has_container(pool, container) && !exists(in("link")) && exists(in("posix")));
    CHECK_EQUAL(duns_destroy_path(pool, in("symlink")), 0); /* what it points to */
    CHECK(!exists(in("file")));
    CHECK_EQUAL(containers(pool), before);
    CHECK_EQUAL(duns_destroy_path(pool, in("file")), ENOENT);
    CHECK_EQUAL(duns_destroy_path(pool, NULL), EINVAL);
}

static void named(daos_handle_t pool)
{
    struct duns_attr_t attr = {.da_type = DAOS_PROP_CO_LAYOUT_PYTHON};
    daos_size_t const before = containers(pool);
    CHECK_EQUAL(duns_create_path(pool, "daos://tank/named", &attr), 0);
    CHECK(has_container(pool, "named") && strcmp(attr.da_cont, "named") == 0);
    duns_destroy_attr(&attr);
    CHECK_EQUAL(duns_create_path(pool, "daos://tank/named", &attr), EEXIST);
    duns_destroy_attr(&attr);
    attr.da_type = DAOS_PROP_CO_LAYOUT_POSIX; /* by libdfs, with which the program was not linked */
    CHECK_EQUAL(duns_create_path(pool, "daos://tank/posix", &attr), 0);
    CHECK(is_posix(pool, "posix"));
    duns_destroy_attr(&attr);
    CHECK_OK(daos_cont_destroy(pool, "posix", 0, NULL));
    CHECK_EQUAL(duns_create_path(pool, "daos://tank", &attr), EINVAL);
    CHECK_EQUAL(duns_destroy_path(pool, "daos://tank/named/below"), EINVAL);
    CHECK_EQUAL(duns_destroy_path(pool, "daos://tank"), EINVAL);
    CHECK_EQUAL(duns_destroy_path(pool, "daos://tank/named"), EINVAL); /* of another pool */
    char path[200];
    snprintf(path, sizeof path, "daos://%s/named", pool_label);
    CHECK_EQUAL(duns_destroy_path(pool, path), 0);
    CHECK_EQUAL(duns_create_path(pool, "daos://tank/named", &(struct duns_attr_t){.da_type = 4}), 0);
    snprintf(path, sizeof path, "daos://%s/named", pool_text);
    CHECK_EQUAL(duns_destroy_path(pool, path), 0);
    CHECK_EQUAL(duns_destroy_path(pool, path), ENOENT);
    CHECK_EQUAL(containers(pool), before);
}

static void mistakes(struct store const* store)
{
    struct duns_attr_t attr = {.da_type = DAOS_PROP_CO_LAYOUT_HDF5};
    daos_size_t const before = containers(store->pool);
    CHECK_EQUAL(duns_create_path(store->pool, in("no/such/place"), &attr), ENOENT);
    CHECK_EQUAL(duns_create_path(store->pool, NULL, &attr), EINVAL);
    CHECK_EQUAL(duns_create_path(store->pool, in("new"), NULL), EINVAL);
    CHECK_EQUAL(duns_create_path(DAOS_HDL_INVAL, in("new"), &attr), EINVAL);
    attr.da_type = DAOS_PROP_CO_LAYOUT_UNKNOWN;
    CHECK_EQUAL(duns_create_path(store->pool, in("new"), &attr), EINVAL);
    attr.da_type = 999;
    CHECK_EQUAL(duns_create_path(store->pool, in("new"), &attr), EINVAL);
    struct daos_prop_entry bad = {.dpe_type = DAOS_PROP_CO_REDUN_FAC, .dpe_val = 99};
    daos_prop_t list = {1, 0, &bad};
    attr.da_type = DAOS_PROP_CO_LAYOUT_HDF5;
    attr.da_props = &list;
    CHECK_EQUAL(duns_create_path(store->pool, in("new"), &attr), EINVAL); /* and the file is gone */
    attr.da_props = NULL;
    daos_handle_t reader;
    CHECK_OK(daos_pool_connect(store->path, NULL, DAOS_PC_RO, &reader, NULL, NULL));
    CHECK_EQUAL(duns_create_path(reader, in("new"), &attr), EPERM);
    CHECK_OK(daos_pool_disconnect(reader, NULL));
    CHECK(!exists(in("new")));
    CHECK_EQUAL(containers(store->pool), before);

    /* what others have set */
    char const other[] =
        "DAOS.HDF5://01234567-89ab-cdef-0123-456789abcdef/11234567-89ab-cdef-0123-456789abcdef";
    int const file = open(in("foreign"), O_CREAT | O_WRONLY, 0644);
    CHECK(file >= 0 && close(file) == 0);
    CHECK(setxattr(in("foreign"), DUNS_XATTR_NAME, other, sizeof other, 0) == 0);
    CHECK_EQUAL(duns_destroy_path(store->pool, in("foreign")), EINVAL); /* of another pool */
    CHECK(setxattr(in("foreign"), DUNS_XATTR_NAME, "nonsense", 8, 0) == 0);
    RESOLVE(in("foreign"), 0, EINVAL);
    CHECK(strstr(explanation(), "DAOS.LAYOUT") != NULL);
    char big[1000];
    memset(big, 'x', sizeof big);
    CHECK(setxattr(in("foreign"), DUNS_XATTR_NAME, big, sizeof big, 0) == 0);
    RESOLVE(in("foreign"), 0, EINVAL);
    CHECK_EQUAL(duns_destroy_path(store->pool, in("foreign")), EINVAL);
    CHECK(exists(in("foreign")));
}

int main(void)
{
    struct store store = open_store();
    daos_pool_info_t info = {0};
    snprintf(directory, sizeof directory, "%.250s-paths",
             store.path); /* beside the pool, and removed with it */
    CHECK(mkdir(directory, 0755) == 0);
    CHECK_OK(daos_pool_query(store.pool, NULL, &info, NULL, NULL));
    unparse(info.pi_uuid, pool_text);
    pool_label = strrchr(store.path, '/') + 1; /* as pools have it that were given none */
    names();
    attributes();
    named(store.pool);
    if (setxattr(directory, "user.test", "x", 1, 0) == 0) {
        paths(store.pool);
        mistakes(&store);
    } else {
        CHECK_EQUAL(errno, ENOTSUP); /* a file system without them */
        struct duns_attr_t attr = {.da_type = DAOS_PROP_CO_LAYOUT_HDF5};
        CHECK_EQUAL(duns_create_path(store.pool, in("file"), &attr), ENOTSUP);
        CHECK(!exists(in("file")) && containers(store.pool) == 1);
    }
    close_store(&store);
    return 0;
}
