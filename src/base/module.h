// Modules of this project: libraries with what a program may do without, loaded when it is first needed.
// Threads: any. Errors: nullptr, with the reasons in `tried`.
#pragma once

#include <string>
#include <sys/types.h>

namespace stepstore {

// The symbol of a module that lies beside the library with the code `here`, or in its folder `lib`. A program
// that has the code in itself looks beside itself, and in ../lib and ../lib64. Where that is the system says,
// and neither the name that the program was called by nor its working directory. A folder or module that
// somebody else owns (not root, and not the owner of that library or program), or that everybody may write,
// is left out.
// nullptr: `tried` tells where it was looked for, and why it could not be loaded. A module stays loaded for
// the life of the process.
void* find_in_module(const void* here, const char* file, const char* symbol, std::string& tried);

// From now on modules are also looked for in this way for the library with the code `there`. For a library
// that may lie in another folder than the one that loads it.
void find_modules_also_beside(const void* there);

// Why code is not to be loaded from this file or folder: somebody else than root and `owner` may change it.
// nullptr: it may be.
const char* distrust(const std::string& path, uid_t owner);

} // namespace stepstore
