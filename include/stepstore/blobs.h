/*
 * Blobs: bytes under names in a container. C99, for C and C++. Zarr and fsspec see the same ones in Python.
 *
 * A name is any text of at least one byte, such as "model/grid.nc". A blob appears, and is replaced, whole.
 * Readers see the old value or the new one. A program that dies before that leaves the old one. The next
 * writer takes back what it leaves of space. The user's guide is docs/blobs.md.
 *
 * All calls return 0 or a negative DER_* code (<daos_errno.h>). stepstore_blobs_message() then says what was
 * tried on what, and what to do. Codes that any call may give:
 *   -DER_NO_HDL    the handle is not open. In a forked child also: the writer is its parent's.
 *   -DER_INVAL     an argument is NULL, or a name is empty.
 *   -DER_NO_PERM   opened for reading, and the call writes.
 *   -DER_TIMEDOUT  of a write to a cluster: no answer came. The old value is there, or the new one, now or
 *                  later. To write again settles it.
 *   -DER_CSUM, -DER_IO, -DER_NOSPACE, -DER_NOMEM ...  what the store says. The old value is there.
 * Sizes are bytes. Several threads may use an open location at the same time. A reader or writer is for one
 * thread at a time. A forked child may go on with the locations and readers of its parent.
 */
#ifndef STEPSTORE_BLOBS_H
#define STEPSTORE_BLOBS_H

#include "stepstore/arrays.h" /* STEPSTORE_READ, STEPSTORE_WRITE, stepstore_names */

#ifdef __cplusplus
extern "C" {
#endif

/* Handles: 0 is none. One that is closed, or of another kind, gives -DER_NO_HDL. */
typedef uint64_t stepstore_blobs;       /* an open location */
typedef uint64_t stepstore_blob_reader; /* one version of a blob */
typedef uint64_t stepstore_blob_writer; /* a blob that is being written */

enum {
    STEPSTORE_BLOB_REPLACE = 0, /* puts the blob, or replaces it */
    STEPSTORE_BLOB_NEW = 1,     /* only if there is none: else -DER_EXIST, and it is kept */
    STEPSTORE_BLOB_APPEND = 2   /* the bytes come after those that are there, also after what others append */
};

struct stepstore_blob_info {
    uint64_t size;     /* bytes */
    uint64_t modified; /* nanoseconds since 1970 */
};

/*
 * Opens a location: POOL[/CONTAINER], as stepstore_arrays_open() does. mode: STEPSTORE_READ or
 * STEPSTORE_WRITE, which makes pool and container if they are missing. snapshot: with STEPSTORE_READ the
 * epoch of a snapshot of the container; 0: now. -DER_NONEXIST: there is no such location or snapshot.
 */
STEPSTORE_API int stepstore_blobs_open(const char* location, int mode, uint64_t snapshot,
                                       stepstore_blobs* blobs);
/* Sets *blobs to 0. Readers and writers stay open. */
STEPSTORE_API int stepstore_blobs_close(stepstore_blobs* blobs);
/* The text of the last error of this thread; never NULL, "" before the first one. Valid until the thread's
 * next call of this header or stepstore/arrays.h. */
STEPSTORE_API const char* stepstore_blobs_message(void);

/* Writes `size` bytes as a blob. how: STEPSTORE_BLOB_... -DER_EXIST: with STEPSTORE_BLOB_NEW there is one. */
STEPSTORE_API int stepstore_blob_put(stepstore_blobs blobs, const char* name, const void* data, uint64_t size,
                                     int how);
/*
 * Reads the bytes from `start` on into `into`. *size: in, how many there is memory for; out, how many were
 * read.
 * Fewer come only from the end of the blob. -DER_NONEXIST: there is no such blob.
 */
STEPSTORE_API int stepstore_blob_get(stepstore_blobs blobs, const char* name, uint64_t start, void* into,
                                     uint64_t* size);
/* -DER_NONEXIST: there is no such blob. */
STEPSTORE_API int stepstore_blob_stat(stepstore_blobs blobs, const char* name,
                                      struct stepstore_blob_info* info);
/* -DER_NONEXIST: there is no such blob. */
STEPSTORE_API int stepstore_blob_remove(stepstore_blobs blobs, const char* name);
/* Copies one version of a blob to `target` in `into`, which may be the same handle or another location's. It
 * replaces what is there. -DER_NONEXIST: there is no such blob. */
STEPSTORE_API int stepstore_blob_copy(stepstore_blobs blobs, const char* name, stepstore_blobs into,
                                      const char* target);
/* Copies one version to `target`, and then removes that version. What another program puts under `name`
 * meanwhile stays. -DER_NONEXIST: there is no such blob. */
STEPSTORE_API int stepstore_blob_rename(stepstore_blobs blobs, const char* name, const char* target);

/* The names that begin with `prefix` ("" or NULL: all), sorted by their bytes. */
STEPSTORE_API int stepstore_blob_list(stepstore_blobs blobs, const char* prefix, stepstore_names* names);
/* What lies directly below a folder ("" or NULL: the top), sorted, without its name; folders end with '/'. */
STEPSTORE_API int stepstore_blob_list_folder(stepstore_blobs blobs, const char* folder,
                                             stepstore_names* names);

/* Opens the version of a blob that is there now. size may be NULL. -DER_NONEXIST: there is no such blob. */
STEPSTORE_API int stepstore_blob_reader_open(stepstore_blobs blobs, const char* name,
                                             stepstore_blob_reader* reader, uint64_t* size);
/* As stepstore_blob_get(). -DER_NONEXIST: the blob was replaced or removed meanwhile: open it again. */
STEPSTORE_API int stepstore_blob_reader_get(stepstore_blob_reader reader, uint64_t start, void* into,
                                            uint64_t* size);
/* Sets *reader to 0. */
STEPSTORE_API int stepstore_blob_reader_close(stepstore_blob_reader* reader);

/* Begins a blob that is written piece by piece, and appears whole at its end. how: STEPSTORE_BLOB_... */
STEPSTORE_API int stepstore_blob_writer_open(stepstore_blobs blobs, const char* name, int how,
                                             stepstore_blob_writer* writer);
/* Adds a piece after those before it. */
STEPSTORE_API int stepstore_blob_writer_put(stepstore_blob_writer writer, const void* data, uint64_t size);
/* Lets the blob appear, closes the writer and sets *writer to 0, also on an error. -DER_EXIST: with
 * STEPSTORE_BLOB_NEW, there is one. */
STEPSTORE_API int stepstore_blob_writer_close(stepstore_blob_writer* writer);
/* Closes the writer and sets *writer to 0. The blob stays as it was. */
STEPSTORE_API int stepstore_blob_writer_discard(stepstore_blob_writer* writer);

#ifdef __cplusplus
}
#endif

#endif
