// The pool's file `stepstore.pool` and the names in its directory.
//
//   stepstore.pool      this format file; there is a pool where there is this file. Text, one word and value
//                       a line:
//                           stepstore pool
//                           version 4
//                           targets 8
//                           durability process
//                           targets-in /disk2/pool-0123456789abcdef
//                           checksum 0123456789abcdef
//                       targets-in: any number of lines, the directories in which the targets lie in turn;
//                       without one they lie in the pool's. checksum: XXH3-64 of all lines before,
//                       hexadecimal. The first line and the checksum line stay the same in every version.
//   stepstore.pool.unfinished
//                       its name while the pool is made or destroyed. There is no pool. The next maker or
//                       destroyer removes what is there.
//   lock                held shared by every process that has the pool open, exclusive while it is made or
//                       destroyed
//   machine             on file systems that several machines share: which one writes (machine.h)
//   shared              the epoch clock and the counters (shared_state.h)
//   writers             which process writes (writers_file.h)
//   meta/, target-000/  a target each: data.mdb and lock.mdb (LMDB), *.ext (extents.h)
//
// In a directory of targets-in: target-000/ ..., and the file stepstore.targets, which names their pool.
//
// Threads: any; creation.h decides which one writes. Errors: DER_NONEXIST, DER_DF_INCOMPT, DER_DF_INVAL, and
// the system's.
#pragma once

#include "base/files.h"
#include "store/backend.h"

#include <optional>
#include <string>

namespace stepstore::store::lmdb {

inline constexpr unsigned format_version = 4; // 4: extents lie beside the index
inline constexpr unsigned max_targets = 1000;
inline constexpr const char* format_name = "stepstore.pool";
inline constexpr const char* unfinished_name = "stepstore.pool.unfinished";
inline constexpr const char* owner_name = "stepstore.targets";
inline constexpr const char* lock_name = "lock";
inline constexpr const char* shared_name = "shared";
inline constexpr const char* meta_name = "meta";
// What the pool's users keep beside its objects; goes with the pool.
inline constexpr const char* files_name = "files";

// Texts with a word and its value on each line.
std::string with_checksum(const std::string& text); // with the line "checksum <16 hexadecimal digits>" after
// The value after "word " on the first line that begins so.
std::optional<std::string_view> value_of(std::string_view text, std::string_view word);
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view word);

std::string target_name(unsigned index); // "target-007"
bool is_target_name(const std::string& name);

struct Format {
    unsigned targets = 0;
    Durability durability = Durability::process;
    std::vector<std::string> directories; // of the targets, in turn; none: the pool's
};

// Puts it under the name of a pool that is not there yet, and syncs it.
void write_unfinished(const RootedPath& pool, const Format& format);
// Renames it: now there is a pool, or (the other way) none any more.
void publish(const RootedPath& pool);
void unpublish(const RootedPath& pool);
// DER_NONEXIST: no pool there. DER_DF_INCOMPT: made by another version.
// DER_DF_INVAL: damaged.
Format read_format(const RootedPath& pool);
// Of a pool that is made or destroyed, or is there; nothing when it cannot be read.
std::optional<Format> read_any_format(const RootedPath& pool);

} // namespace stepstore::store::lmdb
