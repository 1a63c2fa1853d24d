// File systems used by absolute paths: what dfs_sys_t is, and how a path becomes a directory and a name.
// Threads: any. Errors: calls fail with an errno (failure.h).
#pragma once

#include "dfs/walk.h"

struct dfs_sys {
    dfs_t* fs = nullptr;
    stepstore::dfs::Live live{stepstore::dfs::Kind::file_system_by_paths, this};
};

namespace stepstore::dfs {

// Fails with what a call of the API gave; that has kept the message.
inline void pass_on(int number)
{
    if (number != 0) throw Failure{number};
}

::dfs& file_system(::dfs_sys* given); // EINVAL: NULL, or none that is mounted

// A path below the prefix of the file system. EINVAL: it does not begin with it.
std::string_view below_prefix(const ::dfs& fs, std::string_view path);

// The directory of a path, opened, and the last name. Without a name the path is of the root.
class SysPath {
public:
    SysPath(::dfs_sys* given, const char* path);

    ::dfs& fs() { return *fs_; }
    dfs_obj_t* parent() { return parent_.get(); }
    bool is_root() const { return name_.empty(); }
    const char* name() const { return name_.c_str(); } // of an entry; EEXIST or EBUSY are the caller's
    const char* name_or_null() const { return is_root() ? nullptr : name(); }

private:
    ::dfs* fs_;
    std::unique_ptr<dfs_obj> parent_;
    std::string name_;
};

// The object of a path, opened.
std::unique_ptr<dfs_obj> open_path(::dfs_sys* given, const char* path, int flags);

} // namespace stepstore::dfs
