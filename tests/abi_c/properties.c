/* Properties of a container that there is: what is set stays set, and what cannot be kept is refused. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static int set_one(daos_handle_t coh, uint32_t type, uint64_t value)
{
    struct daos_prop_entry entry = {.dpe_type = type, .dpe_val = value};
    daos_prop_t list = {1, 0, &entry};
    return daos_cont_set_prop(coh, &list, NULL);
}

static int set_label(daos_handle_t coh, char const* label)
{
    char text[200];
    snprintf(text, sizeof text, "%s", label);
    struct daos_prop_entry entry = {.dpe_type = DAOS_PROP_CO_LABEL};
    entry.dpe_str = text;
    daos_prop_t list = {1, 0, &entry};
    return daos_cont_set_prop(coh, &list, NULL);
}

static uint64_t number_of(daos_handle_t coh, uint32_t type)
{
    struct daos_prop_entry entry = {.dpe_type = type};
    daos_prop_t list = {1, 0, &entry};
    CHECK_OK(daos_cont_query(coh, NULL, &list, NULL));
    return entry.dpe_val;
}

static int is_in(struct store const* store, char const* label)
{
    daos_handle_t coh;
    int const rc = daos_cont_open(store->pool, label, DAOS_COO_RO, &coh, NULL, NULL);
    if (rc == -DER_NONEXIST) return 0;
    CHECK_OK(rc);
    CHECK_OK(daos_cont_close(coh, NULL));
    return 1;
}

static void numbers(struct store const* store)
{
    daos_handle_t const coh = store->container;
    CHECK_OK(set_one(coh, DAOS_PROP_CO_LAYOUT_TYPE, DAOS_PROP_CO_LAYOUT_PYTHON));
    CHECK_OK(set_one(coh, DAOS_PROP_CO_SNAPSHOT_MAX, 7));
    CHECK_EQUAL(number_of(coh, DAOS_PROP_CO_LAYOUT_TYPE), DAOS_PROP_CO_LAYOUT_PYTHON);
    CHECK_EQUAL(number_of(coh, DAOS_PROP_CO_SNAPSHOT_MAX), 7);
    CHECK_OK(set_one(coh, DAOS_PROP_CO_STATUS, DAOS_PROP_CO_STATUS_VAL(DAOS_PROP_CO_HEALTHY, 0, 0)));
    CHECK_OK(daos_cont_status_clear(coh, NULL));
    CHECK_OK(set_one(coh, DAOS_PROP_CO_REDUN_FAC, DAOS_PROP_CO_REDUN_RF0)); /* as it is */

    static struct {
        uint32_t type;
        uint64_t value;
        int rc;
    } const refused[] = {
        {DAOS_PROP_CO_REDUN_FAC, DAOS_PROP_CO_REDUN_RF1, -DER_NOTSUPPORTED},
        {DAOS_PROP_CO_REDUN_FAC, 99, -DER_INVAL},
        {DAOS_PROP_CO_ENCRYPT, DAOS_PROP_CO_ENCRYPT_AES_XTS128, -DER_NOTSUPPORTED},
        {DAOS_PROP_CO_EC_CELL_SZ, 65536, -DER_NO_PERM},
        {DAOS_PROP_CO_EC_PDA, 1, -DER_NO_PERM},
        {DAOS_PROP_CO_RP_PDA, 1, -DER_NO_PERM},
        {DAOS_PROP_CO_PERF_DOMAIN, 255, -DER_NO_PERM},
        {DAOS_PROP_CO_ALLOCED_OID, 1000, -DER_NO_PERM},
        {DAOS_PROP_CO_OBJ_VERSION, 1, -DER_INVAL},
        {DAOS_PROP_CO_GLOBAL_VERSION, 1, -DER_INVAL},
        {DAOS_PROP_CO_STATUS, DAOS_PROP_CO_STATUS_VAL(DAOS_PROP_CO_UNCLEAN, 0, 0), -DER_INVAL},
        {DAOS_PROP_CO_LAYOUT_TYPE, DAOS_PROP_CO_LAYOUT_MAX, -DER_INVAL},
        {DAOS_PROP_CO_ACL, 0, -DER_INVAL},
        {DAOS_PROP_CO_ROOTS, 0, -DER_INVAL},
        {DAOS_PROP_CO_LABEL, 0, -DER_INVAL},
        {DAOS_PROP_PO_LABEL, 0, -DER_INVAL},
        {17, 0, -DER_INVAL},
    };
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; ++i)
        CHECK_RC(set_one(coh, refused[i].type, refused[i].value), refused[i].rc);

    /* All of a list or nothing. */
    struct daos_prop_entry two[] = {{.dpe_type = DAOS_PROP_CO_SNAPSHOT_MAX, .dpe_val = 9},
                                    {.dpe_type = DAOS_PROP_CO_REDUN_FAC, .dpe_val = 1}};
    daos_prop_t list = {2, 0, two};
    CHECK_RC(daos_cont_set_prop(coh, &list, NULL), -DER_NOTSUPPORTED);
    CHECK_EQUAL(number_of(coh, DAOS_PROP_CO_SNAPSHOT_MAX), 7);
    two[1] = two[0];
    CHECK_RC(daos_cont_set_prop(coh, &list, NULL), -DER_INVAL); /* twice */
    list.dpp_nr = 0;
    list.dpp_entries = NULL;
    CHECK_OK(daos_cont_set_prop(coh, &list, NULL));
    CHECK_RC(daos_cont_set_prop(coh, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_set_prop(store->pool, &list, NULL), -DER_NO_HDL);

    struct daos_prop_co_roots roots = {{{1, 2}, {3, 4}, {0, 0}, {0, 0}}};
    struct daos_prop_entry entry = {.dpe_type = DAOS_PROP_CO_ROOTS};
    entry.dpe_val_ptr = &roots;
    list.dpp_nr = 1;
    list.dpp_entries = &entry;
    CHECK_OK(daos_cont_set_prop(coh, &list, NULL));
    entry.dpe_val_ptr = NULL;
    CHECK_OK(daos_cont_query(coh, NULL, &list, NULL));
    CHECK(entry.dpe_val_ptr != NULL && memcmp(entry.dpe_val_ptr, &roots, sizeof roots) == 0);
    free(entry.dpe_val_ptr);
}

static void labels(struct store const* store)
{
    daos_handle_t const coh = store->container;
    CHECK_OK(daos_cont_create_with_label(store->pool, "other", NULL, NULL, NULL));
    CHECK_RC(set_label(coh, "other"), -DER_EXIST);
    CHECK_RC(set_label(coh, "a/b"), -DER_INVAL);
    CHECK_RC(set_label(coh, DAOS_PROP_CO_LABEL_DEFAULT), -DER_INVAL);
    CHECK_OK(set_label(coh, "container"));
    CHECK_OK(set_label(coh, "renamed"));
    CHECK(is_in(store, "renamed") && is_in(store, "other") && !is_in(store, "container"));
    CHECK_EQUAL(number_of(coh, DAOS_PROP_CO_SNAPSHOT_MAX), 7);
    CHECK_OK(daos_cont_create_with_label(store->pool, "container", NULL, NULL, NULL)); /* free again */
    CHECK_OK(daos_cont_destroy(store->pool, "container", 0, NULL));

    /* One that was made without a label. */
    uuid_t uuid;
    char text[DAOS_UUID_STR_SIZE];
    daos_handle_t unnamed;
    CHECK_OK(daos_cont_create(store->pool, &uuid, NULL, NULL));
    uuid_text(uuid, text);
    CHECK_OK(daos_cont_open(store->pool, text, DAOS_COO_RW, &unnamed, NULL, NULL));
    CHECK_OK(set_label(unnamed, "container"));
    CHECK_OK(daos_cont_close(unnamed, NULL));
    CHECK(is_in(store, "container") && is_in(store, text));

    daos_handle_t reader;
    CHECK_OK(daos_cont_open(store->pool, "other", DAOS_COO_RO, &reader, NULL, NULL));
    CHECK_RC(set_label(reader, "mine"), -DER_NO_PERM);
    CHECK_RC(daos_cont_status_clear(reader, NULL), -DER_NO_PERM);
    CHECK_OK(daos_cont_destroy(store->pool, "other", 1, NULL));
    CHECK_OK(daos_cont_close(reader, NULL));
}

/* Of several processes that want one label, one gets it. */
static void races(char const* path)
{
    enum { makers = 4, rounds = 20 };
    pid_t children[makers];
    for (int i = 0; i < makers; ++i) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] > 0) continue;
        struct store store;
        char own[32], shared[32];
        unsigned won = 0;
        snprintf(own, sizeof own, "of-%d", i);
        CHECK_OK(daos_init());
        CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RW, &store.pool, NULL, NULL));
        CHECK_OK(daos_cont_create_with_label(store.pool, own, NULL, NULL, NULL));
        CHECK_OK(daos_cont_open(store.pool, own, DAOS_COO_RW, &store.container, NULL, NULL));
        for (int round = 0; round < rounds; ++round) {
            snprintf(shared, sizeof shared, "shared-%d", round);
            int const rc = set_label(store.container, shared);
            CHECK(rc == 0 || rc == -DER_EXIST);
            won += rc == 0;
        }
        close_store(&store);
        _exit((int)won);
    }
    int won = 0;
    for (int i = 0; i < makers; ++i) {
        int status = 0;
        CHECK(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status));
        won += WEXITSTATUS(status);
    }
    CHECK(won >= rounds); /* one leaves a label when it takes the next */
}

/* A pool in files cannot change several files at once. */
static void in_files(struct store const* store)
{
    CHECK_RC(set_label(store->container, "renamed"), -DER_NOTSUPPORTED);
    CHECK_RC(set_one(store->container, DAOS_PROP_CO_SNAPSHOT_MAX, 7), -DER_NOTSUPPORTED);
    CHECK(is_in(store, "container") && !is_in(store, "renamed"));
    CHECK_EQUAL(number_of(store->container, DAOS_PROP_CO_SNAPSHOT_MAX), 0);
    CHECK_OK(set_label(store->container, "container")); /* as it is */
    CHECK_OK(daos_cont_status_clear(store->container, NULL));
}

int main(void)
{
    char const* const given = getenv("STEPSTORE_TEST_BACKEND");
    char const* const backend = given ? given : "";
    char path[600];
    snprintf(path, sizeof path, "%s", new_pool());
    if (strcmp(backend, "memory") != 0 && strcmp(backend, "files") != 0) races(path);
    struct store store = open_store();
    if (strcmp(backend, "files") == 0) {
        in_files(&store);
    } else {
        numbers(&store);
        labels(&store);
    }
    close_store(&store);
    return 0;
}
