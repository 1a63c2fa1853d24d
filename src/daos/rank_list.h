// Lists of ranks for the caller of the C API, who frees them with d_rank_list_free().
// Threads: pure. Errors: std::bad_alloc.
#pragma once

#include "daos/api.h"

#include <span>

namespace stepstore::daos {

d_rank_list_t* rank_list(std::span<const d_rank_t> ranks);

} // namespace stepstore::daos
