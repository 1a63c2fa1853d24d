// dfs_: file systems and objects as bytes for other processes.
#include "dfs/connect.h"
#include "dfs/mount.h"

#include <algorithm>
#include <cstring>

using namespace stepstore::dfs;

namespace {

// All are little-endian, as the layout is (layout.cc), and of one version of this library.
constexpr std::uint32_t magic_of_mount = 0x64667301; // "dfs", version
constexpr std::uint32_t magic_of_all = 0x64667302;
constexpr std::uint32_t magic_of_object = 0x64667303;

struct GlobalMount {
    std::uint32_t magic;
    std::int32_t access;
    Uuid container;
};

struct GlobalObject {
    std::uint32_t magic;
    std::int32_t flags;
    mode_t mode;
    daos_oclass_id_t object_class;
    daos_obj_id_t oid;
    daos_obj_id_t parent;
    std::uint64_t chunk_size;
    Uuid container;
    char name[DFS_MAX_NAME + 1];
};

Uuid uuid_of(daos_handle_t container)
{
    daos_cont_info_t info{};
    require_done(daos_cont_query(container, &info, nullptr, nullptr), "asking for the container's UUID");
    Uuid uuid;
    std::memcpy(uuid.data(), info.ci_uuid, uuid.size());
    return uuid;
}

void put_global(std::string_view bytes, d_iov_t* glob)
{
    require(glob, "glob");
    if (!glob->iov_buf) {
        glob->iov_buf_len = bytes.size();
        return;
    }
    if (glob->iov_buf_len < bytes.size()) {
        const std::size_t given = std::exchange(glob->iov_buf_len, bytes.size());
        fail(ENOBUFS, "the memory has " + std::to_string(given) + " bytes, and " +
                          std::to_string(bytes.size()) + " are needed");
    }
    std::ranges::copy(bytes, static_cast<char*>(glob->iov_buf));
    glob->iov_len = bytes.size();
}

template <class T>
std::string_view bytes_of(const T& global)
{
    return {reinterpret_cast<const char*>(&global), sizeof global};
}

std::string_view given_bytes(const d_iov_t& glob, std::size_t least)
{
    require(glob.iov_buf, "glob.iov_buf");
    if (glob.iov_len > glob.iov_buf_len || glob.iov_len < least)
        fail(EINVAL, "the global handle has " + std::to_string(glob.iov_len) + " bytes, which is too few");
    return {static_cast<const char*>(glob.iov_buf), glob.iov_len};
}

template <class T>
T global_from(std::string_view bytes, std::uint32_t magic)
{
    T global{};
    std::ranges::copy(bytes.substr(0, sizeof global), reinterpret_cast<char*>(&global));
    if (global.magic != magic) fail(EINVAL, "the bytes are no global handle of this kind");
    return global;
}

void refuse_snapshot(const ::dfs& fs)
{
    if (daos_handle_is_valid(fs.th))
        fail(ENOTSUP,
             "a mounted snapshot has no global handle: mount it in each process with dfs_mount_snap()");
}

void require_container(daos_handle_t container, const Uuid& expected)
{
    if (uuid_of(container) != expected) fail(EINVAL, "the global handle is of another container");
}

// Two texts after the record: the pool and the container.
std::pair<std::string, std::string> names_after(std::string_view rest)
{
    const auto end = rest.find('\0');
    if (end == 0 || end == std::string_view::npos || !rest.ends_with('\0') || rest.size() < end + 3)
        fail(EINVAL, "the global handle does not name a pool and a container");
    return {std::string(rest.substr(0, end)), std::string(rest.substr(end + 1, rest.size() - end - 2))};
}

} // namespace

extern "C" {

int dfs_local2global(dfs_t* dfs, d_iov_t* glob)
{
    return run("dfs_local2global", [&] {
        const ::dfs& fs = file_system(dfs);
        refuse_snapshot(fs);
        put_global(bytes_of(GlobalMount{magic_of_mount, fs.access, uuid_of(fs.container)}), glob);
    });
}

int dfs_global2local(daos_handle_t poh, daos_handle_t coh, int flags, d_iov_t glob, dfs_t** dfs)
{
    return run("dfs_global2local", [&] {
        require(dfs, "dfs");
        const auto global = global_from<GlobalMount>(given_bytes(glob, sizeof(GlobalMount)), magic_of_mount);
        require_container(coh, global.container);
        *dfs = mount(poh, coh, flags != 0 ? flags : global.access, DAOS_EPOCH_MAX).release();
    });
}

int dfs_local2global_all(dfs_t* dfs, d_iov_t* glob)
{
    return run("dfs_local2global_all", [&] {
        const ::dfs& fs = file_system(dfs);
        refuse_snapshot(fs);
        if (!fs.connection)
            fail(EINVAL, "the file system was mounted by dfs_mount(): use dfs_local2global()");
        std::string bytes(bytes_of(GlobalMount{magic_of_all, fs.access, uuid_of(fs.container)}));
        bytes += fs.connection->pool_name + '\0' + fs.connection->container_name + '\0';
        put_global(bytes, glob);
    });
}

int dfs_global2local_all(int flags, d_iov_t glob, dfs_t** dfs)
{
    return run("dfs_global2local_all", [&] {
        require(dfs, "dfs");
        if (!is_begun()) fail(EACCES, "call dfs_init() first");
        const auto bytes = given_bytes(glob, sizeof(GlobalMount) + 1);
        const auto global = global_from<GlobalMount>(bytes, magic_of_all);
        const auto [pool, container] = names_after(bytes.substr(sizeof global));
        const int access = flags != 0 ? flags : global.access;
        auto connection = connect(pool.c_str(), nullptr, container.c_str(), access & O_ACCMODE, nullptr);
        require_container(connection->container, global.container);
        auto fs = mount(connection->pool->handle, connection->container, access, DAOS_EPOCH_MAX);
        fs->connection = std::move(connection);
        *dfs = fs.release();
    });
}

int dfs_obj_local2global(dfs_t* dfs, dfs_obj_t* obj, d_iov_t* glob)
{
    return run("dfs_obj_local2global", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = object(obj);
        if (S_ISLNK(of.mode)) fail(EINVAL, "a symbolic link has no global handle");
        GlobalObject global{};
        global.magic = magic_of_object;
        global.flags = of.flags;
        global.mode = of.mode;
        global.object_class = of.object_class;
        global.oid = of.oid();
        global.parent = of.at->up ? of.at->up->oid : fs.superblock_oid;
        global.chunk_size = of.chunk_size;
        daos_size_t cell = 0;
        if (S_ISREG(of.mode))
            require_done(daos_array_get_attr(of.handle.get(), &global.chunk_size, &cell),
                         "asking for a chunk");
        global.container = uuid_of(fs.container);
        std::memcpy(global.name, of.at->name.data(), of.at->name.size());
        put_global(bytes_of(global), glob);
    });
}

int dfs_obj_global2local(dfs_t* dfs, int flags, d_iov_t glob, dfs_obj_t** obj)
{
    return run("dfs_obj_global2local", [&] {
        ::dfs& fs = file_system(dfs);
        require(obj, "obj");
        const auto global =
            global_from<GlobalObject>(given_bytes(glob, sizeof(GlobalObject)), magic_of_object);
        require_container(fs.container, global.container);
        std::string name(global.name, strnlen(global.name, sizeof global.name));
        const bool is_root = same(global.oid, fs.root.oid());
        if (!is_root && !is_name(name)) fail(EINVAL, "the global handle names no entry");
        Inode inode;
        inode.mode = global.mode;
        inode.oid = global.oid;
        inode.chunk_size = global.chunk_size;
        inode.object_class = global.object_class;
        Entry entry{decode(encode(inode), at::end, name), {}, {}};
        if (entry.inode.is_link()) fail(EINVAL, "the global handle is of a symbolic link");
        auto up = same(global.parent, fs.root.oid()) ? fs.root.at : level(global.parent, "", nullptr);
        auto at = is_root ? fs.root.at : level(global.oid, std::move(name), std::move(up));
        *obj = open_entry(fs, entry, std::move(at), (flags != 0 ? flags : global.flags) & ~O_TRUNC).release();
    });
}

} // extern "C"
