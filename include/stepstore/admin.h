/*
 * What libdaos leaves to the administrator's tools, as C calls of our library: making, listing, checking and
 * destroying pools, and walking what is in them. Not part of the DAOS API: a program that also runs on a real
 * DAOS system uses that system's tools (dmg, daos) instead. Exported by libstepstore_daos beside the daos_
 * calls.
 *
 * All return 0 or a negative DER_* code; stepstore_last_message() then says what was tried on what, and what
 * to do.
 */
#ifndef STEPSTORE_ADMIN_H
#define STEPSTORE_ADMIN_H

#include "stepstore/export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <daos.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The text of the last error of this thread, for any daos_ or stepstore_ call of this library; never NULL.
 * Valid until the thread's next call. */
STEPSTORE_API const char* stepstore_last_message(void);

struct stepstore_pool_options {
    const char* label;   /* NULL: the last part of the path */
    const char* backend; /* NULL: "lmdb" */
    uint32_t targets;    /* 0: one per processor of this machine, 4 to 16; at most 256 */
    uint32_t power;      /* 0: durability=process; 1: durability=power */
    const char* const*
        target_dirs;         /* existing directories, on other disks say, into which the targets go in turn */
    uint32_t target_dirs_nr; /* 0: all targets lie in the pool's directory */
};

/* pool: a path (with a '/'), a label under the root directory ($STEPSTORE_ROOT, default
 * $XDG_DATA_HOME/stepstore or ~/.local/share/stepstore), or "local:" and either. */
STEPSTORE_API int stepstore_pool_create(const char* pool, const struct stepstore_pool_options* options);
STEPSTORE_API int stepstore_pool_destroy(const char* pool, int force);
/* The directory that `pool` names. *size: of path, in; needed, out. -DER_TRUNC when it does not fit. */
STEPSTORE_API int stepstore_pool_path(const char* pool, char* path, size_t* size);

/* Calls `each` once per item with a JSON object as text; a non-zero return ends the walk and is returned. */
typedef int (*stepstore_json_cb)(const char* json, void* arg);
/* Pools under a directory (NULL: the root directory): {"path","label","uuid","durability","containers"} */
STEPSTORE_API int stepstore_pool_list(const char* root, stepstore_json_cb each, void* arg);
/* One object: the pool's query with its targets:
 * {"path","label","uuid","backend","format","durability","space_total","space_free","targets":[{...}]} */
STEPSTORE_API int stepstore_pool_describe(const char* pool, stepstore_json_cb each, void* arg);
/* One object per finding {"severity","where","what","advice"}, then a summary {"summary":{...}}. Returns 0
 * also when damage was found: see "damaged" in the summary. */
STEPSTORE_API int stepstore_pool_check(const char* pool, bool data, bool repair, stepstore_json_cb each,
                                       void* arg);
/* Gives space back that nothing needs, while others use the pool: one object per target, the pool's metadata
 * ("meta") last, with the bytes it takes: {"target","index_before","index_after","bulk_before","bulk_after"}.
 * -DER_CSUM where an index is damaged: stepstore_pool_check() says what can be saved. -DER_NO_PERM: the pool
 * cannot be written. */
STEPSTORE_API int stepstore_pool_compact(const char* pool, stepstore_json_cb each, void* arg);
/* One object per object in the container at epoch (DAOS_TX_NONE: now): {"hi","lo","type","class"}, and with
 * `sizes`, for which each object is asked, "keys" or "size","cell_size","chunk_size". */
STEPSTORE_API int stepstore_cont_objects(daos_handle_t coh, daos_handle_t th, bool sizes,
                                         stepstore_json_cb each, void* arg);
/* The same of one object, with its sizes. -DER_NONEXIST: nothing is stored under this id. */
STEPSTORE_API int stepstore_cont_object(daos_handle_t coh, daos_handle_t th, daos_obj_id_t oid,
                                        stepstore_json_cb each, void* arg);
/* Name a snapshot; NULL: none. Snapshots: {"epoch","name"} */
STEPSTORE_API int stepstore_cont_snapshots(daos_handle_t coh, stepstore_json_cb each, void* arg);
/* Makes everything acknowledged survive a power failure, whatever the pool's durability. */
STEPSTORE_API int stepstore_pool_sync(daos_handle_t poh);
/* The same for what this process did, and no more: what it built upon, of others, may need the call above. */
STEPSTORE_API int stepstore_pool_sync_own(daos_handle_t poh);

/*
 * A mode of daos_array_open() and its kin, beside DAOS_OO_RO or DAOS_OO_RW: reads through this handle need
 * not compare stored bytes with their checksums where that takes time, in payloads from 64 KiB on. Damage to
 * the pool's files may then be read unnoticed (stepstore_pool_check() finds it), and a damaged copy is not
 * replaced by the other one of RP_2Gn. What other processes write, replace or remove meanwhile is seen as
 * ever: a whole old or a whole new payload.
 */
#define STEPSTORE_OO_UNVERIFIED (1U << 30)

/*
 * In arr_nr_read before a daos_array_read() with an event: the counts of the read are wanted when it
 * completes, whatever the type of the array, and `iod` stays until then. DAOS tells them for
 * DAOS_OT_ARRAY_BYTE only.
 */
#define STEPSTORE_ARRAY_TELL UINT64_MAX

/*
 * What daos_array_local2global() and its counterpart are for arrays, for key-value objects, which have none
 * in DAOS. mode 0: as the handle was opened. -DER_TRUNC, -DER_INVAL, as there.
 */
STEPSTORE_API int stepstore_kv_local2global(daos_handle_t oh, d_iov_t* glob);
STEPSTORE_API int stepstore_kv_global2local(daos_handle_t coh, d_iov_t glob, unsigned int mode,
                                            daos_handle_t* oh);

#ifdef __cplusplus
}
#endif
#endif
