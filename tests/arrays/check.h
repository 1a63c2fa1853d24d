/* The checks of the C programs: the first one that fails says where, and ends the program with status 1. */
#ifndef STEPSTORE_TESTS_ARRAYS_CHECK_H
#define STEPSTORE_TESTS_ARRAYS_CHECK_H

#include "stepstore/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a program of several ranks ends all of them. */
void end_all(void);

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                          \
            end_all();                                                                                       \
        }                                                                                                    \
    } while (0)

#define CHECK_OK(call)                                                                                       \
    do {                                                                                                     \
        int const rc_ = (call);                                                                              \
        if (rc_ != 0) {                                                                                      \
            fprintf(stderr, "%s:%d: %s gave %d: %s\n", __FILE__, __LINE__, #call, rc_,                       \
                    stepstore_arrays_message());                                                             \
            end_all();                                                                                       \
        }                                                                                                    \
    } while (0)

/* The code, and what is in the text. */
#define CHECK_ERROR(call, expected, part)                                                                    \
    do {                                                                                                     \
        int const rc_ = (call);                                                                              \
        if (rc_ != (expected) || strstr(stepstore_arrays_message(), part) == NULL) {                         \
            fprintf(stderr, "%s:%d: %s gave %d, not %d with '%s': %s\n", __FILE__, __LINE__, #call, rc_,     \
                    expected, part, stepstore_arrays_message());                                             \
            end_all();                                                                                       \
        }                                                                                                    \
    } while (0)

#endif
