#include "dfs/sys_path.h"

namespace stepstore::dfs {
namespace {

// As handles of directories: what is done with them decides.
int directory_flags(const ::dfs& fs)
{
    return fs.access == O_RDWR ? O_RDWR : O_RDONLY;
}

std::string_view whole_path(const char* path)
{
    require(path, "path");
    const std::string_view given(path, strnlen(path, DFS_MAX_PATH));
    if (given.size() >= DFS_MAX_PATH) fail(ENAMETOOLONG, "the path has 4096 bytes or more");
    if (!given.starts_with('/')) fail(EINVAL, "the path " + quoted(path) + " is not absolute");
    return given;
}

} // namespace

::dfs& file_system(::dfs_sys* given)
{
    require(given, "dfs_sys");
    if (!is_live(Kind::file_system_by_paths, given))
        fail(EINVAL, "dfs_sys is no mounted file system: it was unmounted, or is something else");
    return file_system(given->fs);
}

std::string_view below_prefix(const ::dfs& fs, std::string_view path)
{
    if (fs.prefix.empty()) return path;
    const std::string_view rest = path.substr(std::min(fs.prefix.size(), path.size()));
    if (!path.starts_with(fs.prefix) || !(rest.empty() || rest.starts_with('/')))
        fail(EINVAL, "the path " + quoted(std::string(path)) + " does not begin with " + quoted(fs.prefix));
    return rest;
}

SysPath::SysPath(::dfs_sys* given, const char* path) : fs_(&file_system(given))
{
    std::string_view rest = below_prefix(*fs_, whole_path(path));
    rest = rest.substr(0, rest.find_last_not_of('/') + 1);
    const auto slash = rest.find_last_of('/');
    if (!rest.empty()) name_ = rest.substr(slash + 1);
    const std::string_view above = rest.substr(0, slash == std::string_view::npos ? 0 : slash);
    Found found = walk(*fs_, fs_->root.at, above, true);
    if (!found.entry.inode.is_directory()) fail(ENOTDIR, quoted(std::string(above)) + " is no directory");
    parent_ = open_entry(*fs_, found.entry, std::move(found.at), directory_flags(*fs_));
}

std::unique_ptr<dfs_obj> open_path(::dfs_sys* given, const char* path, int flags)
{
    ::dfs& fs = file_system(given);
    Found found = walk(fs, fs.root.at, below_prefix(fs, whole_path(path)), (flags & O_NOFOLLOW) == 0);
    return open_entry(fs, found.entry, std::move(found.at), flags);
}

} // namespace stepstore::dfs
