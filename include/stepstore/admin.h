/*
 * Calls for what libdaos leaves to the administrator's tools: to make, list, check and destroy pools, and to
 * walk over their contents. They are not part of the DAOS API: a program that also runs on a real
 * DAOS system uses that system's tools (dmg, daos) instead. Exported by libstepstore_daos beside the daos_
 * calls.
 *
 * All return 0 or a negative DER_* code; stepstore_last_message() then says what was tried on what, and what
 * to do.
 *
 * Threads: several may call at once, also on one handle. A callback runs in its caller's thread.
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

/*
 * For a host with signals of its own, as Python has: how a call that waits is told that its caller wants to
 * end. Calls that wait for another process or machine, or for calls in flight, ask `asked` some times a
 * second, in the caller's thread. When it returns other than 0, the call gives -DER_CANCELED. It has changed
 * nothing then, or is an update of which a part was acknowledged before. `asked` must not call this library.
 * NULL: nothing is asked. For the whole process. Not yet asked by waits for a Ceph cluster.
 */
STEPSTORE_API void stepstore_ask_in_waits(int (*asked)(void));

struct stepstore_pool_options {
    const char* label;   /* NULL: the last part of the path */
    const char* backend; /* NULL: "lmdb"; or "rados", "files" */
    uint32_t targets;    /* 0: one per processor of this machine, 4 to 16; at most 256. "files": no matter */
    uint32_t power;      /* 0: durability=process; 1: durability=power */
    /* Existing directories, on other disks say, into which the targets go in turn. */
    const char* const* target_dirs;
    uint32_t target_dirs_nr; /* 0: all targets lie in the pool's directory */
};

/* pool: a path, also a bare name; "shared:" and a path, for a pool in files; "local:" and a label under the
 * root directory ($STEPSTORE_ROOT, default $XDG_DATA_HOME/stepstore or ~/.local/share/stepstore); or
 * "rados://CEPHPOOL[/NAMESPACE]". */
STEPSTORE_API int stepstore_pool_create(const char* pool, const struct stepstore_pool_options* options);
/* -DER_BUSY: this process has the pool open. -DER_NONEXIST. */
STEPSTORE_API int stepstore_pool_destroy(const char* pool);
/* The directory that `pool` names; of rados://... the name itself. *size: of path, in; needed, out.
 * -DER_TRUNC when it does not fit. */
STEPSTORE_API int stepstore_pool_path(const char* pool, char* path, size_t* size);

/*
 * The next calls hand structs to a callback, one after the other. A struct and what it points to is valid
 * until the callback returns. A non-zero result of the callback ends the walk, and is what the call returns.
 * Texts are as they are stored: a path may hold any bytes.
 */
struct stepstore_target_info {
    uint64_t index_bytes; /* on the medium */
    uint64_t bulk_bytes;
    uint64_t updates; /* requests since the pool was made, by all processes */
    uint64_t fetches;
    uint64_t bytes_written;
    uint64_t bytes_read;
};

struct stepstore_pool_info {
    const char* path;
    /* NULL, or of stepstore_pool_list: why this pool cannot be opened. Then only `path` is set. */
    const char* error;
    const char* label;
    uuid_t uuid;
    const char* backend;
    uint32_t format; /* version */
    uint32_t power;  /* 0: durability=process; 1: durability=power */
    uint64_t containers;
    uint64_t space_total; /* of the file system, bytes */
    uint64_t space_free;
    const struct stepstore_target_info* targets;
    uint32_t targets_nr;
    /* Of a pool in files, by stepstore_pool_describe(): its files, notes and directories. Then the bytes of
     * its one target are counted too. 0: of another pool, or not counted. */
    uint64_t files;
};
typedef int (*stepstore_pool_cb)(const struct stepstore_pool_info* pool, void* arg);
/* Pools in a directory. NULL: the root directory, which need not be there. */
STEPSTORE_API int stepstore_pool_list(const char* root, stepstore_pool_cb each, void* arg);
/* One pool: calls `each` once. */
STEPSTORE_API int stepstore_pool_describe(const char* pool, stepstore_pool_cb each, void* arg);

enum stepstore_severity {
    STEPSTORE_INFO,        /* worth knowing: a writer at work, or a dead one */
    STEPSTORE_RECLAIMABLE, /* space that nothing refers to */
    STEPSTORE_DAMAGE
};
struct stepstore_finding {
    enum stepstore_severity severity;
    const char* where;  /* pool, target, container, object, key or range: whatever is known */
    const char* what;   /* what is wrong */
    const char* advice; /* what can be saved, and how; may be empty */
};
struct stepstore_check_summary {
    uint64_t containers, objects, records, bytes, extents;
    uint64_t reclaimable_bytes; /* bulk bytes that nothing refers to */
    uint64_t reclaimed_bytes;   /* of them, given back by `repair` */
    uint64_t findings;
    bool damaged;
};
typedef int (*stepstore_finding_cb)(const struct stepstore_finding* finding, void* arg);
/*
 * Looks through a pool, beside those who use it. data: reads and verifies every value too. repair: gives back
 * space that nothing refers to, and puts records back under keys of which one byte was changed. each: NULL,
 * or called once per finding. summary: optional, out. Returns 0 also when damage was found.
 */
STEPSTORE_API int stepstore_pool_check(const char* pool, bool data, bool repair, stepstore_finding_cb each,
                                       void* arg, struct stepstore_check_summary* summary);

struct stepstore_compacted {
    uint32_t target; /* UINT32_MAX: the pool's metadata */
    uint64_t index_before, index_after;
    uint64_t bulk_before, bulk_after;
    uint64_t files_before, files_after; /* of a pool in files; else 0 */
};
typedef int (*stepstore_compacted_cb)(const struct stepstore_compacted* target, void* arg);
/* Gives back space that nothing needs, while others use the pool. Calls `each` for every target, and last for
 * the pool's metadata. -DER_CSUM where an index is damaged: stepstore_pool_check() says what can be saved.
 * -DER_NO_PERM: the pool cannot be written. A pool in files has one entry, UINT32_MAX, and others may only
 * read it meanwhile: -DER_BUSY. */
STEPSTORE_API int stepstore_pool_compact(const char* pool, stepstore_compacted_cb each, void* arg);

struct stepstore_object_info {
    daos_obj_id_t oid;
    bool sized;          /* whether the fields below were asked for */
    uint64_t keys;       /* of a key-value; of an object of dkeys and akeys its dkeys */
    uint64_t size;       /* of an array, in cells; 0 where it keeps no attributes */
    uint64_t cell_size;  /* bytes; 0 where the array keeps no attributes */
    uint64_t chunk_size; /* cells */
};
typedef int (*stepstore_object_cb)(const struct stepstore_object_info* object, void* arg);
/* The objects of the container at an epoch (th DAOS_TX_NONE: now). sizes: each object is asked for its own.
 * */
STEPSTORE_API int stepstore_cont_objects(daos_handle_t coh, daos_handle_t th, bool sizes,
                                         stepstore_object_cb each, void* arg);
/* One object, with its sizes. -DER_NONEXIST: nothing is stored under this id. */
STEPSTORE_API int stepstore_cont_object(daos_handle_t coh, daos_handle_t th, daos_obj_id_t oid,
                                        stepstore_object_cb each, void* arg);

/* Destroys the snapshots at these epochs, in about the time of one: daos_cont_destroy_snap() walks over what
 * the container keeps of old versions, once for each. Those that are not there are passed over. */
STEPSTORE_API int stepstore_cont_destroy_snaps(daos_handle_t coh, const daos_epoch_t* epochs, uint32_t count);

/* Makes everything acknowledged survive a power failure, whatever the pool's durability. -DER_NOSPACE,
 * -DER_IO: it does not yet. Call it again when the disk has room. What the system has dropped meanwhile reads
 * as -DER_CSUM. */
STEPSTORE_API int stepstore_pool_sync(daos_handle_t poh);
/* The same, only for what this process did. What other processes did, and it depends on, may need the call
 * above. */
STEPSTORE_API int stepstore_pool_sync_own(daos_handle_t poh);

/*
 * A mode of daos_array_open() and the calls like it, beside DAOS_OO_RO or DAOS_OO_RW. Reads through this
 * handle need not compare payloads from 64 KiB on with their checksums, which takes time. Damage to the
 * pool's files may then be read unnoticed (stepstore_pool_check() finds it). A damaged copy is not replaced
 * by the other one of RP_2Gn. What other processes write, replace or remove is seen as always: a whole old or
 * a whole new payload.
 */
#define STEPSTORE_OO_UNVERIFIED (1U << 30)

/*
 * Set in arr_nr_read before a daos_array_read() with an event: the caller wants the counts of the read when
 * it completes, for every type of array. `iod` stays until then. DAOS tells them for DAOS_OT_ARRAY_BYTE only.
 */
#define STEPSTORE_ARRAY_TELL UINT64_MAX
/*
 * Set in arr_nr_read before any daos_array_read(): the caller does not want the counts, and `iod` is not
 * changed. Where the end of the array is need not be looked for then, which takes requests to each target.
 */
#define STEPSTORE_ARRAY_UNTOLD (UINT64_MAX - 1)

/*
 * As daos_array_local2global() and its counterpart, but for key-value objects, for which DAOS has no such
 * calls. mode 0: as the handle was opened. -DER_TRUNC, -DER_INVAL, as there.
 */
STEPSTORE_API int stepstore_kv_local2global(daos_handle_t oh, d_iov_t* glob);
STEPSTORE_API int stepstore_kv_global2local(daos_handle_t coh, d_iov_t glob, unsigned int mode,
                                            daos_handle_t* oh);

/*
 * daos_kv_put(), or with buf NULL daos_kv_remove(), that tells what it replaced, from the same transaction.
 * So of several processes that replace values of a key, each one is told of an old value of its own.
 * old, *old_size: room in bytes, in, at most 4,096; the size of the old value, out. UINT64_MAX: there was
 * none. The old value is copied where it fits. A damaged one has the size 0.
 * Returns 0, or as those two calls.
 */
STEPSTORE_API int stepstore_kv_exchange(daos_handle_t oh, daos_handle_t th, const char* key, daos_size_t size,
                                        const void* buf, void* old, daos_size_t* old_size);

/*
 * daos_kv_put(), or with buf NULL daos_kv_remove(), on the condition that the key has the expected value. It
 * is compared in the transaction of the update. So of several processes that begin from one value exactly one
 * succeeds. With it "look, then put" is safe: a process that was stopped in between changes nothing.
 * expected NULL: the key must not be there; buf is not NULL then. An empty value has a pointer and size 0.
 * A value from 64 KiB on is compared by its length and checksums. Snapshots keep what is replaced, as always.
 * Returns 0, or:
 *   -DER_EXIST      expected is NULL, and the key is there. Nothing was changed.
 *   -DER_MISMATCH   the key has another value, or is not there. Nothing was changed: get it again.
 *   -DER_CSUM       the value to compare with is damaged. Nothing was changed.
 *   -DER_TIMEDOUT   of a pool on a cluster: in doubt. The update may have been carried out, or be so later.
 *                   To call again with the same expected value settles it: of the two calls at most one is
 *                   carried out. -DER_MISMATCH and the caller's value there then mean that the first was.
 * and else as daos_kv_put(). A DAOS system has no such call; a transaction (daos_tx_open(), get, put,
 * daos_tx_commit()) does the same, and the absence alone is DAOS_COND_KEY_INSERT.
 */
STEPSTORE_API int stepstore_kv_put_if(daos_handle_t oh, daos_handle_t th, const char* key,
                                      daos_size_t expected_size, const void* expected, daos_size_t size,
                                      const void* buf);

/* key: not ended by a zero. A non-zero result ends the walk, and is what the call returns. */
typedef int (*stepstore_key_cb)(const char* key, size_t size, void* arg);
/*
 * Gives the keys that begin with `prefix` ("": all), without a walk over the others.
 * delimiter: 0, or a character of 7 bits. Of keys that have it after the prefix only the part up to and
 * including it is given, and what lies below is passed over. A part may be given several times.
 * -DER_CSUM after the keys that are intact, as daos_kv_list().
 */
STEPSTORE_API int stepstore_kv_list_below(daos_handle_t oh, daos_handle_t th, const char* prefix,
                                          char delimiter, stepstore_key_cb each, void* arg);

/* One of several keys that are read together. */
typedef struct {
    const char* key;  /* in */
    void* buf;        /* in: room for the value, or NULL */
    daos_size_t size; /* bytes, in: of buf; out: of the value. UINT64_MAX, out: there is no such key */
} stepstore_kv_read_t;
/*
 * Reads the values of nr keys. On a cluster that takes one request for each target, and these go out
 * together. A value is copied where it fits. The values of one target are of one moment, and those of two
 * need not be. Returns 0, also where a value did not fit or a key is not there; else as daos_kv_get(). Then
 * nothing is said of any key.
 */
STEPSTORE_API int stepstore_kv_get_many(daos_handle_t oh, daos_handle_t th, unsigned int nr,
                                        stepstore_kv_read_t* reads);

/*
 * Waiting for what others do, without looking again and again.
 *
 * stepstore_kv_announce() tells those who watch the key, in all processes, to look again. They then see what
 * was acknowledged before. It does not wait, needs no right to write, and may get lost. The key need not be
 * there. Without an effect where keys cannot be watched.
 *
 * stepstore_kv_watch() begins to watch. Look once more after it, then wait. -DER_NOTSUPPORTED: keys cannot be
 * watched, as in a pool in a directory, or this user may not, or not now.
 *
 * stepstore_watch_wait() waits for an announcement, at most so many microseconds. One that came since the
 * last wait counts. Look from time to time all the same. *got, out: STEPSTORE_WATCH_...
 *
 * stepstore_watch_close() does not wait for the cluster. The container's end closes its watches too.
 * Return 0, or -DER_NO_HDL, -DER_INVAL.
 */
#define STEPSTORE_WATCH_NOTHING 0   /* the time is over */
#define STEPSTORE_WATCH_ANNOUNCED 1 /* look again */
#define STEPSTORE_WATCH_LOST 2      /* look again, and watch anew: none may come any more */
STEPSTORE_API int stepstore_kv_announce(daos_handle_t oh, const char* key);
STEPSTORE_API int stepstore_kv_watch(daos_handle_t oh, const char* key, daos_handle_t* wh);
STEPSTORE_API int stepstore_watch_wait(daos_handle_t wh, uint64_t most_us, int* got);
STEPSTORE_API int stepstore_watch_close(daos_handle_t wh);

/*
 * What pools ask of the file systems that they lie on: for a simulation of another file system.
 *
 * From stepstore_watch_file_calls() on, `each` is called after each call to a file system, also one that
 * failed, perhaps with locks held: it must not wait, and calls nothing of this library. NULL ends it. It
 * comes before any pool is connected to, and is for the whole process. A pool in files that is opened
 * meanwhile counts its file system as one that machines share.
 */
enum {
    STEPSTORE_FILE_LOOK, /* for a name, or at a file that is not open */
    STEPSTORE_FILE_OPEN, /* a file or directory, that may have been made by it */
    STEPSTORE_FILE_MAKE, /* a name */
    STEPSTORE_FILE_REMOVE,
    STEPSTORE_FILE_LIST, /* a directory: `bytes` are its names */
    STEPSTORE_FILE_SIZE, /* as the server says */
    STEPSTORE_FILE_READ,
    STEPSTORE_FILE_WRITE,
    STEPSTORE_FILE_FORGET, /* what the machine has cached of these bytes */
    STEPSTORE_FILE_SYNC,
    STEPSTORE_FILE_SYNC_NAMES
};
struct stepstore_file_call {
    int kind;         /* STEPSTORE_FILE_... */
    int fd;           /* of the file that is open, or was opened now; -1: the call has a path only */
    const char* path; /* NULL: the call has an open file only */
    const char* from; /* the name that a link or a new name is made from, or NULL */
    uint64_t at;
    uint64_t bytes;
};
typedef void (*stepstore_file_call_cb)(const struct stepstore_file_call* call);
STEPSTORE_API void stepstore_watch_file_calls(stepstore_file_call_cb each);

#ifdef __cplusplus
}
#endif
#endif
