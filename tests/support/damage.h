// Damage to a pool's files.
#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stepstore::testing {

// Those under `directory` with this extension that are not empty.
inline std::vector<std::filesystem::path> files_with(const std::filesystem::path& directory,
                                                     const std::string& extension)
{
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
        if (entry.is_regular_file() && entry.path().extension() == extension && entry.file_size() > 0)
            found.push_back(entry.path());
    return found;
}

// Flips one bit `offset` bytes behind each place in these files where `bytes` are. How many there were.
inline int flip_in_files(const std::filesystem::path& directory, const std::string& extension, Bytes bytes,
                         std::size_t offset)
{
    int flipped = 0;
    for (const auto& file : files_with(directory, extension)) {
        std::string content(std::filesystem::file_size(file), '\0');
        std::ifstream(file, std::ios::binary).read(content.data(), static_cast<long>(content.size()));
        std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
        for (std::size_t at = content.find(as_text(bytes)); at != std::string::npos;
             at = content.find(as_text(bytes), at + 1)) {
            out.seekp(static_cast<long>(at + offset));
            out.put(static_cast<char>(content[at + offset] ^ 0x10));
            ++flipped;
        }
    }
    return flipped;
}

} // namespace stepstore::testing
