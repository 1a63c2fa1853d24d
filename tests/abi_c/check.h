/* The checks of the C tests: the first one that fails reports file and line, and ends the program with status
 * 1. On a DAOS system all of them are made (support.c). */
#ifndef STEPSTORE_TESTS_ABI_C_CHECK_H
#define STEPSTORE_TESTS_ABI_C_CHECK_H

#include <daos.h>

#include <stdio.h>
#include <stdlib.h>

/* What the library says about the last error (support.c). */
const char* explanation(void);
void uuid_text(unsigned char const* uuid, char* text); /* DAOS_UUID_STR_SIZE bytes */

/* The path of a new pool in a directory of its own, removed when the program ends; the back end is
 * $STEPSTORE_TEST_BACKEND. */
const char* new_pool(void);

/* Whether the library is DAOS's own: STEPSTORE_TEST_DAOS_POOL names a pool of such a system. */
bool on_daos(void);

/* Ends the program. On a DAOS system it goes on, and its last line has the number of these. */
void check_failed(void);

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                          \
            check_failed();                                                                                  \
        }                                                                                                    \
    } while (0)

#define CHECK_EQUAL(actual, expected)                                                                        \
    do {                                                                                                     \
        long long const actual_ = (long long)(actual);                                                       \
        long long const expected_ = (long long)(expected);                                                   \
        if (actual_ != expected_) {                                                                          \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #actual, actual_,           \
                    expected_);                                                                              \
            check_failed();                                                                                  \
        }                                                                                                    \
    } while (0)

/* The result of a call of the library. */
#define CHECK_RC(call, expected)                                                                             \
    do {                                                                                                     \
        int const rc_ = (call);                                                                              \
        if (rc_ != (expected)) {                                                                             \
            fprintf(stderr, "%s:%d: %s gave %s(%d), not %s: %s\n", __FILE__, __LINE__, #call, d_errstr(rc_), \
                    rc_, d_errstr(expected), explanation());                                                 \
            check_failed();                                                                                  \
        }                                                                                                    \
    } while (0)

#define CHECK_OK(call) CHECK_RC(call, 0)

/* A pool connected and a container opened for writing; between daos_init() and daos_fini(). */
struct store {
    char const* path;
    daos_handle_t pool;
    daos_handle_t container;
};
struct store open_store(void);
void close_store(struct store* store);

/* Ids of a class; the class by its name. */
daos_obj_id_t kv_oid(daos_handle_t container, uint64_t lo, char const* oclass);
daos_obj_id_t array_oid(daos_handle_t container, uint64_t lo, char const* oclass);

/* One piece of memory as a list. */
struct memory {
    d_iov_t piece;
    d_sg_list_t list;
};
d_sg_list_t* memory_of(struct memory* memory, void* buffer, size_t size);

/* One range as a request. */
struct request {
    daos_range_t range;
    daos_array_iod_t iod;
};
daos_array_iod_t* request_of(struct request* request, uint64_t index, uint64_t length);

#endif
