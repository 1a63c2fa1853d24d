// Walking over the files of a pool, for its check and its compaction.
// Threads: any; nothing is kept. Errors: what the file system says.
#pragma once

#include "store/files/keys.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace stepstore::store::files {

struct Taken {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0; // also directories and notes
    Taken& operator+=(const Taken& other)
    {
        bytes += other.bytes;
        files += other.files;
        return *this;
    }
};
// What a tree takes. Nothing, where there is none.
Taken taken_by(const RootedPath& tree);

// The names of the keys in a directory of keys, with the numbers of their versions.
struct KeyVersions {
    std::set<std::uint64_t> numbers;
    bool removed = false; // the greatest is a note
};
using KeysOfBucket = std::map<std::string, KeyVersions>;
// strange: called with each name that is no version.
KeysOfBucket keys_of_bucket(const RootedPath& bucket, FunctionRef<void(const char*)> strange);

// The directories in a directory, in the order of their names.
void for_each_bucket(const RootedPath& keys, FunctionRef<void(const RootedPath& bucket)> each);

} // namespace stepstore::store::files
