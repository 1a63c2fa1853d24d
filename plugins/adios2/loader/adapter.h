// Finds the build of the engine that fits the ADIOS2 of this process. There is one for each release, and for
// each set of features that changes ADIOS2's classes; its file name says which.
// Threads: any. Errors: stepstore::Error (-DER_NOSYS).
#pragma once

#include <string>
#include <vector>

namespace stepstore {

struct Adios2 {
    std::string core;                  // path of its libadios2_core
    std::string folder;                // of that, without symbolic links
    std::string release;               // "2.12.1"; of a development version all four numbers
    std::vector<std::string> features; // those that change classes, sorted: "DERIVED_VARIABLE"
};

// core: the path of a libadios2_core that is in the process.
Adios2 adios2_at(const std::string& core);
// To messages: "ADIOS2 2.12.1 with DERIVED_VARIABLE (/opt/adios2/lib)".
std::string to_text(const Adios2& adios2);

// The path of the engine, of the first that there is: for the release with these features; for the release;
// for its series (2.12), which can serve as a plugin. The folders are $STEPSTORE_ADIOS2_ADAPTERS, `beside`,
// and the one where `stepstore adios2-build` puts them for a user.
std::string adapter_for(const Adios2& adios2, const std::string& beside);

} // namespace stepstore
