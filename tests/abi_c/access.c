/* Access control of containers and pools: what the rights of the pool's directory say, and nothing else. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <sys/stat.h>
#include <unistd.h>

static char const* text_of(struct daos_acl* acl)
{
    static char all[1024];
    char** texts = NULL;
    size_t nr = 0;
    CHECK_OK(daos_acl_to_strs(acl, &texts, &nr));
    all[0] = '\0';
    for (size_t i = 0; i < nr; ++i) {
        strcat(strcat(all, i ? " " : ""), texts[i]);
        free(texts[i]);
    }
    free(texts);
    return all;
}

static struct daos_acl* acl_of(daos_prop_t* list, uint32_t type)
{
    struct daos_prop_entry* entry = daos_prop_entry_get(list, type);
    CHECK(entry != NULL && daos_prop_is_set(entry) && entry->dpe_val_ptr != NULL);
    CHECK_OK(daos_acl_validate(entry->dpe_val_ptr));
    return entry->dpe_val_ptr;
}

/* The list of a container of a directory with this mode. */
static void check_mode(struct store const* store, mode_t mode, char const* of_container, char const* of_pool)
{
    daos_prop_t* list = NULL;
    CHECK_OK(chmod(store->path, mode));
    CHECK_OK(daos_cont_get_acl(store->container, &list, NULL));
    if (strcmp(text_of(acl_of(list, DAOS_PROP_CO_ACL)), of_container) != 0) {
        fprintf(stderr, "mode %o: %s, not %s\n", mode, text_of(acl_of(list, DAOS_PROP_CO_ACL)), of_container);
        exit(1);
    }
    daos_prop_free(list);
    list = daos_prop_alloc(0);
    CHECK_OK(daos_pool_query(store->pool, NULL, NULL, list, NULL));
    CHECK(strcmp(text_of(acl_of(list, DAOS_PROP_PO_ACL)), of_pool) == 0);
    daos_prop_free(list);
}

static daos_prop_t* query(daos_handle_t container)
{
    daos_prop_t* list = daos_prop_alloc(0);
    CHECK_OK(daos_cont_query(container, NULL, list, NULL));
    return list;
}

static void told(struct store const* store)
{
    char* name = NULL;
    check_mode(store, 0700, "A::OWNER@:rwdtTaA A:G:GROUP@:", "A::OWNER@:rwcdt A:G:GROUP@:");
    check_mode(store, 0770, "A::OWNER@:rwdtTaA A:G:GROUP@:rwdtTa", "A::OWNER@:rwcdt A:G:GROUP@:rwcdt");
    check_mode(store, 0755, "A::OWNER@:rwdtTaA A:G:GROUP@:rta A::EVERYONE@:rta",
               "A::OWNER@:rwcdt A:G:GROUP@:rt A::EVERYONE@:rt");
    check_mode(store, 0711, "A::OWNER@:rwdtTaA A:G:GROUP@:", "A::OWNER@:rwcdt A:G:GROUP@:");
    check_mode(store, 0750, "A::OWNER@:rwdtTaA A:G:GROUP@:rta", "A::OWNER@:rwcdt A:G:GROUP@:rt");
    daos_prop_t* list = query(store->container);
    CHECK(strcmp(text_of(acl_of(list, DAOS_PROP_CO_ACL)), "A::OWNER@:rwdtTaA A:G:GROUP@:rta") == 0);
    if (daos_acl_uid_to_principal(geteuid(), &name) == 0) {
        CHECK(strcmp(daos_prop_entry_get(list, DAOS_PROP_CO_OWNER)->dpe_str, name) == 0);
        free(name);
    }
    CHECK(daos_acl_principal_is_valid(daos_prop_entry_get(list, DAOS_PROP_CO_OWNER_GROUP)->dpe_str));

    /* a container may be made with what another one told */
    daos_handle_t copy;
    daos_prop_t* wanted = daos_prop_alloc(3);
    uint32_t const types[] = {DAOS_PROP_CO_ACL, DAOS_PROP_CO_OWNER, DAOS_PROP_CO_OWNER_GROUP};
    for (int i = 0; i < 3; ++i)
        wanted->dpp_entries[i].dpe_type = types[i];
    struct daos_acl* acl = acl_of(list, DAOS_PROP_CO_ACL);
    CHECK_OK(daos_prop_set_ptr(wanted, types[0], acl, (daos_size_t)daos_acl_get_size(acl)));
    for (int i = 1; i < 3; ++i) {
        char const* owner = daos_prop_entry_get(list, types[i])->dpe_str;
        CHECK_OK(daos_prop_set_str(wanted, types[i], owner, strlen(owner)));
    }
    CHECK_OK(daos_cont_create_with_label(store->pool, "copy", wanted, NULL, NULL));
    CHECK_OK(daos_cont_open(store->pool, "copy", DAOS_COO_RW, &copy, NULL, NULL));
    CHECK_OK(daos_cont_close(copy, NULL));
    CHECK_OK(chmod(store->path, 0700));
    CHECK_RC(daos_cont_create_with_label(store->pool, "more", wanted, NULL, NULL), -DER_NOTSUPPORTED);
    CHECK(strstr(explanation(), "A::OWNER@:rwdtTaA, A:G:GROUP@:.") != NULL);
    CHECK_OK(chmod(store->path, 0750));
    CHECK_OK(daos_prop_set_str(wanted, types[1], "somebody_else@", 14));
    CHECK_RC(daos_cont_create_with_label(store->pool, "more", wanted, NULL, NULL), -DER_NOTSUPPORTED);
    CHECK_OK(daos_prop_set_str(wanted, types[1], "no principal", 12));
    CHECK_RC(daos_cont_create_with_label(store->pool, "more", wanted, NULL, NULL), -DER_INVAL);
    CHECK_OK(daos_prop_set_str(wanted, types[1], NULL, 0));
    CHECK_RC(daos_cont_create_with_label(store->pool, "more", wanted, NULL, NULL), -DER_INVAL);
    CHECK_OK(daos_prop_set_ptr(wanted, types[0], NULL, 0));
    CHECK_RC(daos_cont_create_with_label(store->pool, "more", wanted, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_open(store->pool, "more", DAOS_COO_RW, &copy, NULL, NULL), -DER_NONEXIST);
    daos_prop_free(wanted);
    daos_prop_free(list);
}

static void changes(struct store const* store)
{
    daos_prop_t* list = NULL;
    struct daos_acl* other = NULL;
    char const* texts[] = {"A::OWNER@:rwdtTaA"};
    char const* stranger[] = {"A::stranger@:r"};
    CHECK_OK(chmod(store->path, 0750));
    CHECK_OK(daos_cont_get_acl(store->container, &list, NULL));
    struct daos_acl* acl = acl_of(list, DAOS_PROP_CO_ACL);
    CHECK_OK(daos_cont_overwrite_acl(store->container, acl, NULL));
    CHECK_OK(daos_cont_update_acl(store->container, acl, NULL));
    CHECK_OK(daos_acl_from_strs(texts, 1, &other));
    CHECK_OK(daos_cont_update_acl(store->container, other, NULL)); /* as it is */
    CHECK_RC(daos_cont_overwrite_acl(store->container, other, NULL), -DER_NOTSUPPORTED);
    daos_acl_free(other);
    CHECK_OK(daos_acl_from_strs(stranger, 1, &other));
    CHECK_RC(daos_cont_update_acl(store->container, other, NULL), -DER_NOTSUPPORTED);
    CHECK(strstr(explanation(), "chmod") != NULL);
    CHECK_RC(daos_cont_overwrite_acl(store->container, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_update_acl(store->container, NULL, NULL), -DER_INVAL);
    other->dal_ver = 9;
    CHECK_RC(daos_cont_update_acl(store->container, other, NULL), -DER_INVAL);
    daos_acl_free(other);
    char name[] = "stranger@", no_name[] = "stranger";
    CHECK_RC(daos_cont_delete_acl(store->container, DAOS_ACL_USER, name, NULL), -DER_NONEXIST);
    CHECK_RC(daos_cont_delete_acl(store->container, DAOS_ACL_USER, no_name, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_delete_acl(store->container, DAOS_ACL_USER, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_delete_acl(store->container, NUM_DAOS_ACL_TYPES, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_delete_acl(store->container, DAOS_ACL_OWNER_GROUP, NULL, NULL), -DER_NOTSUPPORTED);

    char* owner = daos_prop_entry_get(list, DAOS_PROP_CO_OWNER)->dpe_str;
    char* group = daos_prop_entry_get(list, DAOS_PROP_CO_OWNER_GROUP)->dpe_str;
    CHECK_OK(daos_cont_set_owner_no_check(store->container, owner, group, NULL));
    CHECK_RC(daos_cont_set_owner_no_check(store->container, name, NULL, NULL), -DER_NOTSUPPORTED);
    CHECK_RC(daos_cont_set_owner_no_check(store->container, owner, name, NULL), -DER_NOTSUPPORTED);
    CHECK_RC(daos_cont_set_owner(store->container, name, NULL, NULL), -DER_NONEXIST);
    CHECK_RC(daos_cont_set_owner(store->container, NULL, name, NULL), -DER_NONEXIST);
    CHECK_RC(daos_cont_set_owner(store->container, NULL, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_set_owner(store->container, no_name, NULL, NULL), -DER_INVAL);

    daos_handle_t reader;
    CHECK_OK(daos_cont_open(store->pool, "container", DAOS_COO_RO, &reader, NULL, NULL));
    CHECK_RC(daos_cont_overwrite_acl(reader, acl, NULL), -DER_NO_PERM);
    CHECK_RC(daos_cont_set_owner(reader, owner, NULL, NULL), -DER_NO_PERM);
    daos_prop_t* again = NULL;
    CHECK_OK(daos_cont_get_acl(reader, &again, NULL));
    daos_prop_free(again);
    CHECK_OK(daos_cont_close(reader, NULL));
    CHECK_RC(daos_cont_get_acl(store->container, NULL, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_get_acl(store->pool, &again, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_overwrite_acl(store->pool, acl, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_update_acl(DAOS_HDL_INVAL, acl, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_delete_acl(DAOS_HDL_INVAL, DAOS_ACL_OWNER, NULL, NULL), -DER_NO_HDL);
    CHECK_RC(daos_cont_set_owner(DAOS_HDL_INVAL, owner, NULL, NULL), -DER_NO_HDL);
    daos_prop_free(list);
}

static uint64_t perms_of(struct store const* store, uid_t uid, gid_t* gids, size_t nr, uint64_t* of_pool)
{
    uint64_t perms = 1;
    daos_prop_t* list = NULL;
    CHECK_OK(daos_cont_get_acl(store->container, &list, NULL));
    CHECK_OK(daos_cont_get_perms(list, uid, gids, nr, &perms));
    daos_prop_free(list);
    list = daos_prop_alloc(0);
    CHECK_OK(daos_pool_query(store->pool, NULL, NULL, list, NULL));
    CHECK_OK(daos_pool_get_perms(list, uid, gids, nr, of_pool));
    daos_prop_free(list);
    return perms;
}

/* What a list allows to whom: the owner, a named user, groups together, everyone. */
static void permissions(struct store const* store)
{
    uid_t other_uid;
    gid_t own_gid = getegid(), other_gid;
    uint64_t of_pool = 0, perms = 0;
    uint64_t const reads = DAOS_ACL_PERM_READ | DAOS_ACL_PERM_GET_PROP;
    uint64_t const of_owner = reads | DAOS_ACL_PERM_WRITE | DAOS_ACL_PERM_DEL_CONT;
    uint64_t const acls = DAOS_ACL_PERM_GET_ACL | DAOS_ACL_PERM_SET_ACL;
    CHECK_OK(daos_acl_principal_to_uid("nobody@", &other_uid));
    CHECK_OK(daos_acl_principal_to_gid("nogroup@", &other_gid));
    CHECK(other_uid != geteuid() && other_gid != own_gid);
    CHECK_OK(chmod(store->path, 0750));
    CHECK_EQUAL(perms_of(store, geteuid(), NULL, 0, &of_pool), of_owner | acls | DAOS_ACL_PERM_SET_PROP);
    CHECK_EQUAL(of_pool, of_owner | DAOS_ACL_PERM_CREATE_CONT);
    CHECK_EQUAL(perms_of(store, other_uid, &own_gid, 1, &of_pool), reads | DAOS_ACL_PERM_GET_ACL);
    CHECK_EQUAL(of_pool, reads);
    CHECK_EQUAL(perms_of(store, other_uid, &other_gid, 1, &of_pool), 0);
    CHECK_EQUAL(of_pool, 0);
    CHECK_OK(chmod(store->path, 0005));
    CHECK_EQUAL(perms_of(store, geteuid(), NULL, 0, &of_pool), acls); /* he may change the list */
    CHECK_EQUAL(of_pool, 0);
    CHECK_EQUAL(perms_of(store, other_uid, &other_gid, 1, &of_pool), reads | DAOS_ACL_PERM_GET_ACL);
    CHECK_OK(chmod(store->path, 0750));

    /* A list of the program's own. */
    char const* texts[] = {"A::nobody@:w", "A:G:GROUP@:r", "A:G:nogroup@:T", "A::EVERYONE@:a"};
    struct daos_acl* acl = NULL;
    CHECK_OK(daos_acl_from_strs(texts, 4, &acl));
    daos_prop_t* list = NULL;
    CHECK_OK(daos_cont_get_acl(store->container, &list, NULL));
    CHECK_OK(daos_prop_set_ptr(list, DAOS_PROP_CO_ACL, acl, (daos_size_t)daos_acl_get_size(acl)));
    daos_acl_free(acl);
    gid_t groups[] = {own_gid, other_gid};
    CHECK_OK(daos_cont_get_perms(list, other_uid, groups, 2, &perms));
    CHECK_EQUAL(perms, DAOS_ACL_PERM_WRITE);
    CHECK_OK(daos_cont_get_perms(list, geteuid(), groups, 2, &perms)); /* no entry of the owner */
    CHECK_EQUAL(perms, DAOS_ACL_PERM_READ | DAOS_ACL_PERM_SET_PROP | acls);
    CHECK_OK(daos_cont_get_perms(list, geteuid(), NULL, 0, &perms));
    CHECK_EQUAL(perms, acls);

    CHECK_RC(daos_cont_get_perms(NULL, 0, NULL, 0, &perms), -DER_INVAL);
    CHECK_RC(daos_cont_get_perms(list, 0, NULL, 1, &perms), -DER_INVAL);
    CHECK_RC(daos_cont_get_perms(list, 0, NULL, 0, NULL), -DER_INVAL);
    CHECK_RC(daos_cont_get_perms(list, 4000000000U, NULL, 0, &perms), -DER_NONEXIST);
    groups[0] = 4000000000U;
    CHECK_RC(daos_cont_get_perms(list, 0, groups, 1, &perms), -DER_NONEXIST);
    CHECK_RC(daos_pool_get_perms(list, 0, NULL, 0, &perms), -DER_INVAL); /* of a container */
    CHECK_OK(daos_prop_set_ptr(list, DAOS_PROP_CO_ACL, NULL, 0));
    CHECK_RC(daos_cont_get_perms(list, 0, NULL, 0, &perms), -DER_INVAL);
    daos_prop_free(list);
}

int main(void)
{
    struct store store = open_store();
    char const* backend = getenv("STEPSTORE_TEST_BACKEND");
    if (backend && strcmp(backend, "memory") == 0) {
        /* no directory: nobody is kept out, and there is no owner */
        daos_prop_t* list = query(store.container);
        CHECK(strcmp(text_of(acl_of(list, DAOS_PROP_CO_ACL)),
                     "A::OWNER@:rwdtTaA A:G:GROUP@:rwdtTa A::EVERYONE@:rwdtTa") == 0);
        CHECK(!daos_prop_is_set(daos_prop_entry_get(list, DAOS_PROP_CO_OWNER)));
        daos_prop_free(list);
    } else {
        told(&store);
        changes(&store);
        permissions(&store);
    }
    close_store(&store);
    return 0;
}
