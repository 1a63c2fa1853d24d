/* Access control lists in memory and as text, with the results of libdaos. */
#define _GNU_SOURCE
#include "check.h"

#include <grp.h>
#include <pwd.h>

static struct daos_ace* entry(char const* text)
{
    struct daos_ace* ace = NULL;
    CHECK_OK(daos_ace_from_str(text, &ace));
    return ace;
}

static void entries(void)
{
    struct daos_ace* ace = daos_ace_create(DAOS_ACL_USER, "user1@");
    CHECK(ace != NULL);
    CHECK_EQUAL(ace->dae_principal_type, DAOS_ACL_USER);
    CHECK_EQUAL(ace->dae_principal_len, 8); /* 7 bytes, filled up */
    CHECK(strcmp(ace->dae_principal, "user1@") == 0);
    CHECK_EQUAL(ace->dae_access_flags, 0);
    CHECK_EQUAL(daos_ace_get_size(ace), sizeof *ace + 8);
    CHECK(!daos_ace_is_valid(ace)); /* it does nothing yet */
    ace->dae_access_types = DAOS_ACL_ACCESS_ALLOW;
    CHECK(daos_ace_is_valid(ace));
    ace->dae_audit_perms = DAOS_ACL_PERM_READ; /* permissions of a type that it has not */
    CHECK(!daos_ace_is_valid(ace));
    ace->dae_access_types |= DAOS_ACL_ACCESS_AUDIT; /* an audit without a flag that tells of what */
    CHECK(!daos_ace_is_valid(ace));
    ace->dae_access_flags = DAOS_ACL_FLAG_ACCESS_FAIL;
    CHECK(daos_ace_is_valid(ace));
    ace->dae_access_flags |= DAOS_ACL_FLAG_GROUP;
    CHECK(!daos_ace_is_valid(ace));
    ace->dae_access_flags = DAOS_ACL_FLAG_ACCESS_FAIL;
    memset(ace->dae_principal, 'x', 8); /* no end */
    CHECK(!daos_ace_is_valid(ace));
    memcpy(ace->dae_principal, "nobody\0", 8); /* no @ */
    CHECK(!daos_ace_is_valid(ace));
    ace->dae_principal_len = 7;
    CHECK(!daos_ace_is_valid(ace));
    daos_ace_free(ace);
    daos_ace_free(NULL);
    ace = daos_ace_create(DAOS_ACL_OWNER_GROUP, "ignored@");
    CHECK_EQUAL(ace->dae_principal_len, 0);
    CHECK_EQUAL(ace->dae_access_flags, DAOS_ACL_FLAG_GROUP);
    CHECK(strcmp(daos_ace_get_principal_str(ace), "GROUP@") == 0);
    daos_ace_free(ace);
    CHECK(daos_ace_create(NUM_DAOS_ACL_TYPES, "x@") == NULL);
    CHECK(daos_ace_create(DAOS_ACL_USER, NULL) == NULL);
    CHECK(daos_ace_create(DAOS_ACL_GROUP, "") == NULL);
    CHECK(!daos_ace_is_valid(NULL) && daos_ace_get_principal_str(NULL) == NULL);
    CHECK_EQUAL(daos_ace_get_size(NULL), -DER_INVAL);
}

static void lists(void)
{
    struct daos_ace* aces[] = {entry("A::EVERYONE@:r"), entry("A::b@:rw"), entry("A::OWNER@:rw"),
                               entry("A:G:GROUP@:r"), entry("A::a@:r")};
    struct daos_ace* found = NULL;
    struct daos_acl* acl = daos_acl_create(aces, 5);
    CHECK(acl != NULL);
    CHECK_OK(daos_acl_validate(acl));
    CHECK_EQUAL(daos_acl_get_size(acl), sizeof *acl + acl->dal_len);
    char const* const order[] = {"OWNER@", "b@", "a@", "GROUP@",
                                 "EVERYONE@"}; /* of the types; else as given */
    int count = 0;
    for (struct daos_ace* ace = daos_acl_get_next_ace(acl, NULL); ace != NULL;
         ace = daos_acl_get_next_ace(acl, ace), ++count)
        CHECK(strcmp(daos_ace_get_principal_str(ace), order[count]) == 0);
    CHECK_EQUAL(count, 5);
    CHECK_OK(daos_acl_get_ace_for_principal(acl, DAOS_ACL_USER, "a@", &found));
    CHECK_EQUAL(found->dae_allow_perms, DAOS_ACL_PERM_READ);
    CHECK_RC(daos_acl_get_ace_for_principal(acl, DAOS_ACL_USER, "c@", &found), -DER_NONEXIST);
    CHECK_RC(daos_acl_get_ace_for_principal(acl, DAOS_ACL_GROUP, "a@", &found), -DER_NONEXIST);
    CHECK_RC(daos_acl_get_ace_for_principal(acl, DAOS_ACL_USER, NULL, &found), -DER_INVAL);
    CHECK_RC(daos_acl_get_ace_for_principal(acl, NUM_DAOS_ACL_TYPES, "a@", &found), -DER_INVAL);
    CHECK_RC(daos_acl_get_ace_for_principal(NULL, DAOS_ACL_OWNER, NULL, &found), -DER_INVAL);
    CHECK_RC(daos_acl_get_ace_for_principal(acl, DAOS_ACL_OWNER, NULL, NULL), -DER_INVAL);

    struct daos_acl* copy = daos_acl_dup(acl);
    CHECK(copy != NULL && copy != acl && memcmp(copy, acl, (size_t)daos_acl_get_size(acl)) == 0);
    struct daos_ace* other = entry("A::a@:rwt"); /* in the place of another one */
    CHECK_OK(daos_acl_add_ace(&copy, other));
    CHECK_EQUAL(daos_acl_get_size(copy), daos_acl_get_size(acl));
    CHECK_OK(daos_acl_get_ace_for_principal(copy, DAOS_ACL_USER, "a@", &found));
    CHECK_EQUAL(found->dae_allow_perms, other->dae_allow_perms);
    daos_ace_free(other);
    other = entry("A:G:readers@:r");
    CHECK_OK(daos_acl_add_ace(&copy, other));
    CHECK_OK(daos_acl_validate(copy));
    daos_ace_free(other);
    CHECK_OK(daos_acl_remove_ace(&copy, DAOS_ACL_GROUP, "readers@"));
    CHECK_OK(daos_acl_remove_ace(&copy, DAOS_ACL_EVERYONE, NULL));
    CHECK_RC(daos_acl_remove_ace(&copy, DAOS_ACL_EVERYONE, NULL), -DER_NONEXIST);
    CHECK_RC(daos_acl_remove_ace(&copy, DAOS_ACL_USER, ""), -DER_INVAL);
    CHECK_RC(daos_acl_remove_ace(&copy, NUM_DAOS_ACL_TYPES, "a@"), -DER_INVAL);
    CHECK_RC(daos_acl_remove_ace(NULL, DAOS_ACL_OWNER, NULL), -DER_INVAL);
    CHECK_RC(daos_acl_add_ace(NULL, aces[0]), -DER_INVAL);
    CHECK_RC(daos_acl_add_ace(&copy, NULL), -DER_INVAL);
    CHECK_OK(daos_acl_validate(copy));
    daos_acl_free(copy);

    /* what is no list */
    CHECK_RC(daos_acl_validate(NULL), -DER_INVAL);
    CHECK_EQUAL(daos_acl_get_size(NULL), -DER_INVAL);
    CHECK(daos_acl_dup(NULL) == NULL && daos_acl_get_next_ace(NULL, NULL) == NULL);
    aces[1]->dae_principal_len = 0;
    copy = daos_acl_create(aces, 2);
    CHECK_RC(daos_acl_validate(copy), -DER_INVAL); /* a user without a name */
    daos_acl_free(copy);
    aces[1]->dae_principal_len = 8;
    copy = daos_acl_create((struct daos_ace*[]){aces[1], aces[1]}, 2);
    CHECK_RC(daos_acl_validate(copy), -DER_INVAL); /* twice */
    daos_acl_free(copy);
    CHECK(daos_acl_create((struct daos_ace*[]){aces[1], NULL}, 2) == NULL);
    CHECK(daos_acl_create(NULL, 1) == NULL);
    copy = daos_acl_create(NULL, 0);
    CHECK_OK(daos_acl_validate(copy));
    copy->dal_ver = 2;
    CHECK_RC(daos_acl_validate(copy), -DER_INVAL);
    daos_acl_free(copy);
    daos_acl_free(acl);
    for (int i = 0; i < 5; ++i)
        daos_ace_free(aces[i]);
}

/* Lists of which each byte is any: they are refused or can be walked. */
static void any_bytes(void)
{
    static uint64_t memory[64];
    struct daos_acl* const damaged = (struct daos_acl*)memory;
    uint32_t const room = sizeof memory - sizeof *damaged;
    uint64_t state = 1;
    int good = 0;
    for (int round = 0; round < 20000; ++round) {
        char const* const texts[] = {"A::OWNER@:rw", "A::user1@:r", "A:G:GROUP@:r"};
        struct daos_acl* acl = NULL;
        CHECK_OK(daos_acl_from_strs((char const**)texts, 3, &acl));
        size_t const size = (size_t)daos_acl_get_size(acl);
        CHECK(size <= sizeof memory);
        memcpy(memory, acl, size);
        daos_acl_free(acl);
        for (int change = round % 4; change >= 0; --change) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            ((uint8_t*)memory)[(state >> 33) % size] = (uint8_t)(state >> 55);
        }
        if (damaged->dal_len > room) damaged->dal_len = room;
        good += daos_acl_validate(damaged) == 0;
        for (struct daos_ace* ace = daos_acl_get_next_ace(damaged, NULL); ace != NULL;
             ace = daos_acl_get_next_ace(damaged, ace))
            CHECK((uint8_t*)ace + daos_ace_get_size(ace) <= damaged->dal_ace + damaged->dal_len);
        acl = daos_acl_dup(damaged);
        daos_acl_remove_ace(&acl, DAOS_ACL_OWNER, NULL);
        daos_acl_free(acl);
    }
    CHECK(good > 0 && good < 20000);
}

static void text(void)
{
    static char const* const good[] = {"A::OWNER@:rwcdtTaAo", "A:G:GROUP@:rwtT", "A::EVERYONE@:",
                                       "A::user@domain:r",    "AUL:SF:user@:rw", "A:GP:some_group@:rw"};
    char buffer[DAOS_ACL_MAX_ACE_STR_LEN + 1];
    for (unsigned i = 0; i < sizeof good / sizeof *good; ++i) {
        struct daos_ace* ace = entry(good[i]);
        CHECK(daos_ace_is_valid(ace));
        CHECK_OK(daos_ace_to_str(ace, buffer, sizeof buffer));
        CHECK(strcmp(buffer, good[i]) == 0);
        CHECK_OK(daos_ace_to_str(ace, buffer, strlen(good[i]) + 1));
        CHECK_RC(daos_ace_to_str(ace, buffer, strlen(good[i])), -DER_TRUNC);
        CHECK(strlen(buffer) == strlen(good[i]) - 1);
        daos_ace_free(ace);
    }
    static char const* const bad[] = {
        "",       "A",       "A:G:GROUP@", ":G:GROUP@:r",  "A::GROUP@:r", "X::u@:r", "A:X:u@:r",    "A::u@:x",
        "A::u:r", "A::@u:r", "A::u@@:r",   "A::OWNER@:r:", "A:S:u@:r",    "U::u@:r", "A:G:OWNER@:r"};
    struct daos_ace* none = NULL;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; ++i) {
        CHECK_RC(daos_ace_from_str(bad[i], &none), -DER_INVAL);
        CHECK(none == NULL);
    }
    static char endless[1000];
    memset(endless, 'u', sizeof endless - 1);
    memcpy(endless, "A::", 3);
    memcpy(endless + 990, "@:r", 4);
    CHECK_RC(daos_ace_from_str(endless, &none), -DER_INVAL);
    CHECK_RC(daos_ace_from_str(NULL, &none), -DER_INVAL);
    CHECK_RC(daos_ace_from_str(good[0], NULL), -DER_INVAL);
    CHECK_RC(daos_ace_to_str(NULL, buffer, sizeof buffer), -DER_INVAL);

    struct daos_ace* ace = entry("AU:S:user@:rw");
    CHECK_RC(daos_ace_to_str(ace, NULL, 10), -DER_INVAL);
    CHECK_RC(daos_ace_to_str(ace, buffer, 0), -DER_INVAL);
    ace->dae_audit_perms = DAOS_ACL_PERM_READ;
    CHECK_RC(daos_ace_to_str(ace, buffer, sizeof buffer), -DER_INVAL); /* has no text */
    daos_ace_free(ace);

    CHECK_OK(daos_ace_str_get_verbose("A:G:GROUP@:rw", buffer, sizeof buffer));
    CHECK(strcmp(buffer, "Allow:Group:Owner-Group:Read/Write") == 0);
    CHECK_OK(daos_ace_str_get_verbose("AL:SF:user@:", buffer, sizeof buffer));
    CHECK(strcmp(buffer, "Allow/Alarm:Access-Success/Access-Failure:user@:No-Access") == 0);
    CHECK_RC(daos_ace_str_get_verbose("A:G:GROUP@:rw", buffer, 10), -DER_TRUNC);
    CHECK_RC(daos_ace_str_get_verbose("A:G:GROUP", buffer, sizeof buffer), -DER_INVAL);
    CHECK_RC(daos_ace_str_get_verbose(NULL, buffer, sizeof buffer), -DER_INVAL);

    struct daos_acl* acl = NULL;
    char const* texts[] = {"A:G:GROUP@:rwtT", "A::OWNER@:rw"};
    CHECK_OK(daos_acl_from_strs(texts, 2, &acl));
    char** back = NULL;
    size_t nr = 0;
    CHECK_OK(daos_acl_to_strs(acl, &back, &nr));
    CHECK_EQUAL(nr, 2);
    CHECK(strcmp(back[0], texts[1]) == 0 && strcmp(back[1], texts[0]) == 0);
    free(back[0]);
    free(back[1]);
    free(back);
    char* printed = NULL;
    size_t size = 0;
    FILE* stream = open_memstream(&printed, &size);
    CHECK_OK(daos_acl_to_stream(stream, acl, false));
    fclose(stream);
    CHECK(strcmp(printed, "A::OWNER@:rw\nA:G:GROUP@:rwtT\n") == 0);
    free(printed);
    stream = open_memstream(&printed, &size);
    CHECK_OK(daos_acl_to_stream(stream, acl, true));
    fclose(stream);
    CHECK(strstr(printed, "# Allow::Owner:Read/Write\nA::OWNER@:rw\n") == printed);
    free(printed);
    daos_acl_dump(acl);
    daos_acl_dump(NULL);
    daos_ace_dump(NULL, 1);
    daos_acl_free(acl);
    CHECK_RC(daos_acl_from_strs(texts, 0, &acl), -DER_INVAL);
    CHECK_RC(daos_acl_from_strs((char const*[]){texts[0], texts[0]}, 2, &acl), -DER_INVAL);
    CHECK_RC(daos_acl_from_strs((char const*[]){texts[0], NULL}, 2, &acl), -DER_INVAL);
    CHECK_RC(daos_acl_to_strs(NULL, &back, &nr), -DER_INVAL);
    CHECK_RC(daos_acl_to_stream(NULL, NULL, false), -DER_INVAL);
}

static void principals(void)
{
    char* name = NULL;
    uid_t uid = 12345;
    gid_t gid = 12345;
    struct passwd const* user = getpwuid(geteuid());
    struct group const* group = getgrgid(getegid());
    char expected[300];
    if (user != NULL) {
        snprintf(expected, sizeof expected, "%s@", user->pw_name);
        CHECK_OK(daos_acl_uid_to_principal(geteuid(), &name));
        CHECK(strcmp(name, expected) == 0);
        CHECK_OK(daos_acl_principal_to_uid(name, &uid));
        CHECK_EQUAL(uid, geteuid());
        free(name);
    }
    if (group != NULL) {
        CHECK_OK(daos_acl_gid_to_principal(getegid(), &name));
        CHECK_OK(daos_acl_principal_to_gid(name, &gid));
        CHECK_EQUAL(gid, getegid());
        free(name);
    }
    CHECK_RC(daos_acl_uid_to_principal(3999999999U, &name), -DER_NONEXIST);
    CHECK_RC(daos_acl_gid_to_principal(3999999999U, &name), -DER_NONEXIST);
    CHECK_RC(daos_acl_principal_to_uid("no_such_user_here@", &uid), -DER_NONEXIST);
    CHECK_RC(daos_acl_principal_to_gid("no_such_group_here@", &gid), -DER_NONEXIST);
    CHECK_RC(daos_acl_principal_to_uid("root", &uid), -DER_INVAL);
    CHECK_RC(daos_acl_principal_to_uid(NULL, &uid), -DER_INVAL);
    CHECK_RC(daos_acl_principal_to_gid("root@", NULL), -DER_INVAL);
    CHECK_RC(daos_acl_uid_to_principal(0, NULL), -DER_INVAL);
    CHECK(daos_acl_principal_is_valid("a@") && daos_acl_principal_is_valid("a@b"));
    CHECK(!daos_acl_principal_is_valid("") && !daos_acl_principal_is_valid("@") &&
          !daos_acl_principal_is_valid("a") && !daos_acl_principal_is_valid("a@b@") &&
          !daos_acl_principal_is_valid(NULL));
    enum daos_acl_principal_type type;
    CHECK_OK(daos_acl_principal_from_str("u:me@", &type, &name));
    CHECK(type == DAOS_ACL_USER && strcmp(name, "me@") == 0);
    free(name);
    CHECK_OK(daos_acl_principal_from_str("g:us@", &type, &name));
    CHECK(type == DAOS_ACL_GROUP && strcmp(name, "us@") == 0);
    free(name);
    CHECK_OK(daos_acl_principal_from_str("EVERYONE@", &type, &name));
    CHECK(type == DAOS_ACL_EVERYONE && name == NULL);
    CHECK_RC(daos_acl_principal_from_str("me@", &type, &name), -DER_INVAL);
    CHECK_RC(daos_acl_principal_from_str("u:me", &type, &name), -DER_INVAL);
    CHECK_RC(daos_acl_principal_from_str(NULL, &type, &name), -DER_INVAL);
}

int main(void)
{
    entries();
    lists();
    any_bytes();
    text();
    principals();
    return 0;
}
