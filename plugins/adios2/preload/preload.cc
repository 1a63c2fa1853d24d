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

// Those that know the engine type, or were told why they do not.
constexpr int most = 16;
DeclareIo known[most];
pthread_mutex_t knowing = PTHREAD_MUTEX_INITIALIZER; // guards known

void complain(const char* what, const char* why = nullptr)
{
    std::fprintf(stderr, "stepstore: there is no engine type Stepstore: %s%s\n", what, why ? why : "");
}

// Of the caller's ADIOS2. Python loads ADIOS2 for itself alone, so it may not be among what comes after this
// library, and a process may have two.
DeclareIo declare_io_of(const void* caller)
{
    void* found = nullptr;
    Dl_info object{};
    if (dladdr(caller, &object) != 0) {
        if (void* library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
            found = dlsym(library, STEPSTORE_DECLARE_IO);
            dlclose(library);
        }
    }
    return reinterpret_cast<DeclareIo>(found != nullptr ? found : dlsym(RTLD_NEXT, STEPSTORE_DECLARE_IO));
}

void load_engine(DeclareIo adios2)
{
    static const char here = 0;
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
    const auto make_known =
        reinterpret_cast<int (*)(const void*, int)>(dlsym(library, "stepstore_adios2_register_at"));
    const auto last_error =
        reinterpret_cast<const char* (*)()>(dlsym(library, "stepstore_adios2_last_error"));
    if (make_known == nullptr || last_error == nullptr) return complain(path, " is of another version");
    if (make_known(reinterpret_cast<const void*>(adios2), 0) != 0) complain(last_error());
}

void make_known(DeclareIo adios2)
{
    pthread_mutex_lock(&knowing);
    int at = 0;
    while (at < most && known[at] != nullptr && known[at] != adios2)
        ++at;
    if (at < most && known[at] == nullptr) {
        known[at] = adios2;
        load_engine(adios2);
    }
    pthread_mutex_unlock(&knowing);
}

} // namespace

extern "C" STEPSTORE_API void* stepstore_declare_io(void* adios, void* name,
                                                    int order) __asm__(STEPSTORE_DECLARE_IO);

void* stepstore_declare_io(void* adios, void* name, int order)
{
    const DeclareIo next = declare_io_of(__builtin_return_address(0));
    if (next == nullptr) {
        std::fprintf(stderr, "stepstore: this program's ADIOS2 is another one than Stepstore was built for: "
                             "take libstepstore_adios2_preload.so out of LD_PRELOAD\n");
        std::abort();
    }
    make_known(next);
    return next(adios, name, order);
}
