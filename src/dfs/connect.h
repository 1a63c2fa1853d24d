// Connections of dfs_connect(): a pool and a container, open once in a process for all that mount it.
// Threads: any. A forked child makes its own (OwnState::file_connections). Errors: as of the calls
// (failure.h).
#pragma once

#include "dfs/file_system.h"

namespace stepstore::dfs {

struct PoolConnection {
    daos_handle_t handle{};
    ~PoolConnection();
};

struct Connection {
    std::shared_ptr<PoolConnection> pool;
    std::string pool_name;
    std::string container_name; // as it was opened
    daos_handle_t container{};
    ~Connection();
};

// Counted.
bool is_begun() noexcept;

std::shared_ptr<PoolConnection> connect_pool(const char* pool, const char* system, int access);

// attributes: with O_CREAT in flags, of a container that is made.
std::shared_ptr<Connection> connect(const char* pool, const char* system, const char* container, int flags,
                                    const dfs_attr_t* attributes);

} // namespace stepstore::dfs
