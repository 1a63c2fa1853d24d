// The simulated parallel file system. Only the time that an access takes: the files themselves are real ones,
// in the directory of the simulation's pool.
#pragma once

#include "machine.h"

#include <cstdint>
#include <map>
#include <string>

namespace stepstore::sim {

class FileSystem {
public:
    explicit FileSystem(const Machine& machine) : machine_(machine) {}
    // Each waits as long as the access takes.
    void write(std::size_t bytes);
    void sync();
    // What a process has read ahead of a file costs nothing. `size` is the file's.
    void read(const std::string& path, std::uint64_t at, std::size_t bytes, std::uint64_t size);

private:
    struct Window {
        std::uint64_t begin = 0, end = 0;
    };
    const Machine& machine_;
    std::map<std::string, Window> windows_;
};

} // namespace stepstore::sim
