/*
 * Containers: the unit of snapshots, and a space of object ids of its own.
 * Threads and errors: daos.h; each call names the codes that are its own.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_CONT_H
#define STEPSTORE_LIBDAOS_DAOS_CONT_H

#include <daos_prop.h>
#include <daos_security.h>
#include <daos_types.h>

/* The names under which libdaos exports these calls since they take strings. */
#define daos_cont_create daos_cont_create2
#define daos_cont_open daos_cont_open2
#define daos_cont_destroy daos_cont_destroy2

#ifdef __cplusplus
extern "C" {
#endif

/* How a container is opened: one of RO, RW, EX */
#define DAOS_COO_RO (1U << 0)
#define DAOS_COO_RW (1U << 1)
#define DAOS_COO_EX (1U << 2) /* exclusive; -DER_NOTSUPPORTED from Stepstore */
/* and perhaps */
#define DAOS_COO_FORCE (1U << 3) /* whatever the state of its health */
#define DAOS_COO_RO_MDSTATS (1U << 4)
#define DAOS_COO_EVICT (1U << 5)
#define DAOS_COO_EVICT_ALL (1U << 6)
#define DAOS_COO_NEW_LAYOUT (1U << 7)
#define DAOS_COO_NBITS 8
#define DAOS_COO_MASK ((1U << DAOS_COO_NBITS) - 1)
#define DAOS_COO_IO_BASE_MASK (DAOS_COO_RO | DAOS_COO_RW | DAOS_COO_EX)

#define DAOS_CONT_HINT_MAX_LEN 128

/*
 * uuid: optional, receives the new container's. cont_prop: optional. A label among them is the container's
 * name. Numbers are kept. -DER_EXIST: the label is taken. -DER_INVAL: no valid label or property.
 * -DER_NO_PERM: the pool is read-only.
 */
int daos_cont_create(daos_handle_t poh, uuid_t* uuid, daos_prop_t* cont_prop, daos_event_t* ev);
int daos_cont_create_with_label(daos_handle_t poh, const char* label, daos_prop_t* cont_prop, uuid_t* uuid,
                                daos_event_t* ev);

/* cont: a label or a UUID as text. info: optional. The rights of the container count, also if its pool was
 * connected for reading. A container of a pool whose files can only be read opens with DAOS_COO_RW too; then
 * updates give -DER_NO_PERM. -DER_NONEXIST: no such container. */
int daos_cont_open(daos_handle_t poh, const char* cont, unsigned int flags, daos_handle_t* coh,
                   daos_cont_info_t* info, daos_event_t* ev);
/* Objects opened from it are closed with it: their handles give -DER_NO_HDL afterwards. */
int daos_cont_close(daos_handle_t coh, daos_event_t* ev);
/* -DER_BUSY: it is open, and not force. -DER_NONEXIST. */
int daos_cont_destroy(daos_handle_t poh, const char* cont, int force, daos_event_t* ev);

/* info, cont_prop: each optional. The entries of cont_prop are filled; a number that was never set gets its
 * default. A property that Stepstore does not keep is marked DAOS_PROP_ENTRY_NOT_SET. -DER_INVAL: an entry is
 * no property of a container. */
int daos_cont_query(daos_handle_t coh, daos_cont_info_t* info, daos_prop_t* cont_prop, daos_event_t* ev);

/*
 * Sets properties: the label, the roots and the numbers, all of them or none. Later queries and opens see
 * them; a handle stays open. -DER_EXIST: another container has the label. -DER_NO_PERM: the container is open
 * for reading alone; or the property is one that only a new container takes: of erasure codes, of performance
 * domains, allocated ids. -DER_NOTSUPPORTED: another redundancy factor; what a new container does not take
 * either; any change in a pool in files. DAOS_PROP_CO_STATUS: DAOS_PROP_CO_HEALTHY, which it always is.
 */
int daos_cont_set_prop(daos_handle_t coh, daos_prop_t* prop, daos_event_t* ev);
/* The same as setting that status. */
int daos_cont_status_clear(daos_handle_t coh, daos_event_t* ev);

/*
 * Access control. The storage below decides who may open a pool: the mode of its directory, or the users of a
 * Ceph cluster. The list of a container says what they give, and so do its owner and group. On a cluster
 * everybody whom it lets in may do everything, and there is no owner (DAOS_PROP_ENTRY_NOT_SET).
 *
 * The other calls, and these properties for a new container, take only what is so already, else
 * -DER_NOTSUPPORTED: change the rights below. They look first for -DER_INVAL and -DER_NO_PERM. delete:
 * -DER_NONEXIST: there is no such entry. set_owner: -DER_NONEXIST: this machine has no such user or group.
 * user, group: one may be NULL. *acl_prop: the list, the owner and the group, for daos_prop_free().
 */
int daos_cont_get_acl(daos_handle_t coh, daos_prop_t** acl_prop, daos_event_t* ev);
int daos_cont_overwrite_acl(daos_handle_t coh, struct daos_acl* acl, daos_event_t* ev);
int daos_cont_update_acl(daos_handle_t coh, struct daos_acl* acl, daos_event_t* ev);
int daos_cont_delete_acl(daos_handle_t coh, enum daos_acl_principal_type type, d_string_t name,
                         daos_event_t* ev);
int daos_cont_set_owner(daos_handle_t coh, d_string_t user, d_string_t group, daos_event_t* ev);
int daos_cont_set_owner_no_check(daos_handle_t coh, d_string_t user, d_string_t group, daos_event_t* ev);

/*
 * What the list of cont_prop allows a user of these groups: bits of enum daos_acl_perm. cont_prop has
 * DAOS_PROP_CO_ACL, _OWNER and _OWNER_GROUP, as daos_cont_get_acl() gives them. An owner that is not set is
 * nobody. -DER_INVAL: one of the three is missing. -DER_NONEXIST: this machine has no such user or group.
 */
int daos_cont_get_perms(daos_prop_t* cont_prop, uid_t uid, gid_t* gids, size_t nr_gids, uint64_t* perms);

/* See daos_pool_local2global(). */
int daos_cont_local2global(daos_handle_t coh, d_iov_t* glob);
int daos_cont_global2local(daos_handle_t poh, d_iov_t glob, daos_handle_t* coh);

/* *oid: the first of num_oids consecutive numbers that no other call gets in this container. The pool must be
 * connected for writing; the container may be open for reading. -DER_OVERFLOW: more than 2^48 at once, or
 * than are left. */
int daos_cont_alloc_oids(daos_handle_t coh, daos_size_t num_oids, uint64_t* oid, daos_event_t* ev);

/*
 * User attributes: names of 1 to DAOS_ATTR_NAME_MAX characters with values of 1 byte to 1 MiB. A call that
 * sets several sets all of them or none. Those of a container go with it; snapshots have none. A pool in
 * files keeps none: -DER_NOTSUPPORTED.
 *
 * list: buffer gets the whole names that fit into *size bytes, each with its terminating zero. *size becomes
 * the number of bytes that all names take. buffer may be NULL when *size is 0.
 * get: buffers, or some in it, may be NULL. sizes[i], in: of buffers[i]; out: of the value, 0 when there is
 * no such attribute. A value that is longer than its buffer is cut. -DER_NONEXIST: no such name exists.
 * set: -DER_INVAL: an empty name or value, or a longer name. -DER_OVERFLOW: a longer value.
 * del: -DER_NONEXIST: no such name exists. set and del: -DER_NO_PERM on what is open for reading.
 */
int daos_cont_list_attr(daos_handle_t coh, char* buffer, size_t* size, daos_event_t* ev);
int daos_cont_get_attr(daos_handle_t coh, int n, char const* const names[], void* const buffers[],
                       size_t sizes[], daos_event_t* ev);
int daos_cont_set_attr(daos_handle_t coh, int n, char const* const names[], void const* const values[],
                       size_t const sizes[], daos_event_t* ev);
int daos_cont_del_attr(daos_handle_t coh, int n, char const* const names[], daos_event_t* ev);

/* ---- snapshots: they contain what was acknowledged before the call, and nothing that begins after it */

#define DAOS_SNAPSHOT_MAX_LEN 128 /* of a name, with the terminating zero */

enum daos_snapshot_opts {
    DAOS_SNAP_OPT_CR = 1 << 0, /* create a snapshot */
    DAOS_SNAP_OPT_OIT = 1 << 1 /* with a table of its objects for daos_oit_open(); -DER_NOSYS without CR */
};

/* *epoch names the snapshot. name: optional; -DER_EXIST: there is a snapshot of that name. */
int daos_cont_create_snap(daos_handle_t coh, daos_epoch_t* epoch, char* name, daos_event_t* ev);
int daos_cont_create_snap_opt(daos_handle_t coh, daos_epoch_t* epoch, char* name,
                              enum daos_snapshot_opts opts, daos_event_t* ev);

/*
 * *nr, in: entries in epochs and names; out: the number of snapshots, which may be greater. epochs NULL: only
 * the number. names: optional; each points to DAOS_SNAPSHOT_MAX_LEN bytes.
 */
int daos_cont_list_snap(daos_handle_t coh, int* nr, daos_epoch_t* epochs, char** names, daos_anchor_t* anchor,
                        daos_event_t* ev);
/* epr_lo == epr_hi: the snapshot's epoch. -DER_INVAL: a true range (as in DAOS). -DER_NONEXIST. */
int daos_cont_destroy_snap(daos_handle_t coh, daos_epoch_range_t epr, daos_event_t* ev);

/*
 * The table of a snapshot's objects. create: Stepstore's snapshots have one anyway, and this looks whether
 * the snapshot is there (-DER_NONEXIST). name: NULL, else -DER_NOSYS. destroy: removes what daos_oit_mark()
 * noted in the table of an open handle. -DER_NO_PERM: the container is open for reading.
 */
int daos_cont_snap_oit_create(daos_handle_t coh, daos_epoch_t epoch, char* name, daos_event_t* ev);
int daos_cont_snap_oit_destroy(daos_handle_t coh, daos_handle_t oh, daos_event_t* ev);

/*
 * Gives back what nothing needs up to an epoch; 0: now. Stepstore keeps no version that no snapshot needs, so
 * there is nothing to do. -DER_NO_PERM: open for reading. -DER_INVAL: DAOS_EPOCH_MAX.
 */
int daos_cont_aggregate(daos_handle_t coh, daos_epoch_t epoch, daos_event_t* ev);
/* -DER_NOSYS, as from libdaos 2.6: to go back to a snapshot, and to wait for one. */
int daos_cont_rollback(daos_handle_t coh, daos_epoch_t epoch, daos_event_t* ev);
int daos_cont_subscribe(daos_handle_t coh, daos_epoch_t* epoch, daos_event_t* ev);

#ifdef __cplusplus
}
#endif
#endif
