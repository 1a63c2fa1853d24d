// Mounting the file system of a container, and making one.
// Threads: any. Errors: calls fail with an errno (failure.h).
#pragma once

#include "dfs/file_system.h"

#include <array>

namespace stepstore::dfs {

// epoch: DAOS_EPOCH_MAX, or of a snapshot; then it is mounted for reading.
std::unique_ptr<::dfs> mount(daos_handle_t pool, daos_handle_t container, int flags, daos_epoch_t epoch);

// EINVAL: neither an epoch nor a name. ENOENT: there is no such snapshot.
daos_epoch_t snapshot_epoch(daos_handle_t container, daos_epoch_t epoch, const char* name);

using Uuid = std::array<unsigned char, sizeof(uuid_t)>;
std::string text_of(const Uuid& uuid);

// A container with a file system; open. label: optional. EEXIST: the label is taken.
struct Made {
    Uuid uuid;
    daos_handle_t container;
};
Made make(daos_handle_t pool, const char* label, const dfs_attr_t* attributes);

} // namespace stepstore::dfs
