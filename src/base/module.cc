#include "base/module.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace stepstore {

namespace {

namespace fs = std::filesystem;

// The file that this address was loaded from. By the system's list of what is mapped: dladdr(3) knows the
// name that a program was called by, which its caller chooses. Empty: it is not known.
fs::path file_of(const void* address)
{
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        const char* const last = line.data() + line.size();
        const auto first = std::from_chars(line.data(), last, begin, 16);
        if (first.ec != std::errc{} || first.ptr == last) continue;
        std::from_chars(first.ptr + 1, last, end, 16);
        if (wanted < begin || wanted >= end) continue;
        const std::size_t path = line.find('/');
        return path == std::string::npos || line.ends_with(" (deleted)") ? fs::path()
                                                                         : fs::path(line.substr(path));
    }
    Dl_info info{}; // a container without /proc
    const bool known = dladdr(address, &info) != 0 && info.dli_fname != nullptr && *info.dli_fname == '/';
    return known ? fs::path(info.dli_fname) : fs::path();
}

bool is_program(const fs::path& file)
{
    std::error_code failed;
    return fs::equivalent(file, "/proc/self/exe", failed) && !failed;
}

std::atomic<const void*> second_place = nullptr;

} // namespace

const char* distrust(const std::string& path, uid_t owner)
{
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return "no such file";
    if ((status.st_mode & S_IWOTH) != 0) return "everybody may write it, so it is not used";
    if (status.st_uid != 0 && status.st_uid != owner) return "somebody else owns it, so it is not used";
    return nullptr;
}

namespace {

void* find_beside(const void* here, const char* file, const char* symbol, std::string& tried)
{
    const fs::path object = file_of(here);
    struct stat owner {};
    if (object.empty() || stat(object.c_str(), &owner) != 0) {
        tried += " nowhere: the system does not tell where this code was loaded from";
        return nullptr;
    }
    const fs::path folder = object.parent_path();
    std::vector<fs::path> places = {folder};
    if (is_program(object)) {
        places.push_back(folder.parent_path() / "lib");
        places.push_back(folder.parent_path() / "lib64");
    } else {
        places.push_back(folder / "lib");
    }
    for (const fs::path& place : places) {
        const fs::path path = place / file;
        const char* why_not = distrust(path, owner.st_uid);
        if (why_not == nullptr) why_not = distrust(place, owner.st_uid);
        if (why_not != nullptr) {
            tried += " " + path.string() + ": " + why_not + ";";
            continue;
        }
        // Kept for the life of the process: what it made may be ended after this library has gone.
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        void* found = library == nullptr ? nullptr : dlsym(library, symbol);
        if (found != nullptr) return found;
        const char* why = dlerror();
        tried += " " + (why != nullptr ? std::string(why)
                                       : path.string() + ": made for another version of Stepstore");
    }
    return nullptr;
}

} // namespace

void find_modules_also_beside(const void* there)
{
    second_place = there;
}

void* find_in_module(const void* here, const char* file, const char* symbol, std::string& tried)
{
    if (void* found = find_beside(here, file, symbol, tried)) return found;
    const void* const there = second_place;
    return there != nullptr ? find_beside(there, file, symbol, tried) : nullptr;
}

} // namespace stepstore
