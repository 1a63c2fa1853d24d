// Keys and bytes of a file system in a container, as DAOS's libdfs writes them: superblock of version 2,
// layout of version 3 (docs/design/dfs.md).
//
// The superblock object has the keys of the file system under one dkey, and the entry of the root under "/".
// Each directory is an object with a dkey for each name. Under it are: the inode, an array of records of one
// byte; the target of a symbolic link; extended attributes.
//
// Threads: any. Errors: decode() fails with EIO and the reason on bytes that are no inode.
#pragma once

#include "dfs/api.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepstore::dfs {

// ---- the superblock
constexpr std::string_view superblock_dkey = "DFS_SB_METADATA";
constexpr std::string_view magic_akey = "DFS_MAGIC";                   // 8 bytes
constexpr std::string_view superblock_version_akey = "DFS_SB_VERSION"; // 2
constexpr std::string_view layout_version_akey = "DFS_LAYOUT_VERSION"; // 2
constexpr std::string_view chunk_size_akey = "DFS_CHUNK_SIZE";         // 8
constexpr std::string_view class_akey = "DFS_OBJ_CLASS";               // 4
constexpr std::string_view directory_class_akey = "DFS_DIR_OBJ_CLASS"; // 4
constexpr std::string_view file_class_akey = "DFS_FILE_OBJ_CLASS";     // 4
constexpr std::string_view mode_akey = "DFS_MODE";                     // 4
constexpr std::string_view hints_akey = "DFS_HINTS";                   // text, left out if it is empty

constexpr std::uint64_t magic_value = 0xda05df50da05df50;
constexpr std::uint16_t superblock_version = 2;
constexpr std::uint16_t layout_version = 3;

// The user's part of the ids of the superblock and of the root; lo is 0.
constexpr std::uint64_t superblock_hi = 0;
constexpr std::uint64_t root_hi = 1;
constexpr std::string_view root_name = "/";

// ---- entries
constexpr std::string_view inode_akey = "DFS_INODE";
constexpr std::string_view link_akey = "DFS_SLINK";
constexpr std::string_view attribute_prefix = "x:";
// Stepstore's own: of a name that is in a rename (rename.h). libdfs does not look at it.
constexpr std::string_view mark_akey = "STEPSTORE_MOVE";

// Where the fields of an inode are. Numbers are in the machine's order; DAOS runs on little-endian ones.
namespace at {
constexpr std::size_t mode = 0;                  // 4
constexpr std::size_t oid = 4;                   // lo, hi: 8 each
constexpr std::size_t modified = 20;             // 8: seconds
constexpr std::size_t changed = 28;              // 8
constexpr std::size_t chunk_size = 36;           // 8
constexpr std::size_t object_class = 44;         // 4
constexpr std::size_t modified_nanoseconds = 48; // 8
constexpr std::size_t changed_nanoseconds = 56;  // 8
constexpr std::size_t user = 64;                 // 4
constexpr std::size_t group = 68;                // 4
constexpr std::size_t size = 72;                 // 8: of a symbolic link's target
constexpr std::size_t epoch = 80;                // 8: of the object, when `modified` was set by hand
constexpr std::size_t end = 88;
} // namespace at

using InodeBytes = std::array<std::byte, at::end>;

struct Inode {
    mode_t mode = 0;
    daos_obj_id_t oid{};
    timespec modified{};
    timespec changed{};
    std::uint64_t chunk_size = 0;
    daos_oclass_id_t object_class = 0;
    uid_t user = 0;
    gid_t group = 0;
    std::uint64_t size = 0;
    std::uint64_t epoch = 0;

    bool is_directory() const { return S_ISDIR(mode); }
    bool is_file() const { return S_ISREG(mode); }
    bool is_link() const { return S_ISLNK(mode); }
};

InodeBytes encode(const Inode& inode);
// present: how many of the bytes are stored. name: of the entry, for the message.
Inode decode(const InodeBytes& bytes, std::size_t present, const std::string& name);

inline bool same(const daos_obj_id_t& a, const daos_obj_id_t& b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

// A name of an entry, given by the caller. EINVAL.
std::string name_of(const char* name);
// The same for one that is stored: false if no caller could have made it.
bool is_name(std::string_view name);

timespec now();

} // namespace stepstore::dfs
