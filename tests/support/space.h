// What a pool takes on its medium.
#pragma once

#include "stepstore/administration.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace stepstore::testing {

// Bytes; of a directory by its files, of a cluster by what the pool says of its targets.
inline std::uint64_t space_taken(const std::string& pool)
{
    std::uint64_t bytes = 0;
    if (pool.find("://") != std::string::npos) {
        for (const TargetInfo& target : describe_pool(pool).targets)
            bytes += target.index_bytes + target.bulk_bytes;
        return bytes;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(pool_path(pool))) {
        struct stat status {};
        if (::stat(entry.path().c_str(), &status) == 0)
            bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return bytes;
}

} // namespace stepstore::testing
