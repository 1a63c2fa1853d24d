/*
 * Arrays of a parallel program on objects: C99, for C, C++ and (through the module `stepstore`) Fortran.
 *
 * An array has a name, an element type, 1 to 7 dimensions, and attributes. Its data are the blocks that the
 * ranks wrote. They are read with any other decomposition, by any number of ranks. The user's guide is
 * docs/arrays.md, what is stored is described in docs/format-arrays.md.
 *
 * Calls are collective over the communicator that the location was opened with, where nothing else is said.
 * All ranks call them in the same order with the same name, type, shape and options. Every call compares
 * that, so all ranks return the same code and the same text, which names array, dimension and rank. Ranks
 * that call different things get an error. So do ranks that wait for one that died, or that does not come
 * within a time limit.
 *
 * All calls return 0 or a negative DER_* code (<daos_errno.h>); stepstore_arrays_message() then says what was
 * tried on what, and what to do. Codes that any call may give:
 *   -DER_NO_HDL    the handle is not open.
 *   -DER_MISMATCH  ranks call different things, or say different things of one array.
 *   -DER_TIMEDOUT  a rank did not come within the time limit.
 *   -DER_CANCELED  a rank died or gave up; no further call is possible but close.
 *   -DER_CSUM, -DER_IO, -DER_NOSPACE, -DER_NOMEM ...  what the store says.
 * A handle may be used by one thread at a time.
 *
 * A new array, and one that replaces another, becomes visible whole with one put, when all its data are
 * stored. Readers see the old or the new one. A program that dies before that leaves the old one. Its data
 * are removed by the next writer of that name.
 */
#ifndef STEPSTORE_ARRAYS_H
#define STEPSTORE_ARRAYS_H

#include "stepstore/export.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles: 0 is none. One that is closed, or of another kind, gives -DER_NO_HDL. */
typedef uint64_t stepstore_arrays;  /* an open location */
typedef uint64_t stepstore_request; /* a transfer under way */
typedef uint64_t stepstore_names;   /* a list of names */

/* The element type: one of the numbers below. That of texts is STEPSTORE_CHARACTER_OF(length). */
typedef int64_t stepstore_type;
enum {
    STEPSTORE_INT8 = 1,
    STEPSTORE_INT16 = 2,
    STEPSTORE_INT32 = 3,
    STEPSTORE_INT64 = 4,
    STEPSTORE_UINT8 = 5,
    STEPSTORE_UINT16 = 6,
    STEPSTORE_UINT32 = 7,
    STEPSTORE_UINT64 = 8,
    STEPSTORE_REAL32 = 9,
    STEPSTORE_REAL64 = 10,
    STEPSTORE_COMPLEX64 = 12,  /* two real32 */
    STEPSTORE_COMPLEX128 = 13, /* two real64 */
    STEPSTORE_CHARACTER = 15,  /* texts of a fixed length; without STEPSTORE_CHARACTER_OF: of length 1 */
    STEPSTORE_LOGICAL8 = 17,   /* 1 byte: 0 is false (C's bool, Fortran's logical(c_bool)) */
    STEPSTORE_LOGICAL32 = 18   /* 4 bytes: 0 is false (Fortran's default logical) */
};
/* Texts of `length` bytes each, filled up with whatever the program fills with. length: 1 to 2^31 - 1. */
#define STEPSTORE_CHARACTER_OF(length) ((stepstore_type)STEPSTORE_CHARACTER | ((stepstore_type)(length) << 8))

enum { STEPSTORE_MAX_DIMENSIONS = 7 };

/* The order of the dimensions in every call with a handle, and of the data in memory. It is recorded with
 * each array. A handle of the other order sees the dimensions of the array reversed, and the same data. */
enum {
    STEPSTORE_ROW_MAJOR = 0,   /* the last dimension lies together (C, Python) */
    STEPSTORE_COLUMN_MAJOR = 1 /* the first dimension lies together (Fortran) */
};

enum {
    STEPSTORE_READ = 0, /* makes nothing; -DER_NONEXIST where there is no such location */
    STEPSTORE_WRITE = 1 /* reads and writes; makes pool and container where they are missing */
};

/* Zero in a field, and NULL for the whole, is the default. The same on all ranks. */
struct stepstore_open_options {
    uint32_t order;         /* STEPSTORE_ROW_MAJOR or STEPSTORE_COLUMN_MAJOR */
    uint32_t targets;       /* of a pool that is made; 0: one per processor, 4 to 16 */
    uint32_t power;         /* of a pool that is made: 1: what is acknowledged survives a power failure */
    uint32_t unverified;    /* 1: reads do not compare data with checksums */
    uint64_t transfer_size; /* bytes of one request, several of which are under way; 0: 16 MiB */
    uint64_t snapshot;      /* with STEPSTORE_READ: the epoch of a snapshot of the container; 0: now */
    double timeout_seconds; /* how long a rank waits for another one to make the same call; 0: 300 s */
    uint64_t reserved[4];   /* 0 */
};

/* Of an array that is written. Zero in a field, and NULL for the whole, is the default. */
struct stepstore_array_options {
    const char* object_class; /* "S1", "S2", ... "SX", "RP_2G1" ...; NULL: "SX" */
    uint64_t chunk_size;      /* bytes that lie on one target, a multiple of 64; 0: 1 MiB */
    uint32_t checksum;        /* 1: checksums are stored, one per chunk_size of each block; reads compare.
                                 Pools in files always have them */
    uint32_t reserved_flags;  /* 0 */
    uint64_t reserved[4];     /* 0 */
};

/*
 * Opens a location: POOL[/CONTAINER], "local:LABEL[/CONTAINER]", "rados://CEPHPOOL[/NAMESPACE[/CONTAINER]]"
 * or "daos://POOL/CONTAINER"; without it the container is "default". One rank connects, the others get its
 * handles.
 *
 * comm: the address of an MPI_Comm, over which this call is collective; it is duplicated. NULL: this process
 * alone. -DER_NONEXIST: there is no such location, and the mode is STEPSTORE_READ. -DER_INVAL: mode, options,
 * or a communicator that is none. -DER_BUSY: ranks on several machines write to a local pool. -DER_NOSYS: MPI
 * is not initialised, or is another one than Stepstore was built with.
 */
STEPSTORE_API int stepstore_arrays_open(const char* location, int mode, const void* comm,
                                        const struct stepstore_open_options* options,
                                        stepstore_arrays* store);
/* The same with the communicator's Fortran handle (an INTEGER of `use mpi`, or %MPI_VAL of `use mpi_f08`). */
STEPSTORE_API int stepstore_arrays_open_fortran(const char* location, int mode, int comm,
                                                const struct stepstore_open_options* options,
                                                stepstore_arrays* store);
/*
 * Closes the location and sets *store to 0, also on an error. Requests that nobody waited for are given up:
 * -DER_CANCELED, which names their arrays.
 */
STEPSTORE_API int stepstore_arrays_close(stepstore_arrays* store);
/* After this, all that the ranks have written survives a power failure. */
STEPSTORE_API int stepstore_arrays_sync(stepstore_arrays store);
/* Rank and number of ranks of the group that opened the location. Not collective. */
STEPSTORE_API int stepstore_arrays_group(stepstore_arrays store, int* rank, int* size);
/* The text of the last error of this thread in a call of this header; never NULL, "" before the first one.
 * Valid until the thread's next call. */
STEPSTORE_API const char* stepstore_arrays_message(void);

/*
 * Writes an array, or replaces the one of that name. Each rank gives one block.
 *
 * stepstore_write_array(): one array object, in which each rank's block has its place.
 * stepstore_write_object(): an array object per block, and a key-value that assembles them.
 * Both forms are read in the same way.
 *
 * [in] name     1 to 1,024 bytes, without a zero byte
 * [in] type     of the elements
 * [in] ndim     number of dimensions, 1 to 7
 * [in] shape    of the whole array, elements; the same on all ranks. With a 0 in it the array has no
 *               elements, such as a table that is appended to later
 * [in] start    where this rank's block begins, from 0
 * [in] count    its extents; a rank with a 0 among them has no block
 * [in] data     the block's first element
 * [in] strides  distance in bytes of neighbours in each dimension, positive, such that no two elements
 *               overlap; NULL: the block lies contiguous in memory, in the order of the handle
 * [in] options  NULL: the defaults
 * [out] request NULL: the call returns when the array is published. Otherwise it returns when the ranks have
 *               agreed; the data must stay until stepstore_wait() returned, which publishes the array
 *
 * The blocks of all ranks cover the array and do not overlap. -DER_INVAL: they do not, or a block reaches out
 * of the array, or an argument is not valid, or a size overflows. -DER_MISMATCH: ranks differ. -DER_NO_PERM:
 * opened with STEPSTORE_READ. -DER_BUSY: another program publishes this array at this moment.
 */
STEPSTORE_API int stepstore_write_array(stepstore_arrays store, const char* name, stepstore_type type,
                                        int ndim, const int64_t* shape, const int64_t* start,
                                        const int64_t* count, const void* data, const int64_t* strides,
                                        const struct stepstore_array_options* options,
                                        stepstore_request* request);
STEPSTORE_API int stepstore_write_object(stepstore_arrays store, const char* name, stepstore_type type,
                                         int ndim, const int64_t* shape, const int64_t* start,
                                         const int64_t* count, const void* data, const int64_t* strides,
                                         const struct stepstore_array_options* options,
                                         stepstore_request* request);
/*
 * Appends a slab along one dimension, or makes the array of it where there is none. `shape` is the slab's:
 * its extent in `dimension` is what the array grows by; the others are the array's. `start` is relative to
 * the slab. Type, number of dimensions and order must be the array's, and so must the dimension: an array
 * grows along one, its first append decides. options: of an array that is made. Otherwise as above.
 * -DER_STALE: another program has replaced or appended to the array meanwhile; nothing was appended.
 */
STEPSTORE_API int stepstore_append_array(stepstore_arrays store, const char* name, int dimension,
                                         stepstore_type type, int ndim, const int64_t* shape,
                                         const int64_t* start, const int64_t* count, const void* data,
                                         const int64_t* strides,
                                         const struct stepstore_array_options* options,
                                         stepstore_request* request);
STEPSTORE_API int stepstore_append_object(stepstore_arrays store, const char* name, int dimension,
                                          stepstore_type type, int ndim, const int64_t* shape,
                                          const int64_t* start, const int64_t* count, const void* data,
                                          const int64_t* strides,
                                          const struct stepstore_array_options* options,
                                          stepstore_request* request);

/*
 * Reads a box of an array, written by any of the calls above. Each rank reads its own box; boxes may overlap,
 * and need not cover the array. Within one call all data are of one version of the array.
 *
 * [in] type     must be the array's; nothing is converted
 * [in] ndim     must be the array's
 * [in] shape    what the caller takes the shape of the array to be, compared with it; NULL: not compared
 * [in] start, count, strides   as above; NULL for start and count: the whole array
 * [out] data    only the elements of the box are written
 * [out] request NULL: the data are there when the call returns. Otherwise after stepstore_wait()
 *
 * -DER_NONEXIST: there is no such array. -DER_MISMATCH: it has another type, shape or number of dimensions.
 * -DER_INVAL: the box reaches beyond the array. -DER_CSUM: the data are damaged; the text names the block.
 */
STEPSTORE_API int stepstore_read_array(stepstore_arrays store, const char* name, stepstore_type type,
                                       int ndim, const int64_t* shape, const int64_t* start,
                                       const int64_t* count, void* data, const int64_t* strides,
                                       stepstore_request* request);

/* Completes a transfer, and sets *request to 0, also on an error. Several requests are waited for in the same
 * order on all ranks. Other collective calls may come between. *request 0: nothing to do, not collective. */
STEPSTORE_API int stepstore_wait(stepstore_request* request);
/* Not collective. *done: 1 when this rank's own transfers are complete. stepstore_wait() must follow. */
STEPSTORE_API int stepstore_test(stepstore_request request, int* done);

struct stepstore_array_info {
    stepstore_type type;
    int32_t ndim;
    int32_t order;        /* in which it was written; shape and append_dimension are in the handle's order */
    int64_t shape[7];     /* 0 beyond ndim */
    int64_t element_size; /* bytes */
    int64_t blocks;       /* stored ones */
    int32_t append_dimension; /* -1: it was never appended to */
    int32_t checksum;         /* 1: checksums are stored with the data */
    uint64_t chunk_size;      /* bytes */
    uint64_t version;         /* grows with each replacement and append */
    char object_class[32];
    uint64_t reserved[4];
};
/* Describes one array. -DER_NONEXIST: no array has this name. */
STEPSTORE_API int stepstore_array_inquire(stepstore_arrays store, const char* name,
                                          struct stepstore_array_info* info);
/* Removes an array with its attributes and data. -DER_NONEXIST, -DER_NO_PERM. */
STEPSTORE_API int stepstore_array_remove(stepstore_arrays store, const char* name);
/* The names of the arrays, sorted. */
STEPSTORE_API int stepstore_array_list(stepstore_arrays store, stepstore_names* names);

/*
 * Attributes of an array; with the name "" those of the location. An array that is replaced keeps its
 * attributes. A text is a STEPSTORE_CHARACTER_OF(its length) with count 1, or STEPSTORE_CHARACTER and count 0
 * where it is empty.
 *
 * Sets or replaces one. attribute: 1 to 1,024 bytes. values: `count` elements one after the other, the same
 * on all ranks; together at most 1 MiB. -DER_NONEXIST: there is no such array. -DER_NO_PERM.
 */
STEPSTORE_API int stepstore_attribute_set(stepstore_arrays store, const char* name, const char* attribute,
                                          stepstore_type type, int64_t count, const void* values);
/* A text that ends with a zero byte, which is not stored. */
STEPSTORE_API int stepstore_attribute_set_text(stepstore_arrays store, const char* name,
                                               const char* attribute, const char* text);
/*
 * One attribute. *bytes: size of `values` in, size of the attribute's value out. type and count may be NULL.
 * values NULL: asks for type, count and size only. -DER_NONEXIST: there is no such array or attribute.
 * -DER_TRUNC: the value is longer than *bytes was.
 */
STEPSTORE_API int stepstore_attribute_get(stepstore_arrays store, const char* name, const char* attribute,
                                          stepstore_type* type, int64_t* count, void* values, int64_t* bytes);
/* -DER_NONEXIST: there is no such array or attribute. */
STEPSTORE_API int stepstore_attribute_remove(stepstore_arrays store, const char* name, const char* attribute);
/* The names of the attributes, sorted. */
STEPSTORE_API int stepstore_attribute_list(stepstore_arrays store, const char* name, stepstore_names* names);

/* Of a list of names; none of these is collective. */
STEPSTORE_API int stepstore_names_count(stepstore_names names, int64_t* count);
/* Name `index`, from 0; valid until the list is freed. NULL: no such index. */
STEPSTORE_API const char* stepstore_names_get(stepstore_names names, int64_t index);
/* Sets *names to 0. */
STEPSTORE_API int stepstore_names_free(stepstore_names* names);

#ifdef __cplusplus
}
#endif

#endif
