// Modules of this project: libraries with what a program may do without, loaded when it is first needed.
#pragma once

#include <string>

namespace stepstore {

// The symbol of a module that lies beside the library or program with the code `here`, or in the folders
// stepstore, ../lib and ../lib64 seen from there. nullptr: `tried` tells where it was looked for, and why it
// could not be loaded. A module stays loaded for the life of the process.
void* find_in_module(const void* here, const char* file, const char* symbol, std::string& tried);

} // namespace stepstore
