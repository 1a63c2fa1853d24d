/*
 * Access control lists: their structures, and the calls that make them, take them apart and turn them into
 * text. daos_cont.h has those that ask a container for its list, and says what a list means here.
 *
 * A list is one block of memory, made with malloc(): a header, then entries one after the other. Each has the
 * bytes of its principal's name after it, filled up to a multiple of 8. Entries are in the order of their
 * types.
 *
 * Threads: a list is its caller's. Errors: each function says; -DER_INVAL of NULL and of what is no entry or
 * list.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_SECURITY_H
#define STEPSTORE_LIBDAOS_DAOS_SECURITY_H

#include <daos_prop.h>
#include <daos_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAOS_ACL_VERSION (1)

#define DAOS_ACL_MAX_PRINCIPAL_LEN (255) /* of a name such as "user@", without the zero after it */
#define DAOS_ACL_MAX_PRINCIPAL_BUF_LEN (DAOS_ACL_MAX_PRINCIPAL_LEN + 1)
#define DAOS_ACL_MAX_ACE_LEN (65536) /* of all entries together, in bytes */
#define DAOS_ACL_MAX_ACE_STR_LEN (DAOS_ACL_MAX_PRINCIPAL_LEN + 64)

/* The names in text of those that need none. */
#define DAOS_ACL_PRINCIPAL_OWNER "OWNER@"
#define DAOS_ACL_PRINCIPAL_OWNER_GRP "GROUP@"
#define DAOS_ACL_PRINCIPAL_EVERYONE "EVERYONE@"

struct daos_acl {
    uint16_t dal_ver;
    uint16_t dal_reserv;
    uint32_t dal_len;  /* of the entries, in bytes */
    uint8_t dal_ace[]; /* struct daos_ace */
};

/* Whom an entry is about. USER and GROUP have a name. */
enum daos_acl_principal_type {
    DAOS_ACL_OWNER,
    DAOS_ACL_USER,
    DAOS_ACL_OWNER_GROUP,
    DAOS_ACL_GROUP,
    DAOS_ACL_EVERYONE,

    NUM_DAOS_ACL_TYPES
};

/* What an entry does. */
enum daos_acl_access_type {
    DAOS_ACL_ACCESS_ALLOW = 1U << 0,
    DAOS_ACL_ACCESS_AUDIT = 1U << 1,
    DAOS_ACL_ACCESS_ALARM = 1U << 2
};
#define DAOS_ACL_ACCESS_ALL (DAOS_ACL_ACCESS_ALLOW | DAOS_ACL_ACCESS_AUDIT | DAOS_ACL_ACCESS_ALARM)

enum daos_acl_flags {
    DAOS_ACL_FLAG_GROUP = 1U << 0, /* of both types of groups, and of no other */
    DAOS_ACL_FLAG_POOL_INHERIT = 1U << 1,
    DAOS_ACL_FLAG_ACCESS_FAIL = 1U << 2, /* audit or alarm if access fails */
    DAOS_ACL_FLAG_ACCESS_SUCCESS = 1U << 3
};
#define DAOS_ACL_FLAG_ALL                                                                                    \
    (DAOS_ACL_FLAG_GROUP | DAOS_ACL_FLAG_POOL_INHERIT | DAOS_ACL_FLAG_ACCESS_FAIL |                          \
     DAOS_ACL_FLAG_ACCESS_SUCCESS)

enum daos_acl_perm {
    DAOS_ACL_PERM_READ = 1U << 0,
    DAOS_ACL_PERM_WRITE = 1U << 1,
    DAOS_ACL_PERM_CREATE_CONT = 1U << 2,
    DAOS_ACL_PERM_DEL_CONT = 1U << 3,
    DAOS_ACL_PERM_GET_PROP = 1U << 4,
    DAOS_ACL_PERM_SET_PROP = 1U << 5,
    DAOS_ACL_PERM_GET_ACL = 1U << 6,
    DAOS_ACL_PERM_SET_ACL = 1U << 7,
    DAOS_ACL_PERM_SET_OWNER = 1U << 8
};
#define DAOS_ACL_PERM_POOL_ALL                                                                               \
    (DAOS_ACL_PERM_READ | DAOS_ACL_PERM_GET_PROP | DAOS_ACL_PERM_WRITE | DAOS_ACL_PERM_CREATE_CONT |         \
     DAOS_ACL_PERM_DEL_CONT)
#define DAOS_ACL_PERM_CONT_ALL                                                                               \
    (DAOS_ACL_PERM_READ | DAOS_ACL_PERM_WRITE | DAOS_ACL_PERM_DEL_CONT | DAOS_ACL_PERM_GET_PROP |            \
     DAOS_ACL_PERM_SET_PROP | DAOS_ACL_PERM_GET_ACL | DAOS_ACL_PERM_SET_ACL | DAOS_ACL_PERM_SET_OWNER)
#define DAOS_ACL_PERM_ALL (DAOS_ACL_PERM_POOL_ALL | DAOS_ACL_PERM_CONT_ALL)

struct daos_ace {
    uint8_t dae_access_types;   /* of enum daos_acl_access_type */
    uint8_t dae_principal_type; /* enum daos_acl_principal_type */
    uint16_t dae_principal_len; /* bytes of dae_principal, a multiple of 8 */
    uint16_t dae_access_flags;  /* of enum daos_acl_flags */
    uint16_t dae_reserv;
    uint64_t dae_allow_perms; /* of enum daos_acl_perm, by what the entry does */
    uint64_t dae_audit_perms;
    uint64_t dae_alarm_perms;
    char dae_principal[]; /* ended by zeros */
};

/* A list of copies of these entries, in order. NULL: no memory, or one is NULL. */
struct daos_acl* daos_acl_create(struct daos_ace* aces[], uint16_t num_aces);
struct daos_acl* daos_acl_dup(struct daos_acl* acl); /* NULL: of NULL, of no list, or no memory */
void daos_acl_free(struct daos_acl* acl);
/* Of header and entries, in bytes. -DER_INVAL. */
ssize_t daos_acl_get_size(struct daos_acl* acl);
/* The entry after this one, or the first if it is NULL; NULL: there is none. */
struct daos_ace* daos_acl_get_next_ace(struct daos_acl* acl, struct daos_ace* current_ace);
/* *ace: in the list, for this principal. principal: of USER and GROUP. -DER_NONEXIST. */
int daos_acl_get_ace_for_principal(struct daos_acl* acl, enum daos_acl_principal_type type,
                                   const char* principal, struct daos_ace** ace);
/* Puts a copy of an entry in its place in the list, which moves, or over the one of the same principal. */
int daos_acl_add_ace(struct daos_acl** acl, struct daos_ace* new_ace);
/* Takes an entry out of the list, which moves. -DER_NONEXIST. */
int daos_acl_remove_ace(struct daos_acl** acl, enum daos_acl_principal_type type, const char* principal_name);
/* -DER_INVAL: it is no sound list: an entry does not fit or is not valid, the order, or one principal twice.
 */
int daos_acl_validate(struct daos_acl* acl);
void daos_acl_dump(struct daos_acl* acl); /* prints it */

/* An entry that allows nothing yet. NULL: no such type, no name where one is needed, or no memory. */
struct daos_ace* daos_ace_create(enum daos_acl_principal_type type, const char* principal_name);
void daos_ace_free(struct daos_ace* ace);
ssize_t daos_ace_get_size(struct daos_ace* ace);
bool daos_ace_is_valid(struct daos_ace* ace);
void daos_ace_dump(struct daos_ace* ace, uint32_t tabs);
/* Its name, or one of the three above. NULL: of NULL. */
const char* daos_ace_get_principal_str(struct daos_ace* ace);

/* Text: access types (A, U, L), flags (G, S, F, P), principal and permissions (r, w, c, d, t, T, a, A, o),
 * with colons: "A:G:GROUP@:rwtT". An entry whose types have different permissions has no text: -DER_INVAL. */
int daos_ace_from_str(const char* str, struct daos_ace** ace);
int daos_ace_to_str(struct daos_ace* ace, char* buf, size_t buf_len); /* -DER_TRUNC */
/* The same in words: "Allow:Group:Owner-Group:Read/Write". -DER_TRUNC. */
int daos_ace_str_get_verbose(const char* ace_str, char* buf, size_t buf_len);
int daos_acl_from_strs(const char** ace_strs, size_t ace_nr, struct daos_acl** acl);
/* The caller frees each text and their array, which is NULL if there are none. */
int daos_acl_to_strs(struct daos_acl* acl, char*** ace_strs, size_t* ace_nr);
/* One line for each entry. verbose: with a comment in words before it. -DER_IO. */
int daos_acl_to_stream(FILE* stream, struct daos_acl* acl, bool verbose);

/* Names: NAME@ or NAME@DOMAIN. */
bool daos_acl_principal_is_valid(const char* name);
/* Of users and groups of this machine. The caller frees *name. -DER_NONEXIST. */
int daos_acl_uid_to_principal(uid_t uid, char** name);
int daos_acl_gid_to_principal(gid_t gid, char** name);
int daos_acl_principal_to_uid(const char* principal, uid_t* uid);
int daos_acl_principal_to_gid(const char* principal, gid_t* gid);
/* "u:NAME@", "g:NAME@", or one of the three above, for which *name is NULL. The caller frees *name. */
int daos_acl_principal_from_str(const char* principal_str, enum daos_acl_principal_type* type, char** name);

#ifdef __cplusplus
}
#endif
#endif
