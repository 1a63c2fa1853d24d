/*
 * Small helpers that programs written for DAOS take from gurt: memory, hashes, lists of ranks, environment
 * variables, locks and times.
 *
 * Threads: functions keep no state, except that the environment may not change meanwhile. Errors: each says.
 */
#ifndef STEPSTORE_LIBDAOS_GURT_COMMON_H
#define STEPSTORE_LIBDAOS_GURT_COMMON_H

#include <gurt/debug.h>
#include <gurt/types.h>

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef container_of
#define container_of(ptr, type, member) ((type*)((char*)(ptr) - offsetof(type, member)))
#endif
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(arr) (sizeof(arr) / sizeof((arr)[0]))
#endif
#define D_ALIGNUP(x, a) (((x) + ((a) - 1)) & ~((a) - 1)) /* a: a power of two */
#define D_BIT_IS_SET(val, bit) (((val) & (bit)) ? 1 : 0)
#ifndef MIN
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#endif
#ifndef __cplusplus
#ifndef min
#define min(x, y) ((x) < (y) ? (x) : (y))
#endif
#ifndef max
#define max(x, y) ((x) > (y) ? (x) : (y))
#endif
#endif
/* goto label, after an assignment such as rc = -DER_INVAL */
#define D_GOTO(label, rc)                                                                                    \
    do {                                                                                                     \
        (void)(rc);                                                                                          \
        goto label;                                                                                          \
    } while (0)

/* ---- memory. Without _NZ it is all zero. Where there is none, ptr is NULL and a message was written. */

void* d_calloc(size_t count, size_t size);
void* d_malloc(size_t size);
void* d_realloc(void* ptr, size_t size);
void d_free(void* ptr);
char* d_strndup(const char* text, size_t most);
int d_asprintf(char** text, const char* format, ...) __attribute__((format(printf, 2, 3)));
void* d_aligned_alloc(size_t alignment, size_t size, bool zero);
char* d_realpath(const char* path, char* resolved);

#define D_HAVE_OR_TELL(ptr, name)                                                                            \
    do {                                                                                                     \
        if ((ptr) == NULL) D_ERROR("out of memory: %s\n", name);                                             \
    } while (0)
#define D_ALLOC_ARRAY(ptr, count)                                                                            \
    do {                                                                                                     \
        (ptr) = (__typeof__(ptr))d_calloc((count), sizeof(*(ptr)));                                          \
        D_HAVE_OR_TELL(ptr, #ptr);                                                                           \
    } while (0)
#define D_ALLOC(ptr, size)                                                                                   \
    do {                                                                                                     \
        (ptr) = (__typeof__(ptr))d_calloc(1, (size));                                                        \
        D_HAVE_OR_TELL(ptr, #ptr);                                                                           \
    } while (0)
#define D_ALLOC_NZ(ptr, size)                                                                                \
    do {                                                                                                     \
        (ptr) = (__typeof__(ptr))d_malloc(size);                                                             \
        D_HAVE_OR_TELL(ptr, #ptr);                                                                           \
    } while (0)
#define D_ALLOC_PTR(ptr) D_ALLOC(ptr, sizeof(*(ptr)))
#define D_ALLOC_PTR_NZ(ptr) D_ALLOC_NZ(ptr, sizeof(*(ptr)))
#define D_ALLOC_ARRAY_NZ(ptr, count) D_ALLOC_ARRAY(ptr, count)
#define D_ALIGNED_ALLOC(ptr, alignment, size)                                                                \
    do {                                                                                                     \
        (ptr) = (__typeof__(ptr))d_aligned_alloc((alignment), (size), true);                                 \
        D_HAVE_OR_TELL(ptr, #ptr);                                                                           \
    } while (0)
#define D_STRNDUP(ptr, text, most)                                                                           \
    do {                                                                                                     \
        (ptr) = d_strndup((text), (most));                                                                   \
        D_HAVE_OR_TELL(ptr, #ptr);                                                                           \
    } while (0)
#define D_STRNDUP_S(ptr, text) D_STRNDUP(ptr, text, sizeof(text))
#define D_ASPRINTF(ptr, ...)                                                                                 \
    do {                                                                                                     \
        if (d_asprintf(&(ptr), __VA_ARGS__) < 0) (ptr) = NULL;                                               \
        D_HAVE_OR_TELL(ptr, #ptr);                                                                           \
    } while (0)
/* oldptr becomes NULL if it succeeds, and stays if it does not. What is new is zero. */
#define D_REALLOC(newptr, oldptr, oldsize, size)                                                             \
    do {                                                                                                     \
        size_t const d_old_ = (size_t)(oldsize), d_new_ = (size_t)(size);                                    \
        (newptr) = (__typeof__(newptr))d_realloc((oldptr), d_new_ ? d_new_ : 1);                             \
        D_HAVE_OR_TELL(newptr, #newptr);                                                                     \
        if ((newptr) == NULL) break;                                                                         \
        (oldptr) = NULL;                                                                                     \
        if (d_new_ > d_old_) memset((char*)(newptr) + d_old_, 0, d_new_ - d_old_);                           \
    } while (0)
#define D_REALLOC_ARRAY(newptr, oldptr, oldcount, count)                                                     \
    D_REALLOC(newptr, oldptr, (oldcount) * sizeof(*(oldptr)), (count) * sizeof(*(oldptr)))
#define D_REALLOC_NZ(newptr, oldptr, size) D_REALLOC(newptr, oldptr, size, size)
#define D_REALLOC_ARRAY_NZ(newptr, oldptr, count) D_REALLOC_ARRAY(newptr, oldptr, count, count)
#define D_FREE(ptr)                                                                                          \
    do {                                                                                                     \
        d_free(ptr);                                                                                         \
        (ptr) = NULL;                                                                                        \
    } while (0)

/* ---- hashes: the same numbers as those of gurt */

uint32_t d_hash_string_u32(const char* string, unsigned int len);
uint64_t d_hash_murmur64(const unsigned char* key, unsigned int key_len, unsigned int seed);
uint32_t d_hash_jump(uint64_t key, uint32_t num_buckets); /* 0 to num_buckets - 1 */

static inline uint64_t d_u64_hash(uint64_t val, unsigned int bits)
{
    return val * 0xcbf29ce484222325ULL >> (64 - bits);
}

/* ---- lists of memory */

static inline int d_sgl_init(d_sg_list_t* sgl, unsigned int nr)
{
    sgl->sg_nr = nr;
    sgl->sg_nr_out = 0;
    sgl->sg_iovs = nr == 0 ? NULL : (d_iov_t*)d_calloc(nr, sizeof(d_iov_t));
    return nr != 0 && sgl->sg_iovs == NULL ? -DER_NOMEM : 0;
}
static inline void d_sgl_fini(d_sg_list_t* sgl, bool free_iovs)
{
    if (sgl == NULL || sgl->sg_iovs == NULL) return;
    for (uint32_t i = 0; free_iovs && i < sgl->sg_nr; ++i)
        d_free(sgl->sg_iovs[i].iov_buf);
    D_FREE(sgl->sg_iovs);
    sgl->sg_nr = sgl->sg_nr_out = 0;
}
static inline size_t d_sgl_buf_size(d_sg_list_t* sgl)
{
    size_t size = 0;
    for (uint32_t i = 0; sgl->sg_iovs != NULL && i < sgl->sg_nr; ++i)
        size += sgl->sg_iovs[i].iov_buf_len;
    return size;
}

/* ---- lists of ranks: to be freed with d_rank_list_free(). -DER_INVAL: NULL. -DER_NOMEM. */

d_rank_list_t* d_rank_list_alloc(uint32_t size); /* 0, 1, 2 ... */
void d_rank_list_free(d_rank_list_t* rank_list);
int d_rank_list_resize(d_rank_list_t* rank_list, uint32_t size);
int d_rank_list_dup(d_rank_list_t** dst, const d_rank_list_t* src);
int d_rank_list_dup_sort_uniq(d_rank_list_t** dst, const d_rank_list_t* src);
int d_rank_list_copy(d_rank_list_t* dst, d_rank_list_t* src);
int d_rank_list_append(d_rank_list_t* rank_list, d_rank_t rank);
int d_rank_list_del(d_rank_list_t* rank_list, d_rank_t rank);
int d_rank_list_merge(d_rank_list_t* src_set, d_rank_list_t* merge_set); /* adds what the first one lacks */
void d_rank_list_sort(d_rank_list_t* rank_list);
bool d_rank_list_find(d_rank_list_t* rank_list, d_rank_t rank, int* idx); /* idx: optional */
bool d_rank_in_rank_list(d_rank_list_t* rank_list, d_rank_t rank);
/* Sorts the first one. Stepstore compares with a sorted copy of the second one. */
bool d_rank_list_identical(d_rank_list_t* rank_list1, d_rank_list_t* rank_list2);

/* ---- environment variables. The value stays as it was on -DER_NONEXIST, and on -DER_INVAL: it is no number
 * of this type. */

int d_getenv_str(char* str_val, size_t str_size, const char* name); /* -DER_TRUNC: cut */
int d_agetenv_str(char** str_val, const char* name);                /* for d_freeenv_str() */
void d_freeenv_str(char** str_val);
int d_getenv_bool(const char* name, bool* bool_val); /* 0 is false, all else true */
int d_getenv_char(const char* name, char* char_val);
int d_getenv_uint(const char* name, unsigned int* uint_val);
int d_getenv_uint32_t(const char* name, uint32_t* uint32_val);
int d_getenv_uint64_t(const char* name, uint64_t* uint64_val);
bool d_isenv_def(char* name);
int d_setenv(const char* name, const char* value, int overwrite); /* as setenv() */
int d_unsetenv(const char* name);

/* ---- errors of the system as codes, locks, times */

static inline int d_errno2der(int err)
{
    switch (err) {
    case 0: return 0;
    case EPERM:
    case EACCES: return -DER_NO_PERM;
    case ENOMEM: return -DER_NOMEM;
    case EDQUOT:
    case ENOSPC: return -DER_NOSPACE;
    case EEXIST: return -DER_EXIST;
    case ENOENT: return -DER_NONEXIST;
    case ECANCELED: return -DER_CANCELED;
    case EBUSY: return -DER_BUSY;
    default: return -DER_MISC;
    }
}

/* A lock that cannot be taken or given back is a mistake of the program, which ends. */
static inline int d_lock_result(int result, const char* what)
{
    D_ASSERTF(result == 0, "%s: %s\n", what, strerror(result));
    return 0;
}
#define D_MUTEX_INIT(x, y) d_errno2der(pthread_mutex_init((x), (y)))
#define D_MUTEX_LOCK(x) d_lock_result(pthread_mutex_lock(x), "pthread_mutex_lock")
#define D_MUTEX_UNLOCK(x) d_lock_result(pthread_mutex_unlock(x), "pthread_mutex_unlock")
#define D_MUTEX_DESTROY(x) d_lock_result(pthread_mutex_destroy(x), "pthread_mutex_destroy")
#define D_SPIN_INIT(x, y) d_errno2der(pthread_spin_init((x), (y)))
#define D_SPIN_LOCK(x) d_lock_result(pthread_spin_lock(x), "pthread_spin_lock")
#define D_SPIN_UNLOCK(x) d_lock_result(pthread_spin_unlock(x), "pthread_spin_unlock")
#define D_SPIN_DESTROY(x) d_lock_result(pthread_spin_destroy(x), "pthread_spin_destroy")
#define D_RWLOCK_INIT(x, y) d_errno2der(pthread_rwlock_init((x), (y)))
#define D_RWLOCK_RDLOCK(x) d_lock_result(pthread_rwlock_rdlock(x), "pthread_rwlock_rdlock")
#define D_RWLOCK_WRLOCK(x) d_lock_result(pthread_rwlock_wrlock(x), "pthread_rwlock_wrlock")
#define D_RWLOCK_UNLOCK(x) d_lock_result(pthread_rwlock_unlock(x), "pthread_rwlock_unlock")
#define D_RWLOCK_DESTROY(x) d_lock_result(pthread_rwlock_destroy(x), "pthread_rwlock_destroy")

#ifndef NSEC_PER_SEC
#define NSEC_PER_SEC 1000000000
#endif
static inline int d_gettime(struct timespec* t)
{
    return clock_gettime(CLOCK_MONOTONIC, t) == 0 ? 0 : d_errno2der(errno);
}
static inline int64_t d_timediff_ns(const struct timespec* t1, const struct timespec* t2)
{
    return (int64_t)(t2->tv_sec - t1->tv_sec) * NSEC_PER_SEC + (t2->tv_nsec - t1->tv_nsec);
}

#ifdef __cplusplus
}
#endif
#endif
