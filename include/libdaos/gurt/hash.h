/*
 * Hash tables of records that the caller has: each has a d_list_t as a member, and the caller's functions
 * compare keys and count references.
 *
 * Threads: any, with the lock that the features choose; D_HASH_FT_NOLOCK: one at a time. The caller's
 * functions run with the lock held, except hop_rec_free. They must not call the table. Errors: -DER_INVAL and
 * -DER_UNINIT of NULL, of a key without bytes, and of a table that was not created; -DER_NOMEM.
 */
#ifndef STEPSTORE_LIBDAOS_GURT_HASH_H
#define STEPSTORE_LIBDAOS_GURT_HASH_H

#include <gurt/list.h>
#include <gurt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct d_hash_table;

typedef struct {
    /* Whether the record has this key. */
    bool (*hop_key_cmp)(struct d_hash_table* htable, d_list_t* link, const void* key, unsigned int ksize);
    /* All others may be NULL. */
    void (*hop_key_init)(struct d_hash_table* htable, d_list_t* link, void* arg); /* makes a key */
    uint32_t (*hop_key_hash)(struct d_hash_table* htable, const void* key, unsigned int ksize);
    uint32_t (*hop_rec_hash)(struct d_hash_table* htable, d_list_t* link); /* that of the record's key */
    void (*hop_rec_addref)(struct d_hash_table* htable, d_list_t* link);
    /* Whether it was the last reference, and the record is to be freed. */
    bool (*hop_rec_decref)(struct d_hash_table* htable, d_list_t* link);
    int (*hop_rec_ndecref)(struct d_hash_table* htable, d_list_t* link, int count); /* 1: the last one */
    void (*hop_rec_free)(struct d_hash_table* htable, d_list_t* link);
} d_hash_table_ops_t;

enum d_hash_feats {
    /* the lock: a spin lock, or one of these */
    D_HASH_FT_NOLOCK = 1 << 0,
    D_HASH_FT_MUTEX = 1 << 1,
    D_HASH_FT_RWLOCK = 1 << 2,
    /* The table itself holds no references. The last one takes the record out. */
    D_HASH_FT_EPHEMERAL = 1 << 3,
    D_HASH_FT_LRU = 1 << 4, /* what was found goes to the front */
    D_HASH_FT_NO_KEYINIT_LOCK = 1 << 5,
    D_HASH_FT_GLOCK = 1 << 15 /* one lock for all; Stepstore's tables have no others */
};

union d_hash_lock {
    pthread_spinlock_t spin;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
};

struct d_hash_bucket {
    d_list_t hb_head;
};

struct d_hash_table {
    union d_hash_lock ht_lock;
    uint32_t ht_bits; /* there are 2^ht_bits buckets */
    uint32_t ht_feats;
    void* ht_priv; /* the caller's */
    d_hash_table_ops_t* ht_ops;
    struct d_hash_bucket* ht_buckets;
    union d_hash_lock* ht_locks; /* NULL */
};

/* bits: at most 28. hops must stay while the table does. */
int d_hash_table_create(uint32_t feats, uint32_t bits, void* priv, d_hash_table_ops_t* hops,
                        struct d_hash_table** htable_pp);
int d_hash_table_create_inplace(uint32_t feats, uint32_t bits, void* priv, d_hash_table_ops_t* hops,
                                struct d_hash_table* htable);
/* -DER_BUSY: it has records, and not force. */
int d_hash_table_destroy(struct d_hash_table* htable, bool force);
int d_hash_table_destroy_inplace(struct d_hash_table* htable, bool force);

/* Until it returns something else than 0, which the call returns too. */
typedef int (*d_hash_traverse_cb_t)(d_list_t* link, void* arg);
int d_hash_table_traverse(struct d_hash_table* htable, d_hash_traverse_cb_t cb, void* arg);

/* With one more reference; NULL: there is none. */
d_list_t* d_hash_rec_find(struct d_hash_table* htable, const void* key, unsigned int ksize);
/* The one that is there, with one more reference, or `link`, which it puts there. */
d_list_t* d_hash_rec_find_insert(struct d_hash_table* htable, const void* key, unsigned int ksize,
                                 d_list_t* link);
/* exclusive: -DER_EXIST if there is one of this key. */
int d_hash_rec_insert(struct d_hash_table* htable, const void* key, unsigned int ksize, d_list_t* link,
                      bool exclusive);
/* Its key comes from hop_key_init. -DER_INVAL: there is none, or no hop_rec_hash. */
int d_hash_rec_insert_anonym(struct d_hash_table* htable, d_list_t* link, void* arg);
/* Whether there was one. */
bool d_hash_rec_delete(struct d_hash_table* htable, const void* key, unsigned int ksize);
bool d_hash_rec_delete_at(struct d_hash_table* htable, d_list_t* link);
/* D_HASH_FT_LRU: to the end of its bucket. */
bool d_hash_rec_evict(struct d_hash_table* htable, const void* key, unsigned int ksize);
bool d_hash_rec_evict_at(struct d_hash_table* htable, d_list_t* link);
void d_hash_rec_addref(struct d_hash_table* htable, d_list_t* link);
void d_hash_rec_decref(struct d_hash_table* htable, d_list_t* link);
int d_hash_rec_ndecref(struct d_hash_table* htable, int count, d_list_t* link);
bool d_hash_rec_unlinked(d_list_t* link);
d_list_t* d_hash_rec_first(struct d_hash_table* htable); /* any; NULL: it is empty */

#ifdef __cplusplus
}
#endif
#endif
