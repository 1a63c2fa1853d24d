// Names: directories, links, removing, renaming, listing.
#include "mount/mounted.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace stepstore::mounting {
namespace {

int do_mkdir(const char* path, mode_t mode)
{
    Object made;
    return answer(make(path, (mode & ~static_cast<mode_t>(S_IFMT)) | S_IFDIR, O_EXCL, nullptr, made));
}

int do_symlink(const char* target, const char* path)
{
    Object made;
    return answer(make(path, S_IFLNK | 0777, O_EXCL, target, made));
}

int do_mknod(const char* path, mode_t mode, dev_t)
{
    if (!S_ISREG(mode)) return -EPERM;
    Object made;
    return answer(make(path, mode, O_EXCL, nullptr, made));
}

int do_link(const char*, const char*)
{
    return -EPERM; // what POSIX says of a file system without hard links
}

int do_readlink(const char* path, char* target, size_t room)
{
    Object link;
    daos_size_t size = room;
    if (const int error = look_up(path, link)) return answer(error);
    return answer(dfs_get_symlink_value(link.get(), target, &size));
}

int do_remove(const char* path)
{
    Place place;
    if (const int error = find_place(path, place)) return answer(error);
    return answer(dfs_remove(mounted().fs, place.directory.get(), place.name, false, nullptr));
}

int do_rename(const char* from, const char* to, unsigned flags)
{
    Place source, target;
    if (const int error = find_place(from, source)) return answer(error);
    if (const int error = find_place(to, target)) return answer(error);
    // libfuse hides a file that is removed while it is open under such a name. It has looked that there is
    // none; another mount may take the same one meanwhile.
    if (flags == 0 && strncmp(target.name, ".fuse_hidden", 12) == 0) flags = RENAME_NOREPLACE;
    return answer(dfs_rename(mounted().fs, source.directory.get(), source.name, target.directory.get(),
                             target.name, flags));
}

// All names at once: libfuse keeps them until the directory is closed or rewound, so what is made or removed
// meanwhile moves none. Their kinds are not told: each would be a request.
int do_readdir(const char* path, void* list, fuse_fill_dir_t add, off_t, fuse_file_info*,
               fuse_readdir_flags)
{
    Object directory;
    if (const int error = look_up(path, directory)) return answer(error);
    constexpr auto plain = static_cast<fuse_fill_dir_flags>(0);
    if (add(list, ".", nullptr, 0, plain) != 0 || add(list, "..", nullptr, 0, plain) != 0) return -ENOMEM;
    std::array<dirent, 64> entries;
    daos_anchor_t anchor{};
    while (!daos_anchor_is_eof(&anchor)) {
        auto count = static_cast<uint32_t>(entries.size());
        const int error = dfs_readdir(mounted().fs, directory.get(), &anchor, &count, entries.data());
        if (error != 0) return answer(error);
        for (uint32_t i = 0; i < count; ++i)
            if (add(list, entries[i].d_name, nullptr, 0, plain) != 0) return -ENOMEM;
    }
    return 0;
}

} // namespace

void add_names(fuse_operations& table)
{
    table.mkdir = do_mkdir;
    table.symlink = do_symlink;
    table.mknod = do_mknod;
    table.link = do_link;
    table.readlink = do_readlink;
    table.unlink = do_remove;
    table.rmdir = do_remove;
    table.rename = do_rename;
    table.readdir = do_readdir;
}

} // namespace stepstore::mounting
