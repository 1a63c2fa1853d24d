// Fills a Library with functions: our own, which are linked, or those of a libdaos that is loaded.
#include "stepstore/libdaos.h"

#include "stepstore/admin.h"
#include "stepstore/error.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

namespace stepstore {
namespace {

// A loaded libdaos must find its own functions before ours of the same names.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int load_flags = RTLD_NOW | RTLD_LOCAL; // the sanitizers refuse RTLD_DEEPBIND
#else
constexpr int load_flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

std::atomic<const Library*> replacement = nullptr; // of ours

Library linked()
{
    Library library;
    library.name = "stepstore";
#define STEPSTORE_TAKE(member, symbol) library.member = &::symbol;
    STEPSTORE_LIBDAOS_CALLS(STEPSTORE_TAKE)
    STEPSTORE_OWN_CALLS(STEPSTORE_TAKE)
#undef STEPSTORE_TAKE
    return library;
}

template <class Function>
bool find(void* opened, const char* symbol, Function*& into)
{
    into = reinterpret_cast<Function*>(dlsym(opened, symbol));
    return into != nullptr;
}

// Null, with the loader's reason, when the file cannot be loaded.
void* open_file(const std::string& file, std::string& reasons)
{
    void* opened = dlopen(file.c_str(), load_flags);
    if (!opened) {
        const char* reason = dlerror();
        reasons += (reasons.empty() ? "" : "; ") + std::string(reason ? reason : file.c_str());
    }
    return opened;
}

Library filled(const std::string& file, void* opened)
{
    Library library;
    library.name = file;
    std::string missing;
#define STEPSTORE_NAME_OF(symbol) #symbol
#define STEPSTORE_FIND(member, symbol)                                                                       \
    if (!find(opened, STEPSTORE_NAME_OF(symbol), library.member))                                            \
        missing += (missing.empty() ? "" : ", ") + std::string(STEPSTORE_NAME_OF(symbol));
    STEPSTORE_LIBDAOS_CALLS(STEPSTORE_FIND)
#undef STEPSTORE_FIND
    if (!missing.empty()) throw Error(-DER_NOSYS, file + " is not libdaos 2.6 or newer: it lacks " + missing);
#define STEPSTORE_LOOK(member, symbol) find(opened, STEPSTORE_NAME_OF(symbol), library.member);
    STEPSTORE_OWN_CALLS(STEPSTORE_LOOK)
#undef STEPSTORE_LOOK
#define STEPSTORE_LOOK(member, symbol, ...) find(opened, STEPSTORE_NAME_OF(symbol), library.member);
    STEPSTORE_TX_CALLS(STEPSTORE_LOOK)
#undef STEPSTORE_LOOK
#undef STEPSTORE_NAME_OF
    return library;
}

Library of_system()
{
    const char* given = std::getenv("STEPSTORE_LIBDAOS");
    if (given && *given) return Library::load(given);
    std::string reasons;
    for (const char* file : {"libdaos.so.2", "libdaos.so"})
        if (void* opened = open_file(file, reasons)) return filled(file, opened);
    throw Error(-DER_NOSYS, "locations daos://... need the libdaos of a DAOS system, and none was found (" +
                                reasons +
                                "): install the DAOS client, or set STEPSTORE_LIBDAOS to its libdaos.so.2");
}

} // namespace

const Library& Library::ours()
{
    if (const Library* other = replacement.load(std::memory_order_acquire)) return *other;
    static const Library& library = *new Library(linked());
    return library;
}

void Library::replace_ours(Library library)
{
    static auto& all = *new std::deque<Library>(); // what is open goes on with its own
    replacement = &all.emplace_back(std::move(library));
}

void Library::restore_ours()
{
    replacement = nullptr;
}

const Library& Library::system()
{
    static const Library& library = *new Library(of_system()); // tried again after a failure
    return library;
}

Library Library::load(const std::string& file)
{
    std::string reason;
    void* opened = open_file(file, reason);
    if (!opened) throw Error(-DER_NOSYS, "the libdaos " + file + " cannot be loaded: " + reason);
    return filled(file, opened);
}

} // namespace stepstore
