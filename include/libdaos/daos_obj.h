/*
 * Object ids, types, open modes and conditions, and the calls that work on any kind of object.
 *
 * An id has 128 bits. The user chooses the lower 96; daos_obj_generate_oid() sets the upper 32: 8 bits of
 * type, 8 of redundancy, 16 of groups (daos_obj_class.h).
 *
 * Threads and errors: daos.h; each call names the codes that are its own. The inline functions are pure.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_OBJ_H
#define STEPSTORE_LIBDAOS_DAOS_OBJ_H

#include <daos_event.h>
#include <daos_obj_class.h>
#include <daos_prop.h>
#include <daos_types.h>

/* The name under which libdaos exports the call since it knows object types. */
#define daos_obj_generate_oid daos_obj_generate_oid2

#ifdef __cplusplus
extern "C" {
#endif

#define DAOS_OBJ_NIL ((daos_obj_id_t){0})

/* ---- the bits of daos_obj_id_t.hi */

#define OID_FMT_INTR_BITS 32
#define OID_FMT_TYPE_BITS 8
#define OID_FMT_CLASS_BITS 8
#define OID_FMT_META_BITS 16

#define OID_FMT_TYPE_SHIFT (64 - OID_FMT_TYPE_BITS)
#define OID_FMT_CLASS_SHIFT (OID_FMT_TYPE_SHIFT - OID_FMT_CLASS_BITS)
#define OID_FMT_META_SHIFT (OID_FMT_CLASS_SHIFT - OID_FMT_META_BITS)

#define OID_FMT_TYPE_MAX ((1ULL << OID_FMT_TYPE_BITS) - 1)
#define OID_FMT_CLASS_MAX ((1ULL << OID_FMT_CLASS_BITS) - 1)
#define OID_FMT_META_MAX ((1ULL << OID_FMT_META_BITS) - 1)

#define OID_FMT_TYPE_MASK (OID_FMT_TYPE_MAX << OID_FMT_TYPE_SHIFT)
#define OID_FMT_CLASS_MASK (OID_FMT_CLASS_MAX << OID_FMT_CLASS_SHIFT)
#define OID_FMT_META_MASK (OID_FMT_META_MAX << OID_FMT_META_SHIFT)

/* ---- types: how the keys of an object are ordered, and what it is used as */

enum daos_otype_t {
    DAOS_OT_MULTI_HASHED = 0,
    DAOS_OT_OIT = 1,
    DAOS_OT_DKEY_UINT64 = 2,
    DAOS_OT_AKEY_UINT64 = 3,
    DAOS_OT_MULTI_UINT64 = 4,
    DAOS_OT_DKEY_LEXICAL = 5,
    DAOS_OT_AKEY_LEXICAL = 6,
    DAOS_OT_MULTI_LEXICAL = 7,
    DAOS_OT_KV_HASHED = 8, /* key-value object */
    DAOS_OT_KV_UINT64 = 9,
    DAOS_OT_KV_LEXICAL = 10,
    DAOS_OT_ARRAY = 11,      /* array that keeps its cell and chunk size */
    DAOS_OT_ARRAY_ATTR = 12, /* array that is opened with them */
    DAOS_OT_ARRAY_BYTE = 13, /* the same, cells of one byte */
    DAOS_OT_OIT_V2 = 14,
    DAOS_OT_MAX = 14
};

static inline bool daos_otype_t_is_valid(enum daos_otype_t type)
{
    return type <= DAOS_OT_MAX;
}

static inline enum daos_otype_t daos_obj_id2type(daos_obj_id_t oid)
{
    return (enum daos_otype_t)((oid.hi & OID_FMT_TYPE_MASK) >> OID_FMT_TYPE_SHIFT);
}

static inline enum daos_obj_redun daos_obj_id2ord(daos_obj_id_t oid)
{
    return (enum daos_obj_redun)((oid.hi & OID_FMT_CLASS_MASK) >> OID_FMT_CLASS_SHIFT);
}

static inline uint32_t daos_obj_id2grp_nr(daos_obj_id_t oid)
{
    return (uint32_t)((oid.hi & OID_FMT_META_MASK) >> OID_FMT_META_SHIFT);
}

static inline daos_oclass_id_t daos_obj_id2class(daos_obj_id_t oid)
{
    return ((uint32_t)daos_obj_id2ord(oid) << OC_REDUN_SHIFT) | daos_obj_id2grp_nr(oid);
}

static inline bool daos_obj_id_is_nil(daos_obj_id_t oid)
{
    return oid.hi == 0 && oid.lo == 0;
}

static inline bool daos_is_array_type(enum daos_otype_t type)
{
    return type == DAOS_OT_ARRAY || type == DAOS_OT_ARRAY_ATTR || type == DAOS_OT_ARRAY_BYTE;
}

static inline bool daos_is_array(daos_obj_id_t oid)
{
    uint64_t const type = (oid.hi & OID_FMT_TYPE_MASK) >> OID_FMT_TYPE_SHIFT;
    return type >= DAOS_OT_ARRAY && type <= DAOS_OT_ARRAY_BYTE;
}

static inline bool daos_is_kv_type(enum daos_otype_t type)
{
    return type == DAOS_OT_KV_HASHED || type == DAOS_OT_KV_UINT64 || type == DAOS_OT_KV_LEXICAL;
}

static inline bool daos_is_kv(daos_obj_id_t oid)
{
    uint64_t const type = (oid.hi & OID_FMT_TYPE_MASK) >> OID_FMT_TYPE_SHIFT;
    return type >= DAOS_OT_KV_HASHED && type <= DAOS_OT_KV_LEXICAL;
}

/* How keys of a type are ordered: as numbers of 64 bits in the machine's order, or as bytes. */
static inline bool daos_is_dkey_uint64_type(enum daos_otype_t type)
{
    return type == DAOS_OT_DKEY_UINT64 || type == DAOS_OT_MULTI_UINT64 || type == DAOS_OT_KV_UINT64 ||
           daos_is_array_type(type);
}

static inline bool daos_is_akey_uint64_type(enum daos_otype_t type)
{
    return type == DAOS_OT_AKEY_UINT64 || type == DAOS_OT_MULTI_UINT64;
}

static inline bool daos_is_dkey_lexical_type(enum daos_otype_t type)
{
    return type == DAOS_OT_DKEY_LEXICAL || type == DAOS_OT_MULTI_LEXICAL || type == DAOS_OT_KV_LEXICAL;
}

static inline bool daos_is_akey_lexical_type(enum daos_otype_t type)
{
    return type == DAOS_OT_AKEY_LEXICAL || type == DAOS_OT_MULTI_LEXICAL;
}

static inline bool daos_is_dkey_uint64(daos_obj_id_t oid)
{
    return daos_is_dkey_uint64_type(daos_obj_id2type(oid));
}

static inline bool daos_is_akey_uint64(daos_obj_id_t oid)
{
    return daos_is_akey_uint64_type(daos_obj_id2type(oid));
}

static inline bool daos_is_dkey_lexical(daos_obj_id_t oid)
{
    return daos_is_dkey_lexical_type(daos_obj_id2type(oid));
}

static inline bool daos_is_akey_lexical(daos_obj_id_t oid)
{
    return daos_is_akey_lexical_type(daos_obj_id2type(oid));
}

/* ---- hints for the choice of a class: one of the RDD (redundancy) and one of the SHD (spread) */

#define DAOS_OCH_RDD_BITS 4
#define DAOS_OCH_SHD_BITS 6
#define DAOS_OCH_RDD_SHIFT 0
#define DAOS_OCH_SHD_SHIFT DAOS_OCH_RDD_BITS
#define DAOS_OCH_RDD_MAX_VAL ((1ULL << DAOS_OCH_RDD_BITS) - 1)
#define DAOS_OCH_SHD_MAX_VAL ((1ULL << DAOS_OCH_SHD_BITS) - 1)
#define DAOS_OCH_RDD_MASK (DAOS_OCH_RDD_MAX_VAL << DAOS_OCH_RDD_SHIFT)
#define DAOS_OCH_SHD_MASK (DAOS_OCH_SHD_MAX_VAL << DAOS_OCH_SHD_SHIFT)

enum {
    DAOS_OCH_RDD_DEF = 1 << 0,
    DAOS_OCH_RDD_NO = 1 << 1,
    DAOS_OCH_RDD_RP = 1 << 2,
    DAOS_OCH_RDD_EC = 1 << 3,
    DAOS_OCH_SHD_DEF = 1 << 4,  /* all targets for key-value and array objects, otherwise one */
    DAOS_OCH_SHD_TINY = 1 << 5, /* one target */
    DAOS_OCH_SHD_REG = 1 << 6,
    DAOS_OCH_SHD_HI = 1 << 7,
    DAOS_OCH_SHD_EXT = 1 << 8,
    DAOS_OCH_SHD_MAX = 1 << 9 /* all targets */
};

/* ---- how an object is opened */

enum {
    DAOS_OO_RO = 1 << 1,
    DAOS_OO_RW = 1 << 2,
    DAOS_OO_EXCL = 1 << 3, /* as RW: Stepstore lets others open it too, as DAOS does */
    DAOS_OO_IO_RAND = 1 << 4,
    DAOS_OO_IO_SEQ = 1 << 5
};

/* ---- conditions of an update or fetch, checked in the same transaction */

#define IO_FLAGS_COND_BITS 8
enum {
    DAOS_COND_PUNCH = 1 << 0,
    DAOS_COND_DKEY_INSERT = 1 << 1,
    DAOS_COND_DKEY_UPDATE = 1 << 2,
    DAOS_COND_DKEY_FETCH = 1 << 3,
    DAOS_COND_AKEY_INSERT = 1 << 4,
    DAOS_COND_AKEY_UPDATE = 1 << 5,
    DAOS_COND_AKEY_FETCH = 1 << 6,
    DAOS_COND_PER_AKEY = 1 << 7,
    DAOS_COND_MASK = (1 << IO_FLAGS_COND_BITS) - 1
};

/* As size of a value or record: not known; in an update, it is removed. */
enum { DAOS_REC_ANY = 0 };

/* ---- values: an object has dkeys, a dkey has akeys. All of a dkey lies on one target. An akey holds one
 * value, or an array of records. */

/* Records of an array: rx_nr of them from index rx_idx, which is below 2^63. */
typedef struct {
    uint64_t rx_idx;
    uint64_t rx_nr;
} daos_recx_t;

/* What an akey holds. It has one of them at a time, by its first update. */
typedef enum {
    DAOS_IOD_NONE = 0,
    DAOS_IOD_SINGLE = 1, /* one value, replaced as a whole */
    DAOS_IOD_ARRAY = 2   /* records of one size */
} daos_iod_type_t;

/* What a call reads or writes of one akey. */
typedef struct {
    daos_key_t iod_name; /* the akey: iov_len bytes */
    daos_iod_type_t iod_type;
    daos_size_t iod_size;   /* bytes of the value or of a record; set by a fetch, 0: nothing is there */
    uint64_t iod_flags;     /* DAOS_COND_AKEY_*, if the call has DAOS_COND_PER_AKEY */
    uint32_t iod_nr;        /* of iod_recxs; 1 for a single value */
    daos_recx_t* iod_recxs; /* of an array; they do not overlap */
} daos_iod_t;

/* As flag of a map: iom_recxs is filled. NULL there, and iom_nr 0: the call allocates it, and the caller
 * releases it with free(). */
#define DAOS_IOMF_DETAIL 0x1U

/* What a fetch found in the ranges of an array. */
typedef struct {
    daos_iod_type_t iom_type;
    uint32_t iom_nr;         /* entries that iom_recxs has room for */
    uint32_t iom_nr_out;     /* that there are, also if there is less room; 0 without DAOS_IOMF_DETAIL */
    uint32_t iom_flags;      /* in: 0 or DAOS_IOMF_DETAIL */
    daos_size_t iom_size;    /* as iod_size */
    daos_recx_t iom_recx_lo; /* the one with the lowest index; zeroes: nothing is there */
    daos_recx_t iom_recx_hi; /* the one with the highest; may be the same */
    daos_recx_t* iom_recxs;  /* ascending */
} daos_iom_t;

/* What daos_obj_query_key() looks for: one of the first two, and some of the others. */
enum {
    DAOS_GET_MAX = 1 << 0,
    DAOS_GET_MIN = 1 << 1,
    DAOS_GET_DKEY = 1 << 2,
    DAOS_GET_AKEY = 1 << 3,
    DAOS_GET_RECX = 1 << 4
};

/* One key of a listing. */
typedef struct {
    daos_size_t kd_key_len; /* bytes */
    uint32_t
        kd_val_type; /* of what is listed; 2: a dkey, as the keys of a key-value object are; 3: an akey */
} daos_key_desc_t;

/* ---- calls */

/*
 * Completes *oid: keeps its lower 96 bits, sets type and class. cid OC_UNKNOWN: a class that suits the type
 * and the hints; of one over all targets (SX, RP_2GX) the id says how many those are. args: 0. Local.
 * -DER_INVAL: no such type or class, one that needs more targets than there are, or one that Stepstore does
 * not store.
 */
int daos_obj_generate_oid(daos_handle_t coh, daos_obj_id_t* oid, enum daos_otype_t type, daos_oclass_id_t cid,
                          daos_oclass_hints_t hints, uint32_t args);

/* A well-spread sequence of values in the user's part of `hi`. */
static inline void daos_obj_oid_cycle(daos_obj_id_t* oid)
{
    oid->hi = (oid->hi + 999999937) & UINT_MAX;
}

/* A handle for the calls below, on an object of any type. -DER_INVAL: `oid` was not made by
 * daos_obj_generate_oid(). */
int daos_obj_open(daos_handle_t coh, daos_obj_id_t oid, unsigned int mode, daos_handle_t* oh,
                  daos_event_t* ev);
/* Closes the handle of a key-value object or an array too. */
int daos_obj_close(daos_handle_t oh, daos_event_t* ev);
/* Removes everything in the object. Snapshots keep theirs. flags: 0. */
int daos_obj_punch(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_event_t* ev);
/*
 * Values. A key is iov_len bytes; for object types with keys of 64 bits it is 8 bytes, a number in the
 * machine's order. `th` is DAOS_TX_NONE, a transaction (daos_tx_open) or, for reading, a snapshot
 * (daos_tx_open_snap). Writing with a snapshot or through a read-only handle gives -DER_NO_PERM. Conditions
 * (DAOS_COND_*) on a dkey or an akey: -DER_EXIST, -DER_NONEXIST. Handles of key-value objects and arrays are
 * other ones: -DER_NO_HDL. Open such an object with daos_obj_open(): its akey is "0", and an array's dkeys
 * are its chunks from 1.
 */

/*
 * Writes `nr` akeys of one dkey, all at once. iod_size 0 removes the value, or the records of the ranges;
 * sgls may be NULL then. Otherwise sgls[i] has the bytes of iods[i], iov_len of each piece, in order.
 * -DER_REC2BIG: it has less. -DER_NO_PERM: two iods have one akey.
 */
int daos_obj_update(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey, unsigned int nr,
                    daos_iod_t* iods, d_sg_list_t* sgls, daos_event_t* ev);
/*
 * Reads `nr` akeys of one dkey, all at one moment. sgls[i] takes the bytes of iods[i]: iov_buf_len of each
 * piece is room. Records that are not stored are zeroes between those that are. iov_len and sg_nr_out tell
 * where the last stored byte is. sg_nr_out 0: nothing is stored, and the memory may be as it was. Without
 * sgls, or with a list without room, only the size is looked up; iod_size is DAOS_REC_ANY then. iod_size
 * tells the size, of an array without records in the ranges 0. ioms: NULL, or one for each iod. -DER_REC2BIG:
 * a value needs more room; iod_size is set. -DER_INVAL: conditions of an update.
 */
int daos_obj_fetch(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey, unsigned int nr,
                   daos_iod_t* iods, d_sg_list_t* sgls, daos_iom_t* ioms, daos_event_t* ev);
/* Removes a dkey. nr: 1. flags: 0, or DAOS_COND_PUNCH: -DER_NONEXIST if it is not there. */
int daos_obj_punch_dkeys(daos_handle_t oh, daos_handle_t th, uint64_t flags, unsigned int nr,
                         daos_key_t* dkeys, daos_event_t* ev);
/* Removes akeys of a dkey at once. DAOS_COND_PUNCH: if one is not there, none is removed. */
int daos_obj_punch_akeys(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey,
                         unsigned int nr, daos_key_t* akeys, daos_event_t* ev);
/*
 * Lists the dkeys of an object, or the akeys of a dkey, as daos_kv_list() does keys (daos_kv.h). Akeys, and
 * dkeys of an object on one target, come in the order of their bytes, or as numbers.
 */
int daos_obj_list_dkey(daos_handle_t oh, daos_handle_t th, uint32_t* nr, daos_key_desc_t* kds,
                       d_sg_list_t* sgl, daos_anchor_t* anchor, daos_event_t* ev);
int daos_obj_list_akey(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, uint32_t* nr,
                       daos_key_desc_t* kds, d_sg_list_t* sgl, daos_anchor_t* anchor, daos_event_t* ev);
/*
 * Sets an anchor: the next listing of dkeys begins with this dkey, or that of its akeys with this akey (NULL:
 * of dkeys). If the key is not there, the listing begins where it would be.
 */
int daos_obj_key2anchor(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, daos_key_t* akey,
                        daos_anchor_t* anchor, daos_event_t* ev);
/*
 * Lists where the array of an akey has records, ascending (incr_order) or descending. *size: bytes of a
 * record; 0: there is no such array. *nr: room in recxs and eprs, in; entries given, out. eprs: NULL, or
 * epr_lo is the update of these records, and epr_hi DAOS_EPOCH_MAX. Each part that one update wrote is an
 * entry. anchor: zeroes at the beginning; at its end when all were given.
 */
int daos_obj_list_recx(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, daos_key_t* akey,
                       daos_size_t* size, uint32_t* nr, daos_recx_t* recxs, daos_epoch_range_t* eprs,
                       daos_anchor_t* anchor, bool incr_order, daos_event_t* ev);
/*
 * The highest or lowest dkey (DAOS_GET_DKEY), akey of a dkey (DAOS_GET_AKEY), or part of an array that has
 * records (DAOS_GET_RECX). Of several, the highest dkey that has such an akey, and so on. Keys that are
 * looked for are 64-bit numbers, with room for 8 bytes (iov_buf_len). The others are given. Where nothing is
 * found the call gives 0, with rx_nr 0 and with iov_len 0 of the keys. -DER_INVAL: the object's type has
 * other keys.
 */
int daos_obj_query_key(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey, daos_key_t* akey,
                       daos_recx_t* recx, daos_event_t* ev);

/* -DER_NOSYS, as from libdaos 2.6: what an object's attributes are. */
struct daos_obj_attr {
    d_rank_t oa_rank;
    struct daos_oclass_attr* oa_oa;
};
int daos_obj_query(daos_handle_t oh, struct daos_obj_attr* oa, d_rank_list_t* ranks, daos_event_t* ev);

/* *epoch: of the latest update, a removal or punch too; it never falls. 0: never written. */
int daos_obj_query_max_epoch(daos_handle_t oh, daos_handle_t th, daos_epoch_t* epoch, daos_event_t* ev);

/* ---- object index tables: the objects of a snapshot */

/* epoch: of a snapshot, made with DAOS_SNAP_OPT_OIT (Stepstore: of any). -DER_NONEXIST: there is none. */
int daos_oit_open(daos_handle_t coh, daos_epoch_t epoch, daos_handle_t* oh, daos_event_t* ev);
int daos_oit_close(daos_handle_t oh, daos_event_t* ev);
/* *oids_nr: room in oids, in; ids given, out. anchor: zeroes at the beginning; at its end when all were
 * given. -DER_INVAL: no room. */
int daos_oit_list(daos_handle_t oh, daos_obj_id_t* oids, uint32_t* oids_nr, daos_anchor_t* anchor,
                  daos_event_t* ev);

#define DAOS_OIT_MARKER_MAX_LEN (32)

/*
 * Notes up to DAOS_OIT_MARKER_MAX_LEN bytes of an object, in place of what was noted of it; marker NULL:
 * nothing any more. They stay until the snapshot or its table is destroyed. -DER_NONEXIST: the table has no
 * such object. -DER_NO_PERM: the container is open for reading. -DER_INVAL: an empty or a longer marker.
 */
int daos_oit_mark(daos_handle_t oh, daos_obj_id_t oid, d_iov_t* marker, daos_event_t* ev);
/*
 * As daos_oit_list(), but only objects of which nothing is noted, or which a filter takes. Each call looks at
 * *oids_nr objects, and gives those of them. So it may give none, before the anchor is at its end.
 */
int daos_oit_list_unmarked(daos_handle_t oh, daos_obj_id_t* oids, uint32_t* oids_nr, daos_anchor_t* anchor,
                           daos_event_t* ev);
/*
 * What a filter returns: more than 0 takes the object, 0 passes over it, and less ends the call with this
 * code. marker: what was noted, in memory that is the call's; iov_len 0: nothing. With an event the filter
 * runs in the thread that polls or tests it.
 */
typedef int(daos_oit_filter_cb)(daos_obj_id_t oid, d_iov_t* marker);
int daos_oit_list_filter(daos_handle_t oh, daos_obj_id_t* oids, uint32_t* oids_nr, daos_anchor_t* anchor,
                         daos_oit_filter_cb filter, daos_event_t* ev);

#ifdef __cplusplus
}
#endif
#endif
