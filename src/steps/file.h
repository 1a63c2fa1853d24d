// A file of the posix layout. Every errno becomes an Error in one place.
#pragma once

#include "base/bytes.h"

#include <cstdint>
#include <optional>
#include <string>

namespace stepstore::steps {

class File {
public:
    static File create(const std::string& path);                       // for writing; empties it
    static std::optional<File> open(const std::string& path);          // for reading; nullopt: not there
    static std::optional<File> open_to_write(const std::string& path); // as it is; nullopt: not there
    ~File();
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;

    void write(std::uint64_t at, Bytes bytes);
    std::size_t read(std::uint64_t at, MutableBytes into) const; // bytes read; fewer at the end of the file
    std::uint64_t size() const;
    void shorten(std::uint64_t size); // never makes it longer
    void sync();                      // its bytes survive a power failure; its name after sync_directory
    const std::string& path() const { return path_; }

private:
    static std::optional<File> open_existing(const std::string& path, int flags);
    File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
    int descriptor_ = -1;
    std::string path_;
};

// The names in a directory survive a power failure.
void sync_directory(const std::string& path);

} // namespace stepstore::steps
