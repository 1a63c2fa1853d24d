/*
 * Array objects: cells of one fixed size at indices from 0, in chunks; a chunk lies on one target. Holes read
 * as zero.
 *
 * DAOS_OT_ARRAY keeps its cell and chunk size in the object. DAOS_OT_ARRAY_ATTR and DAOS_OT_ARRAY_BYTE are
 * opened with them. Indices, lengths and sizes are in cells. `th` is DAOS_TX_NONE, a transaction
 * (daos_tx_open) or, for reading, a snapshot (daos_tx_open_snap). Writing with a snapshot or through a
 * read-only handle gives -DER_NO_PERM.
 *
 * Threads and errors: daos.h; each call names the codes that are its own.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_ARRAY_H
#define STEPSTORE_LIBDAOS_DAOS_ARRAY_H

#include <daos_obj.h>
#include <daos_obj_class.h>
#include <daos_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* DAOS refuses requests of more ranges than this when they are as short as that. Stepstore does not. */
#define DAOS_ARRAY_LIST_IO_LIMIT 16384
#define DAOS_ARRAY_RG_LEN_THD 16

typedef struct {
    daos_off_t rg_idx;
    daos_size_t rg_len;
} daos_range_t;

/* The cells of a request. */
typedef struct {
    daos_size_t arr_nr; /* ranges */
    daos_range_t* arr_rgs;
    daos_size_t arr_nr_short_read; /* of a read: cells asked for that lie beyond the end of the array */
    daos_size_t arr_nr_read;       /* of a read: the other ones. With an event for DAOS_OT_ARRAY_BYTE only */
} daos_array_iod_t;

typedef struct {
    daos_size_t st_size;       /* cells */
    daos_epoch_t st_max_epoch; /* of the latest update; 0: none */
} daos_array_stbuf_t;

/* Completes *oid for an array that keeps its attributes (add_attr) or is opened with them; see
 * daos_obj_generate_oid().
 */
static inline int daos_array_generate_oid(daos_handle_t coh, daos_obj_id_t* oid, bool add_attr,
                                          daos_oclass_id_t cid, daos_oclass_hints_t hints, uint32_t args)
{
    return daos_obj_generate_oid(coh, oid, add_attr ? DAOS_OT_ARRAY : DAOS_OT_ARRAY_ATTR, cid, hints, args);
}

/* -DER_EXIST: the object has attributes. -DER_INVAL: a size is 0, or `oid` is not of an array type.
 * -DER_OVERFLOW: a chunk of more than 2^63 bytes. */
int daos_array_create(daos_handle_t coh, daos_obj_id_t oid, daos_handle_t th, daos_size_t cell_size,
                      daos_size_t chunk_size, daos_handle_t* oh, daos_event_t* ev);
/* mode: DAOS_OO_RO or DAOS_OO_RW. -DER_NONEXIST: no array there. -DER_INVAL: `oid` is not of type
 * DAOS_OT_ARRAY. */
int daos_array_open(daos_handle_t coh, daos_obj_id_t oid, daos_handle_t th, unsigned int mode,
                    daos_size_t* cell_size, daos_size_t* chunk_size, daos_handle_t* oh, daos_event_t* ev);
/* Makes no request to the store. -DER_INVAL: a size is 0, or `oid` is of type DAOS_OT_ARRAY or no array. */
int daos_array_open_with_attr(daos_handle_t coh, daos_obj_id_t oid, daos_handle_t th, unsigned int mode,
                              daos_size_t cell_size, daos_size_t chunk_size, daos_handle_t* oh,
                              daos_event_t* ev);
int daos_array_close(daos_handle_t oh, daos_event_t* ev);
/* Removes everything in the array, its attributes too; the handle stays open. Snapshots keep theirs. */
int daos_array_destroy(daos_handle_t oh, daos_handle_t th, daos_event_t* ev);

/* A handle as bytes for another process; see daos_pool_local2global(). mode 0: as the handle was opened. */
int daos_array_local2global(daos_handle_t oh, d_iov_t* glob);
int daos_array_global2local(daos_handle_t coh, d_iov_t glob, unsigned int mode, daos_handle_t* oh);

/* The ranges of `iod` and the pieces of `sgl` (iov_len of each) must hold the same number of bytes. No piece
 * may have more than its iov_buf_len, and no two ranges may overlap. -DER_INVAL otherwise. */
int daos_array_read(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                    daos_event_t* ev);
int daos_array_write(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                     daos_event_t* ev);
/* Makes holes of the ranges. */
int daos_array_punch(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, daos_event_t* ev);

/* One more than the highest index written, or what set_size said. */
int daos_array_get_size(daos_handle_t oh, daos_handle_t th, daos_size_t* size, daos_event_t* ev);
int daos_array_set_size(daos_handle_t oh, daos_handle_t th, daos_size_t size, daos_event_t* ev);
int daos_array_stat(daos_handle_t oh, daos_handle_t th, daos_array_stbuf_t* stbuf, daos_event_t* ev);
int daos_array_get_attr(daos_handle_t oh, daos_size_t* chunk_size, daos_size_t* cell_size);

#ifdef __cplusplus
}
#endif
#endif
