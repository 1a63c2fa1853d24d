// For `stepstore copy`: what ADIOS2 reads from a file becomes a stream of Stepstore. It is a module of its
// own. A process loads it that has loaded ADIOS2 and called stepstore_adios2_register().
// Threads: one at a time; the message is each thread's own. Errors: negative DER_ codes.
#pragma once

#include "stepstore/export.h"

#include <cstdint>

extern "C" {

struct stepstore_file_copied {
    std::uint64_t steps;  // of the file, those of earlier calls included
    std::uint64_t blocks; // of this call
    bool ended;           // the file's writer has closed it
};
// Is told of bytes; the call ends with -DER_CANCELED when it gives anything but 0.
using stepstore_moved = int (*)(std::uint64_t bytes, void* arg);

// Appends the steps after the first `skip` ones to the stream, or makes it: every variable, attribute and
// block. A stream of more than `skip` steps is cut. Returns 0 or a negative code of daos_errno.h.
STEPSTORE_API int stepstore_adios2_copy_file(const char* file, const char* location, std::uint64_t skip,
                                             stepstore_moved moved, void* arg, stepstore_file_copied* done);
// -DER_CSUM: the stream has something else than the file, which the text says.
STEPSTORE_API int stepstore_adios2_compare_file(const char* file, const char* location, stepstore_moved moved,
                                                void* arg, stepstore_file_copied* done);
// What the last call of this thread that failed said; never null.
STEPSTORE_API const char* stepstore_adios2_copy_error(void);
}
