/*
 * Pools: where containers live. With Stepstore a pool is a directory, or lies on a Ceph cluster.
 * Threads and errors: daos.h; each call names the codes that are its own.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_POOL_H
#define STEPSTORE_LIBDAOS_DAOS_POOL_H

#include <daos_prop.h>
#include <daos_types.h>

/* The name under which libdaos exports the call since it takes a string. */
#define daos_pool_connect daos_pool_connect2

#ifdef __cplusplus
extern "C" {
#endif

enum daos_media_type_t { DAOS_MEDIA_SCM = 0, DAOS_MEDIA_NVME, DAOS_MEDIA_MAX };

/* Bytes by medium. Stepstore has one, the file system of the pool, and tells it as SCM. */
struct daos_space {
    uint64_t s_total[DAOS_MEDIA_MAX];
    uint64_t s_free[DAOS_MEDIA_MAX];
};

struct daos_pool_space {
    struct daos_space ps_space;
    uint64_t ps_free_min[DAOS_MEDIA_MAX]; /* of any target */
    uint64_t ps_free_max[DAOS_MEDIA_MAX];
    uint64_t ps_free_mean[DAOS_MEDIA_MAX];
    uint32_t ps_ntargets;
    uint32_t ps_padding;
};

enum daos_rebuild_state_t { DRS_IN_PROGRESS = 0, DRS_NOT_STARTED = 1, DRS_COMPLETED = 2 };

struct daos_rebuild_status {
    uint32_t rs_version;
    uint32_t rs_seconds;
    int32_t rs_errno;
    union {
        int32_t rs_state;
        int32_t rs_done;
    };
    uint16_t rs_max_supported_layout_ver;
    int16_t rs_padding16;
    int32_t rs_fail_rank;
    uint64_t rs_toberb_obj_nr;
    uint64_t rs_obj_nr;
    uint64_t rs_rec_nr;
    uint64_t rs_size;
};

/* The parts of a query's answer that are asked for in pi_bits; the rest is always there. */
enum daos_pool_info_bit {
    DPI_SPACE = 1ULL << 0,
    DPI_REBUILD_STATUS = 1ULL << 1,
    DPI_ENGINES_ENABLED = 1ULL << 2,
    DPI_ENGINES_DISABLED = 1ULL << 3,
    DPI_ENGINES_DEAD = 1ULL << 4,
    DPI_REBUILD_MAX_LAYOUT_VER = 1ULL << 5,
    DPI_ALL = -1
};

typedef struct {
    uuid_t pi_uuid;
    uint32_t pi_ntargets;
    uint32_t pi_nnodes;
    uint32_t pi_ndisabled;
    uint32_t pi_map_ver;
    uint32_t pi_leader;
    uint64_t pi_bits;
    struct daos_pool_space pi_space;
    struct daos_rebuild_status pi_rebuild_st;
} daos_pool_info_t;

typedef enum { DAOS_TP_UNKNOWN, DAOS_TP_HDD, DAOS_TP_SSD, DAOS_TP_PM, DAOS_TP_VM } daos_target_type_t;

typedef enum {
    DAOS_TS_UNKNOWN,
    DAOS_TS_DOWN_OUT,
    DAOS_TS_DOWN,
    DAOS_TS_UP,
    DAOS_TS_UP_IN,
    DAOS_TS_NEW,
    DAOS_TS_DRAIN
} daos_target_state_t;

typedef struct {
    int foo; /* DAOS measures nothing here yet */
} daos_target_perf_t;

typedef struct {
    daos_target_type_t ta_type;
    daos_target_state_t ta_state;
    daos_target_perf_t ta_perf;
    /* Of this target. Here `free` is what the file system has free, and `total` adds what the target uses. */
    struct daos_space ta_space;
} daos_target_info_t;

struct daos_pool_cont_info {
    uuid_t pci_uuid;
    char pci_label[DAOS_PROP_LABEL_MAX_LEN + 1];
};

/*
 * pool: a label or a UUID in its text form, as for DAOS: of a pool under Stepstore's root directory. For
 * Stepstore also "local:" and either, a path (with a '/': ./NAME), or "rados://CEPHPOOL[/NAMESPACE]". All
 * that is not of DAOS takes a bare name for a path. sys: the DAOS system; NULL or "daos_server", -DER_INVAL
 * for any other. flags: DAOS_PC_RO or DAOS_PC_RW. info: optional; its pi_bits are read. -DER_NONEXIST: no
 * such pool. -DER_NO_PERM: not ours to open so. -DER_DF_INCOMPT: of a newer format. -DER_INVAL: no name.
 */
int daos_pool_connect(const char* pool, const char* sys, unsigned int flags, daos_handle_t* poh,
                      daos_pool_info_t* info, daos_event_t* ev);
/* -DER_BUSY: it has open containers. */
int daos_pool_disconnect(daos_handle_t poh, daos_event_t* ev);

/*
 * Makes bytes of a handle, from which another process of the machine makes a handle of its own. With
 * glob->iov_buf NULL gives the size in iov_buf_len. -DER_TRUNC: too small, iov_buf_len tells the size needed.
 */
int daos_pool_local2global(daos_handle_t poh, d_iov_t* glob);
/* -DER_INVAL: these are no such bytes, or damaged ones. */
int daos_pool_global2local(d_iov_t glob, daos_handle_t* poh);

/*
 * ranks, info, pool_prop: each optional. Space is told when info->pi_bits has DPI_SPACE. *ranks is set to a
 * list, which the caller frees with d_rank_list_free(). When pi_bits has DPI_ENGINES_ENABLED it holds the one
 * rank. Else it lists the ranks that are out of order: it is empty. pool_prop: its entries of
 * the label, the owner, the group and the access control list (daos_cont.h) are filled, others are marked
 * DAOS_PROP_ENTRY_NOT_SET. Without entries it gets these. -DER_INVAL: an entry is no property of a pool.
 */
int daos_pool_query(daos_handle_t poh, d_rank_list_t** ranks, daos_pool_info_t* info, daos_prop_t* pool_prop,
                    daos_event_t* ev);
void d_rank_list_free(d_rank_list_t* rank_list);

/* rank: 0. -DER_NONEXIST: no such target. */
int daos_pool_query_target(daos_handle_t poh, uint32_t tgt, d_rank_t rank, daos_target_info_t* info,
                           daos_event_t* ev);

/* *ncont: entries in cbuf, in; containers in the pool, out. cbuf NULL or *ncont 0: only their number.
 * -DER_TRUNC: more than entries. */
int daos_pool_list_cont(daos_handle_t poh, daos_size_t* ncont, struct daos_pool_cont_info* cbuf,
                        daos_event_t* ev);

/* User attributes of the pool: as those of a container (daos_cont.h). */
int daos_pool_list_attr(daos_handle_t poh, char* buffer, size_t* size, daos_event_t* ev);
int daos_pool_get_attr(daos_handle_t poh, int n, char const* const names[], void* const buffers[],
                       size_t sizes[], daos_event_t* ev);
int daos_pool_set_attr(daos_handle_t poh, int n, char const* const names[], void const* const values[],
                       size_t const sizes[], daos_event_t* ev);
int daos_pool_del_attr(daos_handle_t poh, int n, char const* const names[], daos_event_t* ev);

/* As daos_cont_get_perms(), of a pool: with DAOS_PROP_PO_ACL, _OWNER and _OWNER_GROUP. */
int daos_pool_get_perms(daos_prop_t* pool_prop, uid_t uid, gid_t* gids, size_t nr_gids, uint64_t* perms);

#ifdef __cplusplus
}
#endif
#endif
