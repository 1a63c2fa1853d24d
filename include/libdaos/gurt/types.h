/*
 * The types of gurt: those that the client API shares are in daos_types.h.
 * Threads and errors: none.
 */
#ifndef STEPSTORE_LIBDAOS_GURT_TYPES_H
#define STEPSTORE_LIBDAOS_GURT_TYPES_H

#include <daos_types.h>

struct d_uuid {
    uuid_t uuid;
};

#ifndef ATOMIC
#ifdef __cplusplus
#define ATOMIC
#else
#define ATOMIC _Atomic
#endif
#endif

/* For printf. */
#ifndef DF_U64
#define DF_U64 "%" PRIu64
#endif
#ifndef DF_X64
#define DF_X64 "%" PRIx64
#endif

#endif
