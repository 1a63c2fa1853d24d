/* Pools and containers: queries, lists, properties, object ids. */
#define _GNU_SOURCE

#include "check.h"

#include <unistd.h>

static void queries(struct store const* store)
{
    daos_pool_info_t info;
    daos_target_info_t target;
    d_rank_list_t* ranks = NULL;
    memset(&info, 0xff, sizeof info);
    info.pi_bits = DPI_ALL;
    CHECK_OK(daos_pool_query(store->pool, &ranks, &info, NULL, NULL));
    CHECK_EQUAL(info.pi_ntargets, 8);
    CHECK_EQUAL(info.pi_nnodes, 1);
    CHECK_EQUAL(info.pi_ndisabled, 0);
    CHECK_EQUAL(info.pi_space.ps_ntargets, 8);
    CHECK(info.pi_space.ps_space.s_total[DAOS_MEDIA_SCM] >= info.pi_space.ps_space.s_free[DAOS_MEDIA_SCM]);
    CHECK(info.pi_space.ps_space.s_free[DAOS_MEDIA_SCM] > 0);
    CHECK(ranks != NULL && ranks->rl_nr == 1 && ranks->rl_ranks[0] == 0);
    d_rank_list_free(ranks);
    memset(&info, 0xff, sizeof info);
    info.pi_bits = 0; /* neither space nor the enabled ranks */
    CHECK_OK(daos_pool_query(store->pool, &ranks, &info, NULL, NULL));
    CHECK_EQUAL(info.pi_ntargets, 8);
    CHECK_EQUAL(info.pi_space.ps_space.s_total[DAOS_MEDIA_SCM], 0);
    CHECK(ranks != NULL && ranks->rl_nr == 0);
    d_rank_list_free(ranks);
    CHECK_OK(daos_pool_query(store->pool, NULL, NULL, NULL, NULL));
    for (uint32_t i = 0; i < 8; ++i) {
        CHECK_OK(daos_pool_query_target(store->pool, i, 0, &target, NULL));
        CHECK_EQUAL(target.ta_state, DAOS_TS_UP_IN);
        CHECK(target.ta_space.s_total[DAOS_MEDIA_SCM] >= target.ta_space.s_free[DAOS_MEDIA_SCM]);
    }
    daos_prop_t* properties = daos_prop_alloc(0);
    CHECK(properties != NULL);
    CHECK_OK(daos_pool_query(store->pool, NULL, NULL, properties, NULL));
    struct daos_prop_entry* entry = daos_prop_entry_get(properties, DAOS_PROP_PO_LABEL);
    CHECK(entry != NULL && daos_prop_is_set(entry) && strstr(store->path, entry->dpe_str) != NULL);
    daos_prop_free(properties);
    properties = daos_prop_alloc(1);
    properties->dpp_entries[0].dpe_type = DAOS_PROP_CO_LAYOUT_TYPE; /* of a container */
    CHECK_RC(daos_pool_query(store->pool, NULL, NULL, properties, NULL), -DER_INVAL);
    daos_prop_free(properties);

    /* By path, and the same pool again, as a second connection. */
    daos_handle_t again;
    daos_pool_info_t second;
    memset(&second, 0, sizeof second);
    CHECK_OK(daos_pool_connect(store->path, "daos_server", DAOS_PC_RO, &again, &second, NULL));
    CHECK(memcmp(second.pi_uuid, info.pi_uuid, sizeof info.pi_uuid) == 0);
    CHECK(again.cookie != store->pool.cookie);
    CHECK_OK(daos_pool_disconnect(again, NULL));
}

/* As on a DAOS system a bare name is a label or a UUID, wherever the program runs. Ours alone know paths. */
static void names(struct store const* store)
{
    char root[512];
    snprintf(root, sizeof root, "%s", store->path);
    char* const label = strrchr(root, '/') + 1;
    label[-1] = '\0';
    CHECK(setenv("STEPSTORE_ROOT", root, 1) == 0);
    daos_handle_t found;
    daos_pool_info_t info;
    memset(&info, 0, sizeof info);
    CHECK_OK(daos_pool_connect(label, NULL, DAOS_PC_RO, &found, &info, NULL));
    CHECK_OK(daos_pool_disconnect(found, NULL));
    char text[DAOS_UUID_STR_SIZE];
    uuid_text(info.pi_uuid, text);
    CHECK_OK(daos_pool_connect(text, NULL, DAOS_PC_RO, &found, NULL, NULL));
    CHECK_OK(daos_pool_disconnect(found, NULL));

    char before[512];
    CHECK(getcwd(before, sizeof before) != NULL && chdir(root) == 0);
    CHECK(setenv("STEPSTORE_ROOT", "/nowhere", 1) == 0);
    CHECK_RC(daos_pool_connect(label, NULL, DAOS_PC_RO, &found, NULL, NULL), -DER_NONEXIST);
    char path[520];
    snprintf(path, sizeof path, "./%s", label);
    CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RO, &found, NULL, NULL));
    CHECK_OK(daos_pool_disconnect(found, NULL));
    CHECK(chdir(before) == 0 && unsetenv("STEPSTORE_ROOT") == 0);
}

static void containers(struct store const* store)
{
    uuid_t uuid;
    char text[DAOS_UUID_STR_SIZE];
    daos_handle_t coh;
    daos_cont_info_t info;
    struct daos_pool_cont_info infos[8];
    daos_size_t count = 0;
    CHECK_OK(daos_cont_create_with_label(store->pool, "labelled", NULL, &uuid, NULL));
    CHECK_OK(daos_cont_open(store->pool, "labelled", DAOS_COO_RW, &coh, &info, NULL));
    CHECK(memcmp(info.ci_uuid, uuid, sizeof uuid) == 0);
    CHECK_EQUAL(info.ci_nhandles, 1);
    CHECK_EQUAL(info.ci_nsnapshots, 0);
    CHECK_OK(daos_cont_close(coh, NULL));

    CHECK_OK(daos_cont_create(store->pool, &uuid, NULL, NULL)); /* without a label: by uuid */
    uuid_text(uuid, text);
    CHECK_OK(daos_cont_open(store->pool, text, DAOS_COO_RO, &coh, &info, NULL));
    CHECK(memcmp(info.ci_uuid, uuid, sizeof uuid) == 0);
    CHECK_OK(daos_cont_close(coh, NULL));

    CHECK_OK(daos_pool_list_cont(store->pool, &count, NULL, NULL));
    CHECK_EQUAL(count, 3);
    count = 8;
    CHECK_OK(daos_pool_list_cont(store->pool, &count, infos, NULL));
    CHECK_EQUAL(count, 3);
    int found = 0;
    for (daos_size_t i = 0; i < count; ++i) {
        if (strcmp(infos[i].pci_label, "labelled") == 0) found |= 1;
        if (infos[i].pci_label[0] == '\0' && memcmp(infos[i].pci_uuid, uuid, sizeof uuid) == 0) found |= 2;
    }
    CHECK_EQUAL(found, 3);
    CHECK_OK(daos_cont_destroy(store->pool, text, 0, NULL));
    CHECK_OK(daos_cont_destroy(store->pool, "labelled", 0, NULL));
    CHECK_RC(daos_cont_open(store->pool, "labelled", DAOS_COO_RO, &coh, NULL, NULL), -DER_NONEXIST);
    count = 8;
    CHECK_OK(daos_pool_list_cont(store->pool, &count, infos, NULL));
    CHECK_EQUAL(count, 1);
}

static void properties(struct store const* store)
{
    daos_handle_t coh;
    daos_prop_t* list = daos_prop_alloc(3);
    CHECK(list != NULL);
    list->dpp_entries[0].dpe_type = DAOS_PROP_CO_LABEL;
    CHECK_OK(daos_prop_set_str(list, DAOS_PROP_CO_LABEL, "with-properties", 15));
    list->dpp_entries[1].dpe_type = DAOS_PROP_CO_LAYOUT_TYPE;
    list->dpp_entries[1].dpe_val = DAOS_PROP_CO_LAYOUT_HDF5;
    list->dpp_entries[2].dpe_type = DAOS_PROP_CO_REDUN_FAC;
    list->dpp_entries[2].dpe_val = DAOS_PROP_CO_REDUN_RF1;
    CHECK_RC(daos_prop_set_str(list, DAOS_PROP_CO_OWNER, "x", 1), -DER_NONEXIST);
    CHECK_RC(daos_prop_entry_set_str(&list->dpp_entries[1], "x", 1), -DER_INVAL);
    CHECK_OK(daos_cont_create(store->pool, NULL, list, NULL));
    CHECK_RC(daos_cont_create(store->pool, NULL, list, NULL), -DER_EXIST);
    list->dpp_entries[2].dpe_val = DAOS_PROP_CO_REDUN_RF3;
    CHECK_RC(daos_cont_create(store->pool, NULL, list, NULL), -DER_NOTSUPPORTED);
    list->dpp_entries[2].dpe_type = DAOS_PROP_CO_ACL;
    list->dpp_entries[2].dpe_val_ptr = NULL;
    CHECK_RC(daos_cont_create(store->pool, NULL, list, NULL), -DER_INVAL);
    list->dpp_entries[2].dpe_type = DAOS_PROP_CO_ROOTS; /* there are none at NULL */
    CHECK_RC(daos_cont_create(store->pool, NULL, list, NULL), -DER_INVAL);
    list->dpp_entries[2].dpe_type = DAOS_PROP_CO_ALLOCED_OID;
    CHECK_RC(daos_cont_create(store->pool, NULL, list, NULL), -DER_NOTSUPPORTED);
    list->dpp_entries[2].dpe_type = 17;
    CHECK_RC(daos_cont_create(store->pool, NULL, list, NULL), -DER_INVAL);
    list->dpp_entries[2].dpe_type = DAOS_PROP_CO_LAYOUT_TYPE; /* for the second time */
    list->dpp_entries[2].dpe_val = DAOS_PROP_CO_LAYOUT_HDF5;
    CHECK_RC(daos_cont_create(store->pool, NULL, list, NULL), -DER_INVAL);
    daos_prop_free(list);

    CHECK_OK(daos_cont_open(store->pool, "with-properties", DAOS_COO_RW, &coh, NULL, NULL));
    list = daos_prop_alloc(3);
    list->dpp_entries[0].dpe_type = DAOS_PROP_CO_LAYOUT_TYPE;
    list->dpp_entries[1].dpe_type = DAOS_PROP_CO_CSUM;
    list->dpp_entries[2].dpe_type = DAOS_PROP_CO_LABEL;
    CHECK_OK(daos_cont_query(coh, NULL, list, NULL));
    CHECK(daos_prop_is_set(&list->dpp_entries[0]) && daos_prop_is_set(&list->dpp_entries[1]));
    CHECK_EQUAL(list->dpp_entries[0].dpe_val, DAOS_PROP_CO_LAYOUT_HDF5);
    CHECK_EQUAL(list->dpp_entries[1].dpe_val, 0); /* as nobody set it */
    CHECK(strcmp(list->dpp_entries[2].dpe_str, "with-properties") == 0);
    list->dpp_entries[1].dpe_type = DAOS_PROP_PO_LABEL; /* of a pool */
    CHECK_RC(daos_cont_query(coh, NULL, list, NULL), -DER_INVAL);
    list->dpp_entries[1].dpe_type = 0;
    CHECK_RC(daos_cont_query(coh, NULL, list, NULL), -DER_INVAL);
    daos_prop_free(list);
    list = daos_prop_alloc(0);
    CHECK_OK(daos_cont_query(coh, NULL, list, NULL));
    CHECK(list->dpp_nr >= 18);
    CHECK_EQUAL(daos_prop_entry_get(list, DAOS_PROP_CO_LAYOUT_TYPE)->dpe_val, DAOS_PROP_CO_LAYOUT_HDF5);
    CHECK_EQUAL(daos_prop_entry_get(list, DAOS_PROP_CO_EC_CELL_SZ)->dpe_val, 65536);
    CHECK_EQUAL(daos_prop_entry_get(list, DAOS_PROP_CO_REDUN_FAC)->dpe_val, DAOS_PROP_CO_REDUN_RF1);
    /* A root that a program may use: of the container's redundancy, and the same each time. */
    struct daos_prop_entry const* entry = daos_prop_entry_get(list, DAOS_PROP_CO_ROOTS);
    CHECK(entry != NULL && daos_prop_is_set((struct daos_prop_entry*)entry));
    struct daos_prop_co_roots const* roots = entry->dpe_val_ptr;
    daos_obj_id_t expected = {0, 0};
    CHECK_OK(daos_obj_generate_oid(coh, &expected, DAOS_OT_MULTI_HASHED, OC_UNKNOWN, 0, 0));
    CHECK(roots->cr_oids[0].lo == 0 && roots->cr_oids[0].hi == expected.hi);
    CHECK(daos_obj_id_is_nil(roots->cr_oids[1]) && daos_obj_id_is_nil(roots->cr_oids[3]));
    daos_prop_free(list);

    /* One copy is not what such a container promises. */
    daos_obj_id_t oid = {1, 0};
    CHECK_RC(daos_obj_generate_oid(coh, &oid, DAOS_OT_KV_HASHED, OC_S1, 0, 0), -DER_INVAL);
    CHECK_OK(daos_obj_generate_oid(coh, &oid, DAOS_OT_KV_HASHED, OC_UNKNOWN, 0, 0));
    CHECK_EQUAL(daos_obj_id2class(oid), OC_RP_2G4);
    CHECK_OK(daos_cont_close(coh, NULL));
    CHECK(daos_prop_alloc(DAOS_PROP_ENTRIES_MAX_NR + 1) == NULL);
    daos_prop_free(NULL);
}

/* Numbers that libdaos refuses, and those at the edge that it takes. */
static void property_values(struct store const* store)
{
    static struct {
        uint32_t type;
        uint64_t value;
        int rc;
    } const cases[] = {
        {DAOS_PROP_CO_LAYOUT_TYPE, DAOS_PROP_CO_LAYOUT_MAX - 1, 0},
        {DAOS_PROP_CO_LAYOUT_TYPE, DAOS_PROP_CO_LAYOUT_MAX, -DER_INVAL},
        {DAOS_PROP_CO_LAYOUT_VER, 12345, 0},
        {DAOS_PROP_CO_CSUM, 7, 0},
        {DAOS_PROP_CO_CSUM, 99, -DER_INVAL},
        {DAOS_PROP_CO_CSUM_CHUNK_SIZE, 32768, 0},
        {DAOS_PROP_CO_CSUM_CHUNK_SIZE, 1ULL << 32, -DER_INVAL},
        {DAOS_PROP_CO_CSUM_SERVER_VERIFY, 2, -DER_INVAL},
        {DAOS_PROP_CO_REDUN_FAC, DAOS_PROP_CO_REDUN_RF4, -DER_NOTSUPPORTED},
        {DAOS_PROP_CO_REDUN_FAC, 99, -DER_INVAL},
        {DAOS_PROP_CO_REDUN_LVL, DAOS_PROP_CO_REDUN_RANK, 0},
        {DAOS_PROP_CO_REDUN_LVL, 0, -DER_INVAL},
        {DAOS_PROP_CO_REDUN_LVL, 999, -DER_INVAL},
        {DAOS_PROP_CO_COMPRESS, 1, 0},
        {DAOS_PROP_CO_COMPRESS, 7, -DER_INVAL},
        {DAOS_PROP_CO_ENCRYPT, 0, 0},
        {DAOS_PROP_CO_ENCRYPT, 1, -DER_NOTSUPPORTED},
        {DAOS_PROP_CO_ENCRYPT, 8, -DER_INVAL},
        {DAOS_PROP_CO_DEDUP, 3, -DER_INVAL},
        {DAOS_PROP_CO_DEDUP_THRESHOLD, 4095, -DER_INVAL},
        {DAOS_PROP_CO_EC_CELL_SZ, 65536, 0},
        {DAOS_PROP_CO_EC_CELL_SZ, 5, -DER_INVAL},
        {DAOS_PROP_CO_PERF_DOMAIN, 255, 0},
        {DAOS_PROP_CO_PERF_DOMAIN, 1, -DER_INVAL},
        {DAOS_PROP_CO_STATUS, 0, -DER_INVAL},
        {DAOS_PROP_CO_GLOBAL_VERSION, 1, -DER_INVAL},
        {DAOS_PROP_CO_ALLOCED_OID, 100, -DER_NOTSUPPORTED},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct daos_prop_entry entry = {.dpe_type = cases[i].type, .dpe_val = cases[i].value};
        daos_prop_t list = {1, 0, &entry};
        int const rc = daos_cont_create(store->pool, NULL, &list, NULL);
        if (rc != cases[i].rc)
            fprintf(stderr, "property %x with value %llu\n", cases[i].type,
                    (unsigned long long)cases[i].value);
        CHECK_EQUAL(rc, cases[i].rc);
    }
}

static void object_ids(daos_handle_t container)
{
    uint64_t first = 0;
    uint64_t second = 0;
    CHECK_OK(daos_cont_alloc_oids(container, 1000, &first, NULL));
    CHECK_OK(daos_cont_alloc_oids(container, 1, &second, NULL));
    CHECK(second >= first + 1000 || first > second);
}

static void objects(daos_handle_t container)
{
    daos_handle_t oh;
    daos_handle_t kv;
    daos_epoch_t epoch = 1;
    daos_size_t size = 1;
    daos_obj_id_t const oid = kv_oid(container, 9, "S2");
    CHECK_OK(daos_obj_open(container, oid, DAOS_OO_RW, &oh, NULL));
    CHECK_OK(daos_obj_query_max_epoch(oh, DAOS_TX_NONE, &epoch, NULL));
    CHECK_EQUAL(epoch, 0);
    CHECK_OK(daos_kv_open(container, oid, DAOS_OO_RW, &kv, NULL));
    CHECK_OK(daos_kv_put(kv, DAOS_TX_NONE, 0, "key", 5, "value", NULL));
    CHECK_OK(daos_obj_query_max_epoch(oh, DAOS_TX_NONE, &epoch, NULL));
    CHECK(epoch > 0);
    CHECK_OK(daos_obj_punch(oh, DAOS_TX_NONE, 0, NULL));
    CHECK_OK(daos_kv_get(kv, DAOS_TX_NONE, 0, "key", &size, NULL, NULL));
    CHECK_EQUAL(size, 0);
    CHECK_OK(daos_kv_close(kv, NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
    CHECK_RC(daos_obj_close(oh, NULL), -DER_NO_HDL);
}

int main(void)
{
    struct store store = open_store();
    queries(&store);
    names(&store);
    containers(&store);
    properties(&store);
    property_values(&store);
    object_ids(store.container);
    objects(store.container);
    close_store(&store);
    return 0;
}
