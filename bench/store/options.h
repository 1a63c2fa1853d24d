#pragma once

#include "workers.h"

namespace stepstore::bench {

struct Options {
    unsigned rounds = 5;
    RoundLength length;
    std::string directory; // empty: a temporary one
    std::string only;      // part of the names of the cases to run
    unsigned skew = 0;     // Case::skew
    bool verify = true;    // Case::verify
    bool json = false;
};

// Prints what is wrong and ends the process with 2 on options it does not know, with 0 after --help.
Options parse_options(int argc, char** argv);

} // namespace stepstore::bench
