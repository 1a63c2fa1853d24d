// The superblock of a file system: made once with its container, and read by each mount.
// Threads: any. Errors: calls fail with an errno (failure.h).
#pragma once

#include "dfs/file_system.h"

namespace stepstore::dfs {

// What of the attributes is stored, completed and checked. EINVAL; ENOTSUP: DFS_BALANCED.
dfs_attr_t stored_attributes(const dfs_attr_t* given);

// Classes of new directories and files by text such as "dir:single,file:max". EINVAL.
void parse_hints(const char* text, bool has_copies, daos_oclass_hints_t& directories,
                 daos_oclass_hints_t& files);

// The id of the superblock or of the root, for a container that is still to be made.
daos_obj_id_t reserved_oid(daos_handle_t pool, std::uint64_t hi, const dfs_attr_t& attributes,
                           bool has_copies);

// Makes the superblock, and the entry of the root in it.
void make_superblock(daos_handle_t container, daos_obj_id_t superblock, daos_obj_id_t root,
                     const dfs_attr_t& attributes);

// ENOENT: there is none. EINVAL: of another version. EIO: damaged.
dfs_attr_t read_superblock(daos_handle_t superblock);

} // namespace stepstore::dfs
