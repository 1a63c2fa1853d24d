/*
 * Key-value objects: zero-terminated keys of 1 byte to 1 MiB, values of 0 bytes and more. Object type
 * DAOS_OT_KV_HASHED, DAOS_OT_KV_UINT64 or DAOS_OT_KV_LEXICAL.
 *
 * A put is atomic: readers see the old value or the new one. `th` is DAOS_TX_NONE, a transaction
 * (daos_tx_open) or, for reading, a snapshot (daos_tx_open_snap). Writing with a snapshot or through a
 * read-only handle gives -DER_NO_PERM.
 *
 * Threads and errors: daos.h; each call names the codes that are its own.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_KV_H
#define STEPSTORE_LIBDAOS_DAOS_KV_H

#include <daos_obj.h>
#include <daos_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Conditions, as flags: */
#define DAOS_COND_KEY_INSERT DAOS_COND_DKEY_INSERT /* put: -DER_EXIST when the key is there */
#define DAOS_COND_KEY_UPDATE DAOS_COND_DKEY_UPDATE /* put: -DER_NONEXIST when it is not */
#define DAOS_COND_KEY_GET DAOS_COND_DKEY_FETCH     /* get: -DER_NONEXIST when it is not */
#define DAOS_COND_KEY_REMOVE DAOS_COND_PUNCH       /* remove: -DER_NONEXIST when it is not */

/* mode: DAOS_OO_RO or DAOS_OO_RW. Makes no request to the store. -DER_INVAL: `oid` is not of a key-value
 * type. */
int daos_kv_open(daos_handle_t coh, daos_obj_id_t oid, unsigned int mode, daos_handle_t* oh,
                 daos_event_t* ev);
int daos_kv_close(daos_handle_t oh, daos_event_t* ev);
/* Removes all keys; the handle stays open. Snapshots keep theirs. */
int daos_kv_destroy(daos_handle_t oh, daos_handle_t th, daos_event_t* ev);

/* buf may be NULL when size is 0. -DER_EXIST, -DER_NONEXIST by the condition; -DER_NO_PERM. */
int daos_kv_put(daos_handle_t oh, daos_handle_t th, uint64_t flags, const char* key, daos_size_t size,
                const void* buf, daos_event_t* ev);

/*
 * *size, in: bytes at buf; out: bytes of the value. Without such a key and without a condition it is 0, and
 * there is no error. With buf NULL or *size DAOS_REC_ANY only the size is given. -DER_REC2BIG: the value is
 * larger than *size, which then has its size.
 */
int daos_kv_get(daos_handle_t oh, daos_handle_t th, uint64_t flags, const char* key, daos_size_t* size,
                void* buf, daos_event_t* ev);

/* Removing a missing key is an error only with the condition. */
int daos_kv_remove(daos_handle_t oh, daos_handle_t th, uint64_t flags, const char* key, daos_event_t* ev);

/*
 * The next keys after *anchor (all zero at first), until daos_anchor_is_eof(anchor). *nr, in: entries in kds;
 * out: keys given. The keys lie one after the other in the memory of sgl, without terminators, each wholly in
 * one piece. kds has their lengths. -DER_KEY2BIG: the memory does not hold one key; kds[0].kd_key_len has its
 * length.
 */
int daos_kv_list(daos_handle_t oh, daos_handle_t th, uint32_t* nr, daos_key_desc_t* kds, d_sg_list_t* sgl,
                 daos_anchor_t* anchor, daos_event_t* ev);

#ifdef __cplusplus
}
#endif
#endif
