// A program of ADIOS2's C interface, called from the C++ test.
#pragma once

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { c_bindings_steps = 3, c_bindings_columns = 5, c_bindings_seen = 4096 };

typedef struct {
    MPI_Comm comm; // of all who open
    size_t rank, ranks;
    const char* engine;     // BP5 or Plugin
    const char* parameters; // "key=value,..." or empty
    const char* name;       // of the stream, for adios2_open
} c_bindings_run;

// What a reader got, as numbers: filled by c_bindings_read.
typedef struct {
    size_t count;
    double numbers[c_bindings_seen];
    char texts[1024];
} c_bindings_transcript;

// Both return 0, or the line of c_bindings.c that failed.
int c_bindings_write(const c_bindings_run* run);
int c_bindings_read(const c_bindings_run* run, int at_random, c_bindings_transcript* seen);

#ifdef __cplusplus
}
#endif
