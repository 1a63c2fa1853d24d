// The pool's file `stepstore.pool` and the names in its directory.
//
//   stepstore.pool      this format file; there is a pool where there is this
//   file. Text, one word and value a line:
//                           stepstore pool
//                           version 2
//                           targets 8
//                           durability process
//                           checksum 0123456789abcdef        (XXH3-64 of all
//                           lines before, hexadecimal)
//                       The first line and the checksum line are the same in
//                       every version to come.
//   lock                held shared by every process that has the pool open,
//   exclusive while it is made or destroyed shared              the epoch clock
//   and the counters (shared_state.h) meta/, target-000/  a target each:
//   data.mdb and lock.mdb (LMDB), extents/ (extents.h)
#pragma once

#include "store/backend.h"

#include <optional>
#include <string>

namespace stepstore::store::lmdb {

inline constexpr unsigned format_version = 2; // 2: the counters of a target are several
inline constexpr unsigned max_targets = 1000;
inline constexpr const char* format_name = "stepstore.pool";
inline constexpr const char* lock_name = "lock";
inline constexpr const char* shared_name = "shared";
inline constexpr const char* meta_name = "meta";
inline constexpr const char* extents_name = "extents";
inline constexpr const char* files_name = "files"; // what the pool's users keep beside its objects; goes with the pool

std::string target_name(unsigned index); // "target-007"
bool is_target_name(const std::string& name);

struct Format {
    unsigned targets = 0;
    Durability durability = Durability::process;
};

// Puts the file in place in one step: it is there whole or not at all.
void write_format(const std::string& pool, const Format& format);
// DER_NONEXIST: no pool there. DER_DF_INCOMPT: made by another version.
// DER_DF_INVAL: damaged.
Format read_format(const std::string& pool);

} // namespace stepstore::store::lmdb
