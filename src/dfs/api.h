// The C API that this library defines, with its functions visible outside; include it before anything else.
// Threads and errors: daos_fs.h has those of the API.
#pragma once

#include <daos.h>

#pragma GCC visibility push(default)
#include <daos_fs.h>
#include <daos_fs_sys.h>
#pragma GCC visibility pop
