// Handles as bytes, for other processes of the machine (local2global, global2local).
// Threads: any; what is described is open meanwhile. Errors: DER_TRUNC, DER_INVAL.
#pragma once

#include "daos/resources.h"

#include <optional>

namespace stepstore::daos {

// What a process needs to open the same thing again.
struct GlobalHandle {
    Kind kind = Kind::pool;
    store::Uuid pool{};
    store::Uuid container{};
    std::string path; // of the pool
    store::Access access = store::Access::read_only;
    daos_obj_id_t oid{};
    std::uint32_t mode = 0;
    store::ArrayAttributes attributes;
};

GlobalHandle describe(PoolResource& pool);
GlobalHandle describe(ContainerResource& container);
GlobalHandle describe(ArrayResource& array);
GlobalHandle describe(KeyValueResource& object);

// Into the caller's memory, or only the size where there is none. DER_TRUNC.
void put_global(const GlobalHandle& handle, d_iov_t* into);
// DER_INVAL: no such bytes, damaged, or of another kind.
GlobalHandle get_global(const d_iov_t& from, Kind kind);

} // namespace stepstore::daos
