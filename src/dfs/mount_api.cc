// dfs_: the library, containers, and mounted file systems.
#include "dfs/connect.h"
#include "dfs/mount.h"

#include "base/errno_of.h"

#include <cstring>
#include <thread>

using namespace stepstore::dfs;

namespace {

std::atomic<unsigned> begun{0}; // dfs_init() without its dfs_fini()

void require_begun()
{
    if (begun == 0) fail(EACCES, "call dfs_init() first");
}

void give(std::unique_ptr<::dfs>&& fs, ::dfs_t** where)
{
    *where = fs.release();
}

void make_and_mount(daos_handle_t pool, const char* label, const dfs_attr_t* attributes, uuid_t* uuid,
                    daos_handle_t* container, ::dfs_t** fs)
{
    if (fs) require(container, "coh");
    const Made made = make(pool, label, attributes);
    if (uuid) std::memcpy(*uuid, made.uuid.data(), made.uuid.size());
    try {
        if (fs) give(mount(pool, made.container, O_RDWR, DAOS_EPOCH_MAX), fs);
    } catch (...) {
        daos_cont_close(made.container, nullptr);
        throw;
    }
    if (container)
        *container = made.container;
    else
        require_done(daos_cont_close(made.container, nullptr), "closing the new container");
}

// Another process may have made the container, and not yet its superblock.
std::unique_ptr<::dfs> mount_soon(const Connection& connection, int flags)
{
    using namespace std::chrono_literals;
    for (auto wait = 1ms;; wait *= 2) {
        try {
            return mount(connection.pool->handle, connection.container, flags & ~O_CREAT, DAOS_EPOCH_MAX);
        } catch (const Failure& failure) {
            if (failure.number != ENOENT || wait > 500ms) throw;
        }
        std::this_thread::sleep_for(wait);
    }
}

void end(::dfs* fs)
{
    if (fs->pool_uses != 0 || fs->container_uses != 0)
        fail(EBUSY, "handles of dfs_pool_get() or dfs_cont_get() were not given back");
    if (!end_life(Kind::file_system, fs)) fail(EINVAL, "dfs was unmounted by another thread");
    delete fs;
}

} // namespace

bool stepstore::dfs::is_begun() noexcept
{
    return begun != 0;
}

extern "C" {

int dfs_init(void)
{
    return run("dfs_init", [] {
        require_done(daos_init(), "starting libdaos");
        ++begun;
    });
}

int dfs_fini(void)
{
    return run("dfs_fini", [] {
        unsigned count = begun;
        do
            if (count == 0) fail(EINVAL, "there is no dfs_init() to undo");
        while (!begun.compare_exchange_weak(count, count - 1));
        require_done(daos_fini(), "ending libdaos");
    });
}

int dfs_cont_create(daos_handle_t poh, uuid_t* uuid, dfs_attr_t* attr, daos_handle_t* coh, dfs_t** dfs)
{
    return run("dfs_cont_create", [&] {
        require(uuid, "uuid");
        make_and_mount(poh, nullptr, attr, uuid, coh, dfs);
    });
}

int dfs_cont_create_with_label(daos_handle_t poh, const char* label, dfs_attr_t* attr, uuid_t* uuid,
                               daos_handle_t* coh, dfs_t** dfs)
{
    return run("dfs_cont_create_with_label", [&] {
        require(label, "label");
        make_and_mount(poh, label, attr, uuid, coh, dfs);
    });
}

int dfs_mount(daos_handle_t poh, daos_handle_t coh, int flags, dfs_t** dfs)
{
    return run("dfs_mount", [&] {
        require(dfs, "dfs");
        give(mount(poh, coh, flags, DAOS_EPOCH_MAX), dfs);
    });
}

int dfs_mount_snap(daos_handle_t poh, daos_handle_t coh, int flags, daos_epoch_t epoch, const char* name,
                   dfs_t** dfs)
{
    return run("dfs_mount_snap", [&] {
        require(dfs, "dfs");
        give(mount(poh, coh, flags, snapshot_epoch(coh, epoch, name)), dfs);
    });
}

int dfs_umount(dfs_t* dfs)
{
    return run("dfs_umount", [&] {
        if (file_system(dfs).connection)
            fail(EINVAL, "the file system was mounted by dfs_connect(): end it with dfs_disconnect()");
        end(dfs);
    });
}

int dfs_connect(const char* pool, const char* sys, const char* cont, int flags, dfs_attr_t* attr, dfs_t** dfs)
{
    return run("dfs_connect", [&] {
        require(pool, "pool");
        require(cont, "cont");
        require(dfs, "dfs");
        require_begun();
        auto connection = connect(pool, sys, cont, flags, attr);
        auto fs = mount_soon(*connection, flags);
        fs->connection = std::move(connection);
        give(std::move(fs), dfs);
    });
}

int dfs_connect_snap(const char* pool, const char* sys, const char* cont, int, daos_epoch_t epoch,
                     const char* name, dfs_t** dfs)
{
    return run("dfs_connect_snap", [&] {
        require(pool, "pool");
        require(cont, "cont");
        require(dfs, "dfs");
        require_begun();
        auto connection = connect(pool, sys, cont, O_RDONLY, nullptr);
        auto fs = mount(connection->pool->handle, connection->container, O_RDONLY,
                        snapshot_epoch(connection->container, epoch, name));
        fs->connection = std::move(connection);
        give(std::move(fs), dfs);
    });
}

int dfs_disconnect(dfs_t* dfs)
{
    return run("dfs_disconnect", [&] {
        if (!file_system(dfs).connection)
            fail(EINVAL, "the file system was mounted by dfs_mount(): end it with dfs_umount()");
        end(dfs);
    });
}

int dfs_destroy(const char* pool, const char* sys, const char* cont, int force, daos_event_t* ev)
{
    return run("dfs_destroy", [&] {
        require(pool, "pool");
        require(cont, "cont");
        require_begun();
        const auto connected = connect_pool(pool, sys, O_RDWR);
        require_done(daos_cont_destroy(connected->handle, cont, force, ev), "destroying the container");
    });
}

int dfs_pool_get(dfs_t* dfs, daos_handle_t* poh)
{
    return run("dfs_pool_get", [&] {
        require(poh, "poh");
        *poh = file_system(dfs).pool;
        ++dfs->pool_uses;
    });
}

int dfs_cont_get(dfs_t* dfs, daos_handle_t* coh)
{
    return run("dfs_cont_get", [&] {
        require(coh, "coh");
        *coh = file_system(dfs).container;
        ++dfs->container_uses;
    });
}

static void give_back(std::atomic<unsigned>& uses, daos_handle_t own, daos_handle_t given)
{
    if (own.cookie != given.cookie) fail(EINVAL, "the handle is not the file system's");
    unsigned count = uses;
    do
        if (count == 0) fail(EINVAL, "the handle was given back already");
    while (!uses.compare_exchange_weak(count, count - 1));
}

int dfs_pool_put(dfs_t* dfs, daos_handle_t poh)
{
    return run("dfs_pool_put", [&] { give_back(file_system(dfs).pool_uses, dfs->pool, poh); });
}

int dfs_cont_put(dfs_t* dfs, daos_handle_t coh)
{
    return run("dfs_cont_put", [&] { give_back(file_system(dfs).container_uses, dfs->container, coh); });
}

int dfs_set_prefix(dfs_t* dfs, const char* prefix)
{
    return run("dfs_set_prefix", [&] {
        std::string& kept = file_system(dfs).prefix;
        if (!prefix) {
            kept.clear();
            return;
        }
        std::string given(prefix, strnlen(prefix, DFS_MAX_PATH));
        if (given.size() >= DFS_MAX_PATH || !given.starts_with('/'))
            fail(EINVAL, "the prefix " + quoted(given) + " is no absolute path");
        while (given.ends_with('/'))
            given.pop_back();
        kept = std::move(given);
    });
}

int dfs_sync(dfs_t* dfs)
{
    return run("dfs_sync", [&] { writable(dfs); });
}

} // extern "C"
