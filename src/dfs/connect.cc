#include "dfs/connect.h"

#include "dfs/mount.h"

#include <map>

namespace stepstore::dfs {
namespace {

struct Table {
    std::mutex mutex; // of OwnState::file_connections: guards the rest
    std::map<std::string, std::weak_ptr<PoolConnection>> pools;
    std::map<std::string, std::weak_ptr<Connection>> containers;
};

// Never destroyed: a program may disconnect in its exit.
PerProcess<OwnState::file_connections, Table>& table()
{
    static auto* const made =
        new PerProcess<OwnState::file_connections, Table>([] { return std::make_unique<Table>(); });
    return *made;
}

std::string key(const char* pool, const char* container, int access)
{
    return std::string(access == O_RDWR ? "w" : "r") + pool + '\0' + container;
}

// The one that is open under a key, or a new one.
template <class T, class Open>
std::shared_ptr<T> shared(std::map<std::string, std::weak_ptr<T>>& open_ones, const std::string& name,
                          Open open)
{
    if (auto found = open_ones[name].lock()) return found;
    auto opened = open();
    open_ones[name] = opened;
    return opened;
}

std::shared_ptr<PoolConnection> pool_of(Table& open_ones, const char* pool, const char* system, int access)
{
    return shared(open_ones.pools, key(pool, "", access), [&] {
        auto opened = std::make_shared<PoolConnection>();
        require_done(daos_pool_connect(pool, system, access == O_RDWR ? DAOS_PC_RW : DAOS_PC_RO,
                                       &opened->handle, nullptr, nullptr),
                     "connecting the pool " + quoted(pool));
        return opened;
    });
}

} // namespace

PoolConnection::~PoolConnection()
{
    if (daos_handle_is_valid(handle)) daos_pool_disconnect(handle, nullptr);
}

Connection::~Connection()
{
    if (daos_handle_is_valid(container)) daos_cont_close(container, nullptr);
}

std::shared_ptr<PoolConnection> connect_pool(const char* pool, const char* system, int access)
{
    Table& open_ones = *table();
    const std::lock_guard lock(open_ones.mutex);
    return pool_of(open_ones, pool, system, access);
}

std::shared_ptr<Connection> connect(const char* pool, const char* system, const char* container, int flags,
                                    const dfs_attr_t* attributes)
{
    const int access = flags & O_ACCMODE;
    Table& open_ones = *table();
    const std::lock_guard lock(open_ones.mutex);
    return shared(open_ones.containers, key(pool, container, access), [&] {
        auto made = std::make_shared<Connection>();
        made->pool = pool_of(open_ones, pool, system, access);
        made->pool_name = pool;
        made->container_name = container;
        const auto open = [&] {
            return daos_cont_open(made->pool->handle, container, access == O_RDWR ? DAOS_COO_RW : DAOS_COO_RO,
                                  &made->container, nullptr, nullptr);
        };
        int code = open();
        if (code == -DER_NONEXIST && (flags & O_CREAT) != 0) {
            try {
                made->container = make(made->pool->handle, container, attributes).container;
                return made;
            } catch (const Failure& failure) {
                if (failure.number != EEXIST) throw;
            }
            code = open(); // another process has made it meanwhile
        }
        require_done(code, "opening the container " + quoted(container));
        return made;
    });
}

} // namespace stepstore::dfs
