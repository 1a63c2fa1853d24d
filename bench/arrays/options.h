// Which array objects are compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepstore::bench {

// One way to keep the blocks of a step.
struct Variant {
    std::string object_class;
    std::uint64_t chunk = 0; // bytes
    bool shared = false;     // one object for all processes; else each has its own
};

struct ArrayOptions {
    std::vector<std::uint64_t> processes = {1, 4};
    std::vector<std::uint64_t> blocks = {4 << 10, 16 << 10, 64 << 10, 256 << 10,
                                         1 << 20, 4 << 20,  16 << 20, 64 << 20};
    std::vector<std::uint64_t> chunks = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
    std::vector<std::string> classes = {"S1", "S2", "S4", "SX"};
    std::uint64_t bytes = 64 << 20; // that a process writes in one measurement, at most
    unsigned rounds = 3;
    std::string directory;
    bool json = false;
};

// Ends the program for wrong usage (status 2) and for --help.
ArrayOptions parse_array_options(int argc, char** argv);

} // namespace stepstore::bench
