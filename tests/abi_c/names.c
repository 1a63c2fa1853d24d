/* The names of object classes, and the names under which libdaos exports its calls. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>

static void class_names(void)
{
    char name[MAX_OBJ_CLASS_NAME_LEN];
    static char list[8192];
    CHECK_EQUAL(daos_oclass_name2id("S1"), OC_S1);
    CHECK_EQUAL(daos_oclass_name2id("SX"), OC_SX);
    CHECK_EQUAL(daos_oclass_name2id("RP_2G1"), OC_RP_2G1);
    CHECK_EQUAL(daos_oclass_name2id("RP_6GX"), OC_RP_6GX);
    CHECK_EQUAL(daos_oclass_name2id("RP_128G1"), OC_UNKNOWN); /* constants that libdaos gives no names */
    CHECK_EQUAL(daos_oclass_name2id("EC_2P1G6"), OC_UNKNOWN);
    CHECK_EQUAL(daos_oclass_name2id("EC_16P2GX"), OC_EC_16P2GX);
    CHECK_EQUAL(daos_oclass_name2id("S3"), OC_UNKNOWN);
    CHECK_EQUAL(daos_oclass_name2id(""), OC_UNKNOWN);
    CHECK_EQUAL(daos_oclass_name2id("a name that is longer than any class has"), OC_UNKNOWN);
    CHECK_EQUAL(daos_oclass_name2id(NULL), OC_UNKNOWN);
    CHECK_OK(daos_oclass_id2name(OC_EC_4P1G32, name));
    CHECK(strcmp(name, "EC_4P1G32") == 0);
    CHECK_OK(daos_oclass_id2name(OBJ_CLASS_DEF(OR_RP_1, 3ULL), name)); /* as a small pool cuts down SX */
    CHECK(strcmp(name, "S3") == 0);
    CHECK_EQUAL(daos_oclass_id2name(OC_UNKNOWN, name), -1);
    CHECK(strcmp(name, "UNKNOWN") == 0);
    CHECK_RC(daos_oclass_id2name(OC_S1, NULL), -DER_INVAL);
    ssize_t const length = daos_oclass_names_list(sizeof list, list);
    CHECK(length > 0 && (size_t)length == strlen(list));
    CHECK(strstr(list, "S1, ") == list && strstr(list, "RP_2GX, ") != NULL &&
          strstr(list, "EC_2P1G1, ") != NULL);
    CHECK_EQUAL(daos_oclass_names_list(10, list), -DER_OVERFLOW);
    CHECK_EQUAL(daos_oclass_names_list(0, list), -DER_INVAL);
    CHECK_EQUAL(daos_oclass_names_list(10, NULL), -DER_INVAL);

    /* Every name of the list is the name of its class. */
    CHECK_EQUAL(daos_oclass_names_list(sizeof list, list), length);
    int count = 0;
    for (char* each = strtok(list, ", "); each != NULL; each = strtok(NULL, ", "), ++count) {
        int const id = daos_oclass_name2id(each);
        CHECK(id != OC_UNKNOWN);
        CHECK_OK(daos_oclass_id2name((daos_oclass_id_t)id, name));
        CHECK(strcmp(name, each) == 0);
    }
    CHECK_EQUAL(count, 9 * 6 + 8 * 11);
}

static void rank_lists(void)
{
    d_rank_list_t* ranks = daos_rank_list_parse("0:12:4294967295", ":");
    CHECK(ranks != NULL && ranks->rl_nr == 3);
    CHECK(ranks->rl_ranks[0] == 0 && ranks->rl_ranks[1] == 12 && ranks->rl_ranks[2] == 4294967295U);
    d_rank_list_free(ranks);
    ranks = daos_rank_list_parse("::7,,8:", ":,");
    CHECK(ranks != NULL && ranks->rl_nr == 2 && ranks->rl_ranks[1] == 8);
    d_rank_list_free(ranks);
    ranks = daos_rank_list_parse("5", "");
    CHECK(ranks != NULL && ranks->rl_nr == 1 && ranks->rl_ranks[0] == 5);
    d_rank_list_free(ranks);
    char const* const none[] = {"", ":", "1:x", "1:2 ", "-1", "4294967296", "1;2"};
    for (unsigned i = 0; i < sizeof none / sizeof *none; ++i)
        CHECK(daos_rank_list_parse(none[i], ":") == NULL);
    CHECK(daos_rank_list_parse(NULL, ":") == NULL);
    CHECK(daos_rank_list_parse("1", NULL) == NULL);
}

static void ids(daos_handle_t container)
{
    static struct {
        daos_oclass_id_t asked;
        daos_oclass_id_t given; /* in a pool of 8 targets */
    } const classes[] = {
        {OC_S1, OC_S1},         {OC_S8, OC_S8},         {OC_S4, OC_S4},         {OC_SX, OC_S8},
        {OC_RP_2G1, OC_RP_2G1}, {OC_RP_2GX, OC_RP_2G4}, {OC_RP_2G4, OC_RP_2G4}, {OC_UNKNOWN, OC_S8},
    };
    daos_obj_id_t oid;
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; ++i) {
        oid.lo = 0x0123456789abcdef;
        oid.hi = 0xffffffff12345678; /* the upper half is not the user's */
        CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_LEXICAL, classes[i].asked, 0, 0));
        CHECK_EQUAL(oid.lo, 0x0123456789abcdef);
        CHECK_EQUAL(oid.hi & 0xffffffff, 0x12345678);
        CHECK_EQUAL(daos_obj_id2type(oid), DAOS_OT_KV_LEXICAL);
        CHECK_EQUAL(daos_obj_id2class(oid), classes[i].given);
        CHECK(daos_is_kv(oid) && !daos_is_array(oid));
    }
    /* Nothing is cut down but what is over all targets. */
    static daos_oclass_id_t const too_wide[] = {OC_S12, OC_S16, OC_S32, OC_RP_2G6, OC_RP_2G8, OC_RP_2G32};
    for (unsigned i = 0; i < sizeof too_wide / sizeof *too_wide; ++i) {
        CHECK_RC(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, too_wide[i], 0, 0), -DER_INVAL);
        CHECK(strstr(explanation(), "needs") != NULL && strstr(explanation(), "the pool has 8") != NULL);
    }
    CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_UNKNOWN, DAOS_OCH_SHD_EXT, 0));
    CHECK_EQUAL(daos_obj_id2class(oid), OC_S8);
    CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_UNKNOWN, DAOS_OCH_SHD_TINY, 0));
    CHECK_EQUAL(daos_obj_id2class(oid), OC_S1);
    CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_UNKNOWN,
                                   DAOS_OCH_RDD_RP | DAOS_OCH_SHD_TINY, 0));
    CHECK_EQUAL(daos_obj_id2class(oid), OC_RP_2G1);
    CHECK_RC(daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_UNKNOWN,
                                   DAOS_OCH_SHD_TINY | DAOS_OCH_SHD_MAX, 0),
             -DER_INVAL);
}

/* A binary that was built for DAOS finds each call under one of these names. */
static void exported(void)
{
    static char const* const names[] = {
        "daos_pool_connect",   "daos_pool_connect2",    "daos_cont_open",         "daos_cont_open2",
        "daos_cont_create",    "daos_cont_create2",     "daos_cont_destroy",      "daos_cont_destroy2",
        "daos_kv_put",         "daos_obj_generate_oid", "daos_obj_generate_oid2", "daos_array_global2local",
        "daos_obj_update",     "daos_obj_fetch",        "daos_obj_punch_dkeys",   "daos_obj_punch_akeys",
        "daos_obj_list_dkey",  "daos_obj_list_akey",    "daos_obj_list_recx",     "daos_obj_query_key",
        "daos_obj_key2anchor", "daos_obj_query"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
        if (dlsym(RTLD_DEFAULT, names[i]) == NULL) fprintf(stderr, "%s is not exported\n", names[i]);
        CHECK(dlsym(RTLD_DEFAULT, names[i]) != NULL);
    }
    CHECK(dlsym(RTLD_DEFAULT, "daos_pool_connect") == dlsym(RTLD_DEFAULT, "daos_pool_connect2"));
}

int main(void)
{
    class_names();
    rank_lists();
    exported();
    struct store store = open_store();
    ids(store.container);
    close_store(&store);
    return 0;
}
