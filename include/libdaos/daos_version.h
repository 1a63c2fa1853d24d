/* Versions: of the interface, and of the DAOS release whose interface this is. */
#ifndef STEPSTORE_LIBDAOS_DAOS_VERSION_H
#define STEPSTORE_LIBDAOS_DAOS_VERSION_H

/* of libdaos.so */
#define DAOS_API_VERSION_MAJOR 2
#define DAOS_API_VERSION_MINOR 7
#define DAOS_API_VERSION_FIX 0

/* of the DAOS release */
#define DAOS_VERSION_MAJOR 2
#define DAOS_VERSION_MINOR 6
#define DAOS_VERSION_FIX 5

/* Tells these headers from those of a DAOS system. */
#define DAOS_API_BY_STEPSTORE 1

#endif
