// The note in an entry that is in a rename or an exchange (rename.h), and its bytes: the role, the
// directory's id and the name.
// Threads: any. Errors: decode_mark() fails with EIO on bytes that are none.
#pragma once

#include "dfs/layout.h"

namespace stepstore::dfs {

// The other name of a rename (rename.h).
struct Mark {
    enum class Role : char {
        source = 'S',   // `name` in `directory` is to show this object
        target = 'T',   // `name` in `directory` has shown it
        helped = 'H',   // as target: another process finishes the rename
        exchange = 'X', // it changes places with another one, and `name` is the spare entry
        partner = 'P',  // it is that other one, and `name` the first one
        spare = 'Y'     // it keeps what is to go to `name`
    };
    Role role = Role::source;
    daos_obj_id_t directory{};
    std::string name;

    bool operator==(const Mark& other) const
    {
        return role == other.role && same(directory, other.directory) && name == other.name;
    }
};

using MarkBytes = std::array<char, 1 + sizeof(daos_obj_id_t) + DFS_MAX_NAME>;

// How many of the bytes are used.
std::size_t encode_mark(const Mark& mark, MarkBytes& bytes);
// size: how many are stored, perhaps more than there are here. entry: its name, for the message.
Mark decode_mark(const MarkBytes& bytes, std::size_t size, std::string_view entry);

} // namespace stepstore::dfs
