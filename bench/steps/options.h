// What one run of the benchmark program is to do.
#pragma once

#include <cstdint>
#include <string>

namespace stepstore::bench {

enum class Task {
    write, // a stream
    read,  // step by step
    last,  // open at random, get the last step
};

struct Options {
    Task task = Task::write;
    std::string engine = "BP5";
    std::string parameters; // NAME=VALUE,... of the engine
    std::string name = "steps";
    std::uint64_t bytes = 1 << 20; // of a rank and step, in two variables
    std::uint64_t steps = 10;
};

// Ends the program for wrong usage (status 2) and for --help.
Options parse_options(int argc, char** argv);

} // namespace stepstore::bench
