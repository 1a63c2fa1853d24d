#include "base/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace stepstore {

void* find_in_module(const void* here, const char* file, const char* symbol, std::string& tried)
{
    Dl_info info{};
    if (dladdr(here, &info) == 0 || info.dli_fname == nullptr) return nullptr;
    std::error_code failed;
    auto object = std::filesystem::canonical(info.dli_fname, failed);
    if (failed) object = std::filesystem::absolute(info.dli_fname, failed);
    const auto folder = object.parent_path();
    for (const auto& place :
         {folder, folder / "stepstore", folder.parent_path() / "lib", folder.parent_path() / "lib64"}) {
        const std::string path = (place / file).string();
        if (!std::filesystem::exists(path, failed)) {
            tried += "\n  " + path + ": no such file";
            continue;
        }
        // Kept for the life of the process: what it made may be ended after this library has gone.
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        void* found = library == nullptr ? nullptr : dlsym(library, symbol);
        if (found != nullptr) return found;
        const char* why = dlerror();
        tried +=
            "\n  " + (why != nullptr ? std::string(why) : path + ": made for another version of Stepstore");
    }
    return nullptr;
}

} // namespace stepstore
