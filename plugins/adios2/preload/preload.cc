// For LD_PRELOAD, in any process: makes the engine type Stepstore known when a program declares its first IO.
// It needs no library but C's, and does nothing in a process without ADIOS2.
//
// It stands in front of one function of ADIOS2's core, ADIOS::DeclareIO, and calls that.
#include "stepstore/export.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#define STEPSTORE_DECLARE_IO                                                                                 \
    "_ZN6adios24core5ADIOS9DeclareIOENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"                   \
    "NS_13ArrayOrderingE"

namespace {

// A reference is returned. The name is an object of C++, so its address is handed over.
using DeclareIo = void* (*)(void* adios, void* name, int order);

pthread_once_t once = PTHREAD_ONCE_INIT;
DeclareIo next_declare_io = nullptr;

void complain(const char* what, const char* why = nullptr)
{
    std::fprintf(stderr, "stepstore: there is no engine type Stepstore: %s%s\n", what, why ? why : "");
}

int find_core(dl_phdr_info* info, std::size_t, void* to)
{
    if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "/libadios2_core.so") == nullptr) return 0;
    *static_cast<const char**>(to) = info->dlpi_name;
    return 1;
}

// Python loads ADIOS2 for itself alone: then it is not among what comes after this library.
void* find_declare_io()
{
    if (void* found = dlsym(RTLD_NEXT, STEPSTORE_DECLARE_IO)) return found;
    const char* path = nullptr;
    if (dl_iterate_phdr(find_core, static_cast<void*>(&path)) == 0) return nullptr;
    void* core = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    return core == nullptr ? nullptr : dlsym(core, STEPSTORE_DECLARE_IO);
}

void load_engine()
{
    static const char here = 0;
    next_declare_io = reinterpret_cast<DeclareIo>(find_declare_io());
    Dl_info self{};
    if (dladdr(&here, &self) == 0) return complain("its library cannot be found");
    char path[4096];
    const char* slash = std::strrchr(self.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - self.dli_fname);
    const int length =
        std::snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, STEPSTORE_ADIOS2_FILE);
    if (length >= static_cast<int>(sizeof path)) return complain("its path is too long");
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) return complain(dlerror());
    const auto make_known = reinterpret_cast<int (*)()>(dlsym(library, "stepstore_adios2_register"));
    const auto last_error =
        reinterpret_cast<const char* (*)()>(dlsym(library, "stepstore_adios2_last_error"));
    if (make_known == nullptr || last_error == nullptr) return complain(path, " is of another version");
    if (make_known() != 0) complain(last_error());
}

} // namespace

extern "C" STEPSTORE_API void* stepstore_declare_io(void* adios, void* name,
                                                    int order) __asm__(STEPSTORE_DECLARE_IO);

void* stepstore_declare_io(void* adios, void* name, int order)
{
    pthread_once(&once, load_engine);
    if (next_declare_io == nullptr) {
        std::fprintf(stderr, "stepstore: this program's ADIOS2 is another one than Stepstore was built for: "
                             "take libstepstore_adios2_preload.so out of LD_PRELOAD\n");
        std::abort();
    }
    return next_declare_io(adios, name, order);
}
