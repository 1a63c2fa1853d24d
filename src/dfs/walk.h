// From a path to an entry, through directories and symbolic links.
// Threads: any. Errors: calls fail with an errno (failure.h): ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG.
#pragma once

#include "dfs/file_system.h"

namespace stepstore::dfs {

struct Found {
    std::shared_ptr<const Level> at;
    Entry entry; // with the target of a link
};

// from: where a relative path begins. follow: also a link at the end.
Found walk(::dfs& fs, const std::shared_ptr<const Level>& from, std::string_view path, bool follow);

// The entry of a name in a directory, or with NULL of the root; a link is followed if so said.
Found find(::dfs& fs, dfs_obj& parent, const char* name, bool follow);

} // namespace stepstore::dfs
