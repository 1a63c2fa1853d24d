// A file of a pool that this library keeps beside its objects. It throws where base/files.h gives an errno.
// Threads: several may read and write, since each call says where.
#pragma once

#include "base/files.h"

#include <optional>

namespace stepstore::steps {

class File {
public:
    static File create(const RootedPath& place);              // a new one, for writing; one of that name goes
    static std::optional<File> open(const RootedPath& place); // for reading; nullopt: not there
    static std::optional<File> open_to_write(const RootedPath& place); // as it is; nullopt: not there

    void write(std::uint64_t at, Bytes bytes);
    std::size_t read(std::uint64_t at, MutableBytes into) const; // bytes read; fewer at the end of the file
    std::size_t read_again(std::uint64_t at, MutableBytes into) const; // not from this machine's cache
    std::uint64_t size() const;
    std::uint64_t names() const;      // how many lead to it: hard links
    void shorten(std::uint64_t size); // never makes it longer
    void sync();                      // its bytes survive a power failure; its name after sync_directory
    const std::string& path() const { return place_; }

private:
    static std::optional<File> open_existing(const RootedPath& place, int flags);
    File(Descriptor descriptor, const RootedPath& place) : descriptor_(std::move(descriptor)), place_(place)
    {
    }
    Descriptor descriptor_;
    RootedPath place_;
};

} // namespace stepstore::steps
