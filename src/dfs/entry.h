// Entries of a directory: what is stored under one name. Each call is one request, and atomic.
// Threads: any. Errors: they fail with an errno (failure.h): EIO for an entry that is damaged.
#pragma once

#include "dfs/layout.h"
#include "dfs/mark.h"

#include <optional>
#include <span>
#include <vector>

namespace stepstore::dfs {

// Where an entry is. The handle is the directory's; the text lives as long as the caller says.
struct Place {
    daos_handle_t directory;
    std::string_view name;
};

struct Attribute {
    std::string name; // with its prefix
    std::vector<std::byte> value;
};

struct Entry {
    Inode inode;
    std::string link;         // its target, if it was asked for
    std::optional<Mark> mark; // if it was asked for
};

enum class With { inode, link, mark, all };

// Nothing: there is no such entry.
std::optional<Entry> fetch(daos_handle_t th, const Place& place, With with = With::inode);

// A new entry. False: the name is taken.
bool insert(const Place& place, const Entry& entry);

// Attributes of an entry, with their values.
std::vector<Attribute> attributes(daos_handle_t th, const Place& place);

// Puts a whole entry, with its mark and these attributes, in the place of `replaced` at once. old: the
// attributes of that. False: nothing is there any more. Without `replaced` false means that something is
// there.
bool put(const Place& place, const Entry& entry, std::span<const Attribute> attributes, const Entry* replaced,
         std::span<const Attribute> old);

// Some fields of an inode. ENOENT: there is no such entry.
struct Field {
    std::size_t offset;
    const void* bytes;
    std::size_t size;
};
void update(const Place& place, std::span<const Field> fields);

// False: it is not there.
bool remove(const Place& place);

// Sets a mark. False: there is one already. ENOENT: there is no such entry.
bool set_mark(const Place& place, const Mark& mark);
// Replaces one. False: there is none.
bool change_mark(const Place& place, const Mark& mark);
void clear_mark(const Place& place);

// Whether a directory has an entry.
bool has_entries(daos_handle_t th, daos_handle_t directory);

// The next keys after an anchor, up to `most`: dkeys, or the akeys of a dkey. None, and the anchor is at
// its end: there are no more. EIO: a key that is longer than those of a file system.
std::vector<std::string> next_keys(daos_handle_t th, daos_handle_t object, const std::string_view* dkey,
                                   std::uint32_t most, daos_anchor_t& anchor);

} // namespace stepstore::dfs
