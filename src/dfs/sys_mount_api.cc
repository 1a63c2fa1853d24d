// dfs_sys_: file systems, and listing directories.
#include "dfs/sys_path.h"

using namespace stepstore::dfs;

namespace {

// mount: makes the file system; gives what its call gives.
template <class Mount>
int mount_sys(const char* call, int sflags, dfs_sys_t** given, Mount mount)
{
    return run(call, [&] {
        require(given, "dfs_sys");
        if ((sflags & ~(DFS_SYS_NO_CACHE | DFS_SYS_NO_LOCK)) != 0)
            fail(EINVAL, "sflags has one that is not DFS_SYS_NO_CACHE or DFS_SYS_NO_LOCK");
        auto made = std::make_unique<dfs_sys>();
        pass_on(mount(&made->fs));
        *given = made.release();
    });
}

// A directory that is listed: what DIR is here.
struct Listing {
    dfs_obj_t* directory = nullptr;
    daos_anchor_t anchor{};
    std::array<dirent, 64> entries{};
    std::uint32_t count = 0;
    std::uint32_t next = 0;
    Live live{Kind::listing, this};
};

Listing& listing(DIR* given)
{
    require(given, "dirp");
    if (!is_live(Kind::listing, given))
        fail(EINVAL, "dirp is no open directory: it was closed, or is something else");
    return *reinterpret_cast<Listing*>(given);
}

} // namespace

extern "C" {

int dfs_sys_connect(const char* pool, const char* sys, const char* cont, int mflags, int sflags,
                    dfs_attr_t* attr, dfs_sys_t** dfs_sys)
{
    return mount_sys("dfs_sys_connect", sflags, dfs_sys,
                     [&](dfs_t** fs) { return dfs_connect(pool, sys, cont, mflags, attr, fs); });
}

int dfs_sys_disconnect(dfs_sys_t* dfs_sys)
{
    return run("dfs_sys_disconnect", [&] {
        file_system(dfs_sys);
        pass_on(dfs_disconnect(dfs_sys->fs));
        if (end_life(Kind::file_system_by_paths, dfs_sys)) delete dfs_sys;
    });
}

int dfs_sys_mount(daos_handle_t poh, daos_handle_t coh, int mflags, int sflags, dfs_sys_t** dfs_sys)
{
    return mount_sys("dfs_sys_mount", sflags, dfs_sys,
                     [&](dfs_t** fs) { return dfs_mount(poh, coh, mflags, fs); });
}

int dfs_sys_umount(dfs_sys_t* dfs_sys)
{
    return run("dfs_sys_umount", [&] {
        file_system(dfs_sys);
        pass_on(dfs_umount(dfs_sys->fs));
        if (end_life(Kind::file_system_by_paths, dfs_sys)) delete dfs_sys;
    });
}

int dfs_sys_local2global(dfs_sys_t* dfs_sys, d_iov_t* glob)
{
    return run("dfs_sys_local2global", [&] { pass_on(dfs_local2global(&file_system(dfs_sys), glob)); });
}

int dfs_sys_global2local(daos_handle_t poh, daos_handle_t coh, int mflags, int sflags, d_iov_t glob,
                         dfs_sys_t** dfs_sys)
{
    return mount_sys("dfs_sys_global2local", sflags, dfs_sys,
                     [&](dfs_t** fs) { return dfs_global2local(poh, coh, mflags, glob, fs); });
}

int dfs_sys_local2global_all(dfs_sys_t* dfs_sys, d_iov_t* glob)
{
    return run("dfs_sys_local2global_all",
               [&] { pass_on(dfs_local2global_all(&file_system(dfs_sys), glob)); });
}

int dfs_sys_global2local_all(int mflags, int sflags, d_iov_t glob, dfs_sys_t** dfs_sys)
{
    return mount_sys("dfs_sys_global2local_all", sflags, dfs_sys,
                     [&](dfs_t** fs) { return dfs_global2local_all(mflags, glob, fs); });
}

int dfs_sys_set_prefix(dfs_sys_t* dfs_sys, const char* prefix)
{
    return run("dfs_sys_set_prefix", [&] { pass_on(dfs_set_prefix(&file_system(dfs_sys), prefix)); });
}

int dfs_sys2base(dfs_sys_t* dfs_sys, dfs_t** dfs)
{
    return run("dfs_sys2base", [&] {
        require(dfs, "dfs");
        *dfs = &file_system(dfs_sys);
    });
}

int dfs_sys_opendir(dfs_sys_t* dfs_sys, const char* dir, int flags, DIR** dirp)
{
    return run("dfs_sys_opendir", [&] {
        require(dirp, "dirp");
        auto opened = open_path(dfs_sys, dir, O_RDONLY | (flags & O_NOFOLLOW));
        if (!S_ISDIR(opened->mode)) fail(ENOTDIR, quoted(dir) + " is no directory");
        auto made = std::make_unique<Listing>();
        made->directory = opened.release();
        *dirp = reinterpret_cast<DIR*>(made.release());
    });
}

int dfs_sys_readdir(dfs_sys_t* dfs_sys, DIR* dirp, struct dirent** dirent)
{
    return run("dfs_sys_readdir", [&] {
        ::dfs& fs = file_system(dfs_sys);
        Listing& of = listing(dirp);
        require(dirent, "dirent");
        *dirent = nullptr;
        while (of.next == of.count && !daos_anchor_is_eof(&of.anchor)) {
            of.next = 0;
            of.count = static_cast<std::uint32_t>(of.entries.size());
            const int rc = dfs_readdir(&fs, of.directory, &of.anchor, &of.count, of.entries.data());
            if (rc != 0) of.count = 0;
            pass_on(rc);
        }
        if (of.next < of.count) *dirent = &of.entries[of.next++];
    });
}

int dfs_sys_closedir(DIR* dirp)
{
    return run("dfs_sys_closedir", [&] {
        Listing& of = listing(dirp);
        if (!end_life(Kind::listing, dirp)) fail(EINVAL, "dirp was closed by another thread");
        const int released = dfs_release(of.directory);
        delete &of;
        pass_on(released);
    });
}

} // extern "C"
