/*
 * Properties of pools and containers: lists of entries, each a type with a number, a text or a pointer.
 *
 * Stepstore keeps the label, every property that is a number, and the roots. It tells owner, group and access
 * control list.
 *
 * Threads: a list is its caller's. Errors: -DER_INVAL, -DER_NONEXIST or NULL, as each function says.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_PROP_H
#define STEPSTORE_LIBDAOS_DAOS_PROP_H

#include <daos_types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum daos_pool_props {
    DAOS_PROP_PO_MIN = 0,
    DAOS_PROP_PO_LABEL, /* text */
    DAOS_PROP_PO_ACL,
    DAOS_PROP_PO_SPACE_RB,
    DAOS_PROP_PO_SELF_HEAL,
    DAOS_PROP_PO_RECLAIM,
    DAOS_PROP_PO_OWNER,
    DAOS_PROP_PO_OWNER_GROUP,
    DAOS_PROP_PO_SVC_LIST,
    DAOS_PROP_PO_EC_CELL_SZ,
    DAOS_PROP_PO_DATA_THRESH,
    DAOS_PROP_PO_REDUN_FAC,
    DAOS_PROP_PO_EC_PDA,
    DAOS_PROP_PO_RP_PDA,
    DAOS_PROP_PO_GLOBAL_VERSION,
    DAOS_PROP_PO_UPGRADE_STATUS,
    DAOS_PROP_PO_SCRUB_MODE,
    DAOS_PROP_PO_SCRUB_FREQ,
    DAOS_PROP_PO_SCRUB_THRESH,
    DAOS_PROP_PO_SVC_REDUN_FAC,
    DAOS_PROP_PO_OBJ_VERSION,
    DAOS_PROP_PO_PERF_DOMAIN,
    DAOS_PROP_PO_CHECKPOINT_MODE,
    DAOS_PROP_PO_CHECKPOINT_FREQ,
    DAOS_PROP_PO_CHECKPOINT_THRESH,
    DAOS_PROP_PO_REINT_MODE,
    DAOS_PROP_PO_SVC_OPS_ENABLED,
    DAOS_PROP_PO_SVC_OPS_ENTRY_AGE,
    DAOS_PROP_PO_MAX
};
#define DAOS_PROP_PO_NUM (DAOS_PROP_PO_MAX - DAOS_PROP_PO_MIN - 1)

enum daos_cont_props {
    DAOS_PROP_CO_MIN = 0x1000,
    DAOS_PROP_CO_LABEL,       /* text */
    DAOS_PROP_CO_LAYOUT_TYPE, /* DAOS_PROP_CO_LAYOUT_... */
    DAOS_PROP_CO_LAYOUT_VER,
    DAOS_PROP_CO_CSUM,
    DAOS_PROP_CO_CSUM_CHUNK_SIZE,
    DAOS_PROP_CO_CSUM_SERVER_VERIFY,
    DAOS_PROP_CO_REDUN_FAC,
    DAOS_PROP_CO_REDUN_LVL,
    DAOS_PROP_CO_SNAPSHOT_MAX,
    DAOS_PROP_CO_ACL, /* pointer */
    DAOS_PROP_CO_COMPRESS,
    DAOS_PROP_CO_ENCRYPT,
    DAOS_PROP_CO_OWNER,       /* text, told by the store */
    DAOS_PROP_CO_OWNER_GROUP, /* text, told by the store */
    DAOS_PROP_CO_DEDUP,
    DAOS_PROP_CO_DEDUP_THRESHOLD,
    DAOS_PROP_CO_ROOTS,       /* pointer: struct daos_prop_co_roots */
    DAOS_PROP_CO_STATUS,      /* told by the store */
    DAOS_PROP_CO_ALLOCED_OID, /* told by the store */
    DAOS_PROP_CO_EC_CELL_SZ,
    DAOS_PROP_CO_EC_PDA,
    DAOS_PROP_CO_RP_PDA,
    DAOS_PROP_CO_GLOBAL_VERSION,
    DAOS_PROP_CO_SCRUBBER_DISABLED,
    DAOS_PROP_CO_OBJ_VERSION,
    DAOS_PROP_CO_PERF_DOMAIN,
    DAOS_PROP_CO_MAX
};
#define DAOS_PROP_CO_NUM (DAOS_PROP_CO_MAX - DAOS_PROP_CO_MIN - 1)

/* What a container is used for. */
typedef uint16_t daos_cont_layout_t;
enum {
    DAOS_PROP_CO_LAYOUT_UNKNOWN,
    DAOS_PROP_CO_LAYOUT_UNKOWN = DAOS_PROP_CO_LAYOUT_UNKNOWN, /* so in DAOS too */
    DAOS_PROP_CO_LAYOUT_POSIX,
    DAOS_PROP_CO_LAYOUT_HDF5,
    DAOS_PROP_CO_LAYOUT_PYTHON,
    DAOS_PROP_CO_LAYOUT_SPARK,
    DAOS_PROP_CO_LAYOUT_DATABASE,
    DAOS_PROP_CO_LAYOUT_ROOT,
    DAOS_PROP_CO_LAYOUT_SEISMIC,
    DAOS_PROP_CO_LAYOUT_METEO,
    DAOS_PROP_CO_LAYOUT_MAX
};

/* Of DAOS_PROP_CO_CSUM. Kept and told; Stepstore has a checksum on every record whatever it says. */
typedef uint16_t daos_cont_csum_t;
enum {
    DAOS_PROP_CO_CSUM_OFF,
    DAOS_PROP_CO_CSUM_CRC16,
    DAOS_PROP_CO_CSUM_CRC32,
    DAOS_PROP_CO_CSUM_CRC64,
    DAOS_PROP_CO_CSUM_SHA1,
    DAOS_PROP_CO_CSUM_SHA256,
    DAOS_PROP_CO_CSUM_SHA512,
    DAOS_PROP_CO_CSUM_ADLER32
};

/* Of DAOS_PROP_CO_CSUM_SERVER_VERIFY, DAOS_PROP_CO_DEDUP and DAOS_PROP_CO_COMPRESS: kept and told. */
enum { DAOS_PROP_CO_CSUM_SV_OFF, DAOS_PROP_CO_CSUM_SV_ON };
enum { DAOS_PROP_CO_DEDUP_OFF, DAOS_PROP_CO_DEDUP_MEMCMP, DAOS_PROP_CO_DEDUP_HASH };
enum {
    DAOS_PROP_CO_COMPRESS_OFF,
    DAOS_PROP_CO_COMPRESS_LZ4,
    DAOS_PROP_CO_COMPRESS_DEFLATE,
    DAOS_PROP_CO_COMPRESS_DEFLATE1,
    DAOS_PROP_CO_COMPRESS_DEFLATE2,
    DAOS_PROP_CO_COMPRESS_DEFLATE3,
    DAOS_PROP_CO_COMPRESS_DEFLATE4
};

/* Of DAOS_PROP_CO_ENCRYPT; -DER_NOTSUPPORTED from Stepstore but for OFF. */
enum {
    DAOS_PROP_CO_ENCRYPT_OFF,
    DAOS_PROP_CO_ENCRYPT_AES_XTS128,
    DAOS_PROP_CO_ENCRYPT_AES_XTS256,
    DAOS_PROP_CO_ENCRYPT_AES_CBC128,
    DAOS_PROP_CO_ENCRYPT_AES_CBC192,
    DAOS_PROP_CO_ENCRYPT_AES_CBC256,
    DAOS_PROP_CO_ENCRYPT_AES_GCM128,
    DAOS_PROP_CO_ENCRYPT_AES_GCM256
};

/* Failures that a container's data survive, and of what. */
enum {
    DAOS_PROP_CO_REDUN_RF0 = 0,
    DAOS_PROP_CO_REDUN_RF1 = 1,
    DAOS_PROP_CO_REDUN_RF2 = 2,
    DAOS_PROP_CO_REDUN_RF3 = 3,
    DAOS_PROP_CO_REDUN_RF4 = 4,
    DAOS_RF_MAX = 4
};
enum {
    DAOS_PROP_CO_REDUN_MIN = 1,
    DAOS_PROP_CO_REDUN_RANK = 1,
    DAOS_PROP_CO_REDUN_NODE = 2,
    DAOS_PROP_CO_REDUN_MAX = 254
};
#define DAOS_PROP_CO_REDUN_DEFAULT DAOS_PROP_CO_REDUN_NODE

/* The health of a container, in the number of DAOS_PROP_CO_STATUS: status, flags and version of the pool map.
 */
enum { DAOS_PROP_CO_HEALTHY, DAOS_PROP_CO_UNCLEAN };
#define DAOS_PROP_CO_CLEAR (0x1) /* flag: clear the UNCLEAN status */

struct daos_co_status {
    uint16_t dcs_status;
    uint16_t dcs_flags;
    uint32_t dcs_pm_ver;
};

#define DAOS_PROP_CO_STATUS_VAL(status, flag, pm_ver)                                                        \
    ((((uint64_t)(flag)) << 48) | (((uint64_t)(status) & 0xFFFF) << 32) | ((uint64_t)(pm_ver)))

static inline uint64_t daos_prop_co_status_2_val(struct daos_co_status* co_status)
{
    return DAOS_PROP_CO_STATUS_VAL(co_status->dcs_status, co_status->dcs_flags, co_status->dcs_pm_ver);
}

static inline void daos_prop_val_2_co_status(uint64_t val, struct daos_co_status* co_status)
{
    co_status->dcs_flags = (uint16_t)(val >> 48);
    co_status->dcs_status = (uint16_t)((val >> 32) & 0xFFFF);
    co_status->dcs_pm_ver = (uint32_t)(val & 0xFFFFFFFF);
}

/* Objects from which all others of a container can be found; of a file system its superblock and its root. */
struct daos_prop_co_roots {
    daos_obj_id_t cr_oids[4];
};

/* Set in dpe_flags by a query: the property was never set. */
enum { DAOS_PROP_ENTRY_NOT_SET = 1 << 0 };

struct daos_prop_entry {
    uint32_t dpe_type;
    uint16_t dpe_flags;
    uint16_t dpe_reserv;
    union {
        uint64_t dpe_val;
        d_string_t dpe_str;
        void* dpe_val_ptr;
    };
};

typedef struct {
    uint32_t dpp_nr;
    uint32_t dpp_reserv;
    struct daos_prop_entry* dpp_entries;
} daos_prop_t;

#define DAOS_PROP_ENTRIES_MAX_NR (128)
#define DAOS_PROP_LABEL_MAX_LEN (127) /* without the terminating zero */
#define DAOS_PROP_MAX_LABEL_BUF_LEN (DAOS_PROP_LABEL_MAX_LEN + 1)
#define DAOS_PROP_CO_LABEL_DEFAULT "container_label_not_set"
#define DAOS_PROP_PO_LABEL_DEFAULT "pool_label_not_set"
#define DAOS_PROP_NO_PO_LABEL DAOS_PROP_PO_LABEL_DEFAULT
#define DAOS_PROP_NO_CO_LABEL DAOS_PROP_CO_LABEL_DEFAULT

/* 1 to 127 characters of [A-Za-z0-9._:-], and no UUID. */
static inline bool daos_label_is_valid(const char* label)
{
    if (label == NULL) return false;
    size_t length = 0;
    for (; label[length] != '\0'; ++length) {
        bool const allowed = isalnum((unsigned char)label[length]) || strchr("._:-", label[length]) != NULL;
        if (!allowed || length == DAOS_PROP_LABEL_MAX_LEN) return false;
    }
    return length > 0 && !(length >= DAOS_UUID_STR_SIZE - 1 && daos_is_valid_uuid_string(label));
}

/* A list of entries_nr entries, all zero; NULL when there is no memory or they are more than
 * DAOS_PROP_ENTRIES_MAX_NR.
 */
daos_prop_t* daos_prop_alloc(uint32_t entries_nr);
/* Frees a list of daos_prop_alloc() with the texts in it, and what the pointers of its entries refer to. */
void daos_prop_free(daos_prop_t* prop);
/* The entry of a type, or NULL. */
struct daos_prop_entry* daos_prop_entry_get(daos_prop_t* prop, uint32_t type);
/* Copies `len` bytes of text into an entry. -DER_INVAL: the type is no text. -DER_NONEXIST
 * (daos_prop_set_str): no such entry. */
int daos_prop_entry_set_str(struct daos_prop_entry* entry, const char* str, daos_size_t len);
int daos_prop_set_str(daos_prop_t* prop, uint32_t type, const char* str, daos_size_t len);
/* The same for `size` bytes behind a pointer (access control, roots). NULL or 0: takes out what is there. */
int daos_prop_entry_set_ptr(struct daos_prop_entry* entry, const void* ptr, daos_size_t size);
int daos_prop_set_ptr(daos_prop_t* prop, uint32_t type, const void* ptr, daos_size_t size);

static inline bool daos_prop_is_set(struct daos_prop_entry* entry)
{
    return (entry->dpe_flags & DAOS_PROP_ENTRY_NOT_SET) == 0;
}

#ifdef __cplusplus
}
#endif
#endif
