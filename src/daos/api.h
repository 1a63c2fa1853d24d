// The C API that this library defines, with its functions visible outside; include it before anything else.
#pragma once

#pragma GCC visibility push(default)
#include <daos.h>

#include "stepstore/admin.h"
#pragma GCC visibility pop
