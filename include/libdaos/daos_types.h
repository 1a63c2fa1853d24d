/*
 * The types that all parts of the API share: handles, identifiers, epochs, anchors, events, memory
 * descriptors.
 * Threads and errors: the inline functions are pure.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_TYPES_H
#define STEPSTORE_LIBDAOS_DAOS_TYPES_H

/* Some only because programs written for DAOS get them from its headers. */
#include <byteswap.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <daos_errno.h>

#if defined(__has_include)
#if __has_include(<uuid/uuid.h>)
#include <uuid/uuid.h>
#define STEPSTORE_LIBDAOS_HAS_UUID_H 1
#endif
#endif
#ifndef STEPSTORE_LIBDAOS_HAS_UUID_H
typedef unsigned char uuid_t[16];
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sizes and names */

typedef uint64_t daos_size_t; /* bytes, or cells where so said */
typedef uint64_t daos_off_t;

typedef char* d_string_t;
typedef const char* d_const_string_t;

#define DAOS_SYS_NAME_MAX 15
#define DAOS_ATTR_NAME_MAX 511
#define DAOS_UUID_STR_SIZE 37 /* a UUID as text, with the terminating zero */

/* ---- memory */

/* One piece of memory: iov_buf_len bytes are there, iov_len of them are used. */
typedef struct {
    void* iov_buf;
    size_t iov_buf_len;
    size_t iov_len;
} d_iov_t;

/* A list of pieces, taken one after the other. */
typedef struct {
    uint32_t sg_nr;     /* pieces in sg_iovs */
    uint32_t sg_nr_out; /* pieces that a call filled */
    d_iov_t* sg_iovs;
} d_sg_list_t;

typedef d_iov_t daos_key_t;

/* Describes `size` bytes at `buf`, all of them used. */
static inline void d_iov_set(d_iov_t* iov, void* buf, size_t size)
{
    iov->iov_buf = buf;
    iov->iov_buf_len = size;
    iov->iov_len = size;
}

static inline bool daos_key_is_null(daos_key_t key)
{
    return key.iov_buf == NULL || key.iov_buf_len == 0;
}

/* ---- ranks of a DAOS system's engines; Stepstore has one, rank 0 */

typedef uint32_t d_rank_t;

typedef struct {
    d_rank_t* rl_ranks;
    uint32_t rl_nr;
} d_rank_list_t;

/* ---- handles */

typedef struct {
    uint64_t cookie;
} daos_handle_t;

#define DAOS_HDL_INVAL ((daos_handle_t){0})
#define DAOS_TX_NONE DAOS_HDL_INVAL /* as transaction: no transaction, the latest data */

static inline bool daos_handle_is_inval(daos_handle_t hdl)
{
    return hdl.cookie == 0;
}
static inline bool daos_handle_is_valid(daos_handle_t hdl)
{
    return hdl.cookie != 0;
}

/* What a handle is of. */
enum {
    DAOS_HTYPE_EQ = 1,
    DAOS_HTYPE_POOL = 3,
    DAOS_HTYPE_CO = 5,
    DAOS_HTYPE_OBJ = 7,
    DAOS_HTYPE_ARRAY = 9,
    DAOS_HTYPE_TX = 11,
    DAOS_HTYPE_KV = 13
};

/* ---- how a pool is connected: one of */
#define DAOS_PC_RO (1U << 0)
#define DAOS_PC_RW (1U << 1)
#define DAOS_PC_EX (1U << 2) /* exclusive; -DER_NOTSUPPORTED from Stepstore */
#define DAOS_PC_NBITS 3
#define DAOS_PC_MASK ((1U << DAOS_PC_NBITS) - 1)

/* ---- epochs: points in the history of a container */

typedef uint64_t daos_epoch_t;
#define DAOS_EPOCH_MAX (~0ULL)

typedef struct {
    daos_epoch_t epr_lo;
    daos_epoch_t epr_hi;
} daos_epoch_range_t;

/* ---- anchors: where a listing goes on; all zero at its beginning */

#define DAOS_HKEY_MAX 32
#define DAOS_ANCHOR_BUF_MAX 104

typedef enum {
    DAOS_ANCHOR_TYPE_ZERO = 0, /* at the beginning */
    DAOS_ANCHOR_TYPE_HKEY = 1, /* after a hashed key */
    DAOS_ANCHOR_TYPE_KEY = 2,  /* after a key */
    DAOS_ANCHOR_TYPE_EOF = 3   /* at the end */
} daos_anchor_type_t;

typedef struct {
    uint16_t da_type; /* daos_anchor_type_t */
    uint16_t da_shard;
    uint32_t da_flags;
    uint64_t da_sub_anchors;
    uint8_t da_buf[DAOS_ANCHOR_BUF_MAX];
} daos_anchor_t;

#define DAOS_ANCHOR_INIT                                                                                     \
    {                                                                                                        \
        .da_type = DAOS_ANCHOR_TYPE_ZERO, .da_shard = 0, .da_flags = 0, .da_sub_anchors = 0, .da_buf = { 0 } \
    }

/* ---- objects and containers */

/* The upper 32 bits of `hi` hold the object's type and class, set by daos_obj_generate_oid(); the rest is the
 * user's.
 */
typedef struct {
    uint64_t lo;
    uint64_t hi;
} daos_obj_id_t;

typedef struct {
    uuid_t ci_uuid;
    daos_epoch_t ci_lsnapshot; /* the latest snapshot; 0: none */
    uint32_t ci_nhandles;      /* open handles, this one among them */
    uint32_t ci_nsnapshots;
    uint64_t ci_md_otime; /* epoch of the latest open; 0: not known */
    uint64_t ci_md_mtime; /* epoch of the latest change of metadata */
} daos_cont_info_t;

/* ---- events */

typedef struct daos_event {
    int ev_error; /* the result, once completed */
    struct {
        uint64_t space[20];
    } ev_private;
    uint64_t ev_debug;
} daos_event_t;

/* Time-outs are microseconds, or */
#define DAOS_EQ_WAIT -1
#define DAOS_EQ_NOWAIT 0

typedef enum {
    DAOS_EQR_COMPLETED = 1 << 0,
    DAOS_EQR_WAITING = 1 << 1,
    DAOS_EQR_ALL = DAOS_EQR_COMPLETED | DAOS_EQR_WAITING
} daos_eq_query_t;

typedef enum { DAOS_EVS_READY, DAOS_EVS_RUNNING, DAOS_EVS_COMPLETED, DAOS_EVS_ABORTED } daos_ev_status_t;

/* True for text of the form 01234567-89ab-cdef-0123-456789abcdef (further characters after it are not looked
 * at). */
static inline bool daos_is_valid_uuid_string(const char* uuid)
{
    for (int i = 0; i < DAOS_UUID_STR_SIZE - 1; ++i) {
        bool const dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? uuid[i] != '-' : !isxdigit((unsigned char)uuid[i])) return false;
    }
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
